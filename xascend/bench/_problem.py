"""The arrays of one case: what every contender reads, where it writes, and what must come out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._dtypes import numpy_dtype
from xascend.ascendc import QuantMode, pack_quant_param
from xascend.bench._cases import Case
from xascend.bench._devices import Device
from xascend.bench._layouts import Layout, by_idiom

__all__ = ["Problem", "quantised_by_idiom", "set_up"]

Array = Any
SCALE, OFFSET = 0.375, 3
MODE, WORD = QuantMode.REQ8, pack_quant_param(SCALE, OFFSET)
_PERIOD = 101  # fits int8 and shares no factor with a block, so that neighbouring blocks differ


@dataclass(frozen=True, slots=True)
class Problem:
    """One case with its arrays on a device.

    Attributes
    ----------
    case, device
        What is measured and where.
    source
        What is converted.
    out
        Memory for the result, whose pages are there.
    expected
        The result, made by the idiom, in host memory.
    copied, copy
        Two arrays of bytes: copying one to the other reads and writes as much as the conversion does.
    """

    case: Case
    device: Device
    source: Array
    out: Array
    expected: npt.NDArray[Any]
    copied: Array
    copy: Array

    @property
    def nbytes(self) -> int:
        """Bytes that are read and written."""
        return int(self.source.nbytes + self.expected.nbytes)

    @property
    def layout(self) -> Layout:
        """The conversion as a padding, a reshape and a permutation."""
        return self.case.layout

    def is_solved_by(self, result: Array | None) -> bool:
        """Return whether `result`, or `out` where it is None, is the expected one, byte for byte."""
        made = self.device.fetch(self.out if result is None else result)
        return made.shape == self.expected.shape and np.array_equal(_words(made), _words(self.expected))


def _words(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the bytes of `x` in the widest words that they fill: comparing bytes takes longer than converting them."""
    return x.reshape(-1).view(f"u{math.gcd(x.nbytes, 8)}")


def set_up(case: Case, device: Device, /) -> Problem:
    """Make the arrays of `case`."""
    plain = np.resize(np.arange(_PERIOD).astype(numpy_dtype(case.dtype)), case.shape)
    if not case.family.is_layout:
        source, expected = plain, quantised_by_idiom(plain)
    elif case.back:
        source, expected = by_idiom(case.layout, np, plain, back=False)(), plain
    else:
        source, expected = plain, by_idiom(case.layout, np, plain, back=False)()
    half = (source.nbytes + expected.nbytes) // 2
    return Problem(
        case,
        device,
        device.place(source),
        device.empty(expected.shape, expected.dtype),
        expected,
        device.empty((half,), np.uint8),
        device.empty((half,), np.uint8),
    )


def quantised_by_idiom(x: npt.NDArray[Any], /) -> npt.NDArray[np.int8]:
    """Return the quantised matrix by functions of NumPy on all of it, as scripts for golden data have it."""
    rounded = np.rint(np.clip(x.astype(np.float32) * np.float32(SCALE), -256, 255))
    quantised: npt.NDArray[np.int8] = np.clip(rounded + np.float32(OFFSET), -128, 127).astype(np.int8)
    return quantised

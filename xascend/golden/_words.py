"""Quantisation words that a configuration describes by their scales and offsets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend.golden._tables import read_table
from xascend.quant import pack_quant_param

__all__ = ["make_words"]


def make_words(where: str, table: Any, shape: tuple[int, ...], /) -> npt.NDArray[np.uint64]:
    """Return the words of a table: ``scale`` and ``offset`` numbers or lists, the rest as in `pack_quant_param`."""
    said = read_table(where, table, ("scale",), ("offset", "signed", "rounding", "shift"))
    scale = _numbers(f"{where} `scale`", said.pop("scale"), shape, (int, float)).astype(np.float64)
    offset = _numbers(f"{where} `offset`", said.pop("offset", 0), shape, (int,)).astype(np.int64)
    words: npt.NDArray[np.uint64] = pack_quant_param(scale, offset, **said)
    return words


def _numbers(what: str, value: Any, shape: tuple[int, ...], kinds: tuple[type, ...]) -> npt.NDArray[Any]:
    count, kind = math.prod(shape), "an integer" if kinds == (int,) else "a number"
    numbers = value if isinstance(value, list) else [value] * count
    if any(type(number) not in kinds or abs(number) >= 1 << 63 for number in numbers) or len(numbers) != count:
        raise ValueError(f"{what} must be {kind}, or a list of {count}; got {value!r}")
    return np.array(numbers).reshape(shape)

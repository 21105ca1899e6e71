"""The NumPy executor: the plan's copies, written straight into the output.

Runs that stay together on both sides are viewed as one item, so that NumPy moves a whole data block at a time.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._plan import Plan

__all__ = ["empty_output", "run"]

Array = npt.NDArray[Any]
Strides = tuple[int, ...]
_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)} | {16: np.dtype("c16")}  # moved, never computed with


@dataclass(frozen=True, slots=True)
class _View:
    """A strided view of an array's memory, in bytes from its first element."""

    unit: str
    offset: int
    shape: tuple[int, ...]
    strides: Strides

    def of(self, array: Array) -> Array:
        """Return the view of `array`; it keeps the array alive."""
        address, read_only = array.__array_interface__["data"]
        return np.asarray(_Memory(array, self, address, read_only))


class _Memory:
    """Lends another array's memory through the array interface, which takes any offset and strides."""

    def __init__(self, owner: Array, view: _View, address: int, read_only: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": view.unit,
            "shape": view.shape,
            "strides": view.strides,
            "data": (address + view.offset, read_only),
        }


@dataclass(frozen=True, slots=True)
class _Moves:
    """What to do for one plan and one pair of strides: regions to fill, then pairs of views to copy."""

    fills: tuple[_View, ...]
    copies: tuple[tuple[_View, _View], ...]


def empty_output(plan: Plan, x: Array, /) -> Array:
    """Return an uninitialised output array for `x`, of the same dtype and byte order."""
    return np.empty(plan.dst_shape, x.dtype)


def run(plan: Plan, x: Array, out: Array, pad_value: np.generic | Array, /) -> None:
    """Carry out `plan` from `x` into `out`, which must not overlap; nothing else is allocated."""
    word = _WORDS[x.dtype.itemsize]
    moves = _moves(plan, word.itemsize, x.strides, out.strides)
    if moves.fills:
        fill = np.asarray(pad_value).view(word)
        for view in moves.fills:
            view.of(out)[...] = fill
    for source, target in moves.copies:
        target.of(out)[...] = source.of(x)


@functools.lru_cache(maxsize=256)
def _moves(plan: Plan, itemsize: int, src_strides: Strides, dst_strides: Strides) -> _Moves:
    word = _WORDS[itemsize].str
    fills = [_View(word, 0, plan.dst_shape, dst_strides)]
    if plan.padding is not None:
        fills = []
        for region in plan.padding:
            offset, dims = region.placed(dst_strides)
            fills.append(_View(word, offset, tuple(n for n, _ in dims), tuple(stride for _, stride in dims)))
    copies = []
    for box in plan.boxes:
        src_offset, dst_offset, strided = box.strided(src_strides, dst_strides)
        unit = word
        if len(strided) > 1 and strided[-1][1:] == (itemsize, itemsize):
            unit = f"|V{strided.pop()[0] * itemsize}"
        shape = tuple(count for count, _, _ in strided)
        copies.append(
            (
                _View(unit, src_offset, shape, tuple(src for _, src, _ in strided)),
                _View(unit, dst_offset, shape, tuple(dst for _, _, dst in strided)),
            )
        )
    return _Moves(tuple(fills), tuple(copies))

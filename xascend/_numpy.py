"""The NumPy executor: the plan's copies, written straight into the output.

Runs that stay together on both sides are viewed as one item, so that NumPy moves a whole data block at a time, and
large copies are made slab by slab.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._boxes import strided_copies
from xascend._plan import Plan
from xascend._sides import ceil_div

__all__ = ["empty_output", "run"]

Array = npt.NDArray[Any]
Strides = tuple[int, ...]
Dims = list[tuple[int, int, int]]
_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)} | {16: np.dtype("c16")}  # moved, never computed with
_MAX_ITEM_BYTES = (1 << 31) - 1  # of NumPy
_MIN_SLABBED_BYTES = 1 << 20  # caches hold what is smaller
_MIN_SLAB_BYTES = 1 << 16  # one assignment takes as long as moving a few KiB
_PAGE_BYTES = 1 << 12
_MAX_PAGES = 64  # of the source between two uses of a line: what a first table of addresses and a second cache hold


@dataclass(frozen=True, slots=True)
class _View:
    """A strided view of an array's memory, in bytes from its first element."""

    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, ...]
    strides: Strides

    def of(self, words: Array) -> Array:
        """Return the view of an array of words; it keeps the array alive."""
        if words.flags.c_contiguous:
            return np.ndarray(self.shape, self.dtype, words, self.offset, self.strides)
        return np.asarray(_Memory(words, self))


class _Memory:
    """Lends another array's memory through the array interface, which takes any offset and strides."""

    def __init__(self, owner: Array, view: _View) -> None:
        address, read_only = owner.__array_interface__["data"]
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": view.dtype.str,
            "shape": view.shape,
            "strides": view.strides,
            "data": (address + view.offset, read_only),
        }


@dataclass(frozen=True, slots=True)
class _Copy:
    """Two views of equal shape, copied in slabs of `step` along the first axis, or at once where that is 0."""

    source: _View
    target: _View
    step: int


@dataclass(frozen=True, slots=True)
class _Moves:
    """What to do for one plan and one pair of strides: regions to fill, then copies."""

    fills: tuple[_View, ...]
    copies: tuple[_Copy, ...]


def empty_output(plan: Plan, x: Array, /) -> Array:
    """Return an uninitialised output array for `x`, of the same dtype and byte order."""
    return np.empty(plan.dst_shape, x.dtype)


def run(plan: Plan, x: Array, out: Array, pad_value: Array, /) -> None:
    """Carry out `plan` from `x` into `out`, which must not overlap; nothing else is allocated."""
    word = _WORDS[x.itemsize]
    moves = _moves(plan, x.itemsize, x.strides, out.strides)
    x, out = x.view(word), out.view(word)
    if moves.fills:
        fill = pad_value.view(word)
        for view in moves.fills:
            view.of(out)[...] = fill
    for copy in moves.copies:
        source, target = copy.source.of(x), copy.target.of(out)
        if copy.step:
            for start in range(0, len(target), copy.step):
                target[start : start + copy.step] = source[start : start + copy.step]
        else:
            target[...] = source


@functools.lru_cache(maxsize=256)
def _moves(plan: Plan, itemsize: int, src_strides: Strides, dst_strides: Strides) -> _Moves:
    word = _WORDS[itemsize]
    fills = [_View(word, 0, plan.dst_shape, dst_strides)]
    if plan.padding is not None:
        fills = []
        for region in plan.padding:
            offset, placed = region.placed(dst_strides)
            fills.append(_View(word, offset, tuple(n for n, _ in placed), tuple(stride for _, stride in placed)))
    copies = []
    for src_offset, dst_offset, dims in strided_copies(plan.boxes, src_strides, dst_strides):
        nbytes = math.prod(count for count, _, _ in dims) * itemsize
        unit = word
        if len(dims) > 1 and dims[-1][1:] == (itemsize, itemsize) and dims[-1][0] * itemsize <= _MAX_ITEM_BYTES:
            unit = np.dtype(f"V{dims.pop()[0] * itemsize}")
        step = _slab_first(dims, nbytes)
        shape = tuple(count for count, _, _ in dims)
        copies.append(
            _Copy(
                _View(unit, src_offset, shape, tuple(src for _, src, _ in dims)),
                _View(unit, dst_offset, shape, tuple(dst for _, _, dst in dims)),
                step,
            )
        )
    return _Moves(tuple(fills), tuple(copies))


def _slab_first(dims: Dims, nbytes: int) -> int:
    """Bring the dimension to cut into slabs to the front and return their size, or 0 where nothing is to be cut.

    NumPy walks in the order of the destination. A line of the source serves several steps of the dimension that is
    fastest there, and between two of these all dimensions inside it are walked: the longest of them is cut, so that
    the processor still has the line and the address of its page.
    """
    reused = min(range(len(dims)), key=lambda d: abs(dims[d][1]), default=0)
    inside = range(reused + 1, len(dims))
    if nbytes < _MIN_SLABBED_BYTES or not inside:
        return 0
    cut = max(inside, key=lambda d: dims[d][0])
    count, stride, _ = dims[cut]
    per_step = max(min(abs(stride), _PAGE_BYTES), 1)
    step = max(_MAX_PAGES * _PAGE_BYTES // per_step, ceil_div(count * _MIN_SLAB_BYTES, nbytes))
    if step >= count:
        return 0
    dims.insert(0, dims.pop(cut))
    return step

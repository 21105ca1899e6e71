"""The NumPy executor: the plan's copies, written straight into the output.

Runs that stay together on both sides are viewed as one item, so that NumPy moves a whole data block at a time, and
large copies are made slab by slab.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._boxes import StridedDim, strided_copies
from xascend._plan import Plan
from xascend._sides import ceil_div

__all__ = ["run"]

Array = npt.NDArray[Any]
Strides = tuple[int, ...]
Dims = list[StridedDim]
_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)} | {16: np.dtype("c16")}  # moved, never computed with
_MAX_ITEM_BYTES = (1 << 31) - 1  # of NumPy
_MIN_FILLED_ITEMS = 512  # making an item of padding takes as long as writing so many runs word by word
_MAX_FILL_BYTES = 1 << 10  # longer runs are written at full speed word by word
_MIN_SLABBED_BYTES = 1 << 20  # caches hold what is smaller
_MIN_SLAB_BYTES = 1 << 16  # one assignment takes as long as moving a few KiB
_TOGETHER_BYTES = 1 << 18  # of the destination: they stay in a second-level cache
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
class _Move:
    """A view to write, and what comes there: another view, or padding, of which one item is `words` words."""

    target: _View
    source: _View | None
    words: int = 1


@dataclass(frozen=True, slots=True)
class _Round:
    """Moves that take turns, each for `step` entries of the first axis at a time, or at once where that is 0."""

    moves: tuple[_Move, ...]
    step: int


def run(plan: Plan, x: Array, out: Array, pad_value: Array, /) -> None:
    """Carry out `plan` from `x` into `out`, which must not overlap; nothing of their size is allocated."""
    word = _WORDS[x.itemsize]
    rounds = _rounds(plan, x.itemsize, x.strides, out.strides)
    x, out, padding = x.view(word), out.view(word), pad_value.view(word)
    for each in rounds:
        pairs = []
        for move in each.moves:
            target = move.target.of(out)
            if move.source is not None:
                source = move.source.of(x)
            else:
                source = padding if move.words == 1 else np.full(move.words, padding).view(target.dtype)
            pairs.append((target, source))
        if each.step:
            _take_turns(pairs, each.step)
        else:
            for target, source in pairs:
                target[...] = source


def _take_turns(pairs: Sequence[tuple[Array, Array]], step: int) -> None:
    pairs = [(target, np.broadcast_to(source, target.shape)) for target, source in pairs]
    for start in range(0, len(pairs[0][0]), step):
        part = slice(start, start + step)
        for target, source in pairs:
            target[part] = source[part]


@functools.lru_cache(maxsize=256)
def _rounds(plan: Plan, itemsize: int, src_strides: Strides, dst_strides: Strides) -> tuple[_Round, ...]:
    word = _WORDS[itemsize]
    fills = [_fill(offset, dims, word) for _, offset, dims in plan.fills(dst_strides)]
    copies = [_copy(*copy, word) for copy in strided_copies(plan.boxes, src_strides, dst_strides)]
    moves = [*(move for move, _ in copies), *fills]
    step = _step_together([move.target for move in moves]) if fills and plan.padding is not None else 0
    if step:
        return (_Round(tuple(moves), step),)
    return (*(_Round((move,), 0) for move in fills), *(_Round((move,), step) for move, step in copies))


def _step_together(targets: Sequence[_View]) -> int:
    """Return how many entries of the first axis make a slab where all targets have the same, otherwise 0.

    Lines that hold elements and padding are then written once, not twice.
    """
    (count, stride), *others = {(target.shape[:1], target.strides[:1]) for target in targets}
    if others or not count or count[0] * abs(stride[0]) < _MIN_SLABBED_BYTES:
        return 0
    return max(1, _TOGETHER_BYTES // abs(stride[0]))


def _fill(offset: int, dims: Dims, word: np.dtype[Any]) -> _Move:
    words, unit = 1, word
    if len(dims) > 1 and dims[-1][2] == word.itemsize:
        run, items = dims[-1][0], math.prod(count for count, _, _ in dims[:-1])
        if items >= _MIN_FILLED_ITEMS and run * word.itemsize <= _MAX_FILL_BYTES:
            words, unit = run, np.dtype(f"V{run * word.itemsize}")
            dims.pop()
    shape = tuple(count for count, _, _ in dims)
    return _Move(_View(unit, offset, shape, tuple(dst for _, _, dst in dims)), None, words)


def _copy(src_offset: int, dst_offset: int, dims: Dims, word: np.dtype[Any]) -> tuple[_Move, int]:
    """Return a copy, and the step in which to make it."""
    itemsize = word.itemsize
    nbytes = math.prod(count for count, _, _ in dims) * itemsize
    unit = word
    if len(dims) > 1 and dims[-1][1:] == (itemsize, itemsize) and dims[-1][0] * itemsize <= _MAX_ITEM_BYTES:
        unit = np.dtype(f"V{dims.pop()[0] * itemsize}")
    step = _slab_first(dims, nbytes)
    shape = tuple(count for count, _, _ in dims)
    source = _View(unit, src_offset, shape, tuple(src for _, src, _ in dims))
    return _Move(_View(unit, dst_offset, shape, tuple(dst for _, _, dst in dims)), source), step


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

"""The program of a plan: what the native library reads, as ``kernels_cpu/conversion.hpp`` describes it.

Boxes whose destinations lie side by side, element rows and the padding behind them for instance, become a group: the
library puts them together in a cache and writes each line of memory once.
"""

from __future__ import annotations

import array
import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xascend._boxes import StridedDim, merge_dims, strided_copies
from xascend._plan import Plan

__all__ = ["Program", "make_program"]

Strides = tuple[int, ...]
_COPY, _FILL = 0, 1
_MAX_EXTENT = 4096  # bytes that a group writes side by side; the library's padding pattern is as long


@dataclass(frozen=True, slots=True)
class Program:
    """Integers, where they lie in memory, and whether padding is filled."""

    words: array.array[int]
    address: int
    fills: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Box:
    """One copy or fill; dimensions come outermost first in the destination, offsets and strides are bytes."""

    kind: int
    src: int
    dst: int
    dims: tuple[StridedDim, ...]

    def extent(self, shared: int, itemsize: int) -> int:
        """Return the bytes that the dimensions from `shared` on write, or 0 where they leave gaps."""
        extent = itemsize
        for count, _, dst in reversed(self.dims[shared:]):
            if dst != extent:
                return 0
            extent *= count
        return extent

    def split(self, dims: Sequence[StridedDim]) -> _Box | None:
        """Return the box with `dims` as its first dimensions, where it walks the destination like them.

        A copy has them already; a fill may have some of them as one.
        """
        if self.kind == _COPY:
            return self if self.dims[: len(dims)] == tuple(dims) else None
        first = tuple((count, 0, dst) for count, _, dst in dims)
        merged = tuple(merge_dims(first))
        if self.dims[: len(merged)] != merged:
            return None
        return _Box(_FILL, 0, self.dst, (*first, *self.dims[len(merged) :]))


@functools.lru_cache(maxsize=256)
def make_program(plan: Plan, itemsize: int, src_strides: Strides, dst_strides: Strides) -> Program:
    """Return the program for elements of `itemsize` bytes in arrays of these strides."""
    fills = [_Box(_FILL, src, dst, tuple(dims)) for src, dst, dims in plan.fills(dst_strides)]
    copies = [
        _Box(_COPY, src, dst, tuple(dims)) for src, dst, dims in strided_copies(plan.boxes, src_strides, dst_strides)
    ]
    # padding apart from the copies goes with them; padding below them must be there before
    phases = [fills, copies] if plan.padding is None else [fills + copies]
    words = array.array("q", [itemsize, len(phases)])
    for boxes in phases:
        groups = list(_groups(boxes, itemsize))
        words.append(len(groups))
        for shared, members in groups:
            words.extend((len(members), shared))
            for box in members:
                words.extend((box.kind, box.src, box.dst, len(box.dims), *(word for dim in box.dims for word in dim)))
    return Program(words, words.buffer_info()[0], bool(fills))


def _groups(boxes: Sequence[_Box], itemsize: int) -> Iterator[tuple[int, list[_Box]]]:
    """Yield the groups of a phase: the number of shared dimensions, and the boxes, the largest copy first."""
    by_offset = {box.dst: box for box in boxes}
    is_forward = all(dst > 0 for box in boxes for _, _, dst in box.dims)
    taken: set[_Box] = set()
    for leader in sorted(boxes, key=lambda box: (box.kind, -math.prod(count for count, _, _ in box.dims))):
        if leader in taken:
            continue
        shared, members = len(leader.dims), [leader]
        if leader.kind == _COPY and is_forward:
            shared, members = _neighbours(leader, by_offset, taken, itemsize)
        taken.update(by_offset[box.dst] for box in members)
        yield shared, members


def _neighbours(leader: _Box, by_offset: dict[int, _Box], taken: set[_Box], itemsize: int) -> tuple[int, list[_Box]]:
    """Return the boxes that follow `leader` in the destination, each time its first dimensions make a step."""
    for shared in range(len(leader.dims), 0, -1):
        dims = leader.dims[:shared]
        limit = leader.dst + min(dims[-1][2], _MAX_EXTENT)
        members = [leader]
        end = leader.dst + leader.extent(shared, itemsize)
        while leader.dst < end < limit and (found := by_offset.get(end)) and found not in taken:
            box = found.split(dims)
            extent = box.extent(shared, itemsize) if box else 0
            if not box or not extent:
                break
            members.append(box)
            end += extent
        if len(members) > 1 and end <= limit:
            return shared, members
    return len(leader.dims), [leader]

"""A conversion as a few strided copies, in integers only.

The logical index space is cut so that inside each `Box` both sides are affine: a box is one n-dimensional strided
copy. Aligned conversions need one box; every axis that ends inside a block adds its tail. C0 = 16 to C0 = 32 is
still one box (each 32-block is two 16-blocks); block sizes of which neither divides the other repeat after their
least common multiple.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xascend._sides import Cut, Side, Vector, add, ceil_div, scale

__all__ = [
    "Box",
    "Copy",
    "Dim",
    "StridedDim",
    "boxes_between",
    "merge_dims",
    "padding_of",
    "strided_copies",
    "whole_of",
]

StridedDim = tuple[int, int, int]  # count, source stride, destination stride
Copy = tuple[int, int, list[StridedDim]]  # source offset, destination offset, dimensions: see Box.strided


@dataclass(frozen=True, slots=True)
class Dim:
    """`count` steps of `src` on the source's storage axes and of `dst` on the destination's."""

    count: int
    src: Vector
    dst: Vector


@dataclass(frozen=True, slots=True)
class Box:
    """One strided copy: where it begins on either side, and its dimensions; a region to fill has no source axes."""

    src: Vector
    dst: Vector
    dims: tuple[Dim, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(dim.count for dim in self.dims)

    def strided(self, src_strides: Vector, dst_strides: Vector, /) -> Copy:
        """Return source offset, destination offset and (count, source stride, destination stride) per dimension.

        Dimensions come outermost first in the destination; those that follow each other on both sides are merged.
        Units are those of the strides. A region to fill has source offset and strides 0.
        """
        dims = [(d.count, _dot(d.src, src_strides), _dot(d.dst, dst_strides)) for d in self.dims if d.count != 1]
        dims.sort(key=lambda dim: (-abs(dim[2]), -abs(dim[1])))
        return _dot(self.src, src_strides), _dot(self.dst, dst_strides), merge_dims(dims)

    def find(self, index: Vector, /) -> Vector | None:
        """Return the destination index of the source index, or None where it is not in this box."""
        rest = add(index, scale(-1, self.src))
        target = self.dst
        for dim in sorted(self.dims, key=lambda dim: -max(dim.src)):
            axis = max(range(len(rest)), key=lambda a: dim.src[a])
            step = min(rest[axis] // dim.src[axis], dim.count - 1)
            if step < 0:
                return None
            rest = add(rest, scale(-step, dim.src))
            target = add(target, scale(step, dim.dst))
        return None if any(rest) else target


def merge_dims(dims: Iterable[StridedDim], /) -> list[StridedDim]:
    """Return dimensions, outermost first, of which those that follow each other on both sides are one."""
    merged: list[StridedDim] = []
    for count, src, dst in dims:
        if merged and merged[-1][1:] == (count * src, count * dst):
            merged[-1] = (merged[-1][0] * count, src, dst)
        else:
            merged.append((count, src, dst))
    return merged


def _dot(a: Vector, b: Vector) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


@dataclass(frozen=True, slots=True)
class _Walk:
    """The indices start, start + step, ... of one axis on one side."""

    cut: Cut
    start: int
    step: int

    @property
    def period(self) -> int:
        return self.cut.block // math.gcd(self.cut.block, self.step) if self.cut.block else 1

    def at(self, t: int) -> Vector:
        return self.cut.at(self.start + t * self.step)

    def run(self, t: int) -> int:
        """Return how many steps from `t` on stay inside one block."""
        return ceil_div(self.cut.block - (self.start + t * self.step) % self.cut.block, self.step)

    def straight(self, t: int, u: int) -> bool:
        """Whether the step from `t` to `u` goes along block counts alone or inside a block alone."""
        (t1, t0), (u1, u0) = (divmod(self.start + i * self.step, self.cut.block) for i in (t, u))
        return t1 == u1 or t0 == u0


def _pieces(count: int, src: _Walk, dst: _Walk) -> list[Box]:
    """Return boxes of one axis that together cover its `count` indices."""
    cut_walks = [walk for walk in (src, dst) if walk.cut.block]
    if not cut_walks:
        return [Box(src.at(0), dst.at(0), (_dim(count, src, dst, 0, 1),))] if count else []
    period = math.lcm(src.period, dst.period)
    repeats = count // period
    pieces = []
    if repeats:
        outer = _dim(repeats, src, dst, 0, period)
        pieces = [Box(p.src, p.dst, (outer, *p.dims)) for p in _runs(0, period, src, dst, cut_walks)]
    return pieces + list(_runs(repeats * period, count, src, dst, cut_walks))


def _dim(count: int, src: _Walk, dst: _Walk, t: int, step: int) -> Dim:
    if count < 2:
        return Dim(count, scale(0, src.cut.inner), scale(0, dst.cut.inner))
    return Dim(count, *(add(walk.at(t + step), scale(-1, walk.at(t))) for walk in (src, dst)))


def _runs(start: int, stop: int, src: _Walk, dst: _Walk, cut_walks: Sequence[_Walk]) -> Iterator[Box]:
    """Yield boxes for the indices from `start` to `stop`; neighbours of equal length and spacing become one."""
    runs = []
    t = start
    while t < stop:
        length = min(stop - t, *(walk.run(t) for walk in cut_walks))
        runs.append((t, length))
        t += length
    i = 0
    first_step = None
    while i < len(runs):
        t, length = runs[i]
        same = 1
        while i + same < len(runs) and runs[i + same][1] == length:
            before, after = runs[i + same - 1][0], runs[i + same][0]
            step = _dim(2, src, dst, before, after - before)
            if not all(walk.straight(before, after) for walk in cut_walks) or (same > 1 and step != first_step):
                break
            first_step = step
            same += 1
        yield Box(src.at(t), dst.at(t), (_dim(same, src, dst, t, length), _dim(length, src, dst, t, 1)))
        i += same


def boxes_between(sizes: Mapping[str, int], phase_axis: str | None, src: Side, dst: Side, /) -> tuple[Box, ...]:
    """Return the strided copies that move every logical element from `src` to `dst`.

    `sizes` has one entry per logical axis; `phase_axis` is the axis on which the sides' periods count.
    """
    period = math.lcm(src.period, dst.period)
    boxes = []
    for phase in range(min(period, sizes[phase_axis]) if phase_axis else 1):
        per_axis = []
        for axis, size in sizes.items():
            if axis == phase_axis:
                count = ceil_div(size - phase, period)
                walks = [_Walk(side.cuts[axis], phase, period) for side in (src, dst)]
            else:
                count = size
                walks = [
                    _Walk(side.cuts[axis], phase % side.period * side.shifts.get(axis, 0), 1) for side in (src, dst)
                ]
            per_axis.append(_pieces(count, *walks))
        boxes += [_join(pieces) for pieces in itertools.product(*per_axis)]
    return tuple(box for box in boxes if box.size)


def _join(pieces: Sequence[Box]) -> Box:
    src, dst = pieces[0].src, pieces[0].dst
    for piece in pieces[1:]:
        src, dst = add(src, piece.src), add(dst, piece.dst)
    return Box(src, dst, tuple(dim for piece in pieces for dim in piece.dims if dim.count != 1))


def strided_copies(boxes: Sequence[Box], src_strides: Vector, dst_strides: Vector, /) -> list[Copy]:
    """Return what `Box.strided` does for all boxes, as few as they can be.

    Rows that follow each other in memory are one copy, even though the last of them do not fill a block.
    """
    copies: list[Copy] = []
    ends: defaultdict[tuple[int, int], list[int]] = defaultdict(list)  # where copies may go on, and their numbers
    for box in boxes:
        copy = box.strided(src_strides, dst_strides)
        at = len(copies)
        for before in ends[copy[:2]]:
            joined = _joined(copies[before], copy)
            if joined is not None:
                at, copy = before, joined
                break
        copies[at : at + 1] = [copy]
        for end in _ends(copy):
            ends[end].append(at)
    return copies


def _ends(copy: Copy) -> Iterator[tuple[int, int]]:
    """Yield where one more step along each dimension leads, in source and destination."""
    src, dst, dims = copy
    for count, src_step, dst_step in dims:
        yield src + count * src_step, dst + count * dst_step


def _joined(before: Copy, copy: Copy) -> Copy | None:
    """Return two copies as one, or None where the second does not go on, along one dimension, where the first ends."""
    (src, dst, dims), (next_src, next_dst, next_dims) = before, copy
    for i, (count, src_step, dst_step) in enumerate(dims):
        if (next_src - src, next_dst - dst) != (count * src_step, count * dst_step):
            continue
        others = dims[:i] + dims[i + 1 :]
        if next_dims == others:
            more = 1
        elif next_dims[:i] + next_dims[i + 1 :] == others and next_dims[i][1:] == (src_step, dst_step):
            more = next_dims[i][0]
        else:
            continue
        return src, dst, [*dims[:i], (count + more, src_step, dst_step), *dims[i + 1 :]]
    return None


def padding_of(sizes: Mapping[str, int], side: Side, /) -> tuple[Box, ...]:
    """Return the storage regions of a separable side that hold no logical element (boxes without a source)."""
    full = {}
    for axis, size in sizes.items():
        cut = side.cuts[axis]
        outer = [Dim(ceil_div(size, cut.block), (), cut.outer)] if cut.block else []
        full[axis] = (*outer, Dim(cut.block or size, (), cut.inner))
    regions = []
    for axis, size in sizes.items():
        cut = side.cuts[axis]
        if cut.block and size % cut.block:
            others = (dim for other in sizes if other != axis for dim in full[other])
            edge = Dim(cut.block - size % cut.block, (), cut.inner)
            regions.append(Box((), cut.at(size), (*others, edge)))
    return tuple(box for box in regions if box.size)


def whole_of(shape: Vector, /) -> Box:
    """Return a storage array of this shape as one region without a source."""
    axes = range(len(shape))
    dims = (Dim(size, (), tuple(int(axis == other) for other in axes)) for axis, size in enumerate(shape))
    return Box((), tuple(0 for _ in axes), tuple(dims))

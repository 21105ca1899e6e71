"""A plan as strided copies in bytes that write their own padding."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xascend._boxes import Box, StridedDim, merge_dims
from xascend._plan import Plan
from xascend._sides import Vector

__all__ = ["Axis", "Move", "make_phases"]


@dataclass(frozen=True, slots=True)
class Axis:
    """`count` steps of `dst` bytes in the destination, of which the source has the first `valid`, `src` bytes apart.

    The other steps are padding.
    """

    count: int
    valid: int
    src: int
    dst: int


@dataclass(frozen=True, slots=True)
class Move:
    """One strided copy: bytes from the arrays' first elements, and axes with the outermost in the destination first."""

    src: int
    dst: int
    axes: tuple[Axis, ...]

    def of_words(self, word: int, itemsize: int, /) -> Move:
        """Return the same copy for elements that are cut into words."""
        if word == itemsize:
            return self
        return replace(self, axes=_merge([*self.axes, Axis(itemsize // word, itemsize // word, word, word)]))

    def split(self, most: int, /) -> Iterator[Move]:
        """Yield copies along at most `most` axes that do the same, by the indices of the shortest axes.

        Those that are fastest on either side stay whole.
        """
        if len(self.axes) <= most:
            yield self
            return
        fastest = (self.axes[-1], min(self.axes, key=lambda axis: abs(axis.src)))
        apart = min((axis for axis in self.axes if axis not in fastest), key=lambda axis: axis.count)
        others = tuple(axis for axis in self.axes if axis is not apart)
        for index in range(apart.count):
            dst = self.dst + index * apart.dst
            if index < apart.valid:
                yield from Move(self.src + index * apart.src, dst, others).split(most)
            else:
                yield from _fill(dst, merge_dims((axis.count, 0, axis.dst) for axis in others)).split(most)


@dataclass(frozen=True, slots=True)
class _Step:
    """A dimension of a box, with as many steps more as padding follows."""

    count: int
    valid: int
    src: Vector
    dst: Vector


@dataclass(frozen=True, slots=True)
class _Padded:
    src: Vector
    dst: Vector
    steps: tuple[_Step, ...]

    @property
    def size(self) -> int:
        return math.prod(step.count for step in self.steps)


def make_phases(plan: Plan, src_strides: Vector, dst_strides: Vector, /) -> list[list[Move]]:
    """Return the copies of a plan; those of one phase may run in any order, the phases one after the other.

    Strides are bytes. Padding becomes part of the copies beside it where that is possible, otherwise copies of nothing.
    """
    boxes = [
        _Padded(box.src, box.dst, tuple(_Step(d.count, d.count, d.src, d.dst) for d in box.dims)) for box in plan.boxes
    ]
    copies = [_move(box, src_strides, dst_strides) for box in boxes]
    fills = [_fill(offset, dims) for _, offset, dims in plan.fills(dst_strides)]
    if plan.padding is None:
        return [fills, copies]
    padded = _absorb(plan, boxes)
    if padded is not None:
        return [[_move(box, src_strides, dst_strides) for box in padded]]
    return [fills + copies]


def _absorb(plan: Plan, boxes: Sequence[_Padded]) -> list[_Padded] | None:
    """Return the boxes with all padding in them, or None where they do not add up to the whole destination.

    A box that ends where a region begins is extended over it. Every such box is found; should one be found that ends
    there in another block only, then the sizes add up to more than the destination.
    """
    extended = []
    for box in boxes:
        whole: _Padded | None = box
        for region in plan.padding or ():
            whole = whole and _extend(whole, region)
        if whole is None:
            return None
        extended.append(whole)
    return extended if sum(box.size for box in extended) == math.prod(plan.dst_shape) else None


def _extend(box: _Padded, region: Box) -> _Padded | None:
    edge = region.dims[-1]
    (axis,) = (a for a, step in enumerate(edge.dst) if step)
    along = sorted((step for step in box.steps if step.dst[axis]), key=lambda step: step.dst[axis])
    last = box.dst[axis] + sum((step.count - 1) * step.dst[axis] for step in along)
    if last + edge.dst[axis] != region.dst[axis]:
        return box
    if not along:
        nowhere = (0,) * len(box.src)
        return replace(box, steps=(*box.steps, _Step(1 + edge.count, 1, nowhere, edge.dst)))
    grown = along[-1]
    more, rest = divmod(edge.count * edge.dst[axis], grown.dst[axis])
    if rest:
        return None
    longer = replace(grown, count=grown.count + more)
    return replace(box, steps=tuple(longer if step is grown else step for step in box.steps))


def _move(box: _Padded, src_strides: Vector, dst_strides: Vector) -> Move:
    axes = [
        Axis(step.count, step.valid, _dot(step.src, src_strides), _dot(step.dst, dst_strides)) for step in box.steps
    ]
    axes.sort(key=lambda axis: (-abs(axis.dst), -abs(axis.src)))
    return Move(_dot(box.src, src_strides), _dot(box.dst, dst_strides), _merge(axes))


def _fill(offset: int, dims: Sequence[StridedDim]) -> Move:
    return Move(0, offset, tuple(Axis(count, 0, 0, dst) for count, _, dst in dims) or (Axis(1, 0, 0, 1),))


def _merge(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Join neighbours of which the outer one goes on where the inner one ends, on both sides."""
    merged: list[Axis] = []
    for axis in axes:
        if axis.count == axis.valid == 1:
            continue
        outer = merged[-1] if merged else None
        follows = outer and outer.src == axis.count * axis.src and outer.dst == axis.count * axis.dst
        if outer and follows and axis.valid == axis.count:
            merged[-1] = Axis(outer.count * axis.count, outer.valid * axis.count, axis.src, axis.dst)
        else:
            merged.append(axis)
    return tuple(merged)


def _dot(a: Vector, b: Vector) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))

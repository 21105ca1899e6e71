"""Cutting a conversion into slabs: parts whose results follow each other in the destination's memory.

Streaming a tensor that does not fit in memory, or that shall not, is converting its slabs one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from xascend._plan import Plan, make_plan, stored_axes
from xascend._sides import bind, ceil_div
from xascend.formats import Format

__all__ = ["Slab", "slabs"]

Slices = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class Slab:
    """A part of a conversion: ``dst[slab.dst]`` is ``src[slab.src]`` converted by ``slab.plan``."""

    src: Slices
    dst: Slices
    plan: Plan

    @property
    def elements(self) -> int:
        """Storage elements that source and destination of the slab hold together."""
        return math.prod(self.plan.src_shape) + math.prod(self.plan.dst_shape)


def slabs(plan: Plan, max_elements: int, /) -> Iterator[Slab]:
    """Yield slabs in the order of the destination's memory, none above `max_elements` where it can be helped.

    FRACTAL_Z with groups and FRACTAL_Z_C04 as destination, which pack across blocks, are one slab, and so is a pair
    whose outermost destination axis lies inside a merged axis of the source.
    """
    whole = Slab(tuple(slice(0, n) for n in plan.src_shape), tuple(slice(0, n) for n in plan.dst_shape), plan)
    axis = _outermost(plan)
    places = [_place(plan, fmt, c0, axis) for fmt, c0 in _sides(plan)] if axis else []
    sizes = dict(zip(plan.axes, plan.sizes, strict=True))
    blocks = [bind(fmt, stored_axes(plan, fmt), c0).blocks.get(axis, 1) for fmt, c0 in _sides(plan)]
    unit = math.lcm(*blocks)
    units = ceil_div(sizes[axis], unit) if axis and None not in places else 1
    if units == 1 or whole.elements <= max_elements:
        yield whole
        return
    step = unit * max(1, units * max_elements // max(whole.elements, 1))
    for start in range(0, sizes[axis], step):
        stop = min(start + step, sizes[axis])
        cuts = []
        for place, block, all_of in zip(places, blocks, (whole.src, whole.dst), strict=True):
            position, inner = place or (0, 0)
            cut = slice(start // block * inner, ceil_div(stop, block) * inner)
            cuts.append((*all_of[:position], cut, *all_of[position + 1 :]))
        src_shape = tuple(cut.stop - cut.start for cut in cuts[0])
        shape = tuple(stop - start if name == axis else sizes[name] for name in plan.axes)
        part_plan = make_plan(
            plan.src_format, plan.dst_format, src_shape, shape, plan.bits, plan.dst_c0 or None, plan.groups
        )
        for part in slabs(part_plan, max_elements):
            yield Slab(_within(cuts[0], part.src), _within(cuts[1], part.dst), part.plan)


def _sides(plan: Plan) -> tuple[tuple[Format, int], ...]:
    return (plan.src_format, plan.src_c0), (plan.dst_format, plan.dst_c0)


def _outermost(plan: Plan) -> str:
    """Return the logical axis that is cut first in the destination's memory, or "" where no axis can be."""
    if plan.groups > 1 or plan.dst_format.layout.fused:
        return ""
    bound = bind(plan.dst_format, stored_axes(plan, plan.dst_format), plan.dst_c0)
    sizes = dict(zip(plan.axes, plan.sizes, strict=True))
    for pieces in bound.stored:
        for name, part in pieces:
            if part != "0" and ceil_div(sizes.get(name, 1), bound.blocks.get(name, 1)) > 1:
                return name
    return ""


def _place(plan: Plan, fmt: Format, c0: int, axis: str) -> tuple[int, int] | None:
    """Return the storage axis that counts `axis` and the entries per count, or None where it is not outermost."""
    bound = bind(fmt, stored_axes(plan, fmt), c0)
    sizes = dict(zip(plan.axes, plan.sizes, strict=True))
    for position, pieces in enumerate(bound.stored):
        extents = [ceil_div(sizes.get(name, 1), bound.blocks.get(name, 1)) for name, _ in pieces]
        names = [name for name, part in pieces if part != "0"]
        if axis in names:
            at = names.index(axis)
            return (position, math.prod(extents[at + 1 :])) if math.prod(extents[:at]) == 1 else None
    return None


def _within(outer: Slices, inner: Slices) -> Slices:
    return tuple(slice(o.start + i.start, o.start + i.stop) for o, i in zip(outer, inner, strict=True))

"""Cutting a conversion into slabs: parts whose results follow each other in the destination's memory.

Streaming a tensor that does not fit in memory, or that shall not, is converting its slabs one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from xascend._plan import Plan, make_plan, stored_axes
from xascend._sides import C04, M0, bind, ceil_div, group_packing
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


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one side keeps an axis that is outermost there: `unit` indices take `entries` of a storage axis."""

    position: int
    unit: int
    entries: int


def slabs(plan: Plan, max_elements: int, /) -> Iterator[Slab]:
    """Yield slabs in the order of the destination's memory, none above `max_elements` where it can be helped.

    A pair whose outermost destination axis lies inside a merged axis of the source is one slab. FRACTAL_Z with groups
    is cut between the groups that are packed together, FRACTAL_Z_C04 between rows that begin with a block.
    """
    whole = Slab(tuple(slice(0, n) for n in plan.src_shape), tuple(slice(0, n) for n in plan.dst_shape), plan)
    axis = _outermost(plan) if whole.elements > max_elements else ""
    places = [_place(plan, fmt, c0, axis) for fmt, c0 in _sides(plan)] if axis else []
    found = [place for place in places if place is not None]
    if len(found) < 2:
        yield whole
        return
    sizes = _sizes(plan)
    unit = math.lcm(*(place.unit for place in found))
    # Groups behind the last whole unit go with it, because fewer groups by themselves would be packed otherwise.
    units = sizes[axis] // unit if plan.groups > 1 else ceil_div(sizes[axis], unit)
    if units < 2:
        yield whole
        return
    step = unit * max(1, units * max_elements // whole.elements)
    for start in range(0, units * unit, step):
        stop = start + step if start + step < units * unit else sizes[axis]
        cuts = []
        for place, all_of in zip(found, (whole.src, whole.dst), strict=True):
            end = all_of[place.position].stop if stop == sizes[axis] else stop // place.unit * place.entries
            cut = slice(start // place.unit * place.entries, end)
            cuts.append((*all_of[: place.position], cut, *all_of[place.position + 1 :]))
        src_shape = tuple(cut.stop - cut.start for cut in cuts[0])
        shape = tuple(stop - start if name == axis else sizes[name] for name in plan.axes)
        groups = plan.groups * (stop - start) // sizes[axis] if plan.groups > 1 else 1
        part_plan = make_plan(
            plan.src_format, plan.dst_format, src_shape, shape, plan.bits, plan.dst_c0 or None, groups
        )
        for part in slabs(part_plan, max_elements):
            yield Slab(_within(cuts[0], part.src), _within(cuts[1], part.dst), part.plan)


def _sizes(plan: Plan) -> dict[str, int]:
    return dict(zip(plan.axes, plan.sizes, strict=True))


def _sides(plan: Plan) -> tuple[tuple[Format, int], ...]:
    return (plan.src_format, plan.src_c0), (plan.dst_format, plan.dst_c0)


def _outermost(plan: Plan) -> str:
    """Return the logical axis that is cut first in the destination's memory, or "" where no axis can be."""
    fmt, c0, sizes = plan.dst_format, plan.dst_c0, _sizes(plan)
    if plan.groups > 1 and fmt.layout.grouped:
        return "N"
    if fmt.layout.fused:
        pixels = c0 // C04
        if sizes["H"] * sizes["W"] <= pixels:  # one block of K
            return "N"
        return "H" if sizes["H"] > 1 else "W"
    bound = bind(fmt, stored_axes(plan, fmt), c0)
    for pieces in bound.stored:
        for name, part in pieces:
            if part != "0" and ceil_div(sizes.get(name, 1), bound.blocks.get(name, 1)) > 1:
                return name
    return ""


def _place(plan: Plan, fmt: Format, c0: int, axis: str) -> _Place | None:
    """Return where a side keeps an axis, or None where others lie around it."""
    sizes = _sizes(plan)
    if fmt.layout.fused:
        return _place_in_fused(sizes, c0, axis)
    if plan.groups > 1 and fmt.layout.grouped:
        outputs, channels = sizes["N"] // plan.groups, sizes["C"]
        packed = group_packing(channels, outputs, c0, plan.groups)
        entries = ceil_div(packed * channels, c0) * sizes.get("H", 1) * sizes.get("W", 1)
        return _Place(0, packed * outputs, entries) if axis == "N" else None
    bound = bind(fmt, stored_axes(plan, fmt), c0)
    for position, pieces in enumerate(bound.stored):
        extents = [ceil_div(sizes.get(name, 1), bound.blocks.get(name, 1)) for name, _ in pieces]
        names = [name for name, part in pieces if part != "0"]
        if axis in names:
            at = names.index(axis)
            place = _Place(position, bound.blocks.get(axis, 1), math.prod(extents[at + 1 :]))
            return place if math.prod(extents[:at]) == 1 else None
    return None


def _place_in_fused(sizes: dict[str, int], c0: int, axis: str) -> _Place | None:
    pixels = c0 // C04
    rows = pixels // math.gcd(sizes["W"], pixels)  # after so many a row begins with a block again
    places = {"N": _Place(1, M0, 1), "H": _Place(0, rows, rows * sizes["W"] // pixels)}
    if sizes["H"] == 1:
        places["W"] = _Place(0, pixels, 1)
    return places.get(axis)


def _within(outer: Slices, inner: Slices) -> Slices:
    return tuple(slice(o.start + i.start, o.start + i.stop) for o, i in zip(outer, inner, strict=True))

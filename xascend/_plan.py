"""The plan of a conversion: every size, every check and every copy, in integers, made once and cached.

This module imports no array library. An executor gets a `Plan` and one array and only has to carry it out.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import Any

from xascend._boxes import Box, Copy, boxes_between, padding_of, whole_of
from xascend._resolve import (
    check_groups,
    destination_c0,
    logical_axes,
    logical_sizes,
    raise_mismatch,
    source_c0,
)
from xascend._sides import C04, build_side
from xascend.formats import Format

__all__ = ["Plan", "as_shape", "as_size", "make_plan", "stored_axes"]

_UNORDERED = (str, bytes, bytearray, Mapping, Set)  # collections that are no list of sizes


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Everything about one conversion that does not depend on where the arrays lie; equal plans are one object.

    Attributes
    ----------
    axes, sizes
        The logical axes in the order of the plain shape, and their sizes.
    src_shape, dst_shape
        Storage shapes.
    bits
        Bits of an element, which choose the default C0.
    src_c0, dst_c0
        Block of the channel (or column) axis on either side; 0 for a plain format.
    boxes
        The copies that move every element, in storage coordinates.
    padding
        Regions of the destination to fill; None means that the whole destination is filled first.
    unaligned
        In words, the sizes that the destination had to pad.
    """

    src_format: Format
    dst_format: Format
    axes: tuple[str, ...]
    sizes: tuple[int, ...]
    src_shape: tuple[int, ...]
    dst_shape: tuple[int, ...]
    bits: int
    src_c0: int
    dst_c0: int
    groups: int
    boxes: tuple[Box, ...]
    padding: tuple[Box, ...] | None
    unaligned: tuple[str, ...]

    def require_aligned(self) -> None:
        """Raise ValueError where the destination had to be padded."""
        if self.unaligned:
            raise ValueError(
                f"`strict` forbids padding, but for {self.dst_format.value} {' and '.join(self.unaligned)}; "
                "pass sizes that are whole blocks, or strict=False"
            )

    def require_addressable(self, itemsize: int, /) -> None:
        """Raise ValueError where no memory could hold the destination."""
        if math.prod(self.dst_shape) * itemsize > sys.maxsize:
            raise ValueError(
                f"`x` of shape {self.src_shape} would need the storage shape {self.dst_shape} in "
                f"{self.dst_format.value}, more bytes than can be addressed; pass a smaller `c0`"
            )

    def fills(self, dst_strides: tuple[int, ...], /) -> list[Copy]:
        """Return what `Box.strided` does for every region to fill, be it padding or the whole destination."""
        regions = (whole_of(self.dst_shape),) if self.padding is None else self.padding
        return [region.strided((), dst_strides) for region in regions]

    def locate(self, index: tuple[int, ...], /) -> tuple[int, ...]:
        """Return the destination index of the element at a source index."""
        if len(index) != len(self.src_shape):
            raise ValueError(
                f"`index` must have {len(self.src_shape)} entries for {self.src_format.value} "
                f"of shape {self.src_shape}, got {index}"
            )
        for axis, (i, size) in enumerate(zip(index, self.src_shape, strict=True)):
            if not 0 <= i < size:
                raise ValueError(f"`index` axis {axis} must lie in [0, {size}), got {i}")
        for box in self.boxes:
            found = box.find(index)
            if found is not None:
                return found
        raise ValueError(f"`index` {index} is padding in {self.src_format.value}, no element of the tensor lies there")


def as_size(name: str, value: Any, /, minimum: int = 1) -> int:
    """Return `value` as int; ValueError unless it is an integer (not a bool) of at least `minimum`."""
    if type(value) is int and value >= minimum:
        return value
    size = _as_index(value)
    if size is None or size < minimum:
        raise ValueError(f"`{name}` must be an integer of at least {minimum}, got {value!r}")
    return size


def _as_index(value: Any) -> int | None:
    try:
        return operator.index(value) if type(value).__name__ not in ("bool", "bool_") else None
    except TypeError:
        return None


def as_shape(name: str, value: Any, /) -> tuple[int, ...]:
    """Return `value` as a tuple of sizes of at least 0."""
    if type(value) is not tuple and (not isinstance(value, Collection) or isinstance(value, _UNORDERED)):
        raise ValueError(f"`{name}` must be a sequence of integers, got {value!r}")
    return tuple([size if type(size) is int and size >= 0 else _as_entry(name, size) for size in value])


def _as_entry(name: str, value: Any) -> int:
    size = _as_index(value)
    if size is None or size < 0:
        raise ValueError(f"every entry of `{name}` must be an integer of at least 0, got {value!r}")
    return size


@functools.lru_cache(maxsize=1024)
def make_plan(
    src: Format,
    dst: Format,
    src_shape: tuple[int, ...],
    shape: tuple[int, ...] | None,
    bits: int,
    c0: int | None,
    groups: int,
    name: str = "x",
) -> Plan:
    """Return the plan for an array of `src_shape` with elements of `bits` bits; `name` is the argument it came as.

    Every violation is a ValueError that names the argument, the rule, what came and what would be accepted.
    """
    check_groups(src, dst, groups)
    src_c0 = source_c0(name, src, src_shape)
    dst_c0 = destination_c0(dst, src_c0, bits, c0)
    axes, order = logical_axes(name, src, dst, src_shape, shape)
    sizes = logical_sizes(src, src_c0, axes, order, src_shape, shape)
    if dst.layout.fused and sizes["C"] > C04:
        raise ValueError(f"`{name}` must have at most {C04} channels for {dst.value}, got C = {sizes['C']}")
    if groups > 1 and sizes["N"] % groups:
        raise ValueError(f"`groups` must divide N = {sizes['N']}, got {groups}")

    src_side = build_side(src, axes, sizes, src_c0, groups)
    dst_side = build_side(dst, axes, sizes, dst_c0, groups)
    if src_side.shape != src_shape:
        raise_mismatch(src, src_c0, axes, sizes, src_shape, src_side.shape)
    phase_axis = "group" if groups > 1 else "H" if max(src_side.period, dst_side.period) > 1 else None
    walked = {"group": groups, **sizes, "N": sizes["N"] // groups} if groups > 1 else sizes
    if dst_side.separable and not dst.layout.is_diagonal:
        padding: tuple[Box, ...] | None = padding_of(sizes, dst_side)
    else:
        padding = None if math.prod(dst_side.shape) != math.prod(sizes.values()) else ()
    return Plan(
        src_format=src,
        dst_format=dst,
        axes=order,
        sizes=tuple(sizes[axis] for axis in order),
        src_shape=src_shape,
        dst_shape=dst_side.shape,
        bits=bits,
        src_c0=src_c0,
        dst_c0=dst_c0,
        groups=groups,
        boxes=boxes_between(walked, phase_axis, src_side, dst_side),
        padding=padding,
        unaligned=dst_side.unaligned,
    )


def stored_axes(plan: Plan, fmt: Format, /) -> tuple[str, ...]:
    """Return the logical axes in the order of a side of the plan; a matrix format takes them as its partner does."""
    if fmt.layout.is_matrix:
        return plan.axes
    return tuple(axis for axis in fmt.layout.axes if axis in plan.axes)

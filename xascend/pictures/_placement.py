"""What a picture shows: two arrays cut into blocks, and which element of the tensor lies in each place of storage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xascend._boxes import Box
from xascend._dtypes import resolve_dtype
from xascend._plan import Plan, as_shape, as_size, make_plan, stored_axes
from xascend._sides import bind, group_packing
from xascend.formats import Format, as_format

__all__ = ["PADDING", "Placement", "Stack", "place"]

PADDING = -1


def _unravel(offset: int, shape: Sequence[int]) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        offset, i = divmod(offset, size)
        index.append(i)
    return tuple(reversed(index))


def _ravel(index: Sequence[int], shape: Sequence[int]) -> int:
    offset = 0
    for i, size in zip(index, shape, strict=True):
        offset = offset * size + i
    return offset


@dataclass(frozen=True, slots=True)
class Stack:
    """A C-ordered array as a stack of blocks: the last axis gives the columns, the one before it the rows.

    Pixels stay together: where H and W come before the last axis, both make the rows.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def row_axes(self) -> slice:
        """Which axes make the rows of a block."""
        return slice(-3 if self.names[-3:-1] == ("H", "W") else -2, -1)

    @property
    def outer_axes(self) -> slice:
        """Which axes count the blocks."""
        return slice(0, self.row_axes.start)

    @property
    def blocks(self) -> int:
        """How many blocks the array has."""
        return math.prod(self.shape[self.outer_axes])

    @property
    def rows(self) -> int:
        """How many rows a block has."""
        return math.prod(self.shape[self.row_axes])

    @property
    def columns(self) -> int:
        """How many columns a block has."""
        return self.shape[-1]

    @property
    def size(self) -> int:
        """How many places the array has."""
        return math.prod(self.shape)

    def offset(self, block: int, row: int, column: int) -> int:
        """Return how many places lie before one in memory."""
        return (block * self.rows + row) * self.columns + column

    def index(self, offset: int) -> tuple[int, ...]:
        """Return the index of the place at an offset."""
        return _unravel(offset, self.shape)

    def name_block(self, block: int) -> str:
        """Return where a block stands, for instance ``n1=0 m1=1``; axes of size 1 say nothing and are left out."""
        sizes = self.shape[self.outer_axes]
        where = zip(self.names[self.outer_axes], _unravel(block, sizes), sizes, strict=True)
        return " ".join(f"{name}={i}" for name, i, size in where if size > 1)

    def name_row(self, row: int) -> str:
        """Return the index of a row inside its block, for instance ``3`` or ``h,w`` as ``0,2``."""
        return ",".join(map(str, _unravel(row, self.shape[self.row_axes])))


@dataclass(frozen=True, slots=True)
class Placement:
    """A tensor (`source`), the array that stores it (`storage`), and how they hang together."""

    plan: Plan
    dtype: str
    source: Stack
    storage: Stack
    boxes: tuple[Box, ...]

    def ordinal(self, offset: int) -> int:
        """Return which element of the tensor, counted in C order, lies at a storage offset, or `PADDING`."""
        index = self.storage.index(offset)
        for box in self.boxes:
            found = box.find(index)
            if found is not None:
                return _ravel(found, self.source.shape)
        return PADDING

    def group(self, ordinal: int) -> int:
        """Return the convolution group of an element."""
        outputs = self.source.names.index("N")
        return self.source.index(ordinal)[outputs] * self.plan.groups // self.source.shape[outputs]

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the sizes in words, as (subject, text) pairs."""
        plan, source, storage = self.plan, self.source, self.storage
        c0 = f", C0 = {plan.dst_c0}" if plan.dst_c0 else ""
        padding = storage.size - source.size
        share = f" of {storage.size} places, {padding / storage.size:.1%}" if padding else ""
        lines = [
            ("tensor", f"{plan.src_format.value} {_named_shape(source)}, {self.dtype}, {source.size} elements"),
            ("storage", f"{plan.dst_format.value} {_named_shape(storage)}{c0}, {storage.size} places"),
            ("padding", f"{padding}{share}" if padding else "none"),
        ]
        if plan.groups > 1:
            sizes = dict(zip(source.names, source.shape, strict=True))
            c, outputs = sizes["C"], sizes["N"] // plan.groups
            packed = group_packing(c, outputs, plan.dst_c0, plan.groups)
            where = f"{packed} together along a diagonal" if packed > 1 else "each in blocks of its own"
            lines.append(("groups", f"{plan.groups}, of C = {c} channels and {outputs} outputs each; {where}"))
        return tuple(lines)


def _named_shape(stack: Stack) -> str:
    return f"({', '.join(stack.names)}) = ({', '.join(map(str, stack.shape))})"


def place(
    shape: Sequence[int],
    dst_format: Format | str | int,
    src_format: Format | str | int | None,
    dtype: Any,
    c0: int | None,
    groups: int,
) -> Placement:
    """Return the placement of a tensor; every argument as in `storage_shape`."""
    dst = as_format("dst_format", dst_format)
    named = dst if src_format is None else as_format("src_format", src_format)
    src = next(fmt for fmt in Format if fmt.layout.axes == named.layout.axes and not fmt.is_blocked)
    element = resolve_dtype(dtype)
    sizes, groups = as_shape("shape", shape), as_size("groups", groups)
    given = None if c0 is None else as_size("c0", c0)
    plan = make_plan(src, dst, sizes, None, element.bits, given, groups, "shape")
    back = make_plan(dst, src, plan.dst_shape, sizes, element.bits, None, groups)
    merged = ["*".join(axis + part for axis, part in pieces) for pieces in bind(dst, plan.axes, plan.dst_c0).stored]
    if groups > 1 and dst.layout.grouped:
        merged[0] = f"G*{merged[0]}"
    names = stored_axes(plan, src), merged
    source, storage = (tuple(name.replace("batch axis ", "batch") for name in side) for side in names)
    return Placement(plan, element.name, Stack(source, sizes), Stack(storage, plan.dst_shape), back.boxes)

"""The Dask executor: lazy, one conversion per chunk, chunks cut where both formats begin a new block.

A logical axis is *free* when neither format merges it with another: it can be cut into chunks. The others stay whole.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import array_api_compat as compat
import numpy.typing as npt

from xascend._execute import execute
from xascend._plan import Plan, make_plan, stored_axes
from xascend._sides import Bound, bind, ceil_div
from xascend.formats import Format

__all__ = ["run"]

Array = Any


def run(plan: Plan, x: Array, pad_value: npt.NDArray[Any], /) -> Array:
    """Return a lazy Dask array; its chunks are converted independently of each other."""
    if not (plan.src_format.is_blocked and plan.dst_format.is_blocked):
        return _run_leg(plan, x, pad_value)
    named = {fmt.value: fmt for fmt in Format if not fmt.is_blocked}
    plain = named.get("".join(plan.axes), Format.ND)  # both legs meet in the plain tensor, where any cut is possible
    src_groups = plan.groups if plan.src_format.layout.grouped else 1
    dst_groups = plan.groups if plan.dst_format.layout.grouped else 1
    first = make_plan(plan.src_format, plain, plan.src_shape, plan.sizes, plan.bits, None, src_groups)
    second = make_plan(plain, plan.dst_format, plan.sizes, None, plan.bits, plan.dst_c0, dst_groups)
    return _run_leg(second, _run_leg(first, x, pad_value), pad_value)


def _run_leg(plan: Plan, x: Array, pad_value: npt.NDArray[Any]) -> Array:
    """Convert between a plain and any other format."""
    import dask.array as da

    src, dst = (
        bind(fmt, stored_axes(plan, fmt), c0)
        for fmt, c0 in ((plan.src_format, plan.src_c0), (plan.dst_format, plan.dst_c0))
    )
    free = _free_axes(plan, src, dst)
    src_labels, dst_labels = _labels("src", src, free), _labels("dst", dst, free)
    chunks = tuple(_chunks(label, have, src, dst) for label, have in zip(src_labels, x.chunks, strict=True))
    new_axes = {label: size for label, size in zip(dst_labels, plan.dst_shape, strict=True) if label not in free}
    adjust = {
        axis: functools.partial(_converted_size, src.blocks.get(axis, 1), dst.blocks.get(axis, 1)) for axis in free
    }
    result = da.blockwise(
        functools.partial(_convert_chunk, plan, free, src_labels, src.blocks, pad_value),
        dst_labels,
        x.rechunk(chunks),
        src_labels,
        new_axes=new_axes,
        adjust_chunks=adjust,
        concatenate=True,
        dtype=x.dtype,
        meta=x._meta.reshape((0,) * len(plan.dst_shape)),
    )
    # chunks of a blocked source are whole blocks, so what they give still has the padding
    return result[tuple(slice(0, size) for size in plan.dst_shape)]


def _convert_chunk(
    plan: Plan,
    free: Collection[str],
    src_labels: Sequence[str],
    blocks: Mapping[str, int],
    pad_value: npt.NDArray[Any],
    chunk: Array,
) -> Array:
    extents = dict(zip(src_labels, chunk.shape, strict=True))
    shape = tuple(
        extents[axis] * blocks.get(axis, 1) if axis in free else size
        for axis, size in zip(plan.axes, plan.sizes, strict=True)
    )
    c0 = plan.dst_c0 or None
    part = make_plan(plan.src_format, plan.dst_format, chunk.shape, shape, plan.bits, c0, plan.groups)
    return execute(part, chunk, compat.array_namespace(chunk), pad_value, None)


def _converted_size(src_block: int, dst_block: int, size: int) -> int:
    return ceil_div(size * src_block, dst_block)


def _labels(side: str, bound: Bound, free: Collection[str]) -> list[str]:
    """Name every storage axis: after the free axis whose chunks it follows, or else by a name of its own."""
    return [
        pieces[0][0] if len(pieces) == 1 and pieces[0][1] != "0" and pieces[0][0] in free else f"{side} {position}"
        for position, pieces in enumerate(bound.stored)
    ]


def _free_axes(plan: Plan, *sides: Bound) -> Collection[str]:
    if plan.groups > 1:
        return ()
    merged = {name for bound in sides for pieces in bound.stored if len(pieces) > 1 for name, _ in pieces}
    merged.update(plan.src_format.layout.fused, plan.dst_format.layout.fused)
    return [axis for axis in plan.axes if axis not in merged]


def _chunks(label: str, have: tuple[int, ...], src: Bound, dst: Bound) -> tuple[int, ...] | int:
    """Return the chunks of a source axis, each but the last a whole number of blocks of either side."""
    if label.startswith("src "):
        return -1
    block = src.blocks.get(label, 1)
    unit = math.lcm(block, dst.blocks.get(label, 1)) // block
    if all(size % unit == 0 for size in have[:-1]):
        return have
    return ceil_div(max(have), unit) * unit

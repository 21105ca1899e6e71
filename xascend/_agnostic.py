"""The agnostic executor: every conversion with array-API functions alone, through the logical tensor.

It is the definition that faster executors are held against, so it follows the format rows and never the plan's
copies: pad, reshape and permute towards storage; permute, reshape and crop back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import array_api_compat as compat

from xascend._plan import Plan, stored_axes
from xascend._sides import C04, M0, bind, ceil_div, group_packing
from xascend.formats import Format

__all__ = ["run"]

Array = Any


def run(plan: Plan, x: Array, xp: Any, pad_value: Any = 0, /) -> Array:
    """Carry out `plan` on `x` and return a new array; `pad_value` is an exact element of x's dtype."""
    sizes = dict(zip(plan.axes, plan.sizes, strict=True))
    stored = stored_axes(plan, plan.src_format)
    if plan.src_format.is_blocked:
        x = _to_logical(xp, x, plan.src_format, plan.src_c0, sizes, stored, plan.groups)
    stored_in_dst = stored_axes(plan, plan.dst_format)
    x = xp.permute_dims(x, tuple(stored.index(axis) for axis in stored_in_dst))
    if plan.dst_format.is_blocked:
        x = _to_storage(xp, x, plan.dst_format, plan.dst_c0, stored_in_dst, plan.groups, pad_value)
    return x


def _to_storage(xp: Any, x: Array, fmt: Format, c0: int, axes: Sequence[str], groups: int, pad_value: Any) -> Array:
    layout = fmt.layout
    if layout.fused:
        x = _pad(xp, x, 1, C04 - x.shape[1], pad_value)
        n, _, h, w = x.shape
        x = xp.reshape(xp.permute_dims(x, (2, 3, 1, 0)), (h * w * C04, n))
        return _matrix_to_fractals(xp, x, c0, pad_value)
    if layout.grouped and groups > 1:
        return _groups_to_storage(xp, x, c0, axes, groups, pad_value)
    bound = bind(fmt, axes, c0)
    for name, block in bound.blocks.items():
        axis = axes.index(name)
        x = _pad(xp, x, axis, -x.shape[axis] % block, pad_value)
    pieces: list[tuple[str, str]] = []
    extents: list[int] = []
    for name, size in zip(axes, x.shape, strict=True):
        block = bound.blocks.get(name, 0)
        pieces += [(name, "1"), (name, "0")] if block else [(name, "")]
        extents += [size // block, block] if block else [size]
    x = xp.reshape(x, tuple(extents))
    distinct = list(dict.fromkeys(piece for merged in bound.stored for piece in merged if piece in pieces))
    x = xp.permute_dims(x, tuple(pieces.index(piece) for piece in distinct))
    if layout.is_diagonal:
        return _diagonal(xp, x, x.ndim - 1, pad_value)
    by_piece = dict(zip(distinct, x.shape, strict=True))
    return xp.reshape(x, tuple(math.prod(by_piece.get(p, 1) for p in merged) for merged in bound.stored))


def _to_logical(
    xp: Any, x: Array, fmt: Format, c0: int, sizes: dict[str, int], axes: Sequence[str], groups: int
) -> Array:
    layout = fmt.layout
    if layout.fused:
        n, c, h, w = (sizes[axis] for axis in axes)
        x = _fractals_to_matrix(xp, x)[: h * w * C04, :n]
        return xp.permute_dims(xp.reshape(x, (h, w, C04, n)), (3, 2, 0, 1))[:, :c, :, :]
    if layout.grouped and groups > 1:
        return _groups_to_logical(xp, x, c0, sizes, axes, groups)
    bound = bind(fmt, axes, c0)
    if layout.is_diagonal:
        x = _undiagonal(xp, x, x.ndim - 2)
    extent = {
        (name, part): {"": sizes.get(name, 1), "1": ceil_div(sizes.get(name, 1), block), "0": block}[part]
        for merged in bound.stored
        for name, part in merged
        for block in (bound.blocks.get(name, 1),)
    }
    stored = list(extent)
    x = xp.reshape(x, tuple(extent[piece] for piece in stored))
    order = [(name, part) for name in axes for part in ("1", "0", "") if (name, part) in extent]
    order += [piece for piece in stored if piece not in order]
    x = xp.permute_dims(x, tuple(stored.index(piece) for piece in order))
    padded = [sizes[name] if name not in bound.blocks else extent[name, "1"] * bound.blocks[name] for name in axes]
    x = xp.reshape(x, tuple(padded))
    return x[tuple(slice(0, sizes[name]) for name in axes)]


def _pad(xp: Any, x: Array, axis: int, count: int, value: Any) -> Array:
    if not count:
        return x
    shape = tuple(count if other == axis else size for other, size in enumerate(x.shape))
    return xp.concat((x, xp.full(shape, value, dtype=x.dtype, device=compat.device(x))), axis=axis)


def _matrix_to_fractals(xp: Any, x: Array, c0: int, pad_value: Any) -> Array:
    """(k, n) -> (k1, n1, 16, k0)."""
    x = _pad(xp, _pad(xp, x, 0, -x.shape[0] % c0, pad_value), 1, -x.shape[1] % M0, pad_value)
    k, n = x.shape
    return xp.permute_dims(xp.reshape(x, (k // c0, c0, n // M0, M0)), (0, 2, 3, 1))


def _fractals_to_matrix(xp: Any, x: Array) -> Array:
    k1, n1, n0, k0 = x.shape
    return xp.reshape(xp.permute_dims(x, (0, 3, 1, 2)), (k1 * k0, n1 * n0))


def _diagonal(xp: Any, x: Array, axis: int, value: Any) -> Array:
    """Spread `axis` along the diagonal of two axes: a row is followed by as many fills, and rows are then re-cut."""
    size = x.shape[axis]
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    x = xp.reshape(x, (*before, size, 1, *after))
    x = _pad(xp, x, axis + 1, size, value)
    x = xp.reshape(x, (*before, size * (size + 1), *after))
    x = x[(*(slice(None) for _ in before), slice(0, size * size), ...)]
    return xp.reshape(x, (*before, size, size, *after))


def _undiagonal(xp: Any, x: Array, axis: int) -> Array:
    """Return the diagonal of two neighbouring axes of equal size as one axis."""
    size = x.shape[axis]
    before, after = x.shape[:axis], x.shape[axis + 2 :]
    x = xp.reshape(x, (*before, size * size, *after))
    x = _pad(xp, x, axis, size, 0)
    x = xp.reshape(x, (*before, size, size + 1, *after))
    x = x[(*(slice(None) for _ in before), slice(None), slice(0, 1), ...)]
    return xp.reshape(x, (*before, size, *after))


def _group_sizes(c0: int, channels: int, outputs: int, groups: int) -> tuple[int, int, int, int]:
    """Return the groups packed together, the number of packs, and the padded channels and outputs of one pack."""
    packed = group_packing(channels, outputs, c0, groups)
    return packed, ceil_div(groups, packed), ceil_div(packed * channels, c0) * c0, ceil_div(packed * outputs, M0) * M0


def _groups_to_storage(xp: Any, x: Array, c0: int, axes: Sequence[str], groups: int, pad_value: Any) -> Array:
    x = xp.permute_dims(x, tuple(axes.index(axis) for axis in ("N", "C", *(a for a in "HW" if a in axes))))
    outputs, channels = x.shape[0] // groups, x.shape[1]
    hw = math.prod(x.shape[2:])
    packed, packs, channels_padded, outputs_padded = _group_sizes(c0, channels, outputs, groups)
    x = xp.reshape(x, (groups, outputs, channels, hw))
    x = xp.reshape(_pad(xp, x, 0, packs * packed - groups, pad_value), (packs, packed, outputs, channels, hw))
    x = _diagonal(xp, x, 1, pad_value)  # packs, packed by channels, packed by outputs, outputs, channels, hw
    x = xp.permute_dims(x, (0, 1, 4, 5, 2, 3))
    x = xp.reshape(x, (packs, packed * channels, hw, packed * outputs))
    x = _pad(xp, x, 1, channels_padded - packed * channels, pad_value)
    x = _pad(xp, x, 3, outputs_padded - packed * outputs, pad_value)
    x = xp.reshape(x, (packs, channels_padded // c0, c0, hw, outputs_padded // M0, M0))
    x = xp.permute_dims(x, (0, 1, 3, 4, 5, 2))
    return xp.reshape(x, (packs * (channels_padded // c0) * hw, outputs_padded // M0, M0, c0))


def _groups_to_logical(xp: Any, x: Array, c0: int, sizes: dict[str, int], axes: Sequence[str], groups: int) -> Array:
    outputs, channels = sizes["N"] // groups, sizes["C"]
    spatial = tuple(sizes[axis] for axis in "HW" if axis in axes)
    hw = math.prod(spatial)
    packed, packs, channels_padded, outputs_padded = _group_sizes(c0, channels, outputs, groups)
    x = xp.reshape(x, (packs, channels_padded // c0, hw, outputs_padded // M0, M0, c0))
    x = xp.reshape(xp.permute_dims(x, (0, 1, 5, 2, 3, 4)), (packs, channels_padded, hw, outputs_padded))
    x = x[:, : packed * channels, :, : packed * outputs]
    x = xp.reshape(x, (packs, packed, channels, hw, packed, outputs))
    x = _undiagonal(xp, xp.permute_dims(x, (0, 1, 4, 5, 2, 3)), 1)
    x = xp.reshape(x, (packs * packed, outputs, channels, hw))[:groups, :, :, :]
    x = xp.reshape(x, (groups * outputs, channels, *spatial))
    order = ("N", "C", *(axis for axis in "HW" if axis in axes))
    return xp.permute_dims(x, tuple(order.index(axis) for axis in axes))

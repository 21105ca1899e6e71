"""What the arguments of a conversion mean together: C0 on either side, the logical axes, their order and sizes."""

from __future__ import annotations

from typing import NoReturn

from xascend._sides import bind
from xascend.formats import DEFAULT_C0, Format

__all__ = [
    "check_groups",
    "check_padded",
    "destination_c0",
    "logical_axes",
    "logical_sizes",
    "raise_mismatch",
    "source_c0",
]

Shape = tuple[int, ...]
Axes = tuple[str, ...]


def check_groups(src: Format, dst: Format, groups: int) -> None:
    """Refuse groups where no side can hold them."""
    if groups > 1 and not (src.layout.grouped or dst.layout.grouped):
        raise ValueError(f"`groups` must be 1 unless one format is FRACTAL_Z, got {groups}")
    if groups > 1 and (src.layout.fused or dst.layout.fused):
        raise ValueError(f"`groups` must be 1 with FRACTAL_Z_C04, got {groups}")


def source_c0(name: str, src: Format, src_shape: Shape) -> int:
    """Return the C0 that a source array shows in its last axis (0 for a plain format), its fixed axes checked."""
    layout = src.layout
    names = ["*".join("*batch" if p.axis == "*" else p.axis + p.part for p in pieces) for pieces in layout.stored]
    needed = len(names) - 1 if layout.is_matrix else len(names)
    if len(src_shape) < needed or (len(src_shape) > needed and not layout.is_matrix):
        raise ValueError(f"`{name}` must have the axes ({', '.join(names)}) of {src.value}, got shape {src_shape}")
    if not src.is_blocked:
        return 0
    c0 = src_shape[-1]
    if c0 < 1:
        raise ValueError(f"`x` must have C0 of at least 1 as its last axis in {src.value}, got shape {src_shape}")
    if layout.fixed_c0 not in (None, c0):
        raise ValueError(f"`x` must have C0 = {layout.fixed_c0} as its last axis in {src.value}, got shape {src_shape}")
    for axis, pieces in enumerate(reversed(layout.stored), 1):
        (piece, *_) = pieces
        if piece.part == "0" and src_shape[-axis] != (layout.blocks[piece.axis] or c0):
            raise ValueError(
                f"`x` must have {layout.blocks[piece.axis] or c0} as axis {-axis} ({piece.axis}0) in {src.value}, "
                f"got shape {src_shape}"
            )
    return c0


def destination_c0(dst: Format, src_c0: int, bits: int, c0: int | None) -> int:
    """Return the C0 of the destination (0 for a plain format)."""
    own = dst.layout.fixed_c0
    if not dst.is_blocked:
        if c0 is not None and c0 != src_c0:
            rule = f"the last axis of `x`, {src_c0}" if src_c0 else "left out between plain formats"
            raise ValueError(f"`c0` must be {rule}, because {dst.value} is plain; got {c0}")
        return 0
    if own is not None:
        if c0 not in (None, own):
            raise ValueError(f"`c0` must be {own} or left out for {dst.value}, got {c0}")
        return own
    return DEFAULT_C0[bits] if c0 is None else c0


def logical_axes(name: str, src: Format, dst: Format, src_shape: Shape, shape: Shape | None) -> tuple[Axes, Axes]:
    """Return the logical axes, outermost first as a matrix format sees them, and their order in the plain shape."""
    hidden = len(src_shape) - (2 if src.is_blocked else 0)
    rank = len(shape) if src.is_blocked and shape is not None else hidden
    if src.layout.is_matrix and rank != hidden:
        raise ValueError(f"`shape` must have {hidden} sizes for `x` of shape {src_shape} in {src.value}, got {shape}")
    if src.layout.is_matrix and dst.layout.is_matrix:
        axes = (*(f"batch axis {i}" for i in range(rank - 2)), "m", "n")
        return axes, axes
    named = dst if src.layout.is_matrix else src
    other = src if named is dst else dst
    letters: Axes = tuple(named.layout.axes)
    if not other.layout.is_matrix and set(letters) != set(other.layout.axes):
        raise ValueError(
            f"`dst_format` {dst.value} has the axes {', '.join(dst.layout.axes)}, "
            f"but `src_format` {src.value} has {', '.join(src.layout.axes)}"
        )
    if src.is_blocked and not src.layout.is_matrix and shape is None:
        rank = len(letters)
    if other.layout.is_matrix and named.layout.grouped and rank == 2:
        letters = ("C", "N")
    order = letters if dst.is_blocked or dst.layout.is_matrix else tuple(dst.layout.axes)
    if rank != len(order):
        name, got = ("shape", shape) if src.is_blocked and shape is not None else (name, src_shape)
        also = " or (C, N)" if other.layout.is_matrix and named.layout.grouped else ""
        raise ValueError(f"`{name}` must have the axes ({', '.join(order)}){also} of {named.value}, got shape {got}")
    return letters, order


def logical_sizes(
    src: Format, src_c0: int, axes: Axes, order: Axes, src_shape: Shape, shape: Shape | None
) -> dict[str, int]:
    """Return the size of every logical axis: from `shape`, or else from the source array, padding included."""
    if src.is_blocked and shape is not None:
        by_name = dict(zip(order, shape, strict=True))
        return {axis: by_name[axis] for axis in axes}
    bound = bind(src, axes, src_c0)
    if src.layout.fused or any(len(pieces) > 1 for pieces in bound.stored):
        raise ValueError(
            f"`shape` is required with {src.value}, which merges axes: pass the sizes ({', '.join(order)}), "
            f"got only `x` of shape {src_shape}"
        )
    stored = {piece: extent for (piece,), extent in zip(bound.stored, src_shape, strict=True)}
    sizes = {
        axis: stored[axis, "1"] * bound.blocks[axis] if axis in bound.blocks else stored[axis, ""] for axis in axes
    }
    implied = tuple(sizes[axis] for axis in order)
    if shape is not None and shape != implied:
        raise ValueError(
            f"`shape` must be left out or {implied}, the sizes ({', '.join(order)}) of `x` in {src.value}, got {shape}"
        )
    return sizes


def check_padded(name: str, size: int, padded: int, block: int, /) -> None:
    """Refuse a size that does not pad to `padded`, printing the interval of those that do."""
    if not padded - block < size <= padded or size < 0:
        accepted = f"lie in ({padded - block}, {padded}]" if padded else "be 0"
        raise ValueError(f"{name} must {accepted}, got {size}")


def raise_mismatch(
    src: Format, src_c0: int, axes: Axes, sizes: dict[str, int], src_shape: Shape, made: Shape
) -> NoReturn:
    """Raise the ValueError that says which size does not fit the storage shape, and which would."""
    bound = bind(src, axes, src_c0)
    axis = next(i for i, (have, want) in enumerate(zip(src_shape, made, strict=True)) if have != want)
    have, pieces = src_shape[axis], bound.stored[axis]
    name, part = pieces[0]
    if len(pieces) == 1 and name in sizes and not part:
        raise ValueError(f"`shape` {name} must be {have}, got {sizes[name]}")
    if len(pieces) == 1 and name in sizes:
        check_padded(f"`shape` {name}", sizes[name], have * bound.blocks[name], bound.blocks[name])
    merged = "*".join(piece + part for piece, part in pieces)
    given = ", ".join(f"{axis} = {size}" for axis, size in sizes.items())
    raise ValueError(
        f"`shape` ({given}) makes {merged} = {made[axis]} in {src.value}, but axis {axis} of `x` is {have} "
        f"(shape {src_shape})"
    )

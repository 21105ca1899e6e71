"""One side of a conversion: where the elements of a logical tensor lie in one format's storage.

A side says, for every logical axis on its own, how an index turns into storage coordinates. Coordinates are vectors
with one entry per storage axis, so that merged axes (FRACTAL_Z) and an axis stored twice (C1HWNCoC0) are the same
arithmetic as any other. Two formats are not separable axis by axis; they become so once the index of one *phase*
axis is fixed modulo a small period:

- FRACTAL_Z with groups packs `period` groups along a diagonal, so that the channel axes start at a multiple of
  (group % period);
- FRACTAL_Z_C04 cuts H*W into blocks, so that W starts at (h % period) * W.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xascend.formats import Format

__all__ = ["Bound", "Cut", "Side", "Vector", "add", "bind", "build_side", "ceil_div", "group_packing", "scale"]

Vector = tuple[int, ...]

M0 = 16  # output channels or rows in one fractal
C04 = 4  # FRACTAL_Z_C04 pads the channels to this


def ceil_div(size: int, block: int, /) -> int:
    """Return how many blocks hold `size` elements."""
    return -(-size // block)


def add(a: Vector, b: Vector, /) -> Vector:
    """Return the sum of two coordinate vectors."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def scale(factor: int, vector: Vector, /) -> Vector:
    """Return a coordinate vector times an integer."""
    return tuple(factor * x for x in vector)


@dataclass(frozen=True, slots=True)
class Cut:
    """The storage coordinates of index i of one axis: ``(i // block) * outer + (i % block) * inner``.

    `block` 0 means that the axis is not cut: ``i * inner``.
    """

    block: int
    outer: Vector
    inner: Vector

    def at(self, index: int) -> Vector:
        """Return the coordinates of `index`."""
        if not self.block:
            return scale(index, self.inner)
        return add(scale(index // self.block, self.outer), scale(index % self.block, self.inner))


@dataclass(frozen=True, slots=True)
class Side:
    """Storage shape and one `Cut` per logical axis.

    `period` and `shifts` describe the phase axis: while its index is j modulo `period`, the index of every axis X in
    `shifts` starts at ``(j % period) * shifts[X]`` instead of 0. `unaligned` tells in words what had to be padded.
    """

    shape: Vector
    cuts: Mapping[str, Cut]
    period: int = 1
    shifts: Mapping[str, int] = field(default_factory=dict)
    unaligned: tuple[str, ...] = ()
    separable: bool = True


@dataclass(frozen=True, slots=True)
class Bound:
    """A layout with the logical axes of one tensor filled in: (axis, part) pieces per storage axis, block per axis."""

    stored: tuple[tuple[tuple[str, str], ...], ...]
    blocks: Mapping[str, int]


def bind(fmt: Format, axes: Sequence[str], c0: int) -> Bound:
    """Return the layout of `fmt` for a tensor with `axes`; a matrix format takes the last two as m and n."""
    layout = fmt.layout
    names = {"m": axes[-2], "n": axes[-1]} if layout.is_matrix else {}
    stored: list[tuple[tuple[str, str], ...]] = []
    for pieces in layout.stored:
        if pieces[0].axis == "*":
            stored += [((name, ""),) for name in axes[:-2]]
        else:
            stored.append(tuple((names.get(piece.axis, piece.axis), piece.part) for piece in pieces))
    return Bound(tuple(stored), {names.get(axis, axis): size or c0 for axis, size in layout.blocks.items()})


def build_side(fmt: Format, axes: Sequence[str], sizes: Mapping[str, int], c0: int, groups: int) -> Side:
    """Return the side of `fmt` for the logical `axes`; with `groups` > 1, N is seen as (group, N per group)."""
    layout = fmt.layout
    if layout.fused:
        return _fused_side(sizes, c0)
    if layout.grouped and groups > 1:
        return _grouped_side(sizes, c0, groups)
    bound = bind(fmt, axes, c0)
    # a 2-D filter (c, n) has H = W = 1
    sizes = {name: sizes.get(name, 1) for pieces in bound.stored for name, _ in pieces}
    shape, cuts = _place(bound, sizes)
    unaligned = tuple(
        f"{axis} = {sizes[axis]} is not a multiple of {block}"
        for axis, block in bound.blocks.items()
        if sizes[axis] % block
    )
    side = Side(shape, cuts, unaligned=unaligned)
    return _split_groups(side, sizes["N"], groups) if groups > 1 else side


def _place(bound: Bound, sizes: Mapping[str, int]) -> tuple[Vector, dict[str, Cut]]:
    rank = len(bound.stored)
    zero = (0,) * rank
    shape = []
    vectors: dict[tuple[str, str], Vector] = {}
    for axis, pieces in enumerate(bound.stored):
        extent = 1
        for name, part in reversed(pieces):
            unit = tuple(extent if other == axis else 0 for other in range(rank))
            vectors[name, part] = add(vectors.get((name, part), zero), unit)
            block = bound.blocks.get(name, 1)
            extent *= {"": sizes[name], "1": ceil_div(sizes[name], block), "0": block}[part]
        shape.append(extent)
    cuts = {
        name: Cut(bound.blocks[name], vectors[name, "1"], vectors[name, "0"])
        if name in bound.blocks
        else Cut(0, zero, vectors[name, ""])
        for name in sizes
    }
    return tuple(shape), cuts


def _fused_side(sizes: Mapping[str, int], c0: int) -> Side:
    if c0 % C04:
        raise ValueError(f"`c0` of FRACTAL_Z_C04 must be a multiple of {C04}, got {c0}")
    n, c, h, w = (sizes[axis] for axis in "NCHW")
    pixels = c0 // C04  # pixels per block of K
    k1, n1, n0, k0 = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
    zero = (0, 0, 0, 0)
    period = pixels // math.gcd(w, pixels)
    cuts = {
        "N": Cut(M0, n1, n0),
        "C": Cut(0, zero, k0),
        "H": Cut(period, scale(period * w // pixels, k1), zero),
        "W": Cut(pixels, k1, scale(C04, k0)),
    }
    unaligned = {
        f"C = {c} is not {C04}": c != C04,
        f"N = {n} is not a multiple of {M0}": n % M0,
        f"{C04}*H*W = {C04 * h * w} is not a multiple of {c0}": (C04 * h * w) % c0,
    }
    shape = (ceil_div(C04 * h * w, c0), ceil_div(n, M0), M0, c0)
    return Side(shape, cuts, period, {"W": w}, tuple(why for why, bad in unaligned.items() if bad), separable=False)


def group_packing(channels: int, outputs: int, c0: int, groups: int, /) -> int:
    """Return how many groups FRACTAL_Z packs into one diagonal block, for channels and outputs per group."""
    if channels == 0 or outputs == 0:
        return 1
    for_channels = math.lcm(channels, c0) // channels
    for_outputs = math.lcm(outputs, M0) // outputs
    return min(math.lcm(for_channels, for_outputs), groups)


def _grouped_side(sizes: Mapping[str, int], c0: int, groups: int) -> Side:
    c, h, w = (sizes.get(axis, 1) for axis in "CHW")
    outputs = sizes["N"] // groups
    packed = group_packing(c, outputs, c0, groups)
    c1, n1 = ceil_div(packed * c, c0), ceil_div(packed * outputs, M0)
    axis0, zero = (1, 0, 0, 0), (0, 0, 0, 0)
    cuts = {
        "group": Cut(packed, scale(c1 * h * w, axis0), zero),
        "N": Cut(M0, (0, 1, 0, 0), (0, 0, 1, 0)),
        "C": Cut(c0, scale(h * w, axis0), (0, 0, 0, 1)),
        "H": Cut(0, zero, scale(w, axis0)),
        "W": Cut(0, zero, axis0),
    }
    unaligned = {
        f"groups = {groups} is not a multiple of the {packed} packed together": groups % packed,
        f"{packed}*C = {packed * c} is not a multiple of {c0}": (packed * c) % c0,
        f"{packed}*N/groups = {packed * outputs} is not a multiple of {M0}": (packed * outputs) % M0,
    }
    shape = (ceil_div(groups, packed) * c1 * h * w, n1, M0, c0)
    shifts = {"C": c, "N": outputs}
    return Side(shape, cuts, packed, shifts, tuple(why for why, bad in unaligned.items() if bad), separable=False)


def _split_groups(side: Side, outputs: int, groups: int) -> Side:
    per_group = outputs // groups
    whole = side.cuts["N"]
    zero = scale(0, whole.inner)
    if whole.block:  # N is cut on this side too, so every group starts at its own place in a block
        cuts = {**side.cuts, "group": Cut(0, zero, zero)}
        return Side(side.shape, cuts, groups, {"N": per_group}, side.unaligned, separable=False)
    cuts = {**side.cuts, "group": Cut(0, zero, scale(per_group, whole.inner))}
    return Side(side.shape, cuts, 1, {}, side.unaligned, separable=False)

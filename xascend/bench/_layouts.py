"""Conversions as people write them by hand: zeros, reshape, transpose. No code of the library is in here.

The results are what every contender is held against.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend.sizes import default_c0

__all__ = ["Layout", "by_elements", "by_idiom", "by_torch", "layout_of"]

Array = Any
_C0 = 0  # stands for the C0 of the element type

#: Per pair of formats: the block of each plain axis (None: not cut), the order in which the pieces of all axes are
#: stored, and how many of the first of these are one axis of the storage.
_ROWS: dict[tuple[str, str], tuple[tuple[int | None, ...], tuple[int, ...], int]] = {
    ("ND", "FRACTAL_NZ"): ((16, _C0), (2, 0, 1, 3), 1),  # M1 M0 N1 N0 -> N1 M1 M0 N0
    ("NCHW", "NC1HWC0"): ((None, _C0, None, None), (0, 1, 3, 4, 2), 1),  # N C1 C0 H W -> N C1 H W C0
    ("NHWC", "NC1HWC0"): ((None, None, None, _C0), (0, 3, 1, 2, 4), 1),  # N H W C1 C0 -> N C1 H W C0
    ("NCHW", "FRACTAL_Z"): ((16, _C0, None, None), (2, 4, 5, 0, 1, 3), 3),  # N1 N0 C1 C0 H W -> (C1 H W) N1 N0 C0
}


@dataclass(frozen=True, slots=True)
class Layout:
    """A blocked storage of a plain tensor, in sizes.

    Attributes
    ----------
    shape
        The tensor's own sizes.
    padded
        The same in whole blocks.
    pieces
        `padded` with every cut axis as two.
    order
        The position in `pieces` of each axis of the storage.
    stored
        The storage shape.
    """

    shape: tuple[int, ...]
    padded: tuple[int, ...]
    pieces: tuple[int, ...]
    order: tuple[int, ...]
    stored: tuple[int, ...]

    @property
    def is_aligned(self) -> bool:
        """Whether nothing is padded."""
        return self.shape == self.padded

    @property
    def blocks(self) -> tuple[int, ...]:
        """`pieces` in the order of the storage."""
        return tuple(self.pieces[place] for place in self.order)

    @property
    def inverse(self) -> tuple[int, ...]:
        """The position in the storage of each of `pieces`."""
        return tuple(self.order.index(place) for place in range(len(self.order)))

    @property
    def crop(self) -> tuple[slice, ...]:
        """The tensor within `padded`."""
        return tuple(slice(0, size) for size in self.shape)


def layout_of(plain: str, blocked: str, shape: tuple[int, ...], dtype: str, /) -> Layout:
    """Return the layout of one pair of formats."""
    cuts, order, merged = _ROWS[plain, blocked]
    pieces: list[int] = []
    padded = []
    for size, cut in zip(shape, cuts, strict=True):
        block = 1 if cut is None else cut or default_c0(dtype)
        count = -(-size // block)
        padded.append(count * block)
        pieces += [size] if cut is None else [count, block]
    blocks = [pieces[place] for place in order]
    return Layout(shape, tuple(padded), tuple(pieces), order, (math.prod(blocks[:merged]), *blocks[merged:]))


def by_idiom(layout: Layout, xp: Any, x: Array, /, *, back: bool) -> Callable[[], Array]:
    """Return the conversion of `x` by the functions of NumPy or of a library that has the same (CuPy)."""
    if back:
        return lambda: xp.ascontiguousarray(
            x.reshape(layout.blocks).transpose(layout.inverse).reshape(layout.padded)[layout.crop]
        )

    def there() -> Array:
        whole = x
        if not layout.is_aligned:
            whole = xp.zeros(layout.padded, x.dtype)
            whole[layout.crop] = x
        return xp.ascontiguousarray(whole.reshape(layout.pieces).transpose(layout.order)).reshape(layout.stored)

    return there


def by_torch(layout: Layout, torch: Any, x: Array, out: Array, /, *, back: bool) -> Callable[[], None]:
    """Return the conversion of `x` into `out` by PyTorch, which copies once where sizes are whole blocks."""
    pieces, blocks = (out, x) if back else (x, out)
    blocks = blocks.view(layout.blocks)
    if layout.is_aligned:
        pieces = pieces.view(layout.pieces)

    def there() -> None:
        whole = pieces
        if not layout.is_aligned:
            padded = torch.zeros(layout.padded, dtype=x.dtype, device=x.device)
            padded[layout.crop] = x
            whole = padded.view(layout.pieces)
        blocks.copy_(whole.permute(layout.order))

    def and_back() -> None:
        whole = blocks.permute(layout.inverse)
        pieces.copy_(whole if layout.is_aligned else whole.reshape(layout.padded)[layout.crop])

    return and_back if back else there


def by_elements(
    layout: Layout, x: npt.NDArray[Any], out: npt.NDArray[Any], /, *, back: bool
) -> Callable[[], npt.NDArray[Any]]:
    """Return the conversion by a loop over all elements, as converters of dumps have it."""
    strides = [math.prod(layout.pieces[place + 1 :]) for place in layout.order]

    def loop() -> npt.NDArray[Any]:
        padded = np.zeros(layout.padded, x.dtype)
        plain, blocked = padded.reshape(-1), (x if back else out).reshape(-1)
        if not back:
            padded[layout.crop] = x
        for place, index in enumerate(itertools.product(*map(range, layout.blocks))):
            element = sum(map(operator.mul, index, strides))
            if back:
                plain[element] = blocked[place]
            else:
                blocked[place] = plain[element]
        if back:
            out[...] = padded[layout.crop]
        return out

    return loop

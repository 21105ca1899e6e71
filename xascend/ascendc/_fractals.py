"""Blocks of fractals, the unit that L0A and L0B are loaded in: read, transposed where asked for, and written."""

from __future__ import annotations

from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np
from numpy.typing import NDArray

from xascend._dispatch import array_namespace
from xascend._dtypes import DType
from xascend.ascendc._cube import elements_in, require_room, require_separate
from xascend.ascendc._memory import integer_dtype

__all__ = ["FRACTAL", "SQUARES", "Square", "move_blocks", "source_blocks"]

FRACTAL = 512  # bytes: 16 rows of 32


class Square(NamedTuple):
    """The square block of one element size: its elements in memory, and the order of axes that transposes it."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]


# By bits of an element. Down to 16 bits the fractals of a block lie on top of each other in the square. Two
# fractals of 16 x 8 lie side by side, left and right, so for 32 bits the axes are (half, rows / 8, 8, 8).
SQUARES = {
    4: Square((64, 64), (1, 0)),
    8: Square((32, 32), (1, 0)),
    16: Square((16, 16), (1, 0)),
    32: Square((2, 2, 8, 8), (1, 0, 3, 2)),
}


def source_blocks(start_index: int, repeat_times: int, src_stride: int, addr_mode: int) -> NDArray[np.intp]:
    """Return the block that each repeat reads; ValueError where they go below the first one."""
    way = src_stride * np.arange(repeat_times)
    if not addr_mode:
        return start_index + way
    if start_index < way[-1]:
        raise ValueError(
            f"`start_index` must be at least (repeat_times - 1) * src_stride = {way[-1]} with `addr_mode` 1, "
            f"got {start_index}"
        )
    return start_index - way


def move_blocks(
    dst: Any, src: Any, dtype: DType, sources: NDArray[np.intp], targets: NDArray[np.intp], square: Square | None
) -> None:
    """Move blocks of `src` to fractals of `dst`, transposed if `square` is given, after checking that all fit.

    `targets` has the fractals of each block, shape ``(repeats, fractals in a block)``. Where repeats write the
    same fractal the last one stays. Only its value is kept, because libraries do not promise an order of writes.
    """
    per_fractal = elements_in(FRACTAL, dtype)
    per_block = per_fractal * targets.shape[1]
    read, written = per_block * (int(sources.max()) + 1), per_fractal * (int(targets.max()) + 1)
    require_room("src", src, read)
    require_room("dst", dst, written)
    require_separate(dst[:written], "src", src[per_block * int(sources.min()) : read])

    xp = array_namespace("src", src)
    device = compat.device(src)
    moved = xp.take(_rows(src[:read], per_block), xp.asarray(sources, device=device), axis=0)
    if square is not None:
        axes = (0, *(1 + axis for axis in square.axes))
        moved = xp.permute_dims(moved.reshape(-1, *square.shape), axes)
    kept, from_the_end = np.unique(targets.reshape(-1)[::-1], return_index=True)
    values = xp.take(moved.reshape(-1, per_fractal), xp.asarray(targets.size - 1 - from_the_end, device=device), axis=0)
    _rows(dst[:written], per_fractal)[xp.asarray(kept, device=device)] = values


def _rows(x: Any, per_row: int) -> Any:
    """Return a buffer as integers, which every library moves without a look at the bits, on the same memory."""
    return x.view(integer_dtype(x)).reshape(-1, per_row)

"""LoadDataWithTranspose: square blocks, each made of a few fractals, transposed on their way from L1 to L0A or L0B."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from xascend._ranges import require_in_range
from xascend.ascendc._cube import (
    ALIGN_L0AB,
    ALIGN_L1,
    require_addr_mode,
    require_aligned,
    require_bits,
    require_pair,
    require_params,
)
from xascend.ascendc._fractals import FRACTAL, SQUARES, move_blocks, source_blocks

__all__ = ["LoadData2dTransposeParams", "load_data_with_transpose"]


@dataclass(frozen=True, slots=True)
class LoadData2dTransposeParams:
    """Parameters of `load_data_with_transpose`, in the vendor's order and with its defaults.

    Parameters
    ----------
    start_index : int, default 0
        The square block of `src` that the first repeat reads, 0 to 65535.
    repeat_times : int, default 0
        Number of square blocks to move, 0 to 255. 0 does nothing.
    src_stride : int, default 0
        Distance from one source block to the next, start to start, in square blocks, 0 to 65535. 0 reads the
        same block each time.
    dst_gap : int, default 0
        From the end of one repeat's *first* destination fractal to the start of the next repeat's first, in
        fractals of 512 bytes, 0 to 65535.
    dst_frac_gap : int, default 0
        From the end of one fractal to the start of the next inside one repeat, in fractals, 0 to 65535. Without
        effect for 16-bit types, whose square block is one fractal.
    addr_mode : int, default 0
        0: the sources go up from `start_index`. 1: they go down. The destinations always go up.

    Raises
    ------
    TypeError
        If a number is not an int.
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.LoadData2dTransposeParams(repeat_times=2, src_stride=1)
    LoadData2dTransposeParams(start_index=0, repeat_times=2, src_stride=1, dst_gap=0, dst_frac_gap=0, addr_mode=0)
    """

    start_index: int = 0
    repeat_times: int = 0
    src_stride: int = 0
    dst_gap: int = 0
    dst_frac_gap: int = 0
    addr_mode: int = 0

    def __post_init__(self) -> None:
        require_in_range("start_index", self.start_index, 0, 65535)
        require_in_range("repeat_times", self.repeat_times, 0, 255)
        require_in_range("src_stride", self.src_stride, 0, 65535)
        require_in_range("dst_gap", self.dst_gap, 0, 65535)
        require_in_range("dst_frac_gap", self.dst_frac_gap, 0, 65535)
        require_addr_mode(self.addr_mode)


def load_data_with_transpose(dst: Any, src: Any, params: LoadData2dTransposeParams) -> Any:
    """Transpose square blocks on their way from L1 to L0A or L0B, in place, as LoadDataWithTranspose does.

    A square block is made of fractals that follow each other in `src`, and is cut into as many after the
    transpose:

    - 4-bit types: 64 x 64, four fractals of 16 x 64 on top of each other.
    - 8-bit types: 32 x 32, two fractals of 16 x 32 on top of each other.
    - 16-bit types: 16 x 16, one fractal.
    - 32-bit types: 16 x 16, two fractals of 16 x 8 side by side, the left half first.

    Repeat ``r`` reads block ``start_index + r * src_stride`` (``start_index - r * src_stride`` with `addr_mode`
    1), and its fractal ``j`` goes to fractal ``r * (1 + dst_gap) + j * (1 + dst_frac_gap)`` of `dst`. Bits are
    moved, so NaN payloads stay; the gaps of `dst` keep what they held.

    Parameters
    ----------
    dst : array, shape ``(elements,)``
        Contiguous stretch of L0A or L0B that begins at a multiple of 512 bytes of it; written in place.
    src : array, shape ``(elements,)``
        Contiguous stretch of L1 that begins at a multiple of 32 bytes of it, of the library, device and dtype of
        `dst`; no memory in common with `dst` up to the last fractal that is written, gaps included. 4-bit types
        come one value in a byte (``ml_dtypes.int4``); a packed array would be taken for an 8-bit type.
    params : LoadData2dTransposeParams
        Blocks to read, and where to put their fractals.

    Returns
    -------
    array
        `dst`.

    Warns
    -----
    UserWarning
        If `params.repeat_times` is 0: nothing happens, and no other argument is looked at.

    Raises
    ------
    TypeError
        If an argument is no array of NumPy, PyTorch or CuPy, the two do not match, or the elements do not have
        4, 8, 16 or 32 bits.
    ValueError
        If an array is not 1-D and contiguous, is too short, not aligned, read-only or requires grad, the sources
        go below the start of `src`, or the two share memory. Nothing is written then.

    Notes
    -----
    Source: "LoadDataWithTranspose", Ascend C API.

    - The document leaves it to the caller that fractals do not meet in `dst`. Here repeats and their fractals
      are written in order, so the last one stays.
    - For 4-bit types its parameter table has units of 16 x 64 elements, its text and its figures blocks of
      64 x 64; the blocks hold here.
    - For 32-bit types a block is two fractals that follow each other, so a matrix of 16-row column blocks must
      have 16 rows, as the document's constraints say.

    Examples
    --------
    A half-precision matrix of 32 x 16 (k x n) in L1, ``(n1, k, n0)``, becomes ``(k1, n1, n0, k0)`` in L0B:

    >>> import numpy as np
    >>> from xascend import ascendc
    >>> matrix = np.arange(512, dtype=np.float16).reshape(32, 16)
    >>> l0b = np.zeros(512, np.float16)
    >>> params = ascendc.LoadData2dTransposeParams(repeat_times=2, src_stride=1)
    >>> blocks = ascendc.load_data_with_transpose(l0b, matrix.reshape(-1), params).reshape(2, 16, 16)
    >>> bool((blocks[1] == matrix[16:].T).all())
    True
    """
    require_params(params, LoadData2dTransposeParams)
    repeats = int(params.repeat_times)
    if repeats == 0:
        warnings.warn("`repeat_times` is 0: nothing is moved", UserWarning, stacklevel=2)
        return dst
    dtype = require_pair(dst, src)
    require_bits("load_data_with_transpose", dtype, tuple(SQUARES))
    require_aligned("dst", dst, ALIGN_L0AB)
    require_aligned("src", src, ALIGN_L1)
    square = SQUARES[dtype.bits]
    sources = source_blocks(int(params.start_index), repeats, int(params.src_stride), int(params.addr_mode))
    fractals = np.arange(math.prod(square.shape) * dtype.bits // (8 * FRACTAL))
    repeat = np.arange(repeats)[:, np.newaxis]
    targets = repeat * (1 + int(params.dst_gap)) + fractals * (1 + int(params.dst_frac_gap))
    move_blocks(dst, src, dtype, sources, targets, square)
    return dst

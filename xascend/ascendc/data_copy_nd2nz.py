"""DataCopy with ND to NZ: matrices by rows in global memory, by column blocks of 32 bytes in L1."""

from __future__ import annotations

import dataclasses
import math
import warnings
from dataclasses import dataclass
from typing import Any

import array_api_compat as compat

from xascend._ranges import require_in_range
from xascend.ascendc._cube import (
    ALIGN_L1,
    elements_in,
    require_aligned,
    require_bits,
    require_pair,
    require_params,
    require_room,
    require_separate,
)
from xascend.ascendc._memory import BLOCK, integer_dtype

__all__ = ["Nd2NzParams", "data_copy_nd2nz"]


@dataclass(frozen=True, slots=True)
class Nd2NzParams:
    """Parameters of `data_copy_nd2nz`, in the vendor's order and with its defaults.

    Parameters
    ----------
    nd_num : int, default 0
        Number of matrices, 0 to 4095. 0 does nothing.
    n_value : int, default 0
        Rows of a matrix, 0 to 16384. 0 does nothing.
    d_value : int, default 0
        Columns of a matrix, 0 to 65535. 0 does nothing.
    src_nd_matrix_stride : int, default 0
        From one source matrix to the next, in elements, 0 to 65535. 0 reads the first one each time.
    src_d_value : int, default 0
        From one source row to the next, in elements, 1 to 65535.
    dst_nz_c0_stride : int, default 0
        From one column block to the next, in units of 32 bytes, 1 to 16384.
    dst_nz_n_stride : int, default 0
        From one row to the next inside a column block, in units of 32 bytes, 1 to 16384.
    dst_nz_matrix_stride : int, default 0
        From one destination matrix to the next, in elements, 0 to 65535. 0 writes each over the one before.

    Raises
    ------
    TypeError
        If a number is not an int.
    ValueError
        If a number is out of its range. The three strides that begin at 1 may be 0, their default, where
        nothing is copied.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.Nd2NzParams(1, 32, 16, 0, 16, 32, 1, 0)
    Nd2NzParams(nd_num=1, n_value=32, d_value=16, src_nd_matrix_stride=0, src_d_value=16, dst_nz_c0_stride=32,
                dst_nz_n_stride=1, dst_nz_matrix_stride=0)
    """

    nd_num: int = 0
    n_value: int = 0
    d_value: int = 0
    src_nd_matrix_stride: int = 0
    src_d_value: int = 0
    dst_nz_c0_stride: int = 0
    dst_nz_n_stride: int = 0
    dst_nz_matrix_stride: int = 0

    def __post_init__(self) -> None:
        require_in_range("nd_num", self.nd_num, 0, 4095)
        require_in_range("n_value", self.n_value, 0, 16384)
        require_in_range("d_value", self.d_value, 0, 65535)
        least = 1 if self.nd_num and self.n_value and self.d_value else 0
        require_in_range("src_nd_matrix_stride", self.src_nd_matrix_stride, 0, 65535)
        require_in_range("src_d_value", self.src_d_value, least, 65535)
        require_in_range("dst_nz_c0_stride", self.dst_nz_c0_stride, least, 16384)
        require_in_range("dst_nz_n_stride", self.dst_nz_n_stride, least, 16384)
        require_in_range("dst_nz_matrix_stride", self.dst_nz_matrix_stride, 0, 65535)


def data_copy_nd2nz(dst: Any, src: Any, params: Nd2NzParams) -> Any:
    """Copy matrices from global memory to L1 and lay them out as column blocks, in place, as DataCopy does.

    With ``c0`` = 32 bytes of elements, element ``(row, column)`` of matrix ``i`` is taken from
    ``src[i * src_nd_matrix_stride + row * src_d_value + column]`` and goes to
    ``dst[i * dst_nz_matrix_stride + ((column // c0) * dst_nz_c0_stride + row * dst_nz_n_stride) * c0 +
    column % c0]``. Columns that the last block lacks are filled with zero. Bits are moved, so NaN payloads stay;
    the gaps of `dst` keep what they held.

    Parameters
    ----------
    dst : array, shape ``(elements,)``
        Contiguous stretch of L1 that begins at a multiple of 32 bytes of it; written in place.
    src : array, shape ``(elements,)``
        Contiguous stretch of global memory, of the library, device and dtype of `dst`; no memory in common with
        `dst` up to the last element that is written, gaps included.
    params : Nd2NzParams
        Sizes and strides.

    Returns
    -------
    array
        `dst`.

    Warns
    -----
    UserWarning
        If `params.nd_num`, `params.n_value` or `params.d_value` is 0: nothing happens, and no other argument is
        looked at.

    Raises
    ------
    TypeError
        If an argument is no array of NumPy, PyTorch or CuPy, the two do not match, or the elements do not have 8,
        16 or 32 bits. 4-bit values go as bytes of two, with the sizes in bytes, as on the hardware.
    ValueError
        If an array is not 1-D and contiguous, is too short, not aligned, read-only or requires grad, or the two
        share memory. Nothing is written then.

    Notes
    -----
    Source: "DataCopy", ND to NZ from global memory to L1, Ascend C API.

    - Where blocks coincide the document promises no order, but for matrices at stride 0, of which each
      overwrites the first. Here matrices, and in a matrix its rows, are written in order, so the last one stays.
    - `dst_nz_matrix_stride`: at most 16384 in the newest edition; its field has 16 bits, which hold here.
    - On the 950 series the two source strides and the matrix stride have wider fields, and small matrices a mode
      with blocks of 4 elements; neither is offered.

    Examples
    --------
    >>> import numpy as np
    >>> from xascend import ascendc
    >>> src = np.arange(1, 41, dtype=np.float16)
    >>> dst = np.full(64, -1, np.float16)
    >>> params = ascendc.Nd2NzParams(1, 2, 20, 0, 20, 2, 1, 0)
    >>> ascendc.data_copy_nd2nz(dst, src, params).reshape(2, 2, 16)[1, :, :6]
    array([[17., 18., 19., 20.,  0.,  0.],
           [37., 38., 39., 40.,  0.,  0.]], dtype=float16)
    """
    require_params(params, Nd2NzParams)
    for name in ("nd_num", "n_value", "d_value"):
        if getattr(params, name) == 0:
            warnings.warn(f"`{name}` is 0: nothing is copied", UserWarning, stacklevel=2)
            return dst
    dtype = require_pair(dst, src)
    require_bits("data_copy_nd2nz", dtype, (8, 16, 32))
    require_aligned("dst", dst, ALIGN_L1)
    c0 = elements_in(BLOCK, dtype)
    matrices, rows, columns, src_matrix, src_row, c0_stride, n_stride, dst_matrix = map(
        int, dataclasses.astuple(params)
    )
    blocks = -(-columns // c0)
    read = (matrices - 1) * src_matrix + (rows - 1) * src_row + columns
    reach = ((rows - 1) * n_stride + (blocks - 1) * c0_stride + 1) * c0  # of one matrix in `dst`
    written = (matrices - 1) * dst_matrix + reach
    require_room("src", src, read)
    require_room("dst", dst, written)
    require_separate(dst[:written], "src", src[:read])

    source, target = src.view(integer_dtype(src)), dst.view(integer_dtype(dst))
    groups = _row_groups(rows, blocks, n_stride, c0_stride)
    for matrix in range(matrices):
        for row, count in groups:
            _copy_rows(
                target[matrix * dst_matrix + row * n_stride * c0 :],
                source[matrix * src_matrix + row * src_row :],
                (count, columns, c0),
                (n_stride * c0, c0_stride * c0, src_row),
            )
    return dst


def _row_groups(rows: int, blocks: int, n_stride: int, c0_stride: int) -> list[tuple[int, int]]:
    """Return (first row, number of rows) of groups in which no two blocks coincide."""
    common = math.gcd(n_stride, c0_stride)
    if c0_stride // common < rows and n_stride // common < blocks:
        return [(row, 1) for row in range(rows)]
    return [(0, rows)]


def _copy_rows(target: Any, source: Any, sizes: tuple[int, int, int], strides: tuple[int, int, int]) -> None:
    rows, columns, c0 = sizes
    dst_row, dst_block, src_row = strides
    whole, rest = divmod(columns, c0)
    blocks = _window(target, (rows, whole + bool(rest), c0), (dst_row, dst_block, 1))
    blocks[:, :whole] = _window(source, (rows, whole, c0), (src_row, c0, 1))
    if rest:
        blocks[:, whole, :rest] = _window(source[whole * c0 :], (rows, rest), (src_row, 1))
        blocks[:, whole, rest:] = 0


def _window(x: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Return a view on a buffer; `strides` count elements."""
    if compat.is_torch_array(x):
        return x.as_strided(shape, strides, x.storage_offset())
    if compat.is_cupy_array(x):
        from cupy.lib.stride_tricks import as_strided
    else:
        from numpy.lib.stride_tricks import as_strided
    return as_strided(x, shape, tuple(x.itemsize * stride for stride in strides))

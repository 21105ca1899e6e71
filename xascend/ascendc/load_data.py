"""LoadData, 2-D: fractals of 512 bytes, one after another, from L1 to L0A or L0B."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from xascend._ranges import require_flag, require_in_range
from xascend.ascendc._cube import (
    ALIGN_L0AB,
    ALIGN_L1,
    require_addr_mode,
    require_aligned,
    require_bits,
    require_pair,
    require_params,
)
from xascend.ascendc._fractals import SQUARES, move_blocks, source_blocks

__all__ = ["LoadData2dParams", "load_data"]


@dataclass(frozen=True, slots=True)
class LoadData2dParams:
    """Parameters of `load_data`, in the order of the vendor's constructor and with its defaults.

    Parameters
    ----------
    start_index : int, default 0
        The fractal of `src` that the first repeat reads, 0 to 65535.
    repeat_times : int, default 0
        Number of fractals to move, 0 to 255. 0 does nothing.
    src_stride : int, default 0
        Distance from one source fractal to the next, start to start, in fractals, 0 to 65535. 0 reads the same
        fractal each time.
    sid : int, default 0
        Reserved by the vendor, 0 to 255; without effect.
    dst_gap : int, default 0
        Fractals between the end of one destination fractal and the start of the next, 0 to 65535.
    if_transpose : bool, default False
        Transpose each 16 x 16 fractal; 16-bit types only.
    addr_mode : int, default 0
        0: the sources go up from `start_index`. 1: they go down. The destinations always go up.

    Raises
    ------
    TypeError
        If `if_transpose` is not a bool or a number not an int.
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.LoadData2dParams(repeat_times=2, src_stride=1, dst_gap=1)
    LoadData2dParams(start_index=0, repeat_times=2, src_stride=1, sid=0, dst_gap=1, if_transpose=False,
                     addr_mode=0)
    """

    start_index: int = 0
    repeat_times: int = 0
    src_stride: int = 0
    sid: int = 0
    dst_gap: int = 0
    if_transpose: bool = False
    addr_mode: int = 0

    def __post_init__(self) -> None:
        require_in_range("start_index", self.start_index, 0, 65535)
        require_in_range("repeat_times", self.repeat_times, 0, 255)
        require_in_range("src_stride", self.src_stride, 0, 65535)
        require_in_range("sid", self.sid, 0, 255)
        require_in_range("dst_gap", self.dst_gap, 0, 65535)
        require_flag("if_transpose", self.if_transpose)
        require_addr_mode(self.addr_mode)


def load_data(dst: Any, src: Any, params: LoadData2dParams) -> Any:
    """Move fractals of 512 bytes from L1 to L0A or L0B, in place, as the 2-D form of LoadData does.

    Repeat ``r`` copies fractal ``start_index + r * src_stride`` of `src` (``start_index - r * src_stride`` with
    `addr_mode` 1) to fractal ``r * (1 + dst_gap)`` of `dst`; with `if_transpose`, the 16 x 16 matrix in it is
    transposed. A fractal is 16 rows of 32 bytes. Bits are moved, so NaN payloads stay; the gaps of `dst` keep
    what they held.

    Parameters
    ----------
    dst : array, shape ``(elements,)``
        Contiguous stretch of L0A or L0B that begins at a multiple of 512 bytes of it; written in place.
    src : array, shape ``(elements,)``
        Contiguous stretch of L1 that begins at a multiple of 32 bytes of it, of the library, device and dtype of
        `dst`; no memory in common with `dst` up to the last fractal that is written, gaps included. 4-bit types
        may come one value in a byte (``ml_dtypes.int4``) or packed (``uint8``).
    params : LoadData2dParams
        Fractals to read, and where to put them.

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
        If an argument is no array of NumPy, PyTorch or CuPy, the two do not match, the elements do not have 4, 8,
        16 or 32 bits, or a transpose is asked for with other than 16 bits.
    ValueError
        If an array is not 1-D and contiguous, is too short, not aligned, read-only or requires grad, the sources
        go below the start of `src`, or the two share memory. Nothing is written then.

    Notes
    -----
    Source: "LoadData", 2-D matrices, Ascend C API.

    - The newest edition lets only the path from global memory to L1 set `addr_mode` to 1; an older one has no
      such restriction, and here it goes down wherever it is set.
    - On the 950 series `dst_gap` is without effect, and the training series has no `dst_gap`. Here it holds.
    - From global memory the document asks for no alignment of `src`, and to L1 for 32 bytes of `dst`. A buffer
      does not say here what memory it stands for, so the rules for L1 to L0A and L0B hold.

    Examples
    --------
    A half-precision matrix of 32 x 32 in L1, ``(k1, m, k0)``, becomes ``(m1, k1, 16, k0)`` in L0A:

    >>> import numpy as np
    >>> from xascend import ascendc
    >>> matrix = np.arange(1024, dtype=np.float16).reshape(32, 32)
    >>> l1 = matrix.reshape(32, 2, 16).transpose(1, 0, 2).reshape(-1)
    >>> l0a = np.zeros(1024, np.float16)
    >>> column = ascendc.LoadData2dParams(repeat_times=2, src_stride=1, dst_gap=1)
    >>> for k1 in range(2):
    ...     _ = ascendc.load_data(l0a[256 * k1 :], l1[512 * k1 :], column)
    >>> bool((l0a.reshape(2, 2, 16, 16)[1, 0] == matrix[16:, :16]).all())
    True
    """
    require_params(params, LoadData2dParams)
    repeats = int(params.repeat_times)
    if repeats == 0:
        warnings.warn("`repeat_times` is 0: nothing is moved", UserWarning, stacklevel=2)
        return dst
    dtype = require_pair(dst, src)
    require_bits("load_data", dtype, (4, 8, 16, 32))
    if params.if_transpose and dtype.bits != 16:
        raise TypeError(f"`if_transpose` is for 16-bit types only, the arrays are {dtype.name}")
    require_aligned("dst", dst, ALIGN_L0AB)
    require_aligned("src", src, ALIGN_L1)
    sources = source_blocks(int(params.start_index), repeats, int(params.src_stride), int(params.addr_mode))
    targets = (1 + int(params.dst_gap)) * np.arange(repeats)[:, np.newaxis]
    move_blocks(dst, src, dtype, sources, targets, SQUARES[16] if params.if_transpose else None)
    return dst

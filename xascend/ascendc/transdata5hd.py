"""TransDataTo5HD: 16 data blocks in, transposed, 16 data blocks out, and on to the next repeat."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any

from xascend import _cuda
from xascend._dtypes import resolve_dtype
from xascend._ranges import require_flag, require_in_range
from xascend.ascendc import _native
from xascend.ascendc._kernels import transpose_on_device
from xascend.ascendc._moves import gather, scatter
from xascend.ascendc._operands import read_operands
from xascend.ascendc._plan import make_plan
from xascend.ascendc.products import Product, require_support

__all__ = ["TransDataTo5HDParams", "trans_data_to_5hd"]


@dataclass(frozen=True, slots=True)
class TransDataTo5HDParams:
    """Parameters of `trans_data_to_5hd`, in the vendor's order and with its defaults.

    Parameters
    ----------
    dst_high_half, src_high_half : bool, default False
        8-bit types only: write the high 16 bytes of each destination block, read those of each source block.
    repeat_times : int, default 1
        Number of repeats, 0 to 255. 0 does nothing.
    dst_rep_stride, src_rep_stride : int, default 0
        Distance between the same block of two repeats, in data blocks of 32 bytes, 0 to 65535. With exactly
        one repeat the instruction starts one stride *after* the given addresses.

    Raises
    ------
    TypeError
        If a flag is not a bool or a number not an int.
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.TransDataTo5HDParams(repeat_times=16, dst_rep_stride=16, src_rep_stride=1)
    TransDataTo5HDParams(dst_high_half=False, src_high_half=False, repeat_times=16, dst_rep_stride=16,
                         src_rep_stride=1)
    """

    dst_high_half: bool = False
    src_high_half: bool = False
    repeat_times: int = 1
    dst_rep_stride: int = 0
    src_rep_stride: int = 0

    def __post_init__(self) -> None:
        require_flag("dst_high_half", self.dst_high_half)
        require_flag("src_high_half", self.src_high_half)
        require_in_range("repeat_times", self.repeat_times, 0, 255)
        require_in_range("dst_rep_stride", self.dst_rep_stride, 0, 65535)
        require_in_range("src_rep_stride", self.src_rep_stride, 0, 65535)


def trans_data_to_5hd(
    dst_list: Any,
    src_list: Any,
    params: TransDataTo5HDParams,
    *,
    ub: Any = None,
    product: Product | None = None,
) -> Any:
    """Transpose 16 data blocks of 32 bytes into 16 others, repeat by repeat, as TransDataTo5HD does, in place.

    In one repeat, with ``src[j]`` and ``dst[i]`` the blocks that the lists point at:

    - 16-bit types: ``dst[i][j] = src[j][i]``, a 16 x 16 transpose.
    - 32-bit types: ``dst[2 * i][j] = src[j][i]`` and ``dst[2 * i + 1][j] = src[8 + j][i]`` for `i` and `j` below
      8: the 16 x 8 sources become 8 rows of 16, each row in a pair of destinations.
    - 8-bit types: ``dst[i][16 * dst_high_half + j] = src[j][16 * src_high_half + i]``, a 16 x 16 transpose of
      one half of each block; the other half of the destinations keeps what it held.

    Repeat ``r`` does the same `r` strides further on: all sources by `src_rep_stride` blocks, all destinations
    by `dst_rep_stride`. **With exactly one repeat the instruction starts one stride after the given addresses**;
    set the strides to 0 to start at them. Bits are moved, so NaN payloads stay.

    Parameters
    ----------
    dst_list, src_list : list of 16 arrays, list of 16 int, or uint64 array of shape ``(16,)``
        Where the blocks of the first repeat begin, both lists in the same form, as in the vendor's three
        prototypes:

        - views ``buf[a:]``: 1-D and contiguous, all of one library, device and dtype. A view reaches to its own
          end, so cut it to the end of the buffer to let repeats walk on. Views of different buffers may be
          mixed; each buffer is a memory of its own.
        - byte addresses inside `ub`, as ints.
        - byte addresses inside `ub`, as arrays of the library and device of `ub`. They are checked on the
          host, so on a GPU the call waits to read these 32 numbers.

        Every block begins at a multiple of 32 bytes, counted from the first byte of `ub`, or of the array that
        owns the memory of a view (PyTorch: of the storage; CuPy: of the allocation).
    params : TransDataTo5HDParams
        Halves, number of repeats, strides.
    ub : array, shape ``(elements,)``, optional
        With addresses only: the Unified Buffer, contiguous, of the element type; written in place.
    product : Product, optional
        Hold the call against the support table of this product. None accepts every 8-, 16- and 32-bit type.

    Returns
    -------
    list of arrays, or array
        `dst_list` with views, `ub` with addresses.

    Warns
    -----
    UserWarning
        If `params.repeat_times` is 0: nothing happens, and no other argument is looked at.

    Raises
    ------
    TypeError
        If the lists are of no form above or of two, an array is not of NumPy, PyTorch or CuPy (other libraries
        do not say how views lie in a buffer), dtypes differ or are refused, or a high half is asked for with a
        type of 16 or 32 bits.
    ValueError
        If a list has not 16 entries, an array is not 1-D and contiguous, is read-only or requires grad, an
        address is not aligned, a repeat leaves the memory, or destinations overlap against the rule. Nothing is
        written then.

    Notes
    -----
    Sources: "TransDataTo5HD", Ascend C API, in two editions, and the section on address overlap of its general
    constraints.

    - Overlap: inside one repeat sources and destinations are the same 16 blocks or have none in common, the 16
      destinations are distinct, and no repeat writes a block that a later one reads. Destinations of different
      repeats may coincide, then the last repeat stays; sources may coincide freely. Blocks count whole, also
      where only a half is used.
    - `repeat_times` 0 is called a no-operation by the newer edition only; the older merely allows the value.
    - NCHW to NC1HWC0: both editions give C0 = 16 for 16- and 32-bit types and 32 for 8-bit types, while the
      vendor's page on fractal formats has C0 = 32 bytes, that is 8 for 32-bit types. The addresses decide here;
      `nchw_to_nc1hwc0_with_instruction` offers both.
    - The newer edition's recipe, ``dst_rep_stride=16``, holds for 16- and 32-bit types; with 8-bit types a block
      of 32 pixels fills 32 destination blocks, so that the stride is 32.
    - In the examples of both editions the comments on the two half flags are exchanged; their results agree
      with the parameter table, which holds here.
    - On a GPU one kernel carries out all repeats, on the current stream, for arrays of CuPy, and of PyTorch where
      CuPy is installed too.
    - Products: the editions differ in the rows they have, not in their contents: see `support_table`.

    Examples
    --------
    One 16 x 16 block of half precision:

    >>> import numpy as np
    >>> from xascend import ascendc
    >>> src = np.arange(256, dtype=np.float16)
    >>> dst = np.zeros_like(src)
    >>> views = [dst[16 * i :] for i in range(16)], [src[16 * i :] for i in range(16)]
    >>> _ = ascendc.trans_data_to_5hd(*views, ascendc.TransDataTo5HDParams())
    >>> bool((dst.reshape(16, 16) == src.reshape(16, 16).T).all())
    True

    A 4096 x 4096 matrix transposed block by block. 16 rows of the source are 16 addresses, one row apart.
    Repeats walk along the rows, a block of 16 columns each: the source moves one block on, the destination 16
    rows of 256 blocks down. A row has 256 blocks and an instruction has at most 255 repeats, so that 16 rows
    take two instructions of 128.

    >>> n, blocks, half_row = 4096, 4096 // 16, 128
    >>> x = np.random.default_rng(0).integers(0, 1 << 16, (n, n), dtype=np.uint16)
    >>> y = np.empty_like(x)
    >>> source, result = x.reshape(-1), y.reshape(-1)
    >>> walk = ascendc.TransDataTo5HDParams(repeat_times=half_row, dst_rep_stride=16 * blocks, src_rep_stride=1)
    >>> for row in range(0, n, 16):
    ...     for column in (0, 16 * half_row):
    ...         src_list = [source[(row + j) * n + column :] for j in range(16)]
    ...         dst_list = [result[(column + i) * n + row :] for i in range(16)]
    ...         _ = ascendc.trans_data_to_5hd(dst_list, src_list, walk)
    >>> bool((y == x.T).all())
    True
    """
    if not isinstance(params, TransDataTo5HDParams):
        raise TypeError(f"`params` must be a TransDataTo5HDParams, got {type(params).__name__}")
    result = dst_list if ub is None else ub
    if params.repeat_times == 0:
        warnings.warn("`repeat_times` is 0: nothing is moved", UserWarning, stacklevel=2)
        return result
    if _is_done_plainly(dst_list, src_list, params, ub, product):
        return result
    operands = read_operands(dst_list, src_list, ub)
    _, x = next(iter(operands.src_anchors.values()))
    itemsize = _require_element(x, params, product)
    halves: tuple[tuple[int, ...], tuple[int, ...]] = ((0, 1), (0, 1))
    if itemsize == 1:
        halves = ((int(params.dst_high_half),), (int(params.src_high_half),))
    strides = (int(params.dst_rep_stride), int(params.src_rep_stride))
    plan = make_plan(operands.places, int(params.repeat_times), strides, halves)
    if _cuda.takes(x):
        transpose_on_device(plan, operands, itemsize)
        return result
    if _native.trans_data_to_5hd(plan, operands.dst_anchors, operands.src_anchors, itemsize):
        return result

    # With the sources as 16 rows, repeat after repeat along each, every rule of the documents is one transpose:
    # a column, one element from each source, is a destination of 8- and 16-bit types, or two of 32-bit types.
    rows = gather(plan, operands.src_anchors)
    scatter(plan, operands.dst_anchors, rows.T.reshape(-1))
    return result


def _is_done_plainly(
    dst_list: Any, src_list: Any, params: TransDataTo5HDParams, ub: Any, product: Product | None
) -> bool:
    """Carry out a call that the native library sees to be right, or do nothing and return False."""
    call = _native.read_plain(dst_list, src_list, ub)
    if call is None:
        return False
    try:
        itemsize = _require_element(call.x, params, product)
    except (TypeError, ValueError):
        return False  # is told after what is wrong with the arrays themselves
    return call.carry_out(params, itemsize)


def _require_element(x: Any, params: TransDataTo5HDParams, product: Product | None) -> int:
    name, itemsize = movable_element(x.dtype)
    require_support("trans_data_to_5hd", product, name)
    if itemsize != 1 and (params.dst_high_half or params.src_high_half):
        raise TypeError(
            f"`dst_high_half` and `src_high_half` choose a half for 8-bit types only, the arrays are {name}"
        )
    return itemsize


@functools.lru_cache(maxsize=64)
def movable_element(dtype: Any) -> tuple[str, int]:
    """Return name and bytes of an element type that the instruction moves; TypeError for every other."""
    found = resolve_dtype(dtype)
    if found.bits not in (8, 16, 32):
        raise TypeError(f"trans_data_to_5hd moves elements of 8, 16 or 32 bits, got {found.name}")
    return found.name, found.itemsize

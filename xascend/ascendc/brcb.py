"""Brcb: each of 8 elements fills a data block, repeat after repeat."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from xascend import _cuda
from xascend._dispatch import array_dtype, array_namespace
from xascend._ranges import require_in_range
from xascend.ascendc import _native
from xascend.ascendc._blocks import scatter_map
from xascend.ascendc._kernels import broadcast_on_device
from xascend.ascendc._memory import (
    BLOCK,
    HALF,
    Places,
    half_block_window,
    integer_dtype,
    locate,
    require_apart,
    require_buffer,
    require_like,
    require_writable,
)
from xascend.ascendc._moves import write_half_blocks
from xascend.ascendc.products import Product, require_support

__all__ = ["BrcbRepeatParams", "brcb"]

_PER_REPEAT = 8  # elements read, and data blocks filled


@dataclass(frozen=True, slots=True)
class BrcbRepeatParams:
    """Where `brcb` puts its data blocks, in the vendor's order and with its defaults.

    The vendor's structure has more fields (``blockNumber``, ``src1BlkStride``, ``src1RepStride``,
    ``repeatStrideMode``, ``strideSizeMode``), which its document calls reserved and without effect.

    Parameters
    ----------
    dst_blk_stride : int, default 1
        Distance between the blocks of one repeat, in data blocks of 32 bytes, 0 to 65535. 0 counts as 1,
        with a warning from `brcb`.
    dst_rep_stride : int, default 8
        Distance between the first blocks of two repeats, in data blocks of 32 bytes, 0 to 65535. 0 is taken
        as it is: every repeat fills the same blocks and the last one stays.

    Raises
    ------
    TypeError
        If a number is not an int.
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.BrcbRepeatParams(2, 16)
    BrcbRepeatParams(dst_blk_stride=2, dst_rep_stride=16)
    """

    dst_blk_stride: int = 1
    dst_rep_stride: int = 8

    def __post_init__(self) -> None:
        require_in_range("dst_blk_stride", self.dst_blk_stride, 0, 65535)
        require_in_range("dst_rep_stride", self.dst_rep_stride, 0, 65535)


_CONSECUTIVE = BrcbRepeatParams()


def brcb(
    dst: Any,
    src: Any,
    repeat_times: int,
    params: BrcbRepeatParams = _CONSECUTIVE,
    *,
    product: Product | None = None,
) -> Any:
    """Fill data blocks of `dst` with one element of `src` each, in place, as the instruction Brcb does.

    Repeat ``i`` takes the 8 elements ``src[8 * i + j]`` and fills with each the 32-byte block that begins
    ``32 * (i * dst_rep_stride + j * dst_blk_stride)`` bytes into `dst`: 32 copies of an 8-bit element, 16, 8 or
    4 of a 16-, 32- or 64-bit one. Bits are copied, so NaN payloads stay. Bytes between the blocks keep what they
    held; where blocks coincide the last one stays.

    Parameters
    ----------
    dst : array, shape ``(elements,)``
        Contiguous stretch of a buffer that begins at a multiple of 32 bytes of it; written in place.
    src : array, shape ``(8 * repeat_times or more,)``
        Elements, of the library, device and dtype of `dst`; begins at a multiple of 32 bytes. It must not
        share memory with the blocks that are filled.
    repeat_times : int
        Number of repeats, 0 to 255. 0 does nothing and warns.
    params : BrcbRepeatParams
        Strides of the destination.
    product : Product, optional
        Hold the call against the support table of this product. None accepts every 8- to 64-bit type.

    Returns
    -------
    array
        `dst`.

    Warns
    -----
    UserWarning
        If `repeat_times` is 0, or `params.dst_blk_stride` is 0.

    Raises
    ------
    TypeError
        If an argument is no array of NumPy, PyTorch or CuPy, the two do not match, or the dtype is refused.
    ValueError
        If an array is not 1-D and contiguous, is too short, not aligned, read-only or requires grad, or the two
        overlap. Nothing is written then.

    Notes
    -----
    Source: "Brcb", Ascend C API. Where the document leaves a choice:

    - `dst_blk_stride` 0: its pseudo-code replaces 0 by 1, its constraints call 0 unsupported and possibly
      undefined. Here 0 counts as 1, with a warning.
    - `repeat_times` 0: no operation on Atlas A2 and A3; nothing is promised for the other products.
    - A `dst_rep_stride` that makes repeats coincide is not mentioned; the last repeat stays.
    - The Atlas inference series needs 8 KiB of temporary buffer, which has no counterpart here.

    On a GPU one kernel carries out all repeats, on the current stream, for arrays of CuPy, and of PyTorch where CuPy
    is installed too.

    Examples
    --------
    >>> import numpy as np
    >>> from xascend import ascendc
    >>> src = np.arange(1, 17, dtype=np.float16)
    >>> dst = np.zeros(256, np.float16)
    >>> blocks = ascendc.brcb(dst, src, 2, ascendc.BrcbRepeatParams(1, 8)).reshape(16, 16)
    >>> blocks[0, :3], blocks[15, :3]
    (array([1., 1., 1.], dtype=float16), array([16., 16., 16.], dtype=float16))
    """
    require_in_range("repeat_times", repeat_times, 0, 255)
    if not isinstance(params, BrcbRepeatParams):
        raise TypeError(f"`params` must be a BrcbRepeatParams, got {type(params).__name__}")
    repeats = int(repeat_times)
    if repeats == 0:
        warnings.warn("`repeat_times` is 0: nothing is written", UserWarning, stacklevel=2)
        return dst
    block_stride, repeat_stride = int(params.dst_blk_stride), int(params.dst_rep_stride)
    if block_stride and type(dst) is type(src) is np.ndarray and dst.dtype is src.dtype:
        itemsize = _require_element(dst, product)
        if _native.brcb_if_plain(dst, src, repeats, (block_stride, repeat_stride), itemsize):
            return dst
    itemsize = _require_arrays(dst, src, product)
    blocks = tuple(entry * (block_stride or 1) for entry in range(_PER_REPEAT))
    reach = BLOCK * (blocks[-1] + 1 + (repeats - 1) * repeat_stride)
    count = _PER_REPEAT * repeats
    _require_room(dst, src, reach, count)
    _require_placed(locate([dst, src]), blocks, repeats, repeat_stride, count * itemsize)
    if block_stride == 0:
        warnings.warn(
            "`dst_blk_stride` is 0, of which the Brcb document says that it is not supported and may be undefined "
            "behaviour; it counts as 1 here, as in the document's pseudo-code",
            UserWarning,
            stacklevel=2,
        )
    if _cuda.takes(src):
        broadcast_on_device(dst, src, blocks, repeats, repeat_stride)
        return dst
    if _native.brcb(dst, src, repeats, (block_stride or 1, repeat_stride), itemsize):
        return dst
    elements = src[:count].view(integer_dtype(src)).reshape(count, 1)
    copies = array_namespace("src", src).broadcast_to(elements, (count, BLOCK // itemsize)).reshape(-1)
    window = half_block_window(dst, 0, reach // HALF)
    target = scatter_map(blocks, repeats, repeat_stride, (0, 1))
    write_half_blocks(window, target, copies)
    return dst


def _require_arrays(dst: Any, src: Any, product: Product | None) -> int:
    require_buffer("dst", dst)
    require_buffer("src", src)
    require_like("dst", dst, "src", src)
    require_writable("dst", dst)
    return _require_element(dst, product)


def _require_element(dst: Any, product: Product | None) -> int:
    dtype = array_dtype(dst, "dst")
    if dtype.bits not in (8, 16, 32, 64):
        raise TypeError(f"brcb copies elements of 8, 16, 32 or 64 bits, got {dtype.name}")
    require_support("brcb", product, dtype.name)
    return dtype.itemsize


def _require_room(dst: Any, src: Any, dst_bytes: int, src_elements: int) -> None:
    if src.shape[0] < src_elements:
        raise ValueError(f"`src` must have at least 8 * repeat_times = {src_elements} elements, got {src.shape[0]}")
    if dst.nbytes < dst_bytes:
        raise ValueError(f"`dst` must reach to the last block, {dst_bytes} bytes, got {dst.nbytes}")


def _require_placed(places: Places, blocks: tuple[int, ...], repeats: int, stride: int, src_bytes: int) -> None:
    """Check the alignment of both arrays, and that no filled block holds a source element."""
    for name, start in zip(("dst", "src"), places.starts, strict=True):
        if start % BLOCK:
            raise ValueError(
                f"`{name}` must start at a multiple of {BLOCK} bytes, got byte {start} "
                "(counted from the start of the array that owns the memory)"
            )
    require_apart(places)
    if places.owners[0] != places.owners[1]:
        return
    filled = np.add.outer(stride * np.arange(repeats), np.array(blocks)).reshape(-1)
    first = (places.starts[1] - places.starts[0]) // BLOCK  # block of `dst` at which `src` begins
    shared = filled[(filled >= first) & (filled < first - (-src_bytes // BLOCK))]
    if shared.size:
        raise ValueError(f"`src` must not lie in the blocks that are filled, but block {shared[0]} of `dst` holds it")

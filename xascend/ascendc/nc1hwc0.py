"""NCHW to NC1HWC0 and back, carried out by TransDataTo5HD alone, as an operator's kernel does it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import array_api_compat as compat

from xascend._dispatch import array_namespace
from xascend._outputs import empty_beside
from xascend._plan import as_size
from xascend._resolve import check_padded
from xascend.ascendc._memory import BLOCK, HALF, require_addressable
from xascend.ascendc._operands import ENTRIES
from xascend.ascendc.products import Product, require_support
from xascend.ascendc.transdata5hd import TransDataTo5HDParams, movable_element, trans_data_to_5hd

__all__ = ["nc1hwc0_to_nchw_with_instruction", "nchw_to_nc1hwc0_with_instruction"]

# Bytes of an element: the C0 that its blocks can have, the default first. 32-bit: 16 in the TransDataTo5HD
# document, 8 in the vendor's page on fractal formats.
_C0 = {1: (32,), 2: (16,), 4: (16, 8)}

_MOST_REPEATS = 255


class _Tile(NamedTuple):
    """What lies in the Unified Buffer at a time: the same pixels as channel planes, and behind them in blocks.

    planes: (channels, pixels). blocks: (channels / c0, pixels, c0).
    """

    itemsize: int
    c0: int
    channels: int
    pixels: int

    def plane(self, channel: int, pixel: int) -> int:
        """Return the byte address of one element in its channel plane."""
        return (channel * self.pixels + pixel) * self.itemsize

    def block(self, channel: int, pixel: int) -> int:
        """Return the byte address of one element in its block of C0 channels."""
        c1, c = divmod(channel, self.c0)
        return ((self.channels + c1 * self.c0) * self.pixels + pixel * self.c0 + c) * self.itemsize


class _Call(NamedTuple):
    """The arguments of one instruction."""

    dst_list: list[int]
    src_list: list[int]
    params: TransDataTo5HDParams


@functools.lru_cache(maxsize=64)
def _instructions(tile: _Tile, to_blocks: bool) -> tuple[_Call, ...]:
    """Return the instructions that fill the blocks of a tile from its planes, or the planes from the blocks.

    The 16 sources are 16 channels on the way to blocks and 16 pixels on the way back, the destinations are
    `side` pixels or channels. 8-bit types need four instructions, one for each pair of halves; the halves stay
    while the repeats run, as the document advises. 32-bit types with C0 = 16 need two on the way back.
    """
    side, step = _side(tile.itemsize), _pixels_per_repeat(tile.itemsize, to_blocks)
    repeats = tile.pixels // step
    plane_stride = step * tile.itemsize // BLOCK
    block_stride = step * tile.c0 * tile.itemsize // BLOCK
    parts = range(0, ENTRIES, side)  # a destination of 32-bit types has room for 8 sources, so they come in pairs
    calls = []
    if to_blocks:
        for channel in range(0, tile.channels, ENTRIES):
            for pixel in range(0, step, side):
                src = [tile.plane(channel + j, pixel) for j in range(ENTRIES)]
                dst = [tile.block(channel + part, pixel + i) for i in range(side) for part in parts]
                calls.append(_call(dst, src, repeats, block_stride, plane_stride))
    else:
        for channel in range(0, tile.channels, side):
            for pixel in range(0, step, ENTRIES):
                src = [tile.block(channel, pixel + j) for j in range(ENTRIES)]
                dst = [tile.plane(channel + i, pixel + part) for i in range(side) for part in parts]
                calls.append(_call(dst, src, repeats, plane_stride, block_stride))
    return tuple(calls)


def _side(itemsize: int) -> int:
    """Return how many destinations, or pairs of them, one repeat fills: the elements of a source block, at most 16."""
    return min(ENTRIES, BLOCK // itemsize)


def _pixels_per_repeat(itemsize: int, to_blocks: bool) -> int:
    # To blocks, a repeat takes one data block of each plane; back, 16 pixels or a data block of a plane.
    return BLOCK // itemsize if to_blocks else max(ENTRIES, BLOCK // itemsize)


def _call(dst: list[int], src: list[int], repeats: int, dst_stride: int, src_stride: int) -> _Call:
    params = TransDataTo5HDParams(
        dst_high_half=dst[0] % BLOCK >= HALF,
        src_high_half=src[0] % BLOCK >= HALF,
        repeat_times=repeats,
        # A lone repeat would start one stride too late.
        dst_rep_stride=dst_stride if repeats > 1 else 0,
        src_rep_stride=src_stride if repeats > 1 else 0,
    )
    return _Call([a // BLOCK * BLOCK for a in dst], [a // BLOCK * BLOCK for a in src], params)


def nchw_to_nc1hwc0_with_instruction(x: Any, /, *, c0: int | None = None, product: Product | None = None) -> Any:
    """Convert NCHW to NC1HWC0 through a Unified Buffer, every element moved by `trans_data_to_5hd`.

    The result is that of `xascend.nchw_to_nc1hwc0`, which is the faster way to it; this one is for holding a
    kernel's instruction sequence against. Pixels and channels are padded in the buffer: planes to whole data
    blocks, so that a tail of ``H * W`` costs one more repeat, and missing channels with zeros.

    Parameters
    ----------
    x : array, shape ``(N, C, H, W)``
        Of NumPy, PyTorch or CuPy, with 8-, 16- or 32-bit elements.
    c0 : int, optional
        Channels in a block: 32 for 8-bit types, 16 for 16-bit types, 16 (default) or 8 for 32-bit types.
    product : Product, optional
        Hold the instructions against the support table of this product.

    Returns
    -------
    array, shape ``(N, C1, H, W, C0)``
        ``C1 = ceil(C / C0)``; same library, device and dtype.

    Raises
    ------
    TypeError
        If `x` is no array of these libraries, or its dtype is refused.
    ValueError
        If `x` is not 4-D or requires grad, or `c0` is none that the instruction makes with this type.

    Notes
    -----
    Source: the section on NCHW to NC1HWC0 in "TransDataTo5HD", Ascend C API. Its C0 of 32-bit types is 16; the
    vendor's page on fractal formats has 8 (32 bytes), for which each destination of a pair goes to another C1.

    Examples
    --------
    >>> import numpy as np
    >>> from xascend import ascendc
    >>> x = np.arange(2 * 32 * 16 * 16, dtype=np.int16).reshape(2, 32, 16, 16)
    >>> y = ascendc.nchw_to_nc1hwc0_with_instruction(x)
    >>> y.shape
    (2, 2, 16, 16, 16)
    >>> bool((y == x.reshape(2, 2, 16, 16, 16).transpose(0, 1, 3, 4, 2)).all())
    True
    """
    xp, itemsize = _require_tensor(x, 4, "(N, C, H, W)", product)
    c0 = _require_c0("c0", _C0[itemsize][0] if c0 is None else c0, itemsize)
    n, c, h, w = x.shape
    c1 = -(-c // c0)
    planes = xp.reshape(x, (n, c, h * w))
    out = empty_beside(x, xp, (n, c1, h * w, c0), x.dtype)
    group = max(ENTRIES, c0) // c0  # blocks of one tile: 32-bit types with C0 = 8 fill two at a time
    for start, pixels, tile in _tiles(h * w, itemsize, c0, group * c0, to_blocks=True):
        ub, ub_planes, ub_blocks = _unified_buffer(xp, x, tile)
        for image in range(n):
            for block in range(0, c1, group):
                part = planes[image, block * c0 : block * c0 + tile.channels, start : start + pixels]
                ub_planes[: part.shape[0], :pixels] = part
                ub_planes[part.shape[0] :] = 0
                _run(tile, ub, product, to_blocks=True)
                made = out[image, block : block + group, start : start + pixels]
                made[...] = ub_blocks[: made.shape[0], :pixels]
    return xp.reshape(out, (n, c1, h, w, c0))


def nc1hwc0_to_nchw_with_instruction(x: Any, /, channels: int | None = None, *, product: Product | None = None) -> Any:
    """Convert NC1HWC0 to NCHW through a Unified Buffer, every element moved by `trans_data_to_5hd`.

    The inverse of `nchw_to_nc1hwc0_with_instruction`: the sources of an instruction are 16 pixels, its
    destinations channel planes. 32-bit types with C0 = 16 take two instructions, for 8 channels each.

    Parameters
    ----------
    x : array, shape ``(N, C1, H, W, C0)``
        Of NumPy, PyTorch or CuPy, with 8-, 16- or 32-bit elements and a C0 that
        `nchw_to_nc1hwc0_with_instruction` can make.
    channels : int, optional
        Channels to keep, in ``((C1 - 1) * C0, C1 * C0]``; default all, padding included.
    product : Product, optional
        Hold the instructions against the support table of this product.

    Returns
    -------
    array, shape ``(N, channels, H, W)``
        Same library, device and dtype.

    Raises
    ------
    TypeError
        If `x` is no array of these libraries, or its dtype is refused.
    ValueError
        If `x` is not 5-D or requires grad, its C0 is none that the instruction makes, or `channels` is no integer in
        its interval.

    Notes
    -----
    "TransDataTo5HD", Ascend C API, describes the way to NC1HWC0 only; this way back follows from its rules for
    one repeat.

    Examples
    --------
    >>> import numpy as np
    >>> from xascend import ascendc
    >>> x = np.arange(20 * 3 * 3, dtype=np.float32).reshape(1, 20, 3, 3)
    >>> y = ascendc.nchw_to_nc1hwc0_with_instruction(x)
    >>> bool((ascendc.nc1hwc0_to_nchw_with_instruction(y, 20) == x).all())
    True
    """
    xp, itemsize = _require_tensor(x, 5, "(N, C1, H, W, C0)", product)
    n, c1, h, w, c0 = x.shape
    _require_c0("x", c0, itemsize)
    channels = _require_channels(channels, c1, c0)
    blocks = xp.reshape(x, (n, c1, h * w, c0))
    out = empty_beside(x, xp, (n, channels, h * w), x.dtype)
    for start, pixels, tile in _tiles(h * w, itemsize, c0, c0, to_blocks=False):
        ub, ub_planes, ub_blocks = _unified_buffer(xp, x, tile)
        for image in range(n):
            for block in range(c1):
                ub_blocks[0, :pixels] = blocks[image, block, start : start + pixels]
                _run(tile, ub, product, to_blocks=False)
                made = out[image, block * c0 : (block + 1) * c0, start : start + pixels]
                made[...] = ub_planes[: made.shape[0], :pixels]
    return xp.reshape(out, (n, channels, h, w))


def _tiles(pixels: int, itemsize: int, c0: int, channels: int, *, to_blocks: bool) -> Iterator[tuple[int, int, _Tile]]:
    """Cut the pixels of a plane into what one instruction can walk; the last tile is padded to whole repeats."""
    step = _pixels_per_repeat(itemsize, to_blocks)
    for start in range(0, pixels, _MOST_REPEATS * step):
        count = min(_MOST_REPEATS * step, pixels - start)
        yield start, count, _Tile(itemsize, c0, channels, -(-count // step) * step)


def _unified_buffer(xp: Any, x: Any, tile: _Tile) -> tuple[Any, Any, Any]:
    """Return a buffer for one tile, and the views of its planes and of its blocks."""
    half = tile.channels * tile.pixels
    ub = xp.zeros((2 * half,), dtype=x.dtype, device=compat.device(x))
    planes = ub[:half].reshape(tile.channels, tile.pixels)
    return ub, planes, ub[half:].reshape(tile.channels // tile.c0, tile.pixels, tile.c0)


def _run(tile: _Tile, ub: Any, product: Product | None, *, to_blocks: bool) -> None:
    for dst_list, src_list, params in _instructions(tile, to_blocks):
        trans_data_to_5hd(dst_list, src_list, params, ub=ub, product=product)


def _require_tensor(x: Any, axes: int, shape: str, product: Product | None) -> tuple[Any, int]:
    require_addressable("x", x)
    name, itemsize = movable_element(x.dtype)
    require_support("trans_data_to_5hd", product, name)
    if x.ndim != axes:
        raise ValueError(f"`x` must have {axes} axes, {shape}, got shape {tuple(x.shape)}")
    return array_namespace("x", x), itemsize


def _require_c0(name: str, c0: Any, itemsize: int) -> int:
    size = as_size(name, c0)
    if size not in _C0[itemsize]:
        accepted = " or ".join(map(str, _C0[itemsize]))
        raise ValueError(f"`{name}`: the instruction makes C0 = {accepted} of {8 * itemsize}-bit types, got {size}")
    return size


def _require_channels(channels: Any, c1: int, c0: int) -> int:
    if channels is None:
        return c1 * c0
    kept = as_size("channels", channels, 0)
    check_padded("`channels`", kept, c1 * c0, c0)
    return kept

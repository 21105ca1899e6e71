"""Which half data blocks an instruction touches: integers only, built once per parameter set and kept.

Blocks are counted from the first one, so that one map serves every call of a loop that moves along a tensor.
An entry is one of the addresses of an instruction: 16 in TransDataTo5HD, 8 in Brcb.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockMap", "gather_map", "overlap_fault", "scatter_map"]

_MAPS_KEPT = 128  # a map of 255 repeats has 64 KiB, so each cache stays under 16 MiB


class BlockMap(NamedTuple):
    """Half blocks to read or to write, and the order in which values go there: None means as they come."""

    where: NDArray[np.intp] | slice
    order: NDArray[np.intp] | None


def _half_blocks(blocks: tuple[int, ...], repeats: int, stride: int, halves: tuple[int, ...]) -> NDArray[np.intp]:
    entry = np.array(blocks, np.intp)[:, np.newaxis, np.newaxis]
    repeat = np.arange(repeats, dtype=np.intp)[:, np.newaxis]
    return 2 * (entry + stride * repeat) + np.array(halves, np.intp)


@functools.lru_cache(maxsize=_MAPS_KEPT)
def gather_map(blocks: tuple[int, ...], repeats: int, stride: int, halves: tuple[int, ...]) -> BlockMap:
    """Return the half blocks that are read, in the order (entry, repeat, half)."""
    return BlockMap(_as_slice(_half_blocks(blocks, repeats, stride, halves).reshape(-1)), None)


@functools.lru_cache(maxsize=_MAPS_KEPT)
def scatter_map(blocks: tuple[int, ...], repeats: int, stride: int, halves: tuple[int, ...]) -> BlockMap:
    """Return the half blocks that are written, each once; values come in the order (repeat, entry, half).

    Where repeats write the same half block the last one wins. Only its value is kept, because libraries do
    not promise an order of writes to one place.
    """
    index = _half_blocks(blocks, repeats, stride, halves).swapaxes(0, 1).reshape(-1)
    written, from_the_end = np.unique(index[::-1], return_index=True)
    if written.size < index.size:
        return BlockMap(written, index.size - 1 - from_the_end)
    return BlockMap(_as_slice(index), None)


def _as_slice(index: NDArray[np.intp]) -> NDArray[np.intp] | slice:
    """Return consecutive numbers, as the recipes of the documents give them, as a slice: no copy to read them."""
    if (np.diff(index) == 1).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


@functools.lru_cache(maxsize=_MAPS_KEPT)
def overlap_fault(
    dst: tuple[int, ...], src: tuple[int, ...], repeats: int, dst_stride: int, src_stride: int
) -> str | None:
    """Say how destinations and sources overlap against the rule, or return None.

    Both lists number the blocks of one memory; `src` is empty where the two sides share none. Whole blocks
    count, also where only one half is used.
    """
    if len(set(dst)) < len(dst):
        twin = next(entry for entry, block in enumerate(dst) if block in dst[:entry])
        return f"destinations {dst.index(dst[twin])} and {twin} of one repeat are the same block"
    if not src:
        return None
    step = np.arange(repeats)[:, np.newaxis]
    written = np.array(dst) + dst_stride * step
    read = np.array(src) + src_stride * step
    meet = (written[:, :, np.newaxis] == read[:, np.newaxis, :]).any(axis=(1, 2))
    same = (np.sort(written, axis=1) == np.sort(read, axis=1)).all(axis=1)
    torn = np.flatnonzero(meet & ~same)
    if torn.size:
        return f"in repeat {torn[0]} sources and destinations share some blocks but not all"
    return _late_read(written, read)


def _late_read(written: NDArray[Any], read: NDArray[Any]) -> str | None:
    """Say which repeat reads what an earlier one has written; the arrays are (repeats, entries)."""
    written_blocks, first = np.unique(written, return_index=True)
    read_blocks, from_the_end = np.unique(read[::-1], return_index=True)
    _, at_written, at_read = np.intersect1d(written_blocks, read_blocks, assume_unique=True, return_indices=True)
    writer = first[at_written] // written.shape[1]
    reader = len(read) - 1 - from_the_end[at_read] // read.shape[1]
    late = np.flatnonzero(writer < reader)
    if late.size:
        return f"repeat {reader[late[0]]} reads a block that repeat {writer[late[0]]} has written"
    return None

"""Which half data blocks an instruction touches: integers only, built once per parameter set and kept.

Blocks are counted from the first one, so that one map serves every call of a loop that moves along a tensor.
An entry is one of the addresses of an instruction: 16 in TransDataTo5HD, 8 in Brcb.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BlockMap", "first_kept", "gather_map", "must_keep_order", "overlap_fault", "scatter_map"]

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


@functools.lru_cache(maxsize=_MAPS_KEPT)
def first_kept(blocks: tuple[int, ...], repeats: int, stride: int) -> tuple[int, ...]:
    """Return for each destination the first repeat of those whose block no later repeat writes."""
    if stride == 0:
        return (repeats - 1,) * len(blocks)
    kept = []
    for block in blocks:
        # another destination, or this one, comes here after so many repeats
        after = [(block - other) // stride for other in blocks if block > other and (block - other) % stride == 0]
        kept.append(max(0, repeats - min(after, default=repeats)))
    return tuple(kept)


@functools.lru_cache(maxsize=_MAPS_KEPT)
def must_keep_order(dst: tuple[int, ...], src: tuple[int, ...], repeats: int, dst_stride: int, src_stride: int) -> bool:
    """Say whether a repeat writes a block that an earlier one reads, so that they must not change places.

    Both lists number the blocks of one memory; `src` is empty where the two sides share none.
    """
    return bool(src) and _earlier(_walk(src, repeats, src_stride), _walk(dst, repeats, dst_stride)) is not None


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
    written, read = _walk(dst, repeats, dst_stride), _walk(src, repeats, src_stride)
    meet = (written[:, :, np.newaxis] == read[:, np.newaxis, :]).any(axis=(1, 2))
    same = (np.sort(written, axis=1) == np.sort(read, axis=1)).all(axis=1)
    torn = np.flatnonzero(meet & ~same)
    if torn.size:
        return f"in repeat {torn[0]} sources and destinations share some blocks but not all"
    late = _earlier(written, read)
    if late is not None:
        return f"repeat {late[1]} reads a block that repeat {late[0]} has written"
    return None


def _walk(blocks: tuple[int, ...], repeats: int, stride: int) -> NDArray[np.intp]:
    """Return the blocks of every entry in every repeat, as (repeats, entries)."""
    return np.array(blocks, np.intp) + stride * np.arange(repeats, dtype=np.intp)[:, np.newaxis]


def _earlier(one: NDArray[np.intp], other: NDArray[np.intp]) -> tuple[int, int] | None:
    """Return a repeat of `one` and a later one of `other` that touch one block, or None; both come from `_walk`."""
    blocks_of_one, first = np.unique(one, return_index=True)
    blocks_of_other, from_the_end = np.unique(other[::-1], return_index=True)
    _, in_one, in_other = np.intersect1d(blocks_of_one, blocks_of_other, assume_unique=True, return_indices=True)
    early = first[in_one] // one.shape[1]
    late = len(other) - 1 - from_the_end[in_other] // other.shape[1]
    found = np.flatnonzero(early < late)
    return (int(early[found[0]]), int(late[found[0]])) if found.size else None

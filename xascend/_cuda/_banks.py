"""How well the threads of a warp share the banks of shared memory, counted as the hardware does it."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._cuda._jobs import SECTOR, Job, Swizzle, Walk

__all__ = ["choose_layout", "count_ways"]

Ints = npt.NDArray[np.int64]
_BANKS = 32
_BANK = 4  # bytes
_WARP = 32
_SAMPLES = (4, 64)  # warps that stand for all of a tile: for a first look, and where that is promising
_NEAR = (16, 8, 4, 2)  # words of a row that follow each other before the next row's
_PADS = (*range(9), 16)  # words between rows
_PADS_SWIZZLED = (0, 2, 4, 8, 16)
_TURN = 128  # bytes of one turn around the banks
_GOOD = 1.05  # ways from which on looking further is not worth it
_SMALL = 512  # words of a tile for which it is not either


def choose_layout(job: Job, row: int, load_word: int, store_word: int, most: int, /) -> Job | None:
    """Return `job` with places in shared memory, and an order of its stores, that keep threads off each other's banks.

    `row` is the bytes of a row of the source; `job` has the strides inside rows already. None where its tiles need
    more than `most` bytes.
    """
    layout = _search(_shape_of(job), row, load_word, store_word, most)
    return layout and _lay_out(job, row, load_word, *layout)


@functools.lru_cache(maxsize=256)
def _search(job: Job, row: int, load_word: int, store_word: int, most: int) -> tuple[int, int, Swizzle] | None:
    slots = job.store.slots
    plain = _lay_out(job, row, load_word, slots, 0, Swizzle())
    if job.store.total <= _SMALL and plain.shared <= most:
        return slots, 0, Swizzle()
    pieces = (slots, *(near for near in _NEAR if near < slots and near * store_word >= SECTOR))
    best, fewest = None, math.inf
    for near, (swizzle, pad) in itertools.product(pieces, _arrangements(load_word)):
        candidate = _lay_out(job, row, load_word, near, pad, swizzle)
        if candidate.shared > most:
            continue
        ways = 0.0
        for sample in _SAMPLES:
            if ways < fewest:
                ways = count_ways(candidate, load_word, store_word, sample)
        if ways < fewest:
            best, fewest = (near, pad, swizzle), ways
        if fewest < _GOOD:
            break
    return best


@functools.cache
def _arrangements(load_word: int) -> tuple[tuple[Swizzle, int], ...]:
    """Return swizzles with words between rows, those first that suit most tiles.

    The number of a turn around the banks changes the lowest bits of a word's number in it; where a turn holds rows of
    several indices, a bit further up, which tells apart the indices of the next dimension, changes the bit above.
    """
    shift = (_TURN // load_word).bit_length() - 1
    near = [(shift, mask) for mask in (load_word * ((1 << bits) - 1) for bits in range(2, 6)) if mask < _TURN]
    swizzles = [Swizzle(*some) for some in near]
    swizzles += [
        Swizzle(*some, some[0] + more, some[1] + load_word)
        for some in near
        for more in (1, 2, 3)
        if some[1] + load_word < _TURN
    ]
    return (
        *((Swizzle(), pad) for pad in _PADS),
        *((swizzle, pad) for swizzle in swizzles for pad in _PADS_SWIZZLED),
    )


def _shape_of(job: Job) -> Job:
    """Return a job with the same tiles: all that matters for the banks, so that many plans share one search."""
    dims = tuple(
        replace(dim, src=dim.src % SECTOR, dst=dim.dst % SECTOR, count=dim.extent, valid=dim.extent) for dim in job.dims
    )
    return replace(job, src=job.src % SECTOR, dst=job.dst % SECTOR, dims=dims)


def _lay_out(job: Job, row: int, load_word: int, near: int, pad: int, swizzle: Swizzle) -> Job:
    """Return `job` with its rows one after the other, `pad` words apart."""
    dims = list(job.dims)
    pitch = (-(-row // load_word) + pad) * load_word
    for d in job.load.order:
        dims[d] = replace(dims[d], shared=pitch)
        pitch *= dims[d].extent
    store = replace(job.store, near=near)
    return replace(job, dims=tuple(dims), store=store, swizzle=swizzle, shared=-(-pitch // _TURN) * _TURN)


def count_ways(job: Job, load_word: int, store_word: int, sample: int, /) -> float:
    """Return the average number of passes that an access to shared memory takes, 1 being the fewest.

    Counted for `sample` warps of a whole tile of a source and a destination that begin at a sector.
    """
    element = job.kernel.word
    requests = (
        (_stores(job, load_word, sample), load_word if job.in_words else element, job.load.total),
        (_loads(job, store_word, sample), element, job.store.total * (store_word // element)),
    )
    passes = fewest = 0.0
    for addresses, nbytes, count in requests:
        passes += _passes(addresses, nbytes) * count * _groups(nbytes)
        fewest += count * _groups(nbytes)
    return passes / fewest


def _groups(nbytes: int) -> int:
    """Return in how many groups of lanes a request of a warp is served."""
    return max(1, nbytes // _BANK)


def _slots(job: Job, walk: Walk, sample: int) -> tuple[Ints, Ints, dict[str, Ints]]:
    """Return (warps, lanes) of row and word numbers, and what `find_row` says of the rows."""
    warps = max(1, walk.total // _WARP)
    first = np.unique(np.linspace(0, warps - 1, sample).astype(np.int64)) * _WARP
    slot = first[:, None] + np.arange(_WARP)
    piece = slot // walk.near
    turn = piece // walk.rows
    number = piece - turn * walk.rows
    word = turn * walk.near + slot - piece * walk.near
    row = {name: np.zeros_like(slot) for name in ("src", "dst", "shared")}
    for d in walk.order:
        dim = job.dims[d]
        number, i = np.divmod(number, dim.extent)
        for name, at in row.items():
            at += i * getattr(dim, name)
    return slot, word, row


def _stores(job: Job, load_word: int, sample: int) -> Ints:
    """Return addresses in shared memory to which lanes store, -1 where they do not, as (requests, lanes)."""
    slot, word, row = _slots(job, job.load, sample)
    offset = word * load_word - (job.src + row["src"]) % SECTOR
    nbytes = job.load.unit * job.dims[job.load.outer].extent * job.kernel.word
    element = load_word if job.in_words else job.kernel.word
    offset = offset[:, None, :] + np.arange(0, load_word, element)[None, :, None]
    at = _swizzled(row["shared"][:, None, :] + offset, job.swizzle)
    inside = (slot < job.load.total)[:, None, :] & (offset >= 0) & (offset < nbytes)
    return np.where(inside, at, -1).reshape(-1, _WARP)


def _loads(job: Job, store_word: int, sample: int) -> Ints:
    """Return addresses in shared memory from which lanes load, one request per element of a word."""
    slot, word, row = _slots(job, job.store, sample)
    element = job.kernel.word
    elements = store_word // element
    inner_dim, outer_dim = job.dims[job.store.inner], job.dims[job.store.outer]
    x = word * elements
    if job.kernel.entry == "tiles_shifted":
        x -= (job.dst + row["dst"]) % SECTOR // element
    x = x[:, None, :] + np.arange(elements)[None, :, None]
    outer, inner = np.divmod(x, inner_dim.extent)
    at = row["shared"][:, None, :] + inner * inner_dim.shared + outer * outer_dim.shared
    at = _swizzled(at, job.swizzle)
    length = job.store.unit * outer_dim.extent
    at = np.where((slot < job.store.total)[:, None, :] & (x >= 0) & (x < length), at, -1)
    return at.reshape(-1, _WARP)


def _swizzled(at: Ints, by: Swizzle) -> Ints:
    swizzled: Ints = at ^ (at >> by.near_shift & by.near_mask) ^ (at >> by.far_shift & by.far_mask)
    return swizzled


def _passes(at: Ints, nbytes: int) -> float:
    """Return the mean number of passes of requests of `nbytes` bytes per lane."""
    groups = _groups(nbytes)
    at = at.reshape(-1, _WARP // groups)
    words = np.where(at[..., None] < 0, -1, at[..., None] // _BANK + np.arange(groups)).reshape(len(at), -1)
    words = words[(words >= 0).any(axis=1)]
    if not len(words):
        return 1.0
    words.sort(axis=1)
    is_new = np.ones_like(words, np.bool_)
    is_new[:, 1:] = words[:, 1:] != words[:, :-1]
    is_new &= words >= 0
    request, _ = np.nonzero(is_new)
    per_bank: npt.NDArray[Any] = np.bincount(request * _BANKS + words[is_new] % _BANKS, minlength=len(words) * _BANKS)
    return float(per_bank.reshape(-1, _BANKS).max(axis=1).mean())

"""How well the threads of a warp share the banks of shared memory, counted as the hardware does it."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._cuda._jobs import SECTOR, Job, Walk

__all__ = ["choose_layout", "count_ways"]

Ints = npt.NDArray[np.int64]
_BANKS = 32
_BANK = 4  # bytes
_WARP = 32
_SAMPLE = 4  # warps that stand for all of a tile
_NEAR = (16, 8, 4, 2)  # words of a row that follow each other before the next row's
_PADS = (*range(9), 16)  # words between rows
_SKEWS = (0, 4, 8, 16)  # bytes between turns around the banks
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
def _search(job: Job, row: int, load_word: int, store_word: int, most: int) -> tuple[int, int, int] | None:
    slots = job.store.slots
    plain = _lay_out(job, row, load_word, slots, 0, 0)
    if job.store.total <= _SMALL and plain.shared <= most:
        return slots, 0, 0
    pieces = (slots, *(near for near in _NEAR if near < slots and near * store_word >= SECTOR))
    skews = [skew for skew in _SKEWS if skew % load_word == 0]
    best, fewest = None, math.inf
    for near, skew, pad in itertools.product(pieces, skews, _PADS):
        candidate = _lay_out(job, row, load_word, near, pad, skew)
        if candidate.shared > most:
            continue
        ways = count_ways(candidate, load_word, store_word)
        if ways < fewest:
            best, fewest = (near, pad, skew), ways
        if ways < _GOOD:
            break
    return best


def _shape_of(job: Job) -> Job:
    """Return a job with the same tiles: all that matters for the banks, so that many plans share one search."""
    dims = tuple(
        replace(dim, src=dim.src % SECTOR, dst=dim.dst % SECTOR, count=dim.extent, valid=dim.extent) for dim in job.dims
    )
    return replace(job, src=job.src % SECTOR, dst=job.dst % SECTOR, dims=dims)


def _lay_out(job: Job, row: int, load_word: int, near: int, pad: int, skew: int) -> Job:
    """Return `job` with its rows one after the other, `pad` words apart."""
    dims = list(job.dims)
    pitch = (-(-row // load_word) + pad) * load_word
    for d in job.load.order:
        dims[d] = replace(dims[d], shared=pitch)
        pitch *= dims[d].extent
    store = replace(job.store, near=near)
    return replace(job, dims=tuple(dims), store=store, skew=skew, shared=pitch + (pitch >> 7) * skew)


def count_ways(job: Job, load_word: int, store_word: int, /) -> float:
    """Return the average number of passes that an access to shared memory takes, 1 being the fewest.

    Counted for a whole tile of a source and a destination that begin at a sector.
    """
    element = job.kernel.word
    requests = (
        (_stores(job, load_word), load_word if job.in_words else element, job.load.total),
        (_loads(job, store_word), element, job.store.total * (store_word // element)),
    )
    passes = fewest = 0.0
    for addresses, nbytes, count in requests:
        passes += _passes(addresses, nbytes) * count * _groups(nbytes)
        fewest += count * _groups(nbytes)
    return passes / fewest


def _groups(nbytes: int) -> int:
    """Return in how many groups of lanes a request of a warp is served."""
    return max(1, nbytes // _BANK)


def _slots(job: Job, walk: Walk) -> tuple[Ints, Ints, dict[str, Ints]]:
    """Return (warps, lanes) of row and word numbers, and what `find_row` says of the rows."""
    warps = max(1, walk.total // _WARP)
    first = np.unique(np.linspace(0, warps - 1, _SAMPLE).astype(np.int64)) * _WARP
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


def _stores(job: Job, load_word: int) -> Ints:
    """Return addresses in shared memory to which lanes store, -1 where they do not, as (requests, lanes)."""
    slot, word, row = _slots(job, job.load)
    offset = word * load_word - (job.src + row["src"]) % SECTOR
    nbytes = job.load.unit * job.dims[job.load.outer].extent * job.kernel.word
    element = load_word if job.in_words else job.kernel.word
    offset = offset[:, None, :] + np.arange(0, load_word, element)[None, :, None]
    at = _skewed(row["shared"][:, None, :] + offset, job.skew)
    inside = (slot < job.load.total)[:, None, :] & (offset >= 0) & (offset < nbytes)
    return np.where(inside, at, -1).reshape(-1, _WARP)


def _loads(job: Job, store_word: int) -> Ints:
    """Return addresses in shared memory from which lanes load, one request per element of a word."""
    slot, word, row = _slots(job, job.store)
    element = job.kernel.word
    elements = store_word // element
    inner_dim, outer_dim = job.dims[job.store.inner], job.dims[job.store.outer]
    x = word * elements
    if job.kernel.entry == "tiles_shifted":
        x -= (job.dst + row["dst"]) % SECTOR // element
    x = x[:, None, :] + np.arange(elements)[None, :, None]
    outer, inner = np.divmod(x, inner_dim.extent)
    at = row["shared"][:, None, :] + inner * inner_dim.shared + outer * outer_dim.shared
    at = _skewed(at, job.skew)
    length = job.store.unit * outer_dim.extent
    at = np.where((slot < job.store.total)[:, None, :] & (x >= 0) & (x < length), at, -1)
    return at.reshape(-1, _WARP)


def _skewed(at: Ints, skew: int) -> Ints:
    turns: Ints = (at >> 7) * skew
    return at + turns


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

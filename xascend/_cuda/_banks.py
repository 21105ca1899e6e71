"""How well the threads of a warp share the banks of shared memory, counted as the hardware does it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xascend._cuda._jobs import SECTOR, Job, Swizzle, Walk

__all__ = ["choose_layout", "count_ways"]

Ints = npt.NDArray[np.int64]
_BANKS = 32
_BANK = 4  # bytes
_WARP = 32
_GOLDEN = 0.6180339887498949  # of which the multiples spread evenly between the integers
_SAMPLES = (4, 32)  # warps that stand for all of a tile: for a first look, and where that is promising
_NEAR = (16, 2, 8, 4)  # words of a row that follow each other before the next row's
_PADS = (*range(9), 16)  # words between rows
_PADS_SWIZZLED = (0, 2, 4, 8, 16)
_PADS_SCATTERED = range(8)  # vectors between rows
_VECTOR = 16  # bytes
_TURN = 128  # bytes of one turn around the banks
_GOOD = 1.05  # ways from which on looking further is not worth it
_SMALL = 512  # words of all tiles together for which it is not either


class _Layout(NamedTuple):
    """Which job it is, the order of its stores, words or vectors between rows, and how places are swizzled."""

    number: int
    near: int
    pad: int
    swizzle: Swizzle = Swizzle()


def choose_layout(jobs: tuple[Job, ...], most: int, /) -> Job | None:
    """Return one of `jobs` with places in shared memory that keep threads off each other's banks.

    They do the same and have the strides inside rows already. The order of the stores is chosen too. None where tiles
    need more than `most` bytes.
    """
    plain, first = _Layout(0, jobs[0].store.slots, 0), jobs[0]
    is_small = first.store.total * first.tiles <= _SMALL and _lay_out(first, plain).shared <= most
    layout = plain if is_small else _search(tuple(map(_shape_of, jobs)), most)
    return layout and _lay_out(jobs[layout.number], layout)


@functools.lru_cache(maxsize=256)
def _search(jobs: tuple[Job, ...], most: int) -> _Layout | None:
    best, fewest = None, math.inf
    for layout in _layouts(jobs):
        candidate = _lay_out(jobs[layout.number], layout)
        if candidate.shared > most:
            continue
        ways = 0.0
        for sample in _SAMPLES:
            if ways < fewest:
                ways = count_ways(candidate, sample)
        if ways < fewest:
            best, fewest = layout, ways
        if fewest < _GOOD:
            break
    return best


def _layouts(jobs: tuple[Job, ...]) -> Iterator[_Layout]:
    """Yield what is worth a look, that first which suits most tiles."""
    for near in (None, *_NEAR):
        for number, job in enumerate(jobs):
            slots = job.store.slots
            if near is None:
                yield from (_Layout(number, slots, *some) for some in _arrangements(job))
            elif near < slots and near * _words(job)[1] >= SECTOR and job.kernel.entry != "scatter":
                yield from (_Layout(number, near, *some) for some in _arrangements(job))


def _arrangements(job: Job) -> Iterator[tuple[int, Swizzle]]:
    """Yield words, or vectors, between rows with swizzles.

    With these, the low bits of the number of a turn around the banks change those of the numbers of the words in it.
    """
    if job.kernel.entry == "scatter":
        yield from ((pad, Swizzle()) for pad in _PADS_SCATTERED)
        return
    load_word, _ = _words(job)
    shift = (_TURN // load_word).bit_length() - 1
    masks = [mask for mask in (load_word * ((1 << bits) - 1) for bits in range(2, 6)) if mask < _TURN]
    yield from ((pad, Swizzle()) for pad in _PADS)
    yield from ((pad, Swizzle(shift, mask)) for mask in masks for pad in _PADS_SWIZZLED)


def _words(job: Job) -> tuple[int, int]:
    """Return the bytes that are loaded and stored at once."""
    load_word = max(_BANK, job.kernel.word)
    return load_word, load_word if job.kernel.entry == "tiles_shifted" else _VECTOR


def _shape_of(job: Job) -> Job:
    """Return a job with the same tiles: all that matters for the banks, so that many plans share one search."""
    dims = tuple(
        replace(dim, src=dim.src % SECTOR, dst=dim.dst % SECTOR, count=dim.extent, valid=dim.extent) for dim in job.dims
    )
    return replace(job, src=job.src % SECTOR, dst=job.dst % SECTOR, dims=dims)


def _lay_out(job: Job, layout: _Layout) -> Job:
    """Return `job` with its rows one after the other."""
    if job.kernel.entry == "scatter":
        return _lay_out_scattered(job, layout.pad)
    dims, walk = list(job.dims), job.load
    load_word, _ = _words(job)
    row = walk.unit * dims[walk.outer].extent * job.kernel.word
    pitch = (-(-row // load_word) + layout.pad) * load_word
    for d in walk.order:
        dims[d] = replace(dims[d], shared=pitch)
        pitch *= dims[d].extent
    store = replace(job.store, near=layout.near)
    shared = -(-pitch // _TURN) * _TURN
    return replace(job, dims=tuple(dims), store=store, swizzle=layout.swizzle, shared=shared)


def _lay_out_scattered(job: Job, pad: int) -> Job:
    """Return a job that scatters with rows of the destination one after the other, as they lie there."""
    dims, walk, element = list(job.dims), job.store, job.kernel.word
    dims[walk.outer] = replace(dims[walk.outer], shared=walk.unit * element)
    dims[walk.inner] = replace(dims[walk.inner], shared=element)
    pitch = walk.slots * _VECTOR + pad * _VECTOR
    for d in walk.order:
        dims[d] = replace(dims[d], shared=pitch)
        pitch *= dims[d].extent
    return replace(job, dims=tuple(dims), shared=pitch)


def count_ways(job: Job, sample: int, /) -> float:
    """Return the average number of passes that an access to shared memory takes, 1 being the fewest.

    Counted for `sample` warps of a whole tile of a source and a destination that begin at a sector.
    """
    element, (load_word, store_word) = job.kernel.word, _words(job)
    loaded, stored = job.load.total, job.store.total
    if job.kernel.entry == "scatter":
        stores = _element_places(job, job.load, load_word, sample), element, loaded * (load_word // element)
        loads = _vector_places(job, sample), _VECTOR, stored
    else:
        stores = _word_places(job, load_word, sample), load_word if job.in_words else element, loaded
        loads = _element_places(job, job.store, store_word, sample), element, stored * (store_word // element)
    passes = fewest = 0.0
    for places, nbytes, count in (stores, loads):
        passes += _passes(places, nbytes) * count * _groups(nbytes)
        fewest += count * _groups(nbytes)
    return passes / fewest


def _groups(nbytes: int) -> int:
    """Return in how many groups of lanes a request of a warp is served."""
    return max(1, nbytes // _BANK)


def _slots(job: Job, walk: Walk, sample: int) -> tuple[Ints, Ints, dict[str, Ints]]:
    """Return (warps, lanes) of row and word numbers, and what `find_row` says of the rows."""
    warps = max(1, walk.total // _WARP)
    if warps <= sample:
        chosen = np.arange(warps)
    else:  # at no regular distance, which could be that of what repeats in a tile
        chosen = np.unique((np.arange(sample) * _GOLDEN % 1 * warps).astype(np.int64))
    first = chosen * _WARP
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


def _word_places(job: Job, load_word: int, sample: int) -> Ints:
    """Return where lanes put words of the source's rows, -1 where they do not, as (requests, lanes)."""
    slot, word, row = _slots(job, job.load, sample)
    offset = word * load_word - (job.src + row["src"]) % SECTOR
    nbytes = job.load.unit * job.dims[job.load.outer].extent * job.kernel.word
    element = load_word if job.in_words else job.kernel.word
    offset = offset[:, None, :] + np.arange(0, load_word, element)[None, :, None]
    at = _swizzled(row["shared"][:, None, :] + offset, job.swizzle)
    inside = (slot < job.load.total)[:, None, :] & (offset >= 0) & (offset < nbytes)
    return np.where(inside, at, -1).reshape(-1, _WARP)


def _element_places(job: Job, walk: Walk, nbytes: int, sample: int) -> Ints:
    """Return where the elements of words of `nbytes` bytes lie, one request per element of a word."""
    slot, word, row = _slots(job, walk, sample)
    element = job.kernel.word
    elements = nbytes // element
    inner_dim, outer_dim = job.dims[walk.inner], job.dims[walk.outer]
    x = word * elements
    if job.kernel.entry == "tiles_shifted":
        x -= (job.dst + row["dst"]) % SECTOR // element
    x = x[:, None, :] + np.arange(elements)[None, :, None]
    outer, inner = np.divmod(x, inner_dim.extent)
    at = row["shared"][:, None, :] + inner * inner_dim.shared + outer * outer_dim.shared
    at = _swizzled(at, job.swizzle)
    length = walk.unit * outer_dim.extent
    at = np.where((slot < walk.total)[:, None, :] & (x >= 0) & (x < length), at, -1)
    return at.reshape(-1, _WARP)


def _vector_places(job: Job, sample: int) -> Ints:
    """Return from where lanes take 16 bytes of the destination's rows."""
    slot, word, row = _slots(job, job.store, sample)
    return np.where(slot < job.store.total, row["shared"] + word * _VECTOR, -1)


def _swizzled(at: Ints, by: Swizzle) -> Ints:
    swizzled: Ints = at ^ (at >> by.shift & by.mask)
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

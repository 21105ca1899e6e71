"""Jobs for the tiles kernels: through shared memory, where the fastest axes differ or rows are not aligned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xascend._cuda._banks import choose_layout
from xascend._cuda._jobs import SECTOR, Dim, Job, Kernel, Walk
from xascend._cuda._moves import Axis, Move

__all__ = ["make_tile_job"]

_MOST = 40 << 10  # bytes of shared memory; every device gives 48 KiB to a block
_TILE = 1 << 14  # bytes; several blocks share a multiprocessor
_TILE_UNALIGNED = 1 << 15  # longer rows, because both ends of each touch a sector in part
_ROWS = (64, 128, 256, 512, 1024, 2048, 4096)  # bytes that rows grow to, step by step
_VECTOR = 16
_DST_AXES = 2  # along which a row of the destination may run
_SCATTERED_AXES = 2  # along which one of the source may, whose elements are scattered


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a move: its axes from the fastest on, their strides, and what divides its first address."""

    axes: tuple[Axis, ...]
    strides: Mapping[Axis, int]
    alignment: int
    most: int  # axes that a row may run along
    is_source: bool

    def ends_row(self, axis: Axis, extent: int) -> bool:
        """Say whether a row cannot go on beyond this axis."""
        return extent < axis.count or (self.is_source and axis.valid < axis.count)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a tile on one side: the axes they run along, innermost first, and what divides all their starts."""

    axes: tuple[Axis, ...]
    nbytes: int
    alignment: int


def make_tile_job(move: Move, element: int, src_align: int, dst_align: int, /) -> Job:
    """Return the job that carries out `move`, whose elements are `element` bytes and naturally aligned."""
    by_src = tuple(sorted(move.axes, key=lambda axis: abs(axis.src)))
    by_dst = tuple(reversed(move.axes))
    src = _Side(by_src, {a: a.src for a in by_src}, math.gcd(SECTOR, src_align, move.src), len(by_src), True)
    dst = _Side(by_dst, {a: a.dst for a in by_dst}, math.gcd(SECTOR, dst_align, move.dst), _DST_AXES, False)
    strides = (s for axis in move.axes for s in (axis.src, axis.dst) if abs(s) >= SECTOR)
    budget = _TILE if math.gcd(src.alignment, dst.alignment, *strides) == SECTOR else _TILE_UNALIGNED
    while (job := _job(move, element, src, dst, budget)) is None:
        budget //= 2  # elements that lie apart take a word each
    return job


def _job(move: Move, element: int, src: _Side, dst: _Side, budget: int) -> Job | None:
    """Return the job with tiles of at most `budget` bytes, or None where these do not fit into shared memory."""
    extents = _extents(src, dst, element, budget // element)
    read, written = _rows(src, extents, element), _rows(dst, extents, element)
    load_word = max(4, element)
    is_whole = math.gcd(written.alignment, written.nbytes, _whole(written, extents)) % _VECTOR == 0
    store_word = _VECTOR if is_whole else load_word
    axes = tuple(dict.fromkeys((*dst.axes, *read.axes, *written.axes)))
    stores = _walk(axes, dst, extents, written, store_word, is_whole=is_whole)

    def with_loads(rows: _Rows) -> Job:
        dims = (Dim(a.src, a.dst, a.count, a.valid, extents[a], a.src if a in rows.axes else 0) for a in axes)
        return Job(
            Kernel("tiles.cu", "tiles_aligned" if is_whole else "tiles_shifted", element),
            move.src,
            move.dst,
            tuple(dims),
            _walk(axes, src, extents, rows, load_word, is_whole=False),
            stores,
            in_words=math.gcd(rows.alignment, rows.nbytes) % load_word == 0,
        )

    scattered = None
    if is_whole and all(axis.valid == axis.count for axis in axes):
        short = _rows(replace(src, most=_SCATTERED_AXES), extents, element)
        if short.alignment == SECTOR and math.gcd(short.nbytes, _whole(short, extents)) % load_word == 0:
            scattered = with_loads(short)
    return choose_layout(with_loads(read), scattered, read.nbytes, (load_word, store_word), _MOST)


def _extents(src: _Side, dst: _Side, element: int, most: int) -> dict[Axis, int]:
    """Return how many indices of each axis a tile takes: rows on both sides grow in turn until it is full."""
    extents = dict.fromkeys(src.axes, 1)
    for target in _ROWS:
        for side in (src, dst):
            _grow(side, extents, element, target, most)
    fastest = (src.axes[0], dst.axes[0])
    even = {
        axis: _even(axis.count, extent, SECTOR // element if axis in fastest else 1) for axis, extent in extents.items()
    }
    return even | {_alone(element): 1}


def _grow(side: _Side, extents: dict[Axis, int], element: int, target: int, most: int) -> None:
    """Let a tile take more along the rows of one side, to `target` bytes and at most `most` elements in all."""
    row = element
    for axis in side.axes[: side.most]:
        if row != element and side.strides[axis] != row:
            return
        extent = max(extents[axis], -(-target // row))
        if row == element:
            extent = -(-extent * element // SECTOR) * SECTOR // element
        extent = min(axis.count, extent)
        if math.prod(extents.values()) // extents[axis] * extent > most:
            return
        extents[axis] = extent
        row *= extent
        if side.ends_row(axis, extent):
            return


def _even(count: int, extent: int, multiple: int) -> int:
    """Return the extent that makes as many tiles, of one size as far as may be."""
    even = -(-count // -(-count // extent))
    return min(count, -(-even // multiple) * multiple)


def _alone(element: int) -> Axis:
    """Return the axis of rows of one element, where elements lie apart."""
    return Axis(1, 1, element, element)


def _rows(side: _Side, extents: Mapping[Axis, int], element: int) -> _Rows:
    used: list[Axis] = []
    row = element
    for axis in side.axes[: side.most]:
        if side.strides[axis] != row or extents[axis] == 1:
            break
        used.append(axis)
        row *= extents[axis]
        if side.ends_row(axis, extents[axis]):
            break
    steps = [side.strides[axis] for axis in side.axes if axis not in used]
    steps += [side.strides[axis] * extents[axis] for axis in used if extents[axis] < axis.count]
    return _Rows(tuple(used) or (_alone(element),), row, math.gcd(side.alignment, *steps))


def _whole(rows: _Rows, extents: Mapping[Axis, int]) -> int:
    """Return the bytes of a row that goes on to the end of its last axis."""
    last = rows.axes[-1]
    return rows.nbytes // extents[last] * last.count


def _walk(
    axes: Sequence[Axis], side: _Side, extents: Mapping[Axis, int], rows: _Rows, word: int, *, is_whole: bool
) -> Walk:
    """Return how threads walk over the rows; unless these are `is_whole` words, words are counted from a sector on."""
    slots = -(-rows.nbytes // word) if is_whole else -(-rows.nbytes // SECTOR) * SECTOR // word
    if not is_whole and rows.alignment < SECTOR:
        slots += SECTOR // word
    across = [axis for axis in side.axes if axis not in rows.axes and extents[axis] > 1]
    return Walk(
        slots=slots,
        rows=math.prod(extents[axis] for axis in across),
        near=slots,
        order=tuple(axes.index(axis) for axis in across),
        inner=axes.index(rows.axes[0]),
        outer=axes.index(rows.axes[-1]),
        unit=math.prod(extents[axis] for axis in rows.axes[:-1]),
    )

"""Jobs for the tiles kernels: through shared memory, where the fastest axes differ or rows are not aligned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xascend._cuda._banks import choose_layout
from xascend._cuda._jobs import MAX_DIMS, SECTOR, Dim, Job, Kernel, Walk
from xascend._cuda._moves import Axis, Move

__all__ = ["make_tile_job"]

_MOST = 40 << 10  # bytes of shared memory; every device gives 48 KiB to a block
_TILE = 1 << 14  # bytes; several blocks share a multiprocessor
_TILE_UNALIGNED = 1 << 15  # longer rows, because both ends of each touch a sector in part
_ROWS = (64, 128, 256, 512, 1024, 2048, 4096)  # bytes that rows grow to, step by step
_VECTOR = 16
_DST_AXES = 2  # along which a row of the destination may run
_LONG_ROW = 512  # bytes from which on the sectors at both ends of a row hardly matter
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
    alignments = math.gcd(SECTOR, src_align, move.src), math.gcd(SECTOR, dst_align, move.dst)
    strides = (s for axis in move.axes for s in (axis.src, axis.dst) if abs(s) >= SECTOR)
    budget = _TILE if math.gcd(*alignments, *strides) == SECTOR else _TILE_UNALIGNED
    while (job := choose_layout(_alternatives(move, element, alignments, budget), _MOST)) is None:
        budget //= 2  # elements that lie apart take a word each
    return job


def _alternatives(move: Move, element: int, alignments: tuple[int, int], budget: int) -> tuple[Job, ...]:
    """Return jobs that do the same by tiles of at most `budget` bytes, those first that suit most moves."""
    src, dst = _sides(move, alignments, _DST_AXES)
    extents = _extents(src, dst, element, budget // element)
    jobs = _jobs(move, element, src, dst, extents)
    short = _with_short_rows(move, element, extents)
    if short and jobs[0].kernel.entry == "tiles_aligned":
        shorter, most, others = short
        jobs[1:1] = _jobs(shorter, element, *_sides(shorter, alignments, most), others)
    return tuple(jobs)


def _with_short_rows(
    move: Move, element: int, extents: Mapping[Axis, int]
) -> tuple[Move, int, Mapping[Axis, int]] | None:
    """Return the same move with rows of the destination that are no longer than whole sectors, their axes, and extents.

    Threads then go through several rows at once, of which the elements lie in other banks. None where rows are short.
    """
    if len(move.axes) < 2:
        return None
    *outermost, outer, inner = move.axes
    row = inner.count * element
    is_long = inner.dst == element and outer.dst == row and extents[inner] == inner.count
    if not is_long or inner.valid != inner.count or outer.valid != outer.count:
        return None
    together = SECTOR // math.gcd(SECTOR, row)
    if together == 1:
        return move, 1, extents
    is_even = math.gcd(outer.count, extents[outer]) % together == 0
    if not is_even or extents[outer] == together or len(move.axes) > MAX_DIMS - 3:
        return None
    many = Axis(outer.count // together, outer.count // together, outer.src * together, outer.dst * together)
    few = replace(outer, count=together, valid=together)
    shorter = replace(move, axes=(*outermost, many, few, inner))
    return shorter, _DST_AXES, {**extents, many: extents[outer] // together, few: together}


def _sides(move: Move, alignments: tuple[int, int], dst_axes: int) -> tuple[_Side, _Side]:
    """Return the source and the destination, whose rows run along at most `dst_axes` axes."""
    by_src = tuple(sorted(move.axes, key=lambda axis: abs(axis.src)))
    by_dst = tuple(reversed(move.axes))
    return (
        _Side(by_src, {a: a.src for a in by_src}, alignments[0], len(by_src), True),
        _Side(by_dst, {a: a.dst for a in by_dst}, alignments[1], dst_axes, False),
    )


def _jobs(move: Move, element: int, src: _Side, dst: _Side, extents: Mapping[Axis, int]) -> list[Job]:
    """Return jobs for the kernels that gather and, where it may be, that scatter."""
    written = _rows(dst, extents, element)
    load_word = max(4, element)
    is_whole = math.gcd(written.alignment, written.nbytes, _whole(written, extents)) % _VECTOR == 0

    def with_loads(kernel: Kernel, read: _Rows) -> Job:
        axes = tuple(dict.fromkeys((*dst.axes, *read.axes, *written.axes)))
        dims = (Dim(a.src, a.dst, a.count, a.valid, extents[a], a.src if a in read.axes else 0) for a in axes)
        return Job(
            kernel,
            move.src,
            move.dst,
            tuple(dims),
            _walk(axes, src, extents, read, load_word, is_whole=False),
            _walk(axes, dst, extents, written, _VECTOR if is_whole else load_word, is_whole=is_whole),
            in_words=math.gcd(read.alignment, read.nbytes) % load_word == 0,
        )

    gather = Kernel("tiles.cu", "tiles_aligned" if is_whole else "tiles_shifted", element)
    read, single, short = (_rows(replace(src, most=most), extents, element) for most in (src.most, 1, _SCATTERED_AXES))
    jobs = [with_loads(gather, read)]
    if len(read.axes) > 1 and (single.nbytes >= _LONG_ROW or math.gcd(single.alignment, single.nbytes) == SECTOR):
        jobs.append(with_loads(gather, single))  # whose rows may lie apart
    has_whole_words = short.alignment == SECTOR and math.gcd(short.nbytes, _whole(short, extents)) % load_word == 0
    if is_whole and has_whole_words and all(axis.valid == axis.count for axis in move.axes):
        jobs.append(with_loads(Kernel("scatter.cu", "scatter", element), short))
    return jobs


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

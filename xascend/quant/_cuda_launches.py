"""The launches of the Fixpipe kernels: which kernel takes which matrices, in which tiles."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._cuda._jobs import DIVISOR, MAX_TILES, Kernel, make_divisor
from xascend._cuda._launches import MAX_BLOCKS, THREADS, Launch
from xascend.quant._cuda_matrices import BLOCK, QUAD, Four, Matrices
from xascend.quant._rules import EIGHT_BITS, Rule

__all__ = ["MATRICES", "NUMBERS", "Numbers", "make_launch", "make_numbers"]

_FILE = "fixpipe.cu"
_SOURCES = {"float32": "FromFloat", "int32": "FromInt"}
_RESULTS = {
    "int8": ("ToByte", 1),
    "uint8": ("ToByte", 1),
    "float16": ("ToHalf", 2),
    "bfloat16": ("ToBfloat", 2),
    "float32": ("ToWord", 4),
    "int32": ("ToWord", 4),
}
# By result: the magnitudes that saturating results and others end at, and NaN among the others.
_HALVES = {"float16": (0x477FE000, 0x47800000, 0x7E00), "bfloat16": (0x7F7F0000, 0x7F800000, 0x7FC0)}
_INT32 = (-(1 << 31), (1 << 31) - 1)
_DEPTH = 4  # quads of a thread
_VECTOR = 16
_ACROSS = 32  # quads of a tile's row that is stored at once; where it is not in one piece, those of a piece
_ROW = 1 << 10  # bytes of results together where a tile goes through shared memory: both ends touch a sector in part
_LANES = (3, 6)  # logarithms of the threads along the rows of a turned tile: in eights, so that banks do not conflict
_TURNS = 4
_ENOUGH = 1 << 11  # tiles that keep a device busy

_ARITHMETIC = np.dtype(
    [
        ("floor", "f4"),
        ("limit", "u4"),
        ("nan", "u4"),
        ("negative_zero", "u4"),
        ("low", "i4"),
        ("high", "i4"),
        ("shifts", "i4"),
        ("slopes", "i4"),
        ("is_kept", "i4"),
    ]
)
_COLUMN = np.dtype([("scale", "f4"), ("slope", "f4"), ("offset_and_shift", "i4")])
NUMBERS = np.dtype([("entries", "i8"), ("all", _ARITHMETIC), ("alike", _COLUMN)])
MATRICES = np.dtype(
    [
        ("src", "i8", 4),
        ("dst", "i8", 4),
        ("row_tiles", DIVISOR),
        ("column_tiles", DIVISOR),
        ("tiles", "u4"),
        ("rows", "i4"),
        ("columns", "i4"),
        ("group", "i4"),
        ("lanes", "i4"),
        ("height", "i4"),
        ("run", "i4"),
        ("is_wide", "i4"),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A rule: `packed` goes to the kernel by value, after the address of `tables`: a row for each field of a column.

    There are none where all columns are alike.
    """

    packed: npt.NDArray[Any]
    tables: npt.NDArray[np.float32] | None


def make_numbers(rule: Rule, together: int = 1, /) -> Numbers:
    """Return the numbers of a rule, those of the columns `together` times in a row."""
    packed = np.zeros(1, NUMBERS)
    record = packed[0]
    _set_common(record["all"], rule)
    scale = np.ones(1, np.float32) if rule.scale is None else rule.scale
    slope = scale if rule.slope is None else rule.slope
    offset_and_shift = np.zeros(1, np.int32)
    if rule.offset is not None:
        offset_and_shift = rule.offset.astype(np.int32) * 256
    if rule.shift is not None:
        offset_and_shift = offset_and_shift + rule.shift
    fields = (scale, slope, offset_and_shift.astype(np.int32).view(np.float32))
    columns = max(field.size for field in fields)
    if columns == 1:
        record["alike"] = scale[0], slope[0], offset_and_shift[0]
        return Numbers(packed, None)
    used = columns * together
    tables = np.zeros((len(fields), -(-used // QUAD) * QUAD), np.float32)
    for table, field in zip(tables, fields, strict=True):
        table[:used].reshape(together, columns)[...] = field
    record["entries"] = tables.shape[1]
    return Numbers(packed, tables)


def _set_common(record: Any, rule: Rule) -> None:
    low, high = EIGHT_BITS.get(rule.result, (0 if rule.relu else _INT32[0], _INT32[1]))
    saturated, infinity, nan = _HALVES.get(rule.result, (0, 0, 0))
    record["floor"] = 0.0 if rule.relu and rule.slope is None else -np.inf
    record["limit"], record["nan"] = (saturated, 0) if rule.saturate else (infinity, nan)
    record["negative_zero"] = 1 << (8 * _RESULTS[rule.result][1] - 1) if rule.relu else 0
    record["low"], record["high"] = low, high
    record["shifts"], record["slopes"] = rule.shift is not None, rule.slope is not None
    record["is_kept"] = not rule.relu


@functools.lru_cache(maxsize=256)
def make_launch(source: str, result: str, matrices: Matrices, src_align: int, dst_align: int, /) -> Launch:
    """Return the launch for matrices of at most 2**28 columns in arrays whose addresses these powers of two divide."""
    converter, item = _RESULTS[result]
    src, dst = _bytes(matrices, matrices.src, BLOCK, 4), _bytes(matrices, matrices.dst, matrices.group, item)
    make_tiles = _make_turned_tiles if matrices.group == 1 else _make_row_tiles
    tiles = make_tiles(matrices, item, dst, dst_align)
    row_tiles, column_tiles = -(-matrices.rows // tiles.height), -(-matrices.columns // tiles.width)
    count = matrices.count * row_tiles * column_tiles
    if count >= MAX_TILES:
        raise ValueError(f"a launch must have fewer than {MAX_TILES} tiles, got {count}")
    packed = np.zeros(1, MATRICES)
    record = packed[0]
    record["src"], record["dst"] = src, dst
    record["row_tiles"], record["column_tiles"] = make_divisor(row_tiles), make_divisor(column_tiles)
    record["tiles"], record["rows"], record["columns"] = count, matrices.rows, matrices.columns
    record["group"], record["is_wide"] = _log2(matrices.group), math.gcd(src_align, *src) % _VECTOR == 0
    record["lanes"], record["height"], record["run"] = tiles.lanes, tiles.height, tiles.run
    kernel = Kernel(_FILE, tiles.entry, item, (("SOURCE", _SOURCES[source]), ("RESULT", converter)))
    return Launch(kernel, min(count, MAX_BLOCKS), tiles.shared, packed)


@dataclass(frozen=True, slots=True)
class _Tiles:
    """A kernel and its tiles: see `Matrices` in ``fixpipe.cu``."""

    entry: str
    lanes: int
    height: int
    width: int
    run: int
    shared: int


def _make_row_tiles(matrices: Matrices, item: int, dst: tuple[int, ...], dst_align: int) -> _Tiles:
    is_direct = math.gcd(dst_align, *dst) % (QUAD * item) == 0
    is_one_run = matrices.dst[3] == matrices.group
    across = _ROW // (QUAD * item) if not is_direct else _ACROSS if is_one_run else max(matrices.group, BLOCK) // QUAD
    across = max(across, THREADS >> _log2(matrices.rows))
    lanes = min(_log2(-(-matrices.columns // QUAD)), _log2(across))
    height, width = _DEPTH * THREADS >> lanes, QUAD << lanes
    if is_direct:
        return _Tiles("fixpipe_direct", lanes, height * _turns(matrices, height, width), width, 0, 0)
    run = lanes + 2 if is_one_run else min(_log2(matrices.group), lanes + 2)
    return _Tiles("fixpipe_rows", lanes, height, width, run, height * width * item)


def _make_turned_tiles(matrices: Matrices, item: int, dst: tuple[int, ...], dst_align: int) -> _Tiles:
    start, matrix, _, column = dst
    is_aligned = math.gcd(dst_align, start, matrix, column) % _VECTOR == 0
    lanes = min(max(_log2(-(-matrices.rows // QUAD)), _LANES[0]), _LANES[1])
    height, width = QUAD << lanes, QUAD * THREADS >> lanes
    most = _ROW // (height * item) if lanes == _LANES[1] else 1
    height *= min(most, _turns(matrices, height, width)) if is_aligned else most
    entry = "fixpipe_columns_aligned" if is_aligned else "fixpipe_columns_shifted"
    run = _log2(height * item // _VECTOR)
    return _Tiles(entry, lanes, height, width, run, width * (height * item + 16) + (width >> 3) * 32)


def _turns(matrices: Matrices, height: int, width: int) -> int:
    """Return how many times a tile may be as high, for numbers of columns to be read less often."""
    tiles = matrices.count * -(-matrices.rows // height) * -(-matrices.columns // width)
    return min(_TURNS, 1 << max(0, (tiles // _ENOUGH).bit_length() - 1))


def _bytes(matrices: Matrices, places: Four, group: int, item: int) -> tuple[int, ...]:
    """Return a place and distances in bytes, 0 for those that nothing is apart."""
    counts = (2, matrices.count, matrices.rows, -(-matrices.columns // group))
    return tuple(at * item if count > 1 else 0 for at, count in zip(places, counts, strict=True))


def _log2(count: int) -> int:
    """Return the logarithm of the least power of two that is not below `count`."""
    return (count - 1).bit_length()

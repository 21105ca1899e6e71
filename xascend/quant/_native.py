"""Quantisation by the native library: each element is read once and written once, by several threads."""

from __future__ import annotations

import array
import functools
import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import array_api_compat as compat
import numpy as np

from xascend import _torch
from xascend._address import address_of
from xascend._native_library import load
from xascend._threads import get_num_threads
from xascend.quant._rules import EIGHT_BITS, NINE_BITS, Numbers, Rule
from xascend.quant._slabs import cuts

__all__ = ["Box", "host_memories", "quantise_boxes", "quantise_rows"]

Five: TypeAlias = tuple[int, int, int, int, int]
# First column; counts of matrices, rows, groups, parts and columns; offset and strides of the source; those of the
# destination. All in elements.
Box: TypeAlias = tuple[int, Five, int, Five, int, Five]

_SOURCES = {"float32": 0, "int32": 1}
_SOURCE_BYTES = 4
_RESULTS = {"int8": 0, "uint8": 0, "float16": 1, "bfloat16": 2, "float32": 3, "int32": 3}
_ROUNDER_BITS = 0x4B400000  # of the number by which the library rounds; offsets are added to its bits
_VECTOR = 16  # entries that the library may read past the last column
_COLUMNS = 8192  # longer rows are cut
_SLAB = 1 << 20  # elements of a strided array that are made contiguous at a time


def host_memories(src: Any, dst: Any) -> tuple[Numbers, Numbers] | None:
    """Return two arrays as NumPy sees their memory, or None where the library is not there or cannot work on them."""
    if load().reason is not None:
        return None
    source, target = _host_memory(src), _host_memory(dst, is_written=True)
    return None if source is None or target is None else (source, target)


def _host_memory(x: Any, *, is_written: bool = False) -> Numbers | None:
    if isinstance(x, np.ndarray):
        return x if x.dtype.isnative else None
    return _torch.host_memory(x, is_written=is_written) if compat.is_torch_array(x) else None


def quantise_rows(x: Numbers, out: Numbers, rule: Rule) -> None:
    """Quantise `x`, whose last axis counts columns, into `out` of the same shape."""
    if x.size == 0:
        return
    row = _row_stride(x)
    if row is None or not out.flags.c_contiguous:
        for part in cuts(x.shape, _SLAB):
            target = out[part]
            made = target if target.flags.c_contiguous else np.empty_like(target, order="C")
            quantise_rows(np.ascontiguousarray(x[part]), made, rule.columns(part[-1].start, part[-1].stop))
            if made is not target:
                target[...] = made
        return
    n = x.shape[-1]
    rows = x.size // n
    if row == n and not rule.has_columns:
        rows, n = 1, x.size
    groups, tail = divmod(n, min(n, _COLUMNS))
    boxes: list[Box] = []
    width = (n - tail) // groups
    boxes.append((0, (1, rows, groups, 1, width), 0, (0, row, width, 0, 1), 0, (0, n, width, 0, 1)))
    if tail:
        first = n - tail
        boxes.append((first, (1, rows, 1, 1, tail), first, (0, row, tail, 0, 1), first, (0, n, tail, 0, 1)))
    quantise_boxes(x, out, rule, boxes)


def _row_stride(x: Numbers) -> int | None:
    """Return how many elements the rows of `x` are apart, or None where they are not contiguous or not evenly apart."""
    *counts, n = x.shape
    *strides, column = x.strides
    if n > 1 and column != x.itemsize:
        return None
    outer = [(count, stride) for count, stride in zip(counts, strides, strict=True) if count > 1]
    for (_, stride), (count, inner) in itertools.pairwise(outer):
        if stride != count * inner:
            return None
    row, rest = divmod(outer[-1][1], x.itemsize) if outer else (n, 0)
    return None if rest else row


def quantise_boxes(src: Numbers, dst: Numbers, rule: Rule, boxes: Sequence[Box]) -> None:
    """Quantise the elements of `boxes`, none of which is empty, from `src` into `dst`; they must not overlap."""
    tables = _make_tables(rule) if rule.has_columns else _make_short_tables(rule)
    program = _make_program(rule, tables.shape[1], boxes, dst.itemsize)
    addresses = (program.buffer_info()[0], address_of(src), address_of(dst), address_of(tables))
    if load().quantise(*addresses, get_num_threads()):
        raise MemoryError("the native library got no memory for its work")


def _make_program(rule: Rule, entries: int, boxes: Sequence[Box], item: int) -> array.array[int]:
    """Return what the library reads: see the head of ``quantise.hpp``."""
    below_zero = 2 if rule.slope is not None else int(rule.relu)
    program = array.array("q", (_SOURCES[rule.source], _RESULTS[rule.result], below_zero, rule.saturate))
    program.extend((rule.shift is not None, entries, rule.has_columns, len(boxes)))
    for first, counts, src_offset, src, dst_offset, dst in boxes:
        program.extend((first, *counts))
        program.extend(_SOURCE_BYTES * distance for distance in (src_offset, *src))
        program.extend(item * distance for distance in (dst_offset, *dst))
    return program


def _table_columns(rule: Rule) -> int:
    return max((numbers.size for numbers in (rule.scale, rule.slope) if numbers is not None), default=1)


def _make_tables(rule: Rule) -> Numbers:
    """Return a row for each table that ``Columns`` in ``elements.hpp`` lists."""
    columns = _table_columns(rule)
    used = columns if columns > 1 else _VECTOR
    tables = np.zeros((6, used + _VECTOR), np.float32)
    scale, slope, lowest, highest = tables[:4, :used]
    added, shift = tables[4:, :used].view(np.int32)
    scale[:] = 1.0 if rule.scale is None else rule.scale
    slope[:] = 0.0 if rule.slope is None else rule.slope
    shift[:] = 0 if rule.shift is None else rule.shift
    if rule.result in EIGHT_BITS:
        offset = np.float32(0) if rule.offset is None else rule.offset
        # Rounding keeps whole numbers and the order, so both clips can come before it.
        low, high = (limit - offset for limit in EIGHT_BITS[rule.result])
        for table, limit in zip((lowest, highest), NINE_BITS, strict=True):
            table[:] = np.minimum(np.maximum(limit, low), high)
        added[:] = offset
        added -= _ROUNDER_BITS
    return tables


# for rules that are kept themselves; the library only reads the tables
_make_short_tables = functools.lru_cache(maxsize=256)(_make_tables)

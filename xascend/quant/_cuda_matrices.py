"""What the Fixpipe kernels read and write: matrices in column blocks, in elements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from xascend.quant._native import Box

__all__ = ["BLOCK", "QUAD", "Four", "Matrices", "cut_columns", "make_box_matrices", "make_row_matrices"]

BLOCK = 16  # columns that lie together in the source
QUAD = 4  # columns that a thread takes at once
_LONG = 1024  # columns from which on longer rows gain nothing
_MOST = 1 << 28  # columns of one launch

Four: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Matrices:
    """Equal matrices.

    Element (matrix, row, column) of them lies, in elements from the start of each array, at::

        src[0] + matrix * src[1] + row * src[2] + column // 16 * src[3] + column % 16
        dst[0] + matrix * dst[1] + row * dst[2] + column // group * dst[3] + column % group

    `first` is the number of the first column, `group` a power of two: 1 where the rows of a column lie together.
    """

    first: int
    count: int
    rows: int
    columns: int
    src: Four
    dst: Four
    group: int

    def begins_at(self, column: int, /) -> tuple[int, int]:
        """Return where a column begins on both sides, which begins a block and a group."""
        return self.src[0] + column // BLOCK * self.src[3], self.dst[0] + column // self.group * self.dst[3]


def make_box_matrices(boxes: Iterable[Box], /) -> list[Matrices]:
    """Return the matrices that the boxes of one Fixpipe cut up; a box of columns left over joins those before it."""
    found: list[Matrices] = []
    for box in boxes:
        matrices = _matrices_of(box)
        last = found[-1] if found else None
        starts = matrices.src[0], matrices.dst[0]
        if last and last.dst[2] == matrices.dst[2] and starts == last.begins_at(last.columns):
            found[-1] = replace(last, columns=last.columns + matrices.columns)
        else:
            found.append(matrices)
    return found


def _matrices_of(box: Box) -> Matrices:
    first, (count, rows, groups, parts, columns), src, src_strides, dst, dst_strides = box
    src_matrix, src_row, src_group, src_part, _ = src_strides
    dst_matrix, dst_row, dst_group, dst_part, dst_column = dst_strides
    if dst_column != 1:
        group, step = 1, dst_column
    elif parts == 1:
        group, step = BLOCK, dst_group
    elif dst_part == columns:
        group, step = parts * columns, dst_group
    else:
        group, step = columns, dst_part
    block = src_part if parts > 1 and columns == BLOCK else src_group
    return Matrices(
        *(first, count, rows, groups * parts * columns),
        (src, src_matrix, src_row, block),
        (dst, dst_matrix, dst_row, step),
        group,
    )


def make_row_matrices(size: int, columns: int, /) -> tuple[int, list[Matrices]]:
    """Return how many rows of a contiguous array make up a row of matrices, and the matrices: all of its elements.

    The rows are put together so that each of them begins at a whole quad of columns and is long.
    """
    whole = math.lcm(columns, QUAD)
    together = min(-(-_LONG // whole) * whole, size) // columns
    width = together * columns
    rows, rest = divmod(size, width)
    strides = (0, width, BLOCK)
    found = [Matrices(0, 1, rows, width, (0, *strides), (0, *strides), BLOCK)]
    if rest:
        start = size - rest
        found.append(Matrices(0, 1, 1, rest, (start, *strides), (start, *strides), BLOCK))
    return together, found


def cut_columns(matrices: Matrices, most: int = _MOST, /) -> Iterator[Matrices]:
    """Yield the matrices in parts of at most `most` columns, a multiple of those of a block and of a group."""
    for start in range(0, matrices.columns, most):
        src, dst = matrices.begins_at(start)
        yield replace(
            matrices,
            first=matrices.first + start,
            columns=min(most, matrices.columns - start),
            src=(src, *matrices.src[1:]),
            dst=(dst, *matrices.dst[1:]),
        )

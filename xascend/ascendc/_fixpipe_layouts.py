"""Where Fixpipe reads and writes each element: integers only, so that a kernel can mirror it.

A box is the part of the matrices whose columns are cut alike. Element (matrix, row, group, part, column) of a box lies,
in elements from the start of each buffer, at::

    src = src_offset + matrix * src_matrix + row * src_row + group * src_group + part * src_part + column
    dst = dst_offset + matrix * dst_matrix + row * dst_row + group * dst_group + part * dst_part + column * dst_column

and is column ``first + (group * parts + part) * columns + column`` of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xascend.ascendc._fixpipe_params import CO2Layout, FixpipeParams, FixpipeParamsV220

__all__ = ["Box", "Layout", "make_layout"]

C0 = 16  # columns of a column block of the source, elements of its rows
FRACTAL_ROWS = 16
BLOCK = 32  # bytes of a data block
_SPLIT = 8  # columns of a column block where float32 results are split

Strides = tuple[int, int, int, int, int]  # matrix, row, group, part, column


class Box(NamedTuple):
    """Columns that are cut alike: their counts and strides on both sides."""

    first: int
    counts: Strides
    src_offset: int
    src: Strides
    dst_offset: int
    dst: Strides

    @property
    def columns(self) -> int:
        """Columns of the matrix in this box."""
        return self.counts[2] * self.counts[3] * self.counts[4]

    def narrowed(self, columns: int) -> Iterator[Box]:
        """Yield the box in parts of at most `columns` columns, but at least one group."""
        group = self.counts[3] * self.counts[4]
        step = max(1, columns // group)
        for start in range(0, self.counts[2], step):
            counts = (*self.counts[:2], min(step, self.counts[2] - start), *self.counts[3:])
            src_offset, dst_offset = self.src_offset + start * self.src[2], self.dst_offset + start * self.dst[2]
            yield Box(self.first + start * group, counts, src_offset, self.src, dst_offset, self.dst)

    @property
    def src_reach(self) -> int:
        """Elements from the start of the source up to the last one that is read."""
        return self.src_offset + _reach(self.counts, self.src)

    @property
    def dst_reach(self) -> int:
        """Elements from the start of the destination up to the last one that is written."""
        return self.dst_offset + _reach(self.counts, self.dst)


class Layout(NamedTuple):
    """One instruction: its boxes, and the runs of the destination that hold all of them.

    `run` is the length of a contiguous run; the runs begin at multiples of two (count, stride) pairs.
    """

    boxes: tuple[Box, ...]
    run: int
    inner: tuple[int, int]
    outer: tuple[int, int]

    def writes_twice(self) -> bool:
        """Say whether two runs share an element."""
        (count, stride), (outer_count, outer_stride) = self.inner, self.outer
        if count > 1 and stride < self.run:
            return True
        for outer in range(1, outer_count):
            offset = outer * outer_stride
            if offset >= (count - 1) * stride + self.run:
                return False
            nearest = min(offset // stride, count - 1)
            if offset - nearest * stride < self.run:
                return True
            if nearest + 1 < count and (nearest + 1) * stride - offset < self.run:
                return True
        return False


def make_layout(params: FixpipeParams, layout: CO2Layout, itemsize: int) -> Layout:
    """Return the layout of one instruction whose results have `itemsize` bytes."""
    n, m, dst_stride = int(params.n_size), int(params.m_size), int(params.dst_stride)
    block = C0 * int(params.src_stride)
    if layout is CO2Layout.NZ:
        unit = dst_stride * (BLOCK // itemsize if isinstance(params, FixpipeParamsV220) else 1)
        parts, columns = (2, _SPLIT) if params.is_channel_split else (2, C0) if itemsize == 1 else (1, C0)
        # Splitting makes a destination block of each part, merging puts the parts beside each other.
        width, group, part = (_SPLIT, 2 * unit, unit) if params.is_channel_split else (parts * C0, unit, C0)
        boxes = _boxes((1, m, n), (parts, columns), (0, C0, block), (0, width, group, part, 1), min(width, C0))
        return Layout(boxes, m * width, (-(-n // width), unit), (1, 0))
    if layout is CO2Layout.ROW_MAJOR:
        src_unit = C0 * (FRACTAL_ROWS if isinstance(params, FixpipeParamsV220) else 1)
        matrices, dst_matrix = int(params.nd_num), int(params.dst_nd_stride)
        src = (src_unit * int(params.src_nd_stride), C0, block)
        boxes = _boxes((matrices, m, n), (1, C0), src, (dst_matrix, dst_stride, C0, 0, 1), dst_stride)
        return Layout(boxes, n, (m, dst_stride), (matrices, dst_matrix))
    if isinstance(params, FixpipeParamsV220):
        raise TypeError("NZ2DN takes FixpipeParamsC310")
    matrices, dst_matrix = int(params.dn_num), int(params.dst_dn_matrix_stride)
    src = (C0 * int(params.src_nz_matrix_stride), C0 * int(params.src_nz_c0_stride), block)
    boxes = _boxes((matrices, m, n), (1, C0), src, (dst_matrix, 1, C0 * dst_stride, 0, dst_stride), 1)
    return Layout(boxes, m, (n, dst_stride), (matrices, dst_matrix))


def _boxes(
    sizes: tuple[int, int, int], cut: tuple[int, int], src: tuple[int, int, int], dst: Strides, tail_row: int
) -> tuple[Box, ...]:
    """Return one box of all whole groups and one of the columns that are left over.

    `sizes` are matrices, rows and columns; `cut` the parts of a group and the columns of a part; `src` the strides of
    matrices, rows and column blocks; `tail_row` the stride of the destination's rows in the last box.
    """
    (matrices, rows, n), (parts, columns), (src_matrix, src_row, block) = sizes, cut, src
    groups, tail = divmod(n, parts * columns)
    src_part = block if columns == C0 else columns
    strides = (src_matrix, src_row, parts * columns // C0 * block, src_part, 1)
    boxes = []
    if groups:
        boxes.append(Box(0, (matrices, rows, groups, parts, columns), 0, strides, 0, dst))
    if tail:
        tail_dst = (dst[0], tail_row, *dst[2:])
        counts = (matrices, rows, 1, 1, tail)
        boxes.append(Box(n - tail, counts, groups * strides[2], strides, groups * dst[2], tail_dst))
    return tuple(boxes)


def _reach(counts: Strides, strides: Strides) -> int:
    return 1 + sum((count - 1) * stride for count, stride in zip(counts, strides, strict=True))

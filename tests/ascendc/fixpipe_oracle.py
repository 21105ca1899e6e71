"""Fixpipe with loops alone: each layout as the document's pseudo-code has it, one element at a time.

Numbers only, no arrays: `src` and `dst` are lists, and `convert(value, column)` is the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Convert = Callable[[Any, int], Any]


def nz2nd(
    dst: list, src: list, convert: Convert, n: int, m: int, src_stride: int, dst_stride: int, nd: tuple[int, int, int]
) -> None:
    """`nd` is the number of matrices, then the distances of their sources and results in elements."""
    nd_num, src_nd, dst_nd = nd
    for i in range(nd_num):
        for j in range(m):
            for k in range((n + 15) // 16):
                for c in range(min(16, n - 16 * k)):
                    value = src[i * src_nd + (k * src_stride + j) * 16 + c]
                    dst[i * dst_nd + j * dst_stride + 16 * k + c] = convert(value, 16 * k + c)


def nz2dn(
    dst: list,
    src: list,
    convert: Convert,
    n: int,
    m: int,
    src_stride: int,
    dst_stride: int,
    dn: tuple[int, int, int],
    row_stride: int,
) -> None:
    """`dn` is as `nd` of `nz2nd`, with the sources in rows of 16."""
    dn_num, src_matrix, dst_matrix = dn
    for h in range(dn_num):
        for i in range((n + 15) // 16):
            for j in range(16):
                if 16 * i + j < n:
                    for r in range(m):
                        value = src[h * 16 * src_matrix + i * 16 * src_stride + r * 16 * row_stride + j]
                        dst[h * dst_matrix + (16 * i + j) * dst_stride + r] = convert(value, 16 * i + j)


def nz2nz(
    dst: list, src: list, convert: Convert, n: int, m: int, src_stride: int, block_stride: int, width: int
) -> None:
    """`block_stride` is in elements; `width` is 16, 8 for a channel split, 32 for a channel merge."""
    blocks = [(first, min(width, n - first)) for first in range(0, n, width)]
    for block, (first, columns) in enumerate(blocks):
        for j in range(m):
            for c in range(columns):
                column = first + c
                value = src[(column // 16 * src_stride + j) * 16 + column % 16]
                dst[block * block_stride + j * columns + c] = convert(value, column)

"""The instructions of the cube path from the documents' sentences: loops over single elements of lists, no NumPy.

Buffers are lists of elements, of whatever kind; `k0` is how many of them 32 bytes hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ROWS = 16  # of a fractal, each of 32 bytes


def data_copy_nd2nz(
    dst: list[Any],
    src: Sequence[Any],
    k0: int,
    nd_num: int,
    n_value: int,
    d_value: int,
    src_nd_matrix_stride: int,
    src_d_value: int,
    dst_nz_c0_stride: int,
    dst_nz_n_stride: int,
    dst_nz_matrix_stride: int,
) -> None:
    for matrix in range(nd_num):
        for row in range(n_value):
            column = 0
            while column < d_value or column % k0:
                value = 0
                if column < d_value:
                    value = src[matrix * src_nd_matrix_stride + row * src_d_value + column]
                block = column // k0 * dst_nz_c0_stride + row * dst_nz_n_stride
                dst[matrix * dst_nz_matrix_stride + block * k0 + column % k0] = value
                column += 1


def load_data(
    dst: list[Any],
    src: Sequence[Any],
    k0: int,
    start_index: int = 0,
    repeat_times: int = 0,
    src_stride: int = 0,
    dst_gap: int = 0,
    if_transpose: bool = False,
    addr_mode: int = 0,
) -> None:
    fractal = ROWS * k0
    read, written = start_index * fractal, 0
    for _ in range(repeat_times):
        for row in range(ROWS):
            for column in range(k0):
                place = column * k0 + row if if_transpose else row * k0 + column
                dst[written + place] = src[read + row * k0 + column]
        read += (-1 if addr_mode else 1) * src_stride * fractal
        written += (1 + dst_gap) * fractal


def load_data_with_transpose(
    dst: list[Any],
    src: Sequence[Any],
    k0: int,
    start_index: int = 0,
    repeat_times: int = 0,
    src_stride: int = 0,
    dst_gap: int = 0,
    dst_frac_gap: int = 0,
    addr_mode: int = 0,
) -> None:
    side = max(ROWS, k0)  # 64, 32, 16 and 16 for elements of 4, 8, 16 and 32 bits
    fractal = ROWS * k0
    in_a_square = side * side // fractal
    block = start_index
    first = 0  # fractal of `dst`
    for _ in range(repeat_times):
        square = {}
        for j in range(in_a_square):
            for row in range(ROWS):
                for column in range(k0):
                    place = place_in_square(j, row, column, k0)
                    square[place] = src[block * side * side + j * fractal + row * k0 + column]
        for j in range(in_a_square):
            for row in range(ROWS):
                for column in range(k0):
                    r, c = place_in_square(j, row, column, k0)
                    begin = (first + j * (1 + dst_frac_gap)) * fractal
                    dst[begin + row * k0 + column] = square[c, r]
        block += -src_stride if addr_mode else src_stride
        first += 1 + dst_gap


def place_in_square(fractal: int, row: int, column: int, k0: int) -> tuple[int, int]:
    """Return where an element of one of a square's fractals lies in it."""
    if k0 < ROWS:  # 32 bits: left half, right half
        return row, fractal * k0 + column
    return fractal * ROWS + row, column


def l0a(matrix: Sequence[Sequence[Any]], k0: int, junk: Any) -> list[Any]:
    """Return A in the order Zz, (m1, k1, 16, k0), with `junk` beyond its last row and column."""
    m, k = len(matrix), len(matrix[0])
    return [
        matrix[row][column] if row < m and column < k else junk
        for m1 in range(-(-m // ROWS))
        for k1 in range(-(-k // k0))
        for row in range(m1 * ROWS, m1 * ROWS + ROWS)
        for column in range(k1 * k0, k1 * k0 + k0)
    ]


def l0b(matrix: Sequence[Sequence[Any]], k0: int, junk: Any) -> list[Any]:
    """Return B in the order Zn, (k1, n1, 16 of n, k0), with `junk` beyond its last row and column."""
    k, n = len(matrix), len(matrix[0])
    return [
        matrix[row][column] if row < k and column < n else junk
        for k1 in range(-(-k // k0))
        for n1 in range(-(-n // ROWS))
        for column in range(n1 * ROWS, n1 * ROWS + ROWS)
        for row in range(k1 * k0, k1 * k0 + k0)
    ]


def l0c(matrix: Sequence[Sequence[Any]], junk: Any) -> list[Any]:
    """Return C in the order Nz, (n1, m1, 16, 16), with `junk` beyond its last row and column."""
    m, n = len(matrix), len(matrix[0])
    return [
        matrix[row][column] if row < m and column < n else junk
        for n1 in range(-(-n // ROWS))
        for m1 in range(-(-m // ROWS))
        for row in range(m1 * ROWS, m1 * ROWS + ROWS)
        for column in range(n1 * ROWS, n1 * ROWS + ROWS)
    ]


def product(a: Sequence[Sequence[Any]], b: Sequence[Sequence[Any]], zero: Any) -> list[list[Any]]:
    """Return a @ b, the products of an element added to `zero` one after another, in the arithmetic of its type."""
    out = []
    for row in a:
        out.append([])
        for j in range(len(b[0])):
            total = zero
            for p, value in enumerate(row):
                total = total + type(zero)(value) * type(zero)(b[p][j])
            out[-1].append(total)
    return out

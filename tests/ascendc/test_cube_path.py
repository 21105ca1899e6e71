"""The whole way from global memory to L0C, instruction by instruction, against a product by loops laid out by loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ascendc import cube_oracle as oracle
from ascendc.forms import WRITING, library
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import Library, assert_same_bits, numpy_dtype

from xascend import ascendc

RESULTS = {"float16": np.float32, "int8": np.int32}


def up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def matmul_in_l0c(lib: Library, a: np.ndarray, b: np.ndarray) -> Any:
    """Return L0C after the instructions of a matrix product, by the recipes of their documents for any size."""
    m, k = a.shape
    n = b.shape[1]
    c0 = 32 // a.itemsize
    rows_a, rows_b, columns_b = up(m, 16), up(k, c0), up(n, c0)

    def buffer(elements: int, dtype: Any = a.dtype) -> Any:
        return lib.asarray(np.full(elements, 99, dtype))

    a1, a2 = buffer(rows_a * up(k, c0)), buffer(rows_a * up(k, c0))
    b1, b2 = buffer(rows_b * columns_b), buffer(rows_b * columns_b)
    ascendc.data_copy_nd2nz(a1, lib.asarray(a.reshape(-1)), ascendc.Nd2NzParams(1, m, k, 0, k, rows_a, 1, 0))
    ascendc.data_copy_nd2nz(b1, lib.asarray(b.reshape(-1)), ascendc.Nd2NzParams(1, k, n, 0, n, rows_b, 1, 0))

    k_blocks = up(k, c0) // c0
    column = ascendc.LoadData2dParams(repeat_times=rows_a // 16, src_stride=1, dst_gap=k_blocks - 1)
    for block in range(k_blocks):
        ascendc.load_data(a2[block * 16 * c0 :], a1[block * rows_a * c0 :], column)
    squares = ascendc.LoadData2dTransposeParams(repeat_times=k_blocks, src_stride=1, dst_gap=columns_b // 16 - 1)
    for block in range(columns_b // c0):
        ascendc.load_data_with_transpose(b2[block * c0 * c0 :], b1[block * rows_b * c0 :], squares)

    l0c = buffer(rows_a * columns_b, RESULTS[a.dtype.name])
    return ascendc.mmad(l0c, a2, b2, ascendc.MmadParams(m, columns_b, k))


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("dtype", RESULTS)
def test_any_sizes(name: str, dtype: str) -> None:
    lib = library(name, dtype)

    @settings(max_examples=15)
    @given(m=st.integers(1, 40), n=st.integers(1, 40), k=st.integers(1, 40), seed=st.integers(0, 999))
    def check(m: int, n: int, k: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        a = rng.integers(-100, 100, (m, k)).astype(numpy_dtype(dtype))
        b = rng.integers(-100, 100, (k, n)).astype(numpy_dtype(dtype))
        padded = [[*row, *[0] * (up(n, 32 // a.itemsize) - n)] for row in b.tolist()]
        product = oracle.product(a.tolist(), padded, 0)
        wanted = np.array(oracle.l0c(product, 99)).astype(RESULTS[dtype])
        assert_same_bits(lib.to_numpy(matmul_in_l0c(lib, a, b)), wanted)

    check()

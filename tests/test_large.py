"""A tensor of more than 2**31 elements, there and back, within its memory."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import oracle
import pytest

import xascend as xa

ROWS, COLUMNS = 65536, 32784  # 2_148_532_224 elements, 2**31 is 2_147_483_648
GIB = 1 << 30


def available_bytes() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def value_at(m: int, n: int) -> int:
    return (7 * m + 3 * n + (m >> 8) + 5 * (n >> 8)) & 255


@pytest.mark.slow
def test_there_and_back() -> None:
    if available_bytes() < 12 * GIB:
        pytest.skip(f"needs 12 GiB of free memory, {available_bytes() / GIB:.1f} GiB are free")
    assert ROWS * COLUMNS > 2**31
    m, n = np.arange(ROWS), np.arange(COLUMNS)
    x = np.add.outer((7 * m + (m >> 8)).astype(np.uint8), (3 * n + 5 * (n >> 8)).astype(np.uint8))

    xa.nd_to_nz(x[:1, :1])  # the first call of a process imports modules
    tracemalloc.start()
    try:
        y = xa.nd_to_nz(x)
        assert tracemalloc.get_traced_memory()[1] <= y.nbytes + (1 << 20)
        assert y.shape == (1025, 4096, 16, 32)

        rng = np.random.default_rng(0)
        corners = [(0, 0), (ROWS - 1, COLUMNS - 1), (ROWS - 1, 0), (0, COLUMNS - 1)]
        for row, column in corners + [(int(rng.integers(ROWS)), int(rng.integers(COLUMNS))) for _ in range(500)]:
            place = oracle.place((row, column), x.shape, "FRACTAL_NZ", c0=32)
            assert y[place] == value_at(row, column) == x[row, column]
            assert xa.locate((row, column), x.shape, "ND", "NZ", dtype="uint8") == place
        assert not y[-1, :, :, COLUMNS % 32 :].any()

        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        back = xa.nz_to_nd(y, x.shape)
        assert tracemalloc.get_traced_memory()[1] - before <= back.nbytes + (1 << 20)
    finally:
        tracemalloc.stop()
    for start in range(0, ROWS, 4096):
        rows = slice(start, start + 4096)
        assert np.array_equal(back[rows], x[rows])

"""Whole-tensor conversion on NumPy: the plain idiom, xascend, and a copy of the same bytes, in one run.

Run with ``python -m pytest benchmarks/bench_convert.py``; ratios within a group are what counts, not the times. The
memory reading is the peak of everything NumPy allocates during one call.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import xascend as xa

Array = np.ndarray
MIB = 1 << 20


def idiom_nd_to_nz(x: Array, c0: int) -> Array:
    m, n = x.shape
    x = np.pad(x, ((0, -m % 16), (0, -n % c0)))
    return np.ascontiguousarray(x.reshape(-(-m // 16), 16, -(-n // c0), c0).transpose(2, 0, 1, 3))


def idiom_nz_to_nd(y: Array, shape: tuple[int, ...]) -> Array:
    n1, m1, m0, n0 = y.shape
    return np.ascontiguousarray(y.transpose(1, 2, 0, 3).reshape(m1 * m0, n1 * n0)[: shape[0], : shape[1]])


def idiom_nchw_to_5hd(x: Array, c0: int) -> Array:
    n, c, h, w = x.shape
    x = np.pad(x, ((0, 0), (0, -c % c0), (0, 0), (0, 0)))
    return np.ascontiguousarray(x.reshape(n, -(-c // c0), c0, h, w).transpose(0, 1, 3, 4, 2))


def idiom_5hd_to_nchw(y: Array, shape: tuple[int, ...]) -> Array:
    n, c1, h, w, c0 = y.shape
    return np.ascontiguousarray(y.transpose(0, 1, 4, 2, 3).reshape(n, c1 * c0, h, w)[:, : shape[1]])


@dataclass(frozen=True)
class Case:
    """One conversion there and back, and why it is measured."""

    name: str
    plain: str
    blocked: str
    shape: tuple[int, ...]
    dtype: str
    why: str
    there: Callable[[Array, int], Array]
    back: Callable[[Array, tuple[int, ...]], Array]


CASES = (
    Case("nz-aligned", "ND", "FRACTAL_NZ", (4096, 4096), "float16", "weights", idiom_nd_to_nz, idiom_nz_to_nd),
    Case("nz-ragged", "ND", "FRACTAL_NZ", (4095, 4083), "float16", "padding", idiom_nd_to_nz, idiom_nz_to_nd),
    Case("nz-int8", "ND", "FRACTAL_NZ", (4096, 4096), "int8", "quantised", idiom_nd_to_nz, idiom_nz_to_nd),
    Case("5hd", "NCHW", "NC1HWC0", (16, 256, 56, 56), "float16", "images", idiom_nchw_to_5hd, idiom_5hd_to_nchw),
    Case("5hd-ragged", "NCHW", "NC1HWC0", (8, 100, 35, 35), "float16", "padding", idiom_nchw_to_5hd, idiom_5hd_to_nchw),
    Case("5hd-f32", "NCHW", "NC1HWC0", (16, 256, 56, 56), "float32", "wide", idiom_nchw_to_5hd, idiom_5hd_to_nchw),
)
cases = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def make(case: Case) -> tuple[Array, Array]:
    x = (np.arange(math.prod(case.shape)) % 101).astype(case.dtype).reshape(case.shape)
    return x, xa.trans_data(x, case.plain, case.blocked)


def report(benchmark: BenchmarkFixture, nbytes: int) -> None:
    if benchmark.stats is not None:
        benchmark.extra_info["GB/s"] = round(nbytes / benchmark.stats.stats.median / 1e9, 2)


@cases
@pytest.mark.parametrize("direction", ["there", "back"])
@pytest.mark.parametrize("contender", ["copy", "idiom", "xascend", "xascend-out"])
def test_speed(benchmark: BenchmarkFixture, case: Case, direction: str, contender: str) -> None:
    benchmark.group = f"{case.name} {direction}: {case.why}"
    x, y = make(case)
    src, dst = (x, y) if direction == "there" else (y, x)
    out = np.empty_like(dst)
    formats = (case.plain, case.blocked) if direction == "there" else (case.blocked, case.plain)
    shape = None if direction == "there" else case.shape
    idiom: Callable[..., Array] = case.there if direction == "there" else case.back
    calls: dict[str, Callable[[], Any]] = {
        "copy": lambda: np.copyto(out, dst),
        "idiom": lambda: idiom(src, y.shape[-1] if direction == "there" else case.shape),
        "xascend": lambda: xa.trans_data(src, *formats, shape=shape),
        "xascend-out": lambda: xa.trans_data(src, *formats, shape=shape, out=out),
    }
    result = benchmark.pedantic(calls[contender], rounds=9, warmup_rounds=1)
    report(benchmark, src.nbytes + dst.nbytes)
    assert np.array_equal(out if result is None else result, dst)


@cases
@pytest.mark.parametrize("contender", ["idiom", "xascend"])
def test_memory(benchmark: BenchmarkFixture, case: Case, contender: str) -> None:
    benchmark.group = f"{case.name} memory"
    x, y = make(case)
    call: Callable[[], Array] = (
        (lambda: case.there(x, y.shape[-1]))
        if contender == "idiom"
        else (lambda: xa.trans_data(x, case.plain, case.blocked))
    )
    call()
    tracemalloc.start()
    try:
        result = benchmark.pedantic(call, rounds=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(result, y)
    benchmark.extra_info["peak MiB"] = round(peak / MIB, 2)
    benchmark.extra_info["output MiB"] = round(y.nbytes / MIB, 2)
    if contender == "xascend":
        assert peak <= y.nbytes + MIB

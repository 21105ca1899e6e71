"""Peak memory: the input, the output, and at most 1 MiB beside them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from libraries import counting

import xascend as xa

MIB = 1 << 20


def peak_of(call: Callable[[], Any]) -> tuple[int, Any]:
    """Return the most memory that was allocated at one time during the call, and its result."""
    xa.nd_to_nz(np.zeros((1, 1), np.int8))  # the first call of a process imports modules
    tracemalloc.start()
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


SAMPLES = (
    ("ND", "FRACTAL_NZ", (4096, 4096), "float16"),
    ("ND", "FRACTAL_NZ", (4095, 2049), "float16"),
    ("ND", "FRACTAL_NZ", (3, 1000, 1001), "int8"),
    ("ND", "FRACTAL_ZZ", (2047, 1025), "int32"),
    ("NCHW", "NC1HWC0", (8, 70, 57, 59), "float16"),
    ("NHWC", "NC1HWC0", (8, 57, 59, 70), "float32"),
    ("HWCN", "NC1HWC0_C04", (57, 59, 70, 8), "float16"),
    ("NCHW", "FRACTAL_Z", (500, 300, 3, 3), "float16"),
    ("NCHW", "FRACTAL_Z_C04", (300, 3, 31, 33), "int8"),
    ("NCDHW", "NDC1HWC0", (2, 70, 5, 31, 33), "float16"),
    ("NCDHW", "FRACTAL_Z_3D", (100, 70, 3, 5, 7), "float16"),
    ("NCHW", "C1HWNCoC0", (100, 60, 3, 3), "float16"),
    ("NCHW", "NHWC", (8, 70, 57, 59), "float16"),
)
samples = pytest.mark.parametrize(
    ("src", "dst", "shape", "dtype"),
    SAMPLES,
    ids=[f"{src}-{dst}-{'x'.join(map(str, s))}" for src, dst, s, _ in SAMPLES],
)


@samples
def test_there_and_back(src: str, dst: str, shape: tuple, dtype: str) -> None:
    x = (counting(shape, "int64") % 101).astype(dtype)
    peak, y = peak_of(lambda: xa.trans_data(x, src, dst))
    assert peak <= y.nbytes + MIB
    peak, back = peak_of(lambda: xa.trans_data(y, dst, src, shape=shape))
    assert peak <= back.nbytes + MIB
    assert np.array_equal(back, x)


def test_grouped_filter() -> None:
    x = counting((512, 30, 3, 3), "int16")
    peak, y = peak_of(lambda: xa.trans_data(x, "NCHW", "FRACTAL_Z", groups=16))
    assert peak <= y.nbytes + MIB
    peak, back = peak_of(lambda: xa.trans_data(y, "FRACTAL_Z", "NCHW", shape=x.shape, groups=16))
    assert peak <= back.nbytes + MIB
    assert np.array_equal(back, x)


@pytest.mark.parametrize(("src", "dst"), [("FRACTAL_NZ", "NC1HWC0"), ("NC1HWC0", "FRACTAL_NZ"), ("NC1HWC0", "NC1HWC0")])
def test_blocked_to_blocked_has_no_plain_tensor_in_between(src: str, dst: str) -> None:
    x = counting((8, 70, 57, 59), "int16")
    stored = xa.trans_data(x, "NCHW", src)
    peak, y = peak_of(lambda: xa.trans_data(stored, src, dst, shape=x.shape, c0=32))
    assert peak <= y.nbytes + MIB


@samples
def test_with_out_almost_nothing_is_allocated(src: str, dst: str, shape: tuple, dtype: str) -> None:
    x = (counting(shape, "int64") % 101).astype(dtype)
    out = np.empty(xa.storage_shape(shape, dst, dtype, src_format=src), dtype)
    peak, _ = peak_of(lambda: xa.trans_data(x, src, dst, out=out))
    assert peak <= MIB


@pytest.mark.parametrize("view", ["transposed", "reversed", "broadcast"])
def test_views_are_not_copied_first(view: str) -> None:
    x = counting((2050, 2050), "int32")
    x = {"transposed": x.T, "reversed": x[::-1, ::-2], "broadcast": np.broadcast_to(x[:1], (4096, 2050))}[view]
    peak, y = peak_of(lambda: xa.nd_to_nz(x))
    assert peak <= y.nbytes + MIB


@pytest.mark.parametrize(
    ("src", "dst", "shape"), [("ND", "FRACTAL_NZ", (4095, 8190)), ("NCHW", "NC1HWC0", (16, 65, 181, 179))]
)
def test_memory_map_to_memory_map(tmp_path, src: str, dst: str, shape: tuple) -> None:
    x = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.int16, shape=shape)
    x[...] = counting(shape, "int64").astype(np.int16)
    x.flush()
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    storage = xa.storage_shape(shape, dst, np.int16, src_format=src)
    out = np.lib.format.open_memmap(tmp_path / "y.npy", mode="w+", dtype=np.int16, shape=storage)
    peak, returned = peak_of(lambda: xa.trans_data(mapped, src, dst, out=out))
    assert returned is out
    assert peak <= MIB
    out.flush()
    stored = np.load(tmp_path / "y.npy", mmap_mode="r")
    assert np.array_equal(xa.trans_data(stored, dst, src, shape=shape), x)

"""What the native executor reads and writes: any strides and addresses, and nothing beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libraries import assert_same_bits, counting, random_bits
from native.guards import each_end, guarded, guarded_copy
from native.moves import DTYPES, by_numpy, check_ends, pad_of, plan_of
from native.test_equality import past_the_caches
from numpy.lib.stride_tricks import as_strided

from xascend import _native
from xascend._outputs import empty_aligned
from xascend._plan import Plan

SAMPLES = (
    ("ND", "FRACTAL_NZ", (37, 75)),
    ("FRACTAL_NZ", "ND", (5, 3, 16, 16)),
    ("NCHW", "NC1HWC0", (2, 35, 7, 9)),
    ("NC1HWC0", "NCHW", (2, 3, 7, 9, 16)),
    ("NC1HWC0", "NHWC", (2, 3, 7, 9, 16)),
    ("NCHW", "FRACTAL_Z", (35, 37, 3, 3)),
    ("NCHW", "NHWC", (2, 35, 7, 9)),
    ("NCHW", "C1HWNCoC0", (18, 19, 2, 3)),
)
samples = pytest.mark.parametrize(("src", "dst", "shape"), SAMPLES, ids=[f"{src}-{dst}" for src, dst, _ in SAMPLES])

VIEWS = {
    "reversed": lambda x: x[tuple(slice(None, None, -1) for _ in x.shape)],
    "last axis reversed": lambda x: x[..., ::-1],
    "every other": lambda x: np.repeat(np.repeat(x, 2, -1), 3, -2)[..., ::3, ::2],
    "in a frame": lambda x: np.pad(x, [(1, 2)] * x.ndim)[tuple(slice(1, -2) for _ in x.shape)],
    "Fortran": np.asfortranarray,
    "one row for all": lambda x: np.broadcast_to(x[:1], x.shape),
    "one element for all": lambda x: np.broadcast_to(x[(0,) * x.ndim], x.shape),
    "windows that overlap": lambda x: as_strided(x, x.shape, [x.itemsize] * x.ndim, writeable=False),
    "last axis the same": lambda x: np.broadcast_to(x[..., :1], x.shape),
}


def plan_of_sample(x: np.ndarray, src: str, dst: str) -> Plan:
    """Return a plan with sizes that leave some padding in a blocked source."""
    if src in oracle.PLAIN:
        return plan_of(x, src, dst, None)
    if src == "FRACTAL_NZ":
        n1, m1, m0, n0 = x.shape
        return plan_of(x, src, dst, (m1 * m0 - 3, n1 * n0 - 5))
    n, c1, h, w, c0 = x.shape
    return plan_of(x, src, dst, {"NCHW": (n, c1 * c0 - 5, h, w), "NHWC": (n, h, w, c1 * c0 - 5)}[dst])


@samples
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_views_of_the_source(src: str, dst: str, shape: tuple[int, ...], view: str, dtype: str) -> None:
    x = VIEWS[view](random_bits(shape, dtype))
    plan = plan_of_sample(x, src, dst)
    out = np.empty(plan.dst_shape, x.dtype)
    _native.run(plan, x, out, pad_of(x))
    assert_same_bits(out, by_numpy(plan, x))


@samples
@pytest.mark.parametrize("shift", [1, 2, 3, 8, 17, 63])
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_address_and_nothing_written_beside(
    src: str, dst: str, shape: tuple[int, ...], shift: int, dtype: str
) -> None:
    x = random_bits(shape, dtype)
    plan = plan_of_sample(x, src, dst)
    expected = by_numpy(plan, x)
    source_memory = np.full(x.nbytes + 128, 0x5A, np.uint8)
    source = source_memory[shift : shift + x.nbytes].view(x.dtype).reshape(x.shape)
    source[...] = x
    source.flags.writeable = False
    memory = np.full(expected.nbytes + 256, 0xC3, np.uint8)
    out = memory[64 + shift : 64 + shift + expected.nbytes].view(x.dtype).reshape(expected.shape)
    _native.run(plan, source, out, pad_of(x))
    assert_same_bits(out, expected)
    assert (memory[: 64 + shift] == 0xC3).all()
    assert (memory[64 + shift + expected.nbytes :] == 0xC3).all()
    assert_same_bits(source, x)


@samples
@each_end
@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_touched_past_either_end(src: str, dst: str, shape: tuple[int, ...], end: str, dtype: str) -> None:
    x = random_bits(shape, dtype)
    check_ends(x, plan_of_sample(x, src, dst), end, 1, 3)


@past_the_caches
@each_end
def test_nothing_is_touched_past_either_end_of_large_arrays(
    src: str, dst: str, shape: tuple[int, ...], end: str, dtype: str
) -> None:
    x = random_bits(shape, dtype)
    stored = check_ends(x, plan_of(x, src, dst, None), end, 3)
    check_ends(stored, plan_of(stored, dst, src, None if dst in oracle.PLAIN else shape), end, 3)


@samples
@pytest.mark.parametrize("step", [2, -1, -2])
def test_gaps_of_the_destination_stay(src: str, dst: str, shape: tuple[int, ...], step: int) -> None:
    x = counting(shape, "uint16")
    plan = plan_of_sample(x, src, dst)
    big = np.full([abs(step) * size for size in plan.dst_shape], 0xC3C3, np.uint16)
    window = tuple(slice(None, None, step) for _ in plan.dst_shape)
    _native.run(plan, x, big[window], pad_of(x))
    assert_same_bits(np.ascontiguousarray(big[window]), by_numpy(plan, x))
    untouched = np.ones(big.shape, bool)
    untouched[window] = False
    assert (big[untouched] == 0xC3C3).all()


def test_memory_map_of_a_whole_file(tmp_path: Path) -> None:
    """That nothing is read past its ends is shown by the pages around other arrays: the system chooses its place."""
    x = random_bits((64, 64, 8, 8), "uint8")
    x.tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", np.uint8, "r", shape=x.shape)
    for src, dst in (("NCHW", "NC1HWC0"), ("NCHW", "FRACTAL_Z"), ("NCHW", "NHWC"), ("HWCN", "NC1HWC0")):
        plan = plan_of(mapped, src, dst, None)
        out = np.empty(plan.dst_shape, np.uint8)
        _native.run(plan, mapped, out, pad_of(x))
        assert_same_bits(out, by_numpy(plan, x))


def test_big_endian_padding() -> None:
    x = counting((3, 5), "float32").astype(">f4")
    plan = plan_of(x, "ND", "FRACTAL_NZ", None)
    out = empty_aligned(plan.dst_shape, x.dtype)
    _native.run(plan, x, out, np.asarray(1.5, ">f4"))
    assert out.dtype == x.dtype
    assert np.array_equal(out[0, 0, :3, :5], x)
    assert (out[0, 0, 3:] == 1.5).all()
    assert (out[0, 0, :, 5:] == 1.5).all()


def test_many_batch_axes() -> None:
    x = counting((2,) * 20, "uint8")[..., ::-1]
    x = x.transpose(*range(17, -1, -1), 18, 19)
    plan = plan_of(x, "ND", "FRACTAL_NZ_C0_2", None)
    out = np.empty(plan.dst_shape, np.uint8)
    _native.run(plan, x, out, pad_of(x))
    assert np.array_equal(out[..., 0, 0, :2, :], x)


@given(
    src_dst=st.sampled_from([("NCHW", "NC1HWC0"), ("NHWC", "NC1HWC0"), ("NCHW", "FRACTAL_Z"), ("HWCN", "FRACTAL_Z")]),
    shape=st.tuples(*(st.integers(1, 40) for _ in range(2)), *(st.integers(1, 12) for _ in range(2))),
    c0=st.integers(1, 33),
    dtype=st.sampled_from(sorted(DTYPES)),
    steps=st.lists(st.sampled_from([1, 1, 1, 2, -1, -3]), min_size=4, max_size=4),
    data=st.data(),
)
def test_anything(src_dst, shape, c0, dtype, steps, data) -> None:
    src, dst = src_dst
    big = random_bits(tuple(abs(step) * size for step, size in zip(steps, shape, strict=True)), dtype)
    x = big[tuple(slice(None, None, step) for step in steps)]
    order = data.draw(st.permutations(range(4)))
    x = np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order)) if data.draw(st.booleans()) else x
    there = plan_of(x, src, dst, None, c0)
    stored = np.empty(there.dst_shape, x.dtype)
    _native.run(there, x, stored, pad_of(x))
    assert_same_bits(stored, by_numpy(there, x))
    back = plan_of(stored, dst, src, shape)
    again = np.empty_like(x)
    _native.run(back, stored, again, pad_of(x))
    assert_same_bits(again, np.asarray(x))


@given(
    src_dst=st.sampled_from([("NCHW", "NC1HWC0"), ("NHWC", "NC1HWC0"), ("NCHW", "FRACTAL_Z"), ("NCHW", "NHWC")]),
    shape=st.tuples(*(st.integers(1, 40) for _ in range(2)), *(st.integers(1, 12) for _ in range(2))),
    strides=st.tuples(*(st.integers(-50, 50) for _ in range(4))),
    dtype=st.sampled_from(sorted(DTYPES)),
    end=st.sampled_from(["first", "last"]),
)
def test_elements_that_overlap(src_dst, shape, strides, dtype, end) -> None:
    """Strides in bytes: what they reach is each time all of the memory."""
    itemsize = np.dtype(dtype).itemsize
    reaches = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    before = -sum(min(reach, 0) for reach in reaches)
    memory = guarded_copy(random_bits((before + sum(max(reach, 0) for reach in reaches) + itemsize,), "uint8"), end)
    x = as_strided(memory[before : before + itemsize].view(dtype), (*shape, 1), (*strides, 0), writeable=False)[..., 0]
    plan = plan_of(x, *src_dst, None)
    out = guarded(plan.dst_shape, x.dtype, end)
    _native.run(plan, x, out, pad_of(x))
    assert_same_bits(out, by_numpy(plan, x))

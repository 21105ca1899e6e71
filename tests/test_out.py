"""out=: written in place and returned, its gaps untouched, wrong or overlapping arrays refused before any write."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from libraries import assert_same_bits, counting, strict_library, torch_library

import xascend as xa

SAMPLES = (
    ("ND", "FRACTAL_NZ", (20, 28)),
    ("FRACTAL_NZ", "ND", (20, 28)),
    ("NCHW", "NC1HWC0", (2, 17, 3, 5)),
    ("NC1HWC0", "NHWC", (2, 3, 5, 17)),
    ("NCHW", "FRACTAL_Z", (17, 5, 2, 3)),
    ("FRACTAL_Z", "NC1HWC0", (17, 5, 2, 3)),
    ("NCHW", "FRACTAL_Z_C04", (17, 3, 2, 3)),
    ("NCHW", "C1HWNCoC0", (2, 5, 1, 2)),
    ("NCHW", "HWCN", (2, 3, 4, 5)),
)
samples = pytest.mark.parametrize(("src", "dst", "shape"), SAMPLES, ids=[f"{src}-{dst}" for src, dst, _ in SAMPLES])


def make(src: str, dst: str, shape: tuple, dtype: str = "int16") -> tuple[np.ndarray, dict, np.ndarray]:
    """Return an input, the options that go with it, and the expected result."""
    logical = counting(shape, dtype)
    if src in oracle.PLAIN:
        return logical, {}, oracle.convert(logical, src, dst)
    plain = dst if dst in oracle.PLAIN else oracle.AXES[src]
    stored = oracle.convert(logical, plain, src, pad_value=-1)
    return stored, {"shape": shape}, oracle.convert(stored, src, dst, shape=shape)


@samples
def test_is_written_and_returned(src: str, dst: str, shape: tuple) -> None:
    x, options, expected = make(src, dst, shape)
    before = x.copy()
    out = np.full(expected.shape, 99, x.dtype)
    assert xa.trans_data(x, src, dst, out=out, **options) is out
    assert_same_bits(out, expected)
    assert_same_bits(x, before)


@samples
def test_gaps_of_a_strided_view_stay(src: str, dst: str, shape: tuple) -> None:
    x, options, expected = make(src, dst, shape)
    for step in (slice(None, None, 2), slice(None, None, -2)):
        big = np.full([2 * size for size in expected.shape], -99, x.dtype)
        window = tuple(step for _ in expected.shape)
        out = big[window]
        assert xa.trans_data(x, src, dst, out=out, **options) is out
        assert_same_bits(np.ascontiguousarray(out), expected)
        touched = np.zeros(big.shape, bool)
        touched[window] = True
        assert (big[~touched] == -99).all()


@samples
def test_transposed_memory(src: str, dst: str, shape: tuple) -> None:
    x, options, expected = make(src, dst, shape)
    out = np.full(expected.shape[::-1], 99, x.dtype).T
    xa.trans_data(x, src, dst, out=out, **options)
    assert_same_bits(np.ascontiguousarray(out), expected)


def test_torch() -> None:
    torch = torch_library()
    x = counting((20, 28), "int16")
    big = torch.asarray(np.full((2, 2, 16, 32), -99, np.int16))
    out = big[..., ::2]
    assert xa.nd_to_nz(torch.asarray(x), out=out) is out
    assert_same_bits(np.ascontiguousarray(torch.to_numpy(out)), oracle.to_storage(x, "FRACTAL_NZ"))
    assert (torch.to_numpy(big)[..., 1::2] == -99).all()


def test_array_api_strict() -> None:
    strict = strict_library()
    x = counting((20, 28), "int16")
    out = strict.asarray(np.full((2, 2, 16, 16), 99, np.int16))
    assert xa.nd_to_nz(strict.asarray(x), out=out) is out
    assert_same_bits(strict.to_numpy(out), oracle.to_storage(x, "FRACTAL_NZ"))


def test_zero_size() -> None:
    x = np.empty((0, 20), np.float16)
    out = np.empty((2, 0, 16, 16), np.float16)
    assert xa.nd_to_nz(x, out=out) is out


@samples
@pytest.mark.parametrize("change", ["longer", "shorter", "rank"])
def test_wrong_shape(src: str, dst: str, shape: tuple, change: str) -> None:
    x, options, expected = make(src, dst, shape)
    size = {"longer": (expected.shape[0] + 1, *expected.shape[1:]), "shorter": (*expected.shape[:-1], 1),
            "rank": (expected.size,)}[change]  # fmt: skip
    out = np.full(size, 99, x.dtype)
    shown = r"\(" + ", ".join(map(str, expected.shape)) + r"\)"
    with pytest.raises(ValueError, match=rf"`out` must have the shape {shown}, got"):
        xa.trans_data(x, src, dst, out=out, **options)
    assert (out == 99).all()


@pytest.mark.parametrize("dtype", ["uint16", "float32", "int8", "float16", ">i2"])
def test_wrong_dtype(dtype: str) -> None:
    out = np.full((2, 2, 16, 16), 99).astype(dtype)
    with pytest.raises(TypeError, match=r"`out` must have the dtype of `x`, int16, got"):
        xa.nd_to_nz(counting((20, 28), "int16"), out=out)
    assert (out == 99).all()


def test_read_only() -> None:
    out = np.zeros((2, 2, 16, 16), np.int16)
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"`out`.*(read-only|writeable)"):
        xa.nd_to_nz(counting((20, 28), "int16"), out=out)
    assert not out.any()


@pytest.mark.parametrize("out", [[0], 0, "out", True, np.float16(0)])
def test_not_an_array(out: object) -> None:
    with pytest.raises((TypeError, ValueError) if isinstance(out, np.generic) else TypeError, match="`out` must"):
        xa.nd_to_nz(counting((20, 28), "int16"), out=out)


def test_masked_array() -> None:
    out = np.ma.zeros((2, 2, 16, 16), np.int16)
    with pytest.raises(TypeError, match="`out` is a masked array"):
        xa.nd_to_nz(counting((20, 28), "int16"), out=out)


def test_the_input_itself() -> None:
    x = counting((32, 32), "int16")
    before = x.copy()
    with pytest.raises(ValueError, match="`out` must not overlap `x`"):
        xa.nd_to_nz(x, out=x.reshape(2, 2, 16, 16))
    assert_same_bits(x, before)


@pytest.mark.parametrize("shift", [-1023, -1, 0, 1, 511, 1023])
def test_overlap_of_any_extent(shift: int) -> None:
    memory = np.zeros(4096, np.int16)
    x = memory[1024:2048].reshape(32, 32)
    x[...] = counting((32, 32), "int16")
    before = memory.copy()
    start = 1024 + shift
    with pytest.raises(ValueError, match="`out` must not overlap `x`"):
        xa.nd_to_nz(x, out=memory[start : start + 1024].reshape(2, 2, 16, 16))
    assert_same_bits(memory, before)


@pytest.mark.parametrize("start", [0, 2048])
def test_neighbours_in_one_buffer_do_not_overlap(start: int) -> None:
    memory = np.zeros(4096, np.int16)
    x = memory[1024:2048].reshape(32, 32)
    x[...] = counting((32, 32), "int16")
    out = memory[start : start + 1024].reshape(2, 2, 16, 16)
    xa.nd_to_nz(x, out=out)
    assert_same_bits(out.copy(), oracle.to_storage(x, "FRACTAL_NZ"))


def test_interleaved_columns_share_no_element() -> None:
    memory = np.zeros((16, 32), np.int16)
    memory[:, ::2] = counting((16, 16), "int16")
    out = memory[:, 1::2].reshape(16, 16)
    assert np.shares_memory(out, memory)
    xa.trans_data(memory[:, ::2], "ND", "ND", out=out)
    assert np.array_equal(memory[:, 1::2], counting((16, 16), "int16"))


def test_overlap_on_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.arange(1024, dtype=torch.int16).reshape(32, 32)
    with pytest.raises(ValueError, match="`out` must not overlap `x`"):
        xa.nd_to_nz(x, out=x.view(2, 2, 16, 16))
    assert torch.equal(x, torch.arange(1024, dtype=torch.int16).reshape(32, 32))


def test_overlap_on_torch_through_numpy_memory() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    memory = np.arange(2048, dtype=np.int16)
    x = torch.from_numpy(memory[:1024]).reshape(32, 32)
    out = torch.from_numpy(memory[512:1536]).reshape(2, 2, 16, 16)  # another storage object, the same memory
    with pytest.raises(ValueError, match="`out` must not overlap `x`"):
        xa.nd_to_nz(x, out=out)
    assert_same_bits(memory, np.arange(2048, dtype=np.int16))


def test_numpy_and_torch_do_not_mix() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = counting((20, 28), "int16")
    for given, out in (
        (x, torch.zeros((2, 2, 16, 16), dtype=torch.int16)),
        (torch.from_numpy(x), np.zeros((2, 2, 16, 16), np.int16)),
    ):
        with pytest.raises(TypeError, match=r"`out` is (numpy|torch) on cpu but `x` is (numpy|torch) on cpu"):
            xa.nd_to_nz(given, out=out)
        assert not np.asarray(out).any()


def test_devices_do_not_mix() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    out = torch.zeros((2, 2, 16, 16), dtype=torch.int16, device="meta")
    with pytest.raises(TypeError, match=r"`out` is torch on meta but `x` is torch on cpu"):
        xa.nd_to_nz(torch.zeros((20, 28), dtype=torch.int16), out=out)


def test_dask_has_no_out() -> None:
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    x = da.zeros((20, 28), dtype="i2")
    with pytest.raises((TypeError, ValueError), match="`out`"):
        xa.nd_to_nz(x, out=da.zeros((2, 2, 16, 16), dtype="i2"))

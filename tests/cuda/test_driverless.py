"""Whole calls on arrays of CuPy, their kernels executed on the host: what a GPU will be checked with passes here."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda import harness
from cuda.driverless import Driverless, host_view
from libraries import assert_same_bits, random_bits

import xascend as xa
from xascend import ascendc
from xascend._cuda import _alignment
from xascend.bench._devices import Cuda

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import gpu_checks


@pytest.fixture
def driverless(monkeypatch: pytest.MonkeyPatch, forgetting: None) -> Driverless:
    harness.require_compiler()
    return Driverless(pytest.importorskip("cupy", reason="cupy is not installed"), monkeypatch)


def faults_of(checks: Iterator[gpu_checks.Check]) -> dict[str, str]:
    found = {check.name: check.find_fault() for check in checks}
    assert found
    return {name: fault for name, fault in found.items() if fault is not None}


def test_checks_of_one_type(driverless: Driverless) -> None:
    assert faults_of(check for check in gpu_checks.checks(Cuda(0), "cuda") if "float16" in check.name) == {}
    assert {"runs", "tiles_aligned", "tiles_shifted"} <= set(driverless.entries)


@pytest.mark.slow
def test_all_checks_reach_all_kernels(driverless: Driverless) -> None:
    assert faults_of(gpu_checks.checks(Cuda(0), "cuda")) == {}
    assert gpu_checks.entries_of_sources() == set(driverless.entries)


def test_a_result_is_an_array_of_cupy_beside_its_input(driverless: Driverless) -> None:
    import cupy

    x = random_bits((20, 28), "float16")
    given = driverless.put(x, offset=2)
    y = xa.nd_to_nz(given[::-1, ::-2])
    assert isinstance(y, cupy.ndarray)
    assert y.flags.c_contiguous
    assert_same_bits(host_view(y), xa.nd_to_nz(x[::-1, ::-2]))
    assert_same_bits(host_view(given), x)
    out = driverless.put(np.zeros((2, 2, 16, 16), np.float16))
    assert xa.nd_to_nz(given, out=out) is out
    assert_same_bits(host_view(out), xa.nd_to_nz(x))


@pytest.mark.parametrize("offset", [0, 1])
def test_strides_that_leave_too_many_axes_at_any_byte(driverless: Driverless, offset: int) -> None:
    every_second = (slice(0, 3, 2),) * 9
    x = random_bits((3,) * 9 + (2,), "uint16")
    expected = xa.nd_to_nz(x[every_second])
    there = np.zeros([2 * size for size in expected.shape], np.uint16)
    memory = driverless.put(there, offset)
    result = xa.nd_to_nz(driverless.put(x, offset)[every_second], out=memory[(slice(0, None, 2),) * there.ndim])
    assert_same_bits(host_view(result), expected)
    assert host_view(memory)[1::2].any() == 0  # gaps


def test_overlaps_are_told_from_the_addresses_alone(driverless: Driverless) -> None:
    """Exactly, and without work of the device: there is none here."""
    import cupy

    pairs_of_columns = driverless.put(random_bits((32, 64), "float16"))
    x, out = pairs_of_columns[:, ::2], pairs_of_columns[:, 1::2].reshape(2, 2, 16, 16)
    with pytest.raises(ValueError, match="`out` must not overlap `x`"):
        xa.nd_to_nz(x, out=cupy.lib.stride_tricks.as_strided(x, (2, 2, 16, 16), (2048, 1024, 64, 4)))
    with pytest.raises(ValueError, match="`out` must not overlap itself"):
        xa.nd_to_nz(x, out=cupy.lib.stride_tricks.as_strided(x, (2, 2, 16, 16), (512, 512, 0, 2)))
    expected = xa.nd_to_nz(host_view(x).copy())
    assert xa.nd_to_nz(x, out=out) is out
    assert_same_bits(host_view(out).copy(), expected)
    empty = driverless.put(np.zeros((0, 20), np.float16))
    assert xa.nd_to_nz(empty, out=driverless.put(np.zeros((2, 0, 16, 16), np.float16))).size == 0


def test_read_only_and_broadcast_arrays(driverless: Driverless) -> None:
    import cupy

    row = driverless.put(np.arange(28, dtype=np.float16))
    repeated = cupy.broadcast_to(row, (20, 28))
    assert repeated.strides == (0, 2)
    assert_same_bits(host_view(xa.nd_to_nz(repeated)), xa.nd_to_nz(np.broadcast_to(host_view(row), (20, 28))))


def test_zero_sizes_launch_nothing(driverless: Driverless) -> None:
    for shape in ((0, 20), (20, 0), (0, 0), (3, 0, 20)):
        y = xa.nd_to_nz(driverless.put(np.zeros(shape, np.float16)))
        assert y.shape == xa.nd_to_nz(np.zeros(shape, np.float16)).shape
        assert xa.nz_to_nd(y, shape).shape == shape
    assert driverless.entries == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
def test_types_by_bytes(driverless: Driverless, dtype: str) -> None:
    x = random_bits((33, 47), dtype)
    words = xa.nd_to_nz(driverless.put(x.view(f"u{x.itemsize}")), c0=xa.default_c0(dtype))
    assert_same_bits(host_view(words).view(x.dtype), xa.nd_to_nz(x))


@pytest.mark.parametrize(("dtype", "mode"), [("int32", "VREQ8"), ("float32", "VQF322F16_PRE")])
def test_requantize_of_views(driverless: Driverless, dtype: str, mode: str) -> None:
    x, quant_mode = random_bits((40, 33), dtype), ascendc.QuantMode[mode]
    words = ascendc.pack_quant_param(np.linspace(0.1, 2.0, 33, dtype=np.float32), np.arange(33) - 10)
    for offset, view in ((0, np.s_[:]), (4, np.s_[:]), (0, np.s_[::-2, ::3]), (0, np.s_[:0]), (0, np.s_[3])):
        given, columns = driverless.put(x, offset)[view], words[: x[view].shape[-1]].copy()
        made = ascendc.requantize(given, quant_mode, driverless.put(columns), relu=True)
        assert_same_bits(host_view(made).copy(), ascendc.requantize(x[view], quant_mode, columns, relu=True))
    assert set(driverless.entries) == {"fixpipe_direct"}


# ---- arrays that begin between two elements, as views of bytes do ----


@pytest.mark.parametrize("part", [np.s_[:, :], np.s_[::-2, 3:], np.s_[:, ::5], np.s_[2, :], np.s_[:0, :]])
@pytest.mark.parametrize(("dtype", "mode"), [("float32", "QF322B8_PRE"), ("int32", "DEQF16")])
def test_requantize_from_any_byte(driverless: Driverless, dtype: str, mode: str, part: Any) -> None:
    x, word = random_bits((7, 70), dtype), ascendc.pack_quant_param(0.5, 3)
    expected = ascendc.requantize(x[part], ascendc.QuantMode[mode], word)
    for offset in (1, 2, 3, 4):
        given = driverless.put(x, offset)
        made = ascendc.requantize(given[part], ascendc.QuantMode[mode], word)
        assert_same_bits(host_view(made), expected)
        assert_same_bits(host_view(given), x)


@pytest.mark.parametrize(("mode", "dtype"), [("F322F16", "float16"), ("NoQuant", "float32")])
@pytest.mark.parametrize("offsets", [(0, 1), (1, 0), (2, 3), (4, 2)])
def test_fixpipe_from_and_to_any_byte(driverless: Driverless, mode: str, dtype: str, offsets: tuple[int, int]) -> None:
    params = ascendc.FixpipeParamsV220(40, 33, 33, 45, ascendc.QuantMode[mode])
    src, before = random_bits((48 * 33,), "float32"), random_bits((45 * 33 + 7,), dtype)
    expected = before.copy()
    ascendc.fixpipe(expected, src, params)
    dst = driverless.put(before, offsets[1])
    ascendc.fixpipe(dst, driverless.put(src, offsets[0]), params)
    assert_same_bits(host_view(dst), expected)
    assert driverless.entries == ["fixpipe_rows"]


@pytest.mark.parametrize("part", [np.s_[...], np.s_[1:, ::2], np.s_[2, 3]])
def test_aligned_copies_of_torch(monkeypatch: pytest.MonkeyPatch, part: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(_alignment, "current_stream", lambda _: contextlib.nullcontext())
    memory = torch.zeros(4 * 40 + 1, dtype=torch.uint8)
    x = torch.frombuffer(memory.numpy(), dtype=torch.float32, offset=1).reshape(5, 8)
    assert not _alignment.is_aligned(x[part])
    x[:] = torch.arange(40.0).reshape(5, 8)
    copy = _alignment.as_aligned(x[part])
    assert _alignment.is_aligned(copy)
    assert copy.is_contiguous()
    assert torch.equal(copy, torch.arange(40.0).reshape(5, 8)[part])
    _alignment.copy_bytes(-copy, x[part])
    assert torch.equal(x[part], -torch.arange(40.0).reshape(5, 8)[part])

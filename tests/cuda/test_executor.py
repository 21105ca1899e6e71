"""The executor on a stand-in for CuPy whose kernels run on the host: what Python hands over drives the real kernels."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda import harness
from cuda.stand_in import StandIn
from libraries import assert_same_bits, random_bits

from xascend import _cuda, _execute, _numpy
from xascend._cuda._launches import THREADS
from xascend._outputs import empty_aligned
from xascend._plan import make_plan
from xascend.files.device import executor_of_slabs
from xascend.formats import as_format


def plan_of(x: np.ndarray, src: str, dst: str, shape: tuple | None = None, c0: int | None = None) -> Any:
    return make_plan(as_format("src", src), as_format("dst", dst), x.shape, shape, x.itemsize * 8, c0, 1)


@pytest.mark.parametrize(
    ("shape", "src", "dst"),
    [((33, 35), "ND", "FRACTAL_NZ"), ((64, 64), "ND", "FRACTAL_NZ"), ((2, 20, 6, 7), "NCHW", "NC1HWC0")],
)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "complex128"])
def test_a_conversion_through_the_ladder(cupy: StandIn, shape: tuple, src: str, dst: str, dtype: str) -> None:
    x = cupy.array(harness.aligned(random_bits(shape, dtype)), device=3)
    plan = plan_of(x.host, src, dst)
    pad_value = np.asarray(7).astype(dtype)
    expected = empty_aligned(plan.dst_shape, x.host.dtype)
    _numpy.run(plan, x.host, expected, pad_value)
    assert _execute.choose_executor(x, None) == ("cuda", {})
    result = _execute.execute(plan, x, None, pad_value, None)
    assert_same_bits(result.host, expected)
    assert result.device.id == 3
    assert {device for device, _ in cupy.launches} == {3}
    assert cupy.current == [0]

    out = cupy.array(harness.aligned(np.zeros_like(expected)), device=3)
    assert _execute.execute(plan, x, None, pad_value, out) is out
    assert_same_bits(out.host, expected)


def test_a_kernel_is_compiled_once_per_device_and_word(cupy: StandIn) -> None:
    for device in (0, 0, 1):
        for dtype in ("float16", "float16", "float32"):
            x = cupy.array(harness.aligned(np.ones((33, 35), dtype)), device)
            _cuda.run(plan_of(x.host, "ND", "FRACTAL_NZ"), x, None, np.zeros((), dtype))
    per_device = len(cupy.sources) // 2
    words = [options[-1] for _, options in cupy.sources]
    assert words[:per_device] == words[per_device:]
    assert len(set(words[:per_device])) == per_device
    assert {"-DXASCEND_WORD=2", "-DXASCEND_WORD=4"} <= set(words)
    assert all('#line 1 "jobs.cuh"' in code and "#include" not in code for code, _ in cupy.sources)


def test_too_many_axes_are_made_contiguous_first(cupy: StandIn) -> None:
    base = harness.aligned(random_bits((3,) * 9 + (2,), "uint8"))
    x = cupy.array(base[(slice(0, 3, 2),) * 9])
    plan = plan_of(x.host, "ND", "FRACTAL_NZ")
    expected = empty_aligned(plan.dst_shape, x.host.dtype)
    _numpy.run(plan, x.host, expected, np.uint8(0))
    assert_same_bits(_cuda.run(plan, x, None, np.uint8(0)).host, expected)
    assert cupy.copies == 1


@pytest.mark.parametrize("offset", [32, 4, 1])
@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("NDC1HWC0", "FRACTAL_ZZ"),
        ("FRACTAL_ZZ", "NDC1HWC0"),
        ("FRACTAL_Z_3D", "FRACTAL_ZZ"),
        ("FRACTAL_ZZ", "FRACTAL_Z_3D"),
        ("NDC1HWC0", "FRACTAL_NZ_C0_2"),
    ],
)
def test_formats_that_leave_too_many_axes(cupy: StandIn, src: str, dst: str, offset: int) -> None:
    """Two blocks and more along every axis that either side cuts; memory that is not aligned adds an axis of words."""
    shape = (2, 5, 2, 33, 5)
    plain = random_bits(shape, "complex64")
    entry = plan_of(plain, "NCDHW", src, c0=2)
    stored = empty_aligned(entry.dst_shape, plain.dtype)
    _numpy.run(entry, plain, stored, np.complex64(0))
    plan = plan_of(stored, src, dst, shape, None if "C0_" in dst else 2)
    expected = empty_aligned(plan.dst_shape, plain.dtype)
    _numpy.run(plan, stored, expected, np.complex64(3))
    x = cupy.array(harness.place(stored, offset))
    assert_same_bits(_cuda.run(plan, x, None, np.complex64(3)).host, expected)
    assert cupy.copies == 0


def test_nothing_is_launched_for_nothing(cupy: StandIn) -> None:
    x = cupy.array(np.zeros((0, 20), np.float16))
    assert _cuda.run(plan_of(x.host, "ND", "FRACTAL_NZ"), x, None, np.float16(0)).shape == (2, 0, 16, 16)
    assert cupy.launches == []


def test_a_failure_to_compile_is_raised(cupy: StandIn) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("error: expected a ';'")

    cupy.RawModule = broken
    x = cupy.array(np.zeros((4, 4), np.float16))
    with pytest.raises(RuntimeError, match="expected a ';'"):
        _cuda.run(plan_of(x.host, "ND", "FRACTAL_NZ"), x, None, np.float16(0))


def test_the_kernels_can_be_switched_off(cupy: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    x = cupy.array(np.zeros((4, 4), np.float16))
    monkeypatch.setenv("XASCEND_DISABLE_CUDA_KERNELS", "1")
    assert _execute.choose_executor(x, None) == ("agnostic", {"cuda": "XASCEND_DISABLE_CUDA_KERNELS is set"})
    monkeypatch.setenv("XASCEND_DISABLE_CUDA_KERNELS", "0")
    assert _execute.choose_executor(x, None) == ("cuda", {})


def test_what_a_command_would_take(cupy: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executor_of_slabs(1) == ("cuda", {})
    monkeypatch.setenv("XASCEND_DISABLE_CUDA_KERNELS", "1")
    assert executor_of_slabs(1) == ("agnostic", {"cuda": "XASCEND_DISABLE_CUDA_KERNELS is set"})


def test_reasons_without_a_device(cupy: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_driver() -> int:
        raise cupy.cuda.runtime.CUDARuntimeError("driver too old")

    cupy.devices = 0
    assert _cuda.reason_absent() == "CuPy finds no CUDA device"
    _cuda.reason_absent.cache_clear()
    cupy.cuda.runtime.getDeviceCount = no_driver
    assert _cuda.reason_absent() == "CuPy finds no CUDA device (driver too old)"
    _cuda.reason_absent.cache_clear()
    monkeypatch.setitem(sys.modules, "cupy", None)
    reason = _cuda.reason_absent()
    assert reason is not None
    assert reason.startswith("CuPy cannot be imported (")
    assert reason.endswith("install xascend[cuda12] or xascend[cuda13]")


def test_an_instruction_is_launched_under_the_device_of_its_array(cupy: StandIn) -> None:
    """Its only argument is the table: a structure by value, with the addresses in it."""
    seen = []

    def function(grid: tuple, block: tuple, args: tuple, *, shared_mem: int) -> None:
        seen.append((cupy.current[-1], grid, block, args, shared_mem))

    cupy.RawModule = lambda **_: SimpleNamespace(get_function=lambda entry: seen.append(entry) or function)
    x = cupy.array(harness.aligned(np.zeros(100, np.float32)), device=2)
    launch = _cuda.make_broadcast(*[_cuda.address_of(x)] * 2, (32, 256), 40, (0,) * 8, 4)
    _cuda.run_instruction(launch, x)
    entry, (device, grid, block, (table,), shared) = seen
    assert (entry, device, grid, block, shared) == ("brcb_aligned", 2, (3,), (THREADS,), 16 * 8 * 4)
    assert (table.shape, table["src"][0]) == ((1,), harness.address(x.host))
    assert cupy.current == [0]


def test_kernels_take_instructions_on_arrays_of_a_device(cupy: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    x = cupy.array(np.zeros(4, np.float16))
    assert _cuda.takes(x)
    assert not _cuda.takes(x.host)
    monkeypatch.setenv("XASCEND_DISABLE_CUDA_KERNELS", "1")
    assert not _cuda.takes(x)


def test_tensors_that_are_no_plain_memory() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from xascend._cuda._arrays import is_on_device, reason_not_memory

    x = torch.zeros(4, 4, dtype=torch.complex64)
    assert not is_on_device(x)
    assert reason_not_memory(x, "x") is None
    assert reason_not_memory(np.zeros(3), "x") is None
    assert reason_not_memory(x.conj(), "x") == "`x` has a pending conjugation or negation"
    x.requires_grad_()
    assert reason_not_memory(x, "x") == "a gradient of `x` is recorded"
    with torch.no_grad():
        assert reason_not_memory(x, "x") is None

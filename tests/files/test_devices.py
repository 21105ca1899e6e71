"""Files by way of a device: which devices there are, what they are asked for, and the same bytes as without one."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files.late_device import LateDevice
from safetensors.numpy import save_file

from xascend import files
from xascend.cli import run
from xascend.files import conversion, tasks
from xascend.files.device import as_device, free_bytes

ND_NZ: dict[str, Any] = {"src_format": "ND", "dst_format": "FRACTAL_NZ"}
GROUPED: dict[str, Any] = {"src_format": "NCHW", "dst_format": "FRACTAL_Z", "groups": 2}


@pytest.fixture
def source(tmp_path: Path, counting: Callable) -> Path:
    tensors = {f"w{n}": counting((150, 100 + n), "bfloat16") for n in range(3)} | {"bias": counting((999,), "int8")}
    save_file(tensors, tmp_path / "x.safetensors")
    return tmp_path / "x.safetensors"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[LateDevice]:
    """Device 0 is one in host memory with a GiB; return those that were opened."""
    opened: list[LateDevice] = []

    def open_device(number: int) -> LateDevice:
        assert number == 0
        opened.append(LateDevice(len(opened)))
        return opened[-1]

    monkeypatch.setattr(conversion, "as_device", lambda device: 0 if device == "cuda" else None)
    monkeypatch.setattr(conversion, "free_bytes", lambda number: 1 << 30)
    monkeypatch.setattr(conversion, "executor_of_slabs", lambda number: ("cuda", {}))
    monkeypatch.setattr(tasks, "Cuda", open_device)
    return opened


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("kind", [".safetensors", ".npz"])
def test_the_same_bytes_within_the_bound(
    source: Path, tmp_path: Path, made: list[LateDevice], kind: str, jobs: int
) -> None:
    files.convert(source, tmp_path / f"y{kind}", **ND_NZ)
    assert not made
    options = {"device": "cuda", "device_memory": 40_000, "jobs": jobs, "verify": True} | ND_NZ
    assert not files.convert(source, tmp_path / f"z{kind}", **options).failed
    assert (tmp_path / f"y{kind}").read_bytes() == (tmp_path / f"z{kind}").read_bytes()
    gc.collect()
    assert 0 < sum(device.peak for device in made) <= 40_000
    assert {(device.held, device.pinned_held, device.left) for device in made} == {(0, 0, 0)}
    options = {"device": "cuda", "max_bytes": 20_000, "jobs": jobs, "overwrite": True} | ND_NZ
    assert not files.convert(source, tmp_path / f"z{kind}", **options).failed
    assert sum(device.pinned_peak for device in made[-jobs:]) <= 20_000


@pytest.mark.parametrize("dtype", [">f4", "<c16", "|u1", "<f2"])
def test_byte_orders_and_axes_in_any_order(tmp_path: Path, made: list[LateDevice], dtype: str) -> None:
    x = np.arange(70 * 90).astype(dtype).reshape(70, 90)
    for name, array in (("c", x), ("f", np.asfortranarray(x))):
        np.save(tmp_path / f"{name}.npy", array)
        for out in (f"{name}y.npy", f"{name}y.bin"):
            files.convert(tmp_path / f"{name}.npy", tmp_path / out, device="cuda", device_memory=30_000, **ND_NZ)
            files.convert(tmp_path / f"{name}.npy", tmp_path / f"cpu{out}", **ND_NZ)
            assert (tmp_path / out).read_bytes() == (tmp_path / f"cpu{out}").read_bytes()
    assert made


def test_a_tensor_that_cannot_be_cut_fits_or_is_refused(tmp_path: Path, made: list[LateDevice]) -> None:
    x = np.arange(40 * 10 * 9, dtype=np.float32).reshape(40, 10, 3, 3)
    np.save(tmp_path / "x.npy", x)
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", **GROUPED)
    needed = x.nbytes + np.load(tmp_path / "y.npy").nbytes
    refusal = (
        f"`device_memory` must leave each of the `jobs` at least {needed} bytes of free memory of the device for x, "
        "which NCHW to FRACTAL_Z does not let be cut further, got"
    )
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match=f"{refusal} {needed - 1}; or take device cpu"):
        files.convert(tmp_path / "x.npy", tmp_path / "z.npy", device="cuda", device_memory=needed - 1, **GROUPED)
    with pytest.raises(ValueError, match=f"{refusal} {needed // 2}; or take device cpu"):
        files.convert(tmp_path / "x.npy", tmp_path / "z.npy", device="cuda", device_memory=needed, jobs=2, **GROUPED)
    assert sorted(tmp_path.iterdir()) == before
    files.convert(tmp_path / "x.npy", tmp_path / "z.npy", device="cuda", device_memory=needed, **GROUPED)
    assert (tmp_path / "z.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()
    assert [device.peak for device in made] == [needed]


def test_no_more_than_is_free(source: Path, tmp_path: Path, made: list, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "free_bytes", lambda number: 30_000)
    assert not files.convert(source, tmp_path / "y.safetensors", device="cuda", **ND_NZ).failed
    assert made[0].peak <= 30_000
    monkeypatch.setattr(conversion, "free_bytes", lambda number: 300)
    with pytest.raises(ValueError, match=r"at least \d+ bytes of free memory .* for w0, .* cut further, got 300"):
        files.convert(source, tmp_path / "z.safetensors", device="cuda", dry_run=True, **ND_NZ)


def test_a_disk_that_fails_meanwhile(
    source: Path, tmp_path: Path, made: list[LateDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device has nothing left to do, and memory is given back."""
    produce = tasks.produce

    def failing(task: tasks.Task) -> Iterator[memoryview]:
        for data in produce(task):
            yield data
            raise OSError(28, "no space left")

    monkeypatch.setattr(tasks, "produce", failing)
    report = files.convert(source, tmp_path / "y.safetensors", device="cuda", device_memory=40_000, **ND_NZ)
    assert "no space left" in report.failed[0].reason
    del report
    gc.collect()
    assert {(device.held, device.pinned_held, device.left) for device in made} == {(0, 0, 0)}


class FakeError(RuntimeError):
    pass


def fake_cupy(count: int | None) -> types.ModuleType:
    """Return a CuPy with so many devices, or without a driver."""

    def device_count() -> int:
        if count is None:
            raise FakeError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return count

    module = types.ModuleType("cupy")
    runtime = types.SimpleNamespace(getDeviceCount=device_count, CUDARuntimeError=FakeError)
    module.cuda = types.SimpleNamespace(runtime=runtime)  # type: ignore[attr-defined]
    return module


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_device("auto") is as_device("cpu") is None
    for text in ("cuda:", "cuda:-1", "CUDA", "gpu", ""):
        with pytest.raises(ValueError, match="`device` must be auto, cpu, cuda or cuda:N"):
            as_device(text)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ValueError, match=r"cuda needs CuPy, which cannot be imported .*; install xascend\[cuda12\]"):
        as_device("cuda")
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(None))
    with pytest.raises(ValueError, match="cuda:0 needs a CUDA driver and device: cudaErrorNoDevice"):
        as_device("cuda:0")
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(2))
    assert (as_device("cuda"), as_device("cuda:1")) == (0, 1)
    with pytest.raises(ValueError, match="cuda:2 is not there: CUDA devices are numbered from 0, and there are 2"):
        as_device("cuda:2")


@pytest.mark.parametrize(
    ("cupy", "device", "told"),
    [
        (None, "cuda", "needs CuPy, which cannot be imported"),
        (fake_cupy(None), "cuda:1", "needs a CUDA driver and device"),
        (fake_cupy(0), "cuda", "is not there: CUDA devices are numbered from 0, and there are 0"),
        (fake_cupy(1), "cuda:1", "is not there: CUDA devices are numbered from 0, and there are 1"),
    ],
)
def test_one_line_before_anything_is_written(
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    cupy: Any,
    device: str,
    told: str,
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    arguments = ["convert", str(source), str(tmp_path / "y.safetensors"), "--from", "ND", "--to", "NZ"]
    assert run([*arguments, "--device", device, "--device-memory", "1GiB"]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert f"`device` {device} {told}" in shown.err
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_bad_amounts_of_memory(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="`device_memory` must be an integer of at least 1, got 0"):
        files.convert(source, tmp_path / "y.safetensors", device_memory=0, **ND_NZ)
    assert run(["convert", str(source), "y.safetensors", "--to", "NZ", "--device-memory", "much"]) == 2
    assert "must be a size such as 256M or 2G, got 'much'" in capsys.readouterr().err


class HostCupy(types.ModuleType):
    """As much of CuPy as streaming calls, with its signatures, in host memory and without delay."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.current: list[Any] = []
        self.log: list[tuple[Any, ...]] = []
        self.ndarray = lambda shape, dtype, memptr: (
            memptr[: int(np.prod(shape)) * dtype.itemsize].view(dtype).reshape(shape)
        )
        self.cuda = types.SimpleNamespace(
            Device=self._device,
            PinnedMemory=lambda size: self._on_device("pinned", bytearray(size)),
            PinnedMemoryPointer=lambda memory, offset: memory[offset:],
            Memory=lambda size: self._on_device("memory", np.full(size, 0xA5, np.uint8)),
            MemoryPointer=lambda memory, offset: memory[offset:].view(Pointer),
            Stream=self._stream,
            Event=self._event,
            runtime=types.SimpleNamespace(memGetInfo=lambda: self._on_device("free", (7, 9))),
        )

    def _on_device(self, what: str, value: Any) -> Any:
        self.log.append((what, self.current[-1]))
        return value

    def _device(self, number: int) -> Any:
        current = self.current

        class Device:
            def __enter__(self) -> None:
                current.append(number)

            def __exit__(self, *_: object) -> None:
                current.pop()

        return Device()

    def _stream(self, *, non_blocking: bool) -> Any:
        assert non_blocking
        return self._on_device("stream", contextlib.nullcontext())

    def _event(self, *, block: bool, disable_timing: bool) -> Any:
        assert block
        assert disable_timing
        return types.SimpleNamespace(
            record=lambda stream: self.log.append(("record", self.current[-1])),
            synchronize=lambda: self.log.append(("synchronize",)),
        )


class Pointer(np.ndarray):
    def copy_from_host_async(self, mem: int, size: int, stream: Any) -> None:
        assert stream is not None
        self[:size] = host_bytes(mem, size)

    def copy_to_host_async(self, mem: int, size: int, stream: Any) -> None:
        assert stream is not None
        host_bytes(mem, size)[...] = self[:size]


def host_bytes(address: int, size: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)


def test_what_is_asked_of_cupy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = HostCupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(conversion, "as_device", lambda device: 3)
    monkeypatch.setattr(conversion, "free_bytes", lambda number: 1 << 30)
    monkeypatch.setattr(conversion, "executor_of_slabs", lambda number: ("cuda", {}))
    assert free_bytes(3) == 7
    x = np.arange(150 * 100, dtype=np.int16).reshape(150, 100)
    np.save(tmp_path / "x.npy", x)
    report = files.convert(tmp_path / "x.npy", tmp_path / "y.npy", device="cuda:3", device_memory=20_000, **ND_NZ)
    assert not report.failed, report.failed
    monkeypatch.undo()
    files.convert(tmp_path / "x.npy", tmp_path / "cpu.npy", **ND_NZ)
    assert (tmp_path / "y.npy").read_bytes() == (tmp_path / "cpu.npy").read_bytes()
    assert {number for what, *numbers in cupy.log for number in numbers} == {3}
    assert [what for what, *_ in cupy.log].count("stream") == 2
    assert cupy.current == []


@pytest.fixture
def on_gpu() -> None:
    try:
        as_device("cuda")
    except ValueError as error:
        pytest.skip(str(error))


@pytest.mark.gpu
@pytest.mark.parametrize("jobs", [1, 2])
def test_by_way_of_a_device(source: Path, tmp_path: Path, on_gpu: None, jobs: int) -> None:
    files.convert(source, tmp_path / "y.safetensors", **ND_NZ)
    options = {"device": "cuda", "jobs": jobs, "verify": True} | ND_NZ
    files.convert(source, tmp_path / "z.safetensors", **options)
    assert (tmp_path / "y.safetensors").read_bytes() == (tmp_path / "z.safetensors").read_bytes()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("shape", "options", "memory"),
    [((6000, 5000), ND_NZ, 8 << 20), ((640, 250, 9, 11), GROUPED, 1 << 30)],
    ids=["many slabs", "one slab"],
)
def test_memory_of_a_device_is_given_back(
    tmp_path: Path, on_gpu: None, shape: tuple[int, ...], options: dict[str, Any], memory: int
) -> None:
    np.save(tmp_path / "x.npy", (np.arange(np.prod(shape)) % 60013).astype(np.uint16).reshape(shape))
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", **options)
    on_device = {"device": "cuda", "device_memory": memory} | options
    files.convert(tmp_path / "x.npy", tmp_path / "first.npy", **on_device)
    before = free_bytes(0)
    files.convert(tmp_path / "x.npy", tmp_path / "z.npy", **on_device)
    gc.collect()
    assert abs(free_bytes(0) - before) < 4 << 20
    assert (tmp_path / "z.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()

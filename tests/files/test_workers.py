"""The same result one task after the other, in threads, and on a Dask cluster; and devices that are not there."""

from __future__ import annotations

import builtins
import contextlib
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import xascend
from xascend import Format, files
from xascend._execute import execute
from xascend._plan import make_plan
from xascend.files import device, tasks
from xascend.files.device import as_device

ND_NZ = {"src_format": "ND", "dst_format": "NZ"}


@pytest.fixture
def source(tmp_path: Path, counting: Callable) -> Path:
    tensors = {f"w{n}": counting((150, 100 + n), "bfloat16") for n in range(5)} | {"bias": counting((999,), "int8")}
    save_file(tensors, tmp_path / "x.safetensors")
    return tmp_path / "x.safetensors"


def test_threads_give_the_same_bytes(source: Path, tmp_path: Path) -> None:
    for jobs in (1, 2, 7):
        files.convert(source, tmp_path / f"{jobs}.safetensors", jobs=jobs, max_bytes=40_000, **ND_NZ)
    assert len({(tmp_path / f"{jobs}.safetensors").read_bytes() for jobs in (1, 2, 7)}) == 1


def test_a_failure_in_a_thread_gives_the_file_up(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    convert_slab = tasks.convert_slab

    def failing(plan: Any, *arguments: Any) -> None:
        if plan.sizes[-1] == 102:
            raise MemoryError("no memory")
        convert_slab(plan, *arguments)

    monkeypatch.setattr(tasks, "convert_slab", failing)
    report = files.convert(source, tmp_path / "y.safetensors", jobs=3, **ND_NZ)
    assert [(tensor.name, tensor.reason) for tensor in report.failed] == [("w2", "no memory")]
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@contextlib.contextmanager
def cluster(processes: bool) -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        local = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=None, protocol="tcp"
        )
        with local:
            yield local.scheduler_address


@pytest.mark.parametrize("processes", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_bytes(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: bool
) -> None:
    files.convert(source, tmp_path / "y.safetensors", **ND_NZ)
    with cluster(processes) as address:
        monkeypatch.chdir(tmp_path)  # not the folder of the workers
        options = {"scheduler": address, "max_bytes": 40_000, "verify": True} | ND_NZ
        report = files.convert(source.name, "z.safetensors", **options)
        missing = files.convert(source, tmp_path / "n.npz", scheduler=address, **ND_NZ)
    assert not report.failed
    assert not missing.failed
    assert (tmp_path / "y.safetensors").read_bytes() == (tmp_path / "z.safetensors").read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_a_failure_on_a_cluster_gives_the_file_up(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise OSError(5, "no such disk here")

    monkeypatch.setattr(tasks, "convert_slab", failing)
    with cluster(processes=False) as address:
        report = files.convert(source, tmp_path / "y.safetensors", scheduler=address, **ND_NZ)
    assert "no such disk here" in report.failed[0].reason
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("xascend.files.workers._PATIENCE", 0.5)
    with pytest.raises(OSError, match=r"cannot reach the Dask scheduler at tcp://127\.0\.0\.1:9: Timed out"):
        files.convert(source, tmp_path / "y.safetensors", scheduler="tcp://127.0.0.1:9", **ND_NZ)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"needs Dask, which cannot be imported .*; install xascend\[distributed\]"):
        files.convert(source, tmp_path / "y.safetensors", scheduler="tcp://127.0.0.1:9", **ND_NZ)
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


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


class HostArray(np.ndarray):
    """Stands for an array on a device, in host memory."""

    def get(self, out: np.ndarray) -> None:
        out[...] = self


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "complex128"])
def test_the_way_to_a_device_and_back(monkeypatch: pytest.MonkeyPatch, counting: Callable, dtype: str) -> None:
    module: Any = fake_cupy(1)
    module.asarray = lambda x: np.array(x)
    module.cuda.Device = lambda number: contextlib.nullcontext(number)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(device, "execute", lambda *arguments: execute(*arguments).view(HostArray))
    x = counting((20, 40), dtype)
    plan = make_plan(Format.ND, Format.FRACTAL_NZ, x.shape, None, 8 * x.itemsize, None, 1)
    out = np.empty(plan.dst_shape, x.dtype)
    device.convert_slab(plan, x, out, 0)
    assert out.tobytes() == xascend.nd_to_nz(x).tobytes()


@pytest.mark.gpu
def test_by_way_of_a_device(source: Path, tmp_path: Path) -> None:
    try:
        as_device("cuda")
    except ValueError as error:
        pytest.skip(str(error))
    files.convert(source, tmp_path / "y.safetensors", **ND_NZ)
    files.convert(source, tmp_path / "z.safetensors", device="cuda", verify=True, **ND_NZ)
    assert (tmp_path / "y.safetensors").read_bytes() == (tmp_path / "z.safetensors").read_bytes()


def test_nothing_heavy_is_imported_for_local_work(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_import = builtins.__import__

    def guarded(name: str, *arguments: Any, **options: Any) -> Any:
        assert name.partition(".")[0] not in ("cupy", "torch", "dask", "distributed")
        return real_import(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", guarded)
    files.convert(source, tmp_path / "y.safetensors", jobs=2, **ND_NZ)


def test_compressed_members_are_one_task(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", w=np.ones((400, 400), np.float32))
    np.savez(tmp_path / "s.npz", w=np.ones((400, 400), np.float32))
    counts = {}
    for name in ("x", "s"):
        calls: list[int] = []
        files.convert(
            tmp_path / f"{name}.npz",
            tmp_path / f"{name}.safetensors",
            max_bytes=1 << 16,
            progress=lambda done, _, calls=calls: calls.append(done),
            **ND_NZ,
        )
        counts[name] = len(calls)
    assert counts["x"] == 1 < counts["s"]

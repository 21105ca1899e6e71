"""The same result one task after the other, in threads, and on a Dask cluster."""

from __future__ import annotations

import builtins
import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from xascend import files
from xascend.files import tasks

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

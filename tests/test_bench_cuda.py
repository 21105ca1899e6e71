"""The CUDA side of the benchmark suite against a stand-in for CuPy; what only a device can show is left to one."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xascend import bench
from xascend.bench._devices import Cuda, open_device


class StandIn(SimpleNamespace):
    """NumPy under CuPy's name, with a clock that counts calls of the device and a pool that holds 100 bytes more."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.ticks = 0
        self.pool = 1000
        super().__init__(
            **{name: getattr(np, name) for name in ("ascontiguousarray", "asarray", "copyto", "empty", "zeros")},
            asnumpy=np.asarray,
            get_default_memory_pool=lambda: SimpleNamespace(
                free_all_blocks=lambda: self.log.append("free"), total_bytes=lambda: self.pool
            ),
            cuda=SimpleNamespace(
                Device=lambda number: nullcontext(self.log.append(f"device {number}")),
                Event=self.event,
                get_elapsed_time=lambda start, stop: float(stop.at - start.at),
                get_current_stream=lambda: SimpleNamespace(synchronize=lambda: self.log.append("synchronize")),
                runtime=SimpleNamespace(
                    CUDARuntimeError=RuntimeError,
                    getDeviceCount=lambda: 2,
                    getDeviceProperties=lambda number: {"name": f"Stand-in {number}".encode(), "l2CacheSize": 2048},
                ),
            ),
        )

    def event(self) -> Any:
        event = SimpleNamespace(at=None, synchronize=lambda: self.log.append("wait"))
        event.record = lambda: setattr(event, "at", self.ticks)
        return event


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    return stand_in


def test_time_is_that_between_events(cupy: StandIn) -> None:
    def call() -> None:
        cupy.ticks += 3  # milliseconds

    assert Cuda(1).seconds(call, 4) == pytest.approx(3e-3)
    assert cupy.log == ["wait"]
    assert Cuda(1).first_seconds(call) > 0
    assert cupy.log == ["wait", "synchronize", "synchronize"]


def test_memory_is_that_of_the_pool(cupy: StandIn) -> None:
    def call() -> None:
        assert cupy.log == ["free"]
        cupy.pool += 100

    assert Cuda(0).peak_bytes(call) == 100


def test_types_that_cupy_does_not_know_are_words(cupy: StandIn) -> None:
    x = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    placed = Cuda(0).place(x)
    assert placed.dtype == np.uint16
    assert placed.tobytes() == x.tobytes()
    assert Cuda(0).empty((2, 3), x.dtype).dtype == np.uint16
    assert Cuda(0).place(x.astype(np.float16)).dtype == np.float16


def test_a_report(cupy: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy.cuda, "get_elapsed_time", lambda *_: 2.0)
    report = bench.run(device="cuda:1", families=["nz-ragged", "requantize"], sizes=[1], threads=4, rounds=2)
    assert report.device == "Stand-in 1"
    assert cupy.log[0] == "device 1"
    names = [each.contender for each in report.cases[0].measurements]
    assert names[:3] == ["copy", "new copy", "idiom"]
    assert names[-2:] == ["xascend", "xascend without out"]
    assert {each.threads for case in report.cases for each in case.measurements} == {1}
    assert len(report.cases) == 3
    assert [case.cache for case in report.cases] == ["L2", "L2", None]  # of the device


def test_torch_without_cuda_says_so(cupy: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(cupy.cuda, "get_elapsed_time", lambda *_: 2.0)
    report = bench.run(device="cuda", families=["nz"], sizes=[1], rounds=1)
    assert report.cases[0].skipped["torch"] == "this build of it has no CUDA"


def test_devices_by_name(cupy: StandIn) -> None:
    assert open_device("cuda") == Cuda(0)
    assert open_device("cuda:1") == Cuda(1)
    with pytest.raises(ValueError, match="CUDA devices are numbered from 0, and there are 2"):
        open_device("cuda:2")

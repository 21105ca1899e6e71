"""The report on a GPU, without one: its checks and timings on the host, and its table from made-up numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from files.late_device import LateDevice

from xascend import bench, nd_to_nz
from xascend._cuda._loader import source_folder
from xascend.bench._devices import Cuda, Host

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))
import gpu_checks  # noqa: E402 - from the path above
import gpu_report  # noqa: E402
import gpu_streaming  # noqa: E402
import gpu_timings  # noqa: E402
from gpu_timings import Ratio, Row, Step  # noqa: E402

MIB = 1 << 20
MADE_UP = {"card": "Made-up 9", "driver": "0", "cuda": "0.0", "date": "2000-01-01"}


class Memory(Host):
    """The host, whose arrays own their memory as those of a device do."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.full(shape, 1, dtype)

    def place(self, x: np.ndarray) -> np.ndarray:
        return x.copy()


class Spoiling(Memory):
    """One bit of what comes back is wrong."""

    def fetch(self, x: np.ndarray) -> np.ndarray:
        spoiled = x.copy()
        spoiled.reshape(-1)[-1:].view(np.uint8)[:1] ^= 1
        return spoiled


def executor() -> str:
    from xascend.bench import _own

    return "native" if _own._native.reason_unsupported() is None else "numpy"


def test_checks_pass_where_all_is_well() -> None:
    count, faults = gpu_report.find_faults(gpu_checks.checks(Memory(), executor()))
    assert (count > 100, faults) == (True, {})


def test_checks_find_a_wrong_bit_an_exception_and_another_executor(capsys: pytest.CaptureFixture[str]) -> None:
    count, faults = gpu_report.find_faults(gpu_checks.checks(Spoiling(), executor()))
    assert count - len(faults) == 5, "of an empty tensor nothing can be wrong, in five types"
    assert "1 of" in faults["brcb, uint8"]
    assert "differ, the first at" in faults["fixpipe REQ8 to ND, int32 to int8"]
    _, faults = gpu_report.find_faults(gpu_checks.checks(Memory(), "cuda"))
    assert faults["ND to FRACTAL_NZ and back, uint8, 256 x 512"].startswith("not done by cuda but by ")
    _, faults = gpu_report.find_faults([gpu_checks.Check("a", lambda: 1 // 0)])
    assert faults == {"a": "ZeroDivisionError: integer division or modulo by zero"}
    assert "FAULT a: ZeroDivisionError" in capsys.readouterr().out


def test_kernels_that_were_compiled_are_seen() -> None:
    entries = gpu_checks.entries_of_sources()
    assert {"runs", "tiles_aligned", "tiles_shifted"} <= entries
    sources = (path.read_text(encoding="utf-8") for path in source_folder().glob("*.cu"))
    assert len(entries) == sum(source.count("__global__ void") for source in sources)
    module = SimpleNamespace(get_function=lambda entry: f"compiled {entry}")
    cupy = SimpleNamespace(RawModule=lambda **options: module)
    before = cupy.RawModule
    with gpu_checks.recorded_entries(cupy) as seen:
        assert cupy.RawModule(code="", options=()).get_function("runs") == "compiled runs"
    assert (list(seen), cupy.RawModule) == (["runs"], before)
    assert seen["runs"] >= 0


def made_up_case(family: str, ours: float) -> bench.CaseResult:
    def measurement(name: str, seconds: float) -> bench.Measurement:
        return bench.Measurement(name, 1, seconds, 1.0, "copy", 1e-3 / seconds, 1.0, 1.0, 1.0, None)

    contenders = {"copy": 1e-3, "idiom": 3e-3, "torch": 1.05e-3, "xascend": ours}
    measured = tuple(measurement(*each) for each in contenders.items())
    return bench.CaseResult(family, "", "ND", "FRACTAL_NZ", (4, 8), "int8", 64 * MIB, measured, {})


def test_targets_stand_beside_the_ratios() -> None:
    row = gpu_timings.layout_row(made_up_case("nz", 1.25e-3))
    assert {name: (round(r.value, 2), r.target) for name, r in row.ratios.items()} == {
        "copy": (0.8, 0.9),
        "idiom": (2.4, 2.0),
        "torch": (0.84, 1.0),
    }
    line = gpu_report.line_of(row)
    assert [part.strip() for part in line.split("  ") if part.strip()] == [
        "ND to FRACTAL_NZ",
        "int8",
        "4x8",
        "64 MiB",
        "1250.0",
        "54",
        "0.80 BELOW 0.90",
        "2.40 >= 2.00",
        "0.84 BELOW 1.00",
    ]
    assert gpu_timings.layout_row(made_up_case("nz-ragged", 1.25e-3)).ratios["copy"].target == 0.8
    assert str(gpu_timings.layout_row(made_up_case("nz", 1e-3), with_targets=False).ratios["copy"]) == "1.00"
    assert gpu_report.heading().split()[-3:] == ["of", "pinned", "copies"]


def test_what_there_is_no_time_for_is_told() -> None:
    now = [0.0]

    def step(name: str, seconds: float, nbytes: int = 1) -> Step:
        def rows() -> Any:
            now[0] += seconds
            yield Row(name, "int8", (1,), 2048, 1e-6, {}, 5e-6)

        return Step(name, nbytes, rows)

    def broken() -> Any:
        raise RuntimeError("a wrong result")
        yield

    budget = gpu_report.Budget(10, lambda: now[0])
    given = [
        step("a", 4),
        Step("wrong", 0, broken),
        step("small", 1, 0),
        step("too large", 1, 3),
        step("b", 4),
        step("c", 1),
    ]
    rows, left_out, faults = gpu_report.time_steps(given, budget)
    assert [row.what for row in rows] == ["a", "small", "b"]
    assert left_out == ["too large", "c"]
    assert faults == {"wrong": "RuntimeError: a wrong result"}
    assert gpu_report.line_of(rows[0]).endswith("5.0 us of a call beside it")


def test_sizes_follow_the_memory_of_the_card() -> None:
    names = [step.name for step in gpu_timings.steps(0, LateDevice(), 64 << 30)]
    assert sum(step.nbytes == 4096 * MIB for step in gpu_timings.steps(0, LateDevice(), 64 << 30)) == 4
    assert len(names) == len(set(names)) == 1 + 2 + 36 + 4 + 8
    assert names[:2] == ["fixpipe with quantisation", "streaming nz"]
    small = list(gpu_timings.steps(0, LateDevice(), 1 << 30))
    assert {step.nbytes for step in small[3:]} == {128 * MIB, 0}


class Clock(SimpleNamespace):
    """NumPy under CuPy's name, and events on a clock; the host takes 5 ms for a call, a copy of the device 0.1 ms."""

    def __init__(self) -> None:
        self.host = self.device = 0.0
        self.copies = 0
        super().__init__(
            zeros=np.zeros,
            empty=np.empty,
            copyto=self._copy,
            cuda=SimpleNamespace(Event=self._event, get_elapsed_time=lambda start, stop: stop.at - start.at),
        )

    def _copy(self, *_: Any) -> None:
        self.copies += 1
        self.device = max(self.device, self.host) + 0.1

    def call(self) -> None:
        self.host += 5.0
        self.device = max(self.device, self.host) + 0.5

    def _event(self) -> Any:
        clock = self

        class Event:
            def record(self) -> None:
                self.at = max(clock.device, clock.host)

            @property
            def done(self) -> bool:
                return clock.host >= self.at

            def synchronize(self) -> None:
                clock.host = max(clock.host, self.at)

        return Event()


def test_launching_takes_no_part_in_the_time_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(Cuda, "xp", clock)
    monkeypatch.setattr(gpu_timings, "MIB", 1)
    device = gpu_timings.Queued(0)
    assert device.seconds(clock.call, 1) == pytest.approx(0.5e-3)
    assert device.copies == [64], "6.4 ms of copies hide 5 ms of the host, 3.2 ms do not"
    assert device.seconds(clock.call, 2) == pytest.approx(0.5e-3)
    assert device.seconds(clock.call, 100) == pytest.approx(5.0e-3, rel=0.1), "more than 256 copies hide"


def test_fixpipe_and_streaming_without_a_device() -> None:
    rows = list(gpu_timings.fixpipe_rows(Memory(), 64, 64))
    assert len(rows) == 6
    assert {row.ratios["copy"].target for row in rows} == {0.8}
    assert rows[0].nbytes == 64 * 64 * 5
    for name in ("nz", "5hd"):
        (row,) = gpu_timings.streaming_rows(LateDevice("early"), name, 1 << 18, 1 << 16)
        assert row.what in ("streaming ND to FRACTAL_NZ", "streaming NCHW to NC1HWC0")
        assert row.ratios["pinned copy"].target == 0.85
        assert row.seconds > 0


def test_streaming_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_streaming.xa, "trans_data", lambda x, *_: nd_to_nz(x) + 1)
    with pytest.raises(RuntimeError, match="streaming returned a wrong result for nz ND -> FRACTAL_NZ float16"):
        list(gpu_timings.streaming_rows(LateDevice("early"), "nz", 1 << 16))


@pytest.mark.parametrize(("faults", "status"), [({}, 0), ({"a check": "wrong"}, 1)])
def test_the_result_of_a_run(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    faults: dict[str, str],
    status: int,
) -> None:
    row = Row("made up", "int8", (2, 3), 2 * MIB, 1e-3, {"copy": Ratio(0.5, 0.9), "torch": Ratio(1.5, 1.0)})
    made_up = gpu_report.Report(MADE_UP, faults, 7, (row,), ("a step",))
    monkeypatch.setattr(gpu_report, "open_device", lambda name: Cuda(0))
    monkeypatch.setattr(gpu_report, "run", lambda device: made_up)
    monkeypatch.setattr(sys, "argv", ["gpu_report.py", "--out", str(tmp_path / "made-up.json")])
    assert gpu_report.main() == status
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "not measured, for lack of time: a step"
    assert shown[1].startswith(f"{status} faults, 1 targets missed, written to ")
    written = json.loads((tmp_path / "made-up.json").read_text(encoding="utf-8"))
    assert written["facts"] == MADE_UP
    assert written["rows"][0]["ratios"]["copy"] == {"value": 0.5, "target": 0.9}
    assert (written["faults"], written["left_out"]) == (faults, ["a step"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [([], "needs CuPy, which cannot be imported"), (["--device", "cpu"], "must be cuda or cuda:N, got cpu")],
)
def test_one_line_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(sys, "argv", ["gpu_report.py", *arguments])
    assert gpu_report.main() == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert told in shown.err

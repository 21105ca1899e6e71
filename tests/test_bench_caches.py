"""Whether a report says that a cache holds what is measured."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from xascend import bench
from xascend.bench import _caches, _machine
from xascend.bench._caches import host_caches, smallest_holding
from xascend.bench._devices import Host
from xascend.cli import run

KIB = 1 << 10
CACHES = {"L1": 48 * KIB, "L2": 2048 * KIB}


def describe_caches(folder: Path, *rows: dict[str, str]) -> None:
    """Write what Linux tells of a core's caches."""
    for number, row in enumerate(rows):
        (folder / f"index{number}").mkdir()
        for name, value in row.items():
            (folder / f"index{number}" / name).write_text(value + "\n")


def test_caches_of_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_caches, "_FOLDER", tmp_path)
    describe_caches(
        tmp_path,
        {"level": "1", "type": "Data", "size": "48K"},
        {"level": "1", "type": "Instruction", "size": "64K"},
        {"level": "2", "type": "Unified", "size": "2048K"},
        {"level": "3", "type": "Unified"},  # some machines and containers tell no size
        {"level": "4", "type": "Unified", "size": ""},
    )
    assert host_caches() == Host().caches() == CACHES
    assert _machine.describe()["caches"] == "L1 48K, L2 2048K"


def test_nothing_is_said_where_caches_are_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_caches, "_FOLDER", tmp_path / "missing")
    assert host_caches() == {}
    report = bench.run(families=["nz"], sizes=[1], threads=1, rounds=1)
    assert "caches" not in report.machine
    assert [case.cache for case in report.cases] == [None, None]
    assert '"cache"' not in report.to_json()
    assert "(in L" not in bench.markdown_table(report)


@pytest.mark.parametrize(
    ("nbytes", "name"),
    [(0, "L1"), (48 * KIB, "L1"), (48 * KIB + 1, "L2"), (2048 * KIB, "L2"), (2048 * KIB + 1, None)],
)
def test_the_smallest_cache_that_holds_it(nbytes: int, name: str | None) -> None:
    assert smallest_holding(CACHES, nbytes) == name
    assert smallest_holding({}, nbytes) is None


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> bench.Report:
    """A matrix that L1 just holds with its result, and one that it does not."""
    monkeypatch.setattr(Host, "caches", lambda _: {"L1": 2 * 16 * 32 * 2})
    return bench.run(families=["nz"], sizes=[1024, 2048], threads=1, rounds=1)


def test_json_tells_the_cache(report: bench.Report) -> None:
    text = report.to_json()
    assert [case.get("cache") for case in json.loads(text)["cases"]] == ["L1", "L1", None, None]
    assert bench.Report.from_json(text).to_json() == text


def test_tables_tell_the_cache(report: bench.Report) -> None:
    origin, table = bench.markdown_table(report).split("\n\n")
    assert origin.endswith(" (in L1): source and result fit into that cache together.")
    assert [line.split(" | ")[3].endswith(" (in L1)") for line in table.splitlines()[2:]] == [True, True, False, False]
    titles = [str(table.title) for table in bench.terminal_tables(report)]
    assert titles[0] == "nz: ND -> FRACTAL_NZ, float16, 16 x 32 (in L1)"
    assert titles[2] == "nz: ND -> FRACTAL_NZ, float16, 32 x 32"


def test_several_caches_are_told_apart(report: bench.Report) -> None:
    names = "L2", "L3", "L2", None
    cases = [dataclasses.replace(case, cache=cache) for case, cache in zip(report.cases, names, strict=True)]
    told = bench.markdown_table(dataclasses.replace(report, cases=tuple(cases)))
    assert " (in L2), (in L3): source and result fit into that cache together." in told


def test_the_chart_tells_the_cache(report: bench.Report, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    bench.save_chart(report, tmp_path / "r.svg")
    text = (tmp_path / "r.svg").read_text(encoding="utf-8")
    assert text.count("<!-- float16 16x32 (in L1) -->") == 2
    assert text.count("<!-- float16 32x32 -->") == 2


@pytest.mark.parametrize("size", [1 << 10, 0])
def test_the_terminal_explains_it(
    size: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Host, "caches", lambda _: {"L3": size << 10})
    assert run(["bench", "--size", "1", "--rounds", "1", "--threads", "1", "--family", "nz"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("16 x 32 (in L3)") == (2 if size else 0)
    assert ("(in L3): that cache holds source and result together," in shown) == bool(size)

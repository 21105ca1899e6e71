"""Results on record and the tables that come from them."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripts import load_script

from xascend import bench

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
RESULTS = sorted((BENCHMARKS / "results").glob("*.json"))
TWICE = "cache", "dram", "tiny"


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script as a module, whose names a test may change."""
    monkeypatch.syspath_prepend(BENCHMARKS)  # as where Python runs it
    return load_script(BENCHMARKS / "record.py")


@pytest.fixture(scope="module")
def report() -> bench.Report:
    return bench.run(families=["nz", "requantize"], dtypes=["int8", "float16"], sizes=[1], threads=2, rounds=2)


def test_documents_agree_with_the_results(record: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    status = record.write_tables(check=True)
    assert (status, capsys.readouterr().out) == (0, ""), "run python benchmarks/record.py tables"


def test_results_are_shown_somewhere(record: ModuleType) -> None:
    shown = {name for path in record.documents() for name in record.sources(path.read_text(encoding="utf-8"))}
    assert all(any(path.name.startswith(name) for path in RESULTS) for name in shown)
    assert {"cpu", "cpu-dram.json"} <= shown


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_results_on_record(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    report = bench.Report.from_json(text)
    assert report.to_json() == text
    assert report.cases
    assert "/" not in json.dumps(dict(report.machine))  # a path
    assert platform.node() not in report.machine.values()


def document(report: bench.Report, folder: Path, head: str, body: str = "old\n") -> str:
    (folder / "a.json").write_text(report.to_json(), encoding="utf-8")
    return f"# Title\n\n{head}\n{body}<!-- /bench -->\n\nMore.\n"


def test_a_table_is_replaced(record: ModuleType, report: bench.Report, tmp_path: Path) -> None:
    text = document(report, tmp_path, "<!-- bench: a.json -->")
    made = record.rewritten(text, tmp_path)
    assert "old" not in made
    assert made.startswith("# Title\n\n<!-- bench: a.json -->\n\nMeasured on 20")
    assert made.endswith("|\n\n<!-- /bench -->\n\nMore.\n")
    assert record.rewritten(made, tmp_path) == made
    assert record.sources(made) == ["a.json"]
    slower = report.to_json().replace('"contender": "idiom", "threads": 1', '"contender": "idiom", "threads": 2')
    (tmp_path / "a.json").write_text(slower, encoding="utf-8")
    assert record.rewritten(made, tmp_path) != made


def test_what_a_table_says(report: bench.Report) -> None:
    made = bench.markdown_table(report)
    origin, moved, quantised = made.split("\n\n")
    assert report.date in origin
    assert report.machine["processor"] in origin
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in moved.splitlines()]
    assert [row[:3] for row in rows[2:]] == [
        ["ND -> FRACTAL_NZ", "int8", "16 x 32"],
        ["FRACTAL_NZ -> ND", "int8", "16 x 32"],
        ["ND -> FRACTAL_NZ", "float16", "16 x 32"],
        ["FRACTAL_NZ -> ND", "float16", "16 x 32"],
    ]
    numpy = rows[0].index("xascend numpy")
    measured = report.cases[2].find("xascend numpy", 1)
    assert measured is not None
    assert float(rows[4][numpy]) == pytest.approx(measured.ratio, rel=0.06)
    assert rows[0][-2:] == ["xascend without out", "xascend without out, 2 threads"]
    assert {len(row) for row in rows} == {len(rows[0])}
    assert quantised.splitlines()[2].startswith("| int32 -> int8 | int32 | 16 x 32 |")


def test_a_table_of_some_types(record: ModuleType, report: bench.Report, tmp_path: Path) -> None:
    made = record.rewritten(document(report, tmp_path, "<!-- bench: a.json float16 int32 -->"), tmp_path)
    assert "| int8 |" not in made
    assert made.count("| float16 |") == 2
    assert made.count("| int32 |") == 1


def test_tables_of_aims(record: ModuleType, report: bench.Report, tmp_path: Path) -> None:
    (tmp_path / "a-dram.json").write_text(report.to_json(), encoding="utf-8")
    text = "# Title\n\n<!-- aims: a -->\nold\n<!-- /aims -->\nMore.\n<!-- ahead: a -->\nold\n<!-- /ahead -->\n"
    made = record.rewritten(text, tmp_path)
    assert "old" not in made
    assert made.startswith("# Title\n\n<!-- aims: a -->\n\nMeasured on 20")
    assert "\n| aim | size | wanted | 1 thread | 2 threads |\n" in made
    assert "|\n\n<!-- /aims -->\nMore.\n<!-- ahead: a -->\n\nMeasured on 20" in made
    assert made.endswith("|\n\n<!-- /ahead -->\n")
    assert record.rewritten(made, tmp_path) == made


def test_misses_are_listed(record: ModuleType, report: bench.Report, capsys: pytest.CaptureFixture[str]) -> None:
    assert record.main(["misses", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith(tuple(f"{size}: " for size in bench.SIZES)) for line in lines)
    assert all(", wanted at " in line for line in lines)


def test_faults_of_documents(record: ModuleType, report: bench.Report, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"b\.json"):
        record.rewritten(document(report, tmp_path, "<!-- bench: b.json -->"), tmp_path)
    for faulty in ("<!-- bench: a.json -->\n", "<!-- aims: a -->\n<!-- /ahead -->\n", "<!-- ahead: a -->\n"):
        with pytest.raises(ValueError, match="not closed"):
            record.rewritten(faulty, tmp_path)


def test_writing_and_checking(
    record: ModuleType,
    report: bench.Report,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = tmp_path / "page.md"
    page.write_text(document(report, tmp_path, "<!-- bench: a.json -->"), encoding="utf-8")
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    assert record.write_tables(check=True) == 1
    assert capsys.readouterr().out == "page.md differs from the results\n"
    assert record.write_tables(check=False) == 0
    assert capsys.readouterr().out == "page.md is written anew\n"
    assert record.write_tables(check=True) == 0


def test_recording(
    record: ModuleType,
    report: bench.Report,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    faster = bench.Report.from_json(report.to_json().replace('"ratio": ', '"ratio": 9'))
    passes = iter([report, report, report, faster, faster, faster, report, report, report])
    measured: list[list[int]] = []

    def run(**options: Any) -> bench.Report:
        measured.append(options["sizes"])
        return next(passes)

    monkeypatch.setattr(bench, "run", run)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    assert record.measure("here", "cpu") == 1
    lines = capsys.readouterr().out.splitlines()
    ours = sum(each.contender.startswith("xascend") for case in report.cases for each in case.measurements)
    assert len(lines) == ours
    assert lines[0].startswith("nz: ND -> FRACTAL_NZ, int8, 16 x 32: xascend numpy, threads 1: ")
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    sizes = "cache", "dram", "large", "tiny"
    assert names == sorted([f"here-{size}.json" for size in sizes] + [f"here-{size}-first.json" for size in TWICE])
    tiny, cache, dram, large = ([bench.SIZES[size]] for size in ("tiny", "cache", "dram", "large"))
    assert measured == [tiny, tiny, cache, cache, dram, dram, large]
    assert (tmp_path / "results" / "here-tiny.json").read_text(encoding="utf-8") == report.to_json()
    for file, kept in (("cache-first", report), ("cache", faster), ("dram-first", faster), ("large", report)):
        assert (tmp_path / "results" / f"here-{file}.json").read_text(encoding="utf-8") == kept.to_json()

    assert record.measure("there", "cpu", ["dram"]) == 0
    assert measured[-2:] == [dram, dram]
    there = sorted(path.name for path in (tmp_path / "results").glob("there*"))
    assert there == ["there-dram-first.json", "there-dram.json"]

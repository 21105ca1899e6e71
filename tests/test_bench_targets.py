"""Aims of conversions, and the tables that hold the results on record against them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest
from scripts import load_script

from xascend import bench
from xascend._dtypes import numpy_dtype

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
RESULTS = sorted((BENCHMARKS / "results").glob("*.json"))


@pytest.fixture(scope="module")
def targets() -> ModuleType:
    return load_script(BENCHMARKS / "targets.py")


def case(
    family: str, src: str, dtype: str, *rows: tuple[str, int, float] | tuple[str, int, float, float]
) -> bench.CaseResult:
    """Return a case in which contenders, with so many threads, took so many seconds and came to such a ratio."""
    dst = "ND" if src == "FRACTAL_NZ" else "FRACTAL_NZ"
    measured = [
        bench.Measurement(name, threads, seconds, 1.0, "copy", *[ratio[0] if ratio else 1.0] * 3, seconds, None)
        for name, threads, seconds, *ratio in rows
    ]
    return bench.CaseResult(family, "why", src, dst, (16, 32), dtype, 64, tuple(measured), {})


def write(folder: Path, name: str, cases: Sequence[bench.CaseResult], date: str = "2026-01-02") -> None:
    report = bench.Report(date, "cpu", 2, 9, {"processor": "P", "cores": "2"}, tuple(cases))
    (folder / f"{name}.json").write_text(report.to_json(), encoding="utf-8")


def rows_of(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]


def native(ratio: float, dtype: str, threads: int = 1) -> bench.CaseResult:
    return case("nz", "ND", dtype, ("copy", threads, 1.0), ("xascend native", threads, 1 / ratio, ratio))


def test_an_aim_over_two_passes(targets: ModuleType, tmp_path: Path) -> None:
    write(tmp_path, "me-dram-first", [native(1.2, "int8"), native(1.0, "float16"), native(1.099, "float32")])
    write(tmp_path, "me-dram", [native(1.3, "int8"), native(1.05, "float16"), native(1.1, "float32")], "2026-01-03")
    write(tmp_path, "other-dram", [native(0.1, "int8")])
    results = targets.Results.read(tmp_path, "me")
    made = targets.aims_table(results)
    assert made.startswith("Measured on 2026-01-02 and 2026-01-03.\n\n")
    head, _, first, *others = rows_of(made)
    assert head == ["aim", "size", "wanted", "1 thread", "2 threads"]
    assert first[:3] == ["FRACTAL_NZ, whole blocks", "dram", "at least 1.1 times a copy"]
    assert first[3:] == ["missed by 1 of 3, in one pass 1: 1.00 to 1.30", "-"]
    assert {row[1] for row in others} == {"dram"}
    assert {cell for row in others for cell in row[3:]} == {"-"}
    assert [line for line in targets.misses(results) if "FRACTAL_NZ, whole" in line] == [
        f"dram: nz: ND -> FRACTAL_NZ, {dtype}, 16 x 32: threads 1: FRACTAL_NZ, whole blocks: {reached}, "
        "wanted at least 1.1 times a copy"
        for dtype, reached in (("float16", "1.00, 1.05"), ("float32", "1.10, 1.10"))
    ]


def test_threads_are_told_apart(targets: ModuleType, tmp_path: Path) -> None:
    write(tmp_path, "me-dram", [native(1.25, "int8"), native(0.5, "float16", 2)])
    (row,) = (row for row in rows_of(targets.aims_table(targets.Results.read(tmp_path, "me"))) if "whole" in row[0])
    assert row[3:] == ["met: 1.25", "missed by 1 of 1: 0.50"]


@pytest.mark.parametrize(
    ("size", "seconds", "wanted", "told"),
    [
        ("dram", 1.0, "at most 1.05 times as long as the idiom", "met: 1.00"),
        ("dram", 1.051, "at most 1.05 times as long as the idiom", "missed by 1 of 1: 1.05"),
        ("tiny", 1 + 9.9e-6, "at most 10 us more than the idiom", "met: 9.90"),
        ("tiny", 1 + 10.1e-6, "at most 10 us more than the idiom", "missed by 1 of 1: 10.10"),
    ],
)
def test_the_numpy_executor(targets: ModuleType, size: str, seconds: float, wanted: str, told: str) -> None:
    measured = case("nz", "ND", "int8", ("copy", 1, 1.0), ("idiom", 1, 1.0), ("xascend numpy", 1, seconds))
    results = targets.Results(["2026-01-02"], [1], {size: [(measured,)]})
    rows = [row for row in rows_of(targets.aims_table(results)) if row[0] == "NumPy executor"]
    assert rows == [["NumPy executor", size, wanted, told]]


def test_who_is_ahead(targets: ModuleType, tmp_path: Path) -> None:
    rows = ("copy", 1, 1.0), ("copy", 2, 1.0), ("xascend native", 1, 4.0), ("xascend native", 2, 2.0)
    slower = case("nz", "ND", "int8", *rows, ("idiom", 1, 3.0), ("torch", 1, 4.0), ("torch", 2, 1.0))
    faster = case("nz", "ND", "float16", *rows, ("idiom", 1, 9.0), ("torch", 1, 5.0), ("torch", 2, 3.0))
    write(tmp_path, "me-large", [slower, faster])
    write(tmp_path, "me-tiny", [faster])
    made = targets.ahead_table(targets.Results.read(tmp_path, "me"))
    assert rows_of(made)[2:] == [
        ["idiom", "large", "1 of 2: up to 1.33 times as fast", "-"],  # with two threads ours is held against its one
        ["torch", "large", "-", "1 of 2: up to 2.00 times as fast"],
    ]


def test_no_results(targets: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No results"):
        targets.Results.read(tmp_path, "me")


WANTED = {  # of a copy, by family, direction and bytes of an element
    **{("nz", back, size): 1.1 for back in (False, True) for size in (1, 2, 4)},
    **{("nz-ragged", False, size): 0.9 for size in (1, 2, 4)},
    **{("nz-ragged", True, size): 0.75 for size in (1, 2, 4)},
    **{
        (family, back, size): 0.8 if size == 1 else 0.95
        for family in ("5hd", "5hd-ragged")
        for back in (False, True)
        for size in (1, 2, 4)
    },
    **{("5hd-nhwc", back, size): 0.85 for back in (False, True) for size in (1, 2, 4)},
    **{("fz", back, size): 0.6 for back in (False, True) for size in (1, 2, 4)},
    ("requantize", False, 4): 0.7,
}


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_every_case_on_record_has_its_aims(targets: ModuleType, path: Path) -> None:
    report = bench.Report.from_json(path.read_text(encoding="utf-8"))
    for each in report.cases:
        kind = each.family, each.src in ("FRACTAL_NZ", "NC1HWC0", "FRACTAL_Z"), numpy_dtype(each.dtype).itemsize
        about = [(aim.unit, aim.least or aim.most, aim.sizes) for aim in targets.AIMS if aim.is_about(each)]
        large = ("dram", "large")
        wanted = [("times a copy", WANTED[kind], large), ("times the idiom", 3, large)]
        if each.family != "requantize":
            wanted += [
                ("times a new copy", 0.9, large),
                ("times as long as the idiom", 1.05, ("cache", *large)),
                ("us more than the idiom", 10, ("tiny",)),
            ]
        assert sorted(about) == sorted(wanted)
        assert [aim.what for aim in targets.AHEAD if aim.is_about(each)] == ["idiom", "torch", "oneDNN"]

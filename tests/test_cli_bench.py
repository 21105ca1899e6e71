"""``xascend bench``: table, JSON, chart, and errors in one line before anything is measured."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from xascend import bench
from xascend.cli import run

QUICK = ["bench", "--size", "1", "--rounds", "2", "--threads", "2"]


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*QUICK, "--family", "nz", "--family", "requantize"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    lines = [line.rstrip() for line in shown.out.splitlines()]
    assert lines[0].startswith("processor: ")
    titles = [line.partition(" (in L")[0] for line in lines if " -> " in line]
    assert titles == [
        "nz: ND -> FRACTAL_NZ, float16, 16 x 32",
        "nz: FRACTAL_NZ -> ND, float16, 16 x 32",
        "requantize: int32 -> int8, int32, 16 x 32",
    ]
    heading = "contender threads GB/s ratio to copy half of rounds memory first call"
    assert [" ".join(line.split()) for line in lines].count(heading) == 3
    copies = [line.split() for line in lines if line.startswith("  copy  ")]
    assert [cells[1] for cells in copies] == ["1", "2"] * 3
    assert {cells[3] for cells in copies} == {"1.00"}
    assert any("of new copy" in line for line in lines)


def test_reasons_are_told_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert run([*QUICK, "--family", "nz"]) == 0
    assert capsys.readouterr().out.count("without torch: it cannot be imported") == 1


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*QUICK, "--family", "5hd", "--dtype", "int8", "--dtype", "f32", "--json"]) == 0
    report = bench.Report.from_json(capsys.readouterr().out)
    assert [(case.dtype, case.src) for case in report.cases] == [
        ("int8", "NCHW"),
        ("int8", "NC1HWC0"),
        ("float32", "NCHW"),
        ("float32", "NC1HWC0"),
    ]
    assert (report.rounds, report.threads, report.device) == (2, 2, "cpu")


def test_sizes_by_name_and_by_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--size", "tiny", "--size", "8K"]
    assert run(["bench", "--rounds", "1", "--threads", "1", "--family", "nz", "--json", *sizes]) == 0
    shapes = [case["shape"] for case in json.loads(capsys.readouterr().out)["cases"]]
    assert shapes == [[16, 32], [16, 32], [64, 64], [64, 64]]


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    out, svg, png = tmp_path / "r.json", tmp_path / "r.svg", tmp_path / "r.PNG"
    assert run([*QUICK, "--family", "fz", "--family", "requantize", "--out", str(out), "--plot", str(svg)]) == 0
    assert capsys.readouterr().err == ""
    report = bench.Report.from_json(out.read_text(encoding="utf-8"))
    assert len(report.cases) == 3
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    bench.save_chart(report, png)
    with pytest.raises(FileExistsError, match="the file exists"):
        bench.save_chart(report, png)
    bench.save_chart(report, png, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.PNG", "r.json", "r.svg"]
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:])
    assert width == 8 * 144
    assert height > 3 * 144


def test_chart_shows_every_bar(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    report = bench.run(families=["nz"], sizes=[1], threads=2, rounds=2)
    bench.save_chart(report, tmp_path / "r.svg")
    text = (tmp_path / "r.svg").read_text(encoding="utf-8")
    ours = "xascend without out (of a new copy)", "xascend without out, 2 threads (of a new copy)"
    for name in ("idiom", "xascend numpy", *ours):
        assert text.count(f"<!-- {name} -->") == 1  # the legend names each once
    assert text.count("<!-- ND → FRACTAL_NZ -->") == 1


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_existing_files_are_kept(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.svg").write_text("mine")
    monkeypatch.setattr(bench, "measure", None)  # nothing is measured first
    assert run([*QUICK, option, str(tmp_path / "r.svg")]) == 2
    assert "the file exists; choose another name, or overwrite it (--overwrite)" in capsys.readouterr().err
    assert (tmp_path / "r.svg").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--family", "nx"], "`families` must be of nz,"),
        (["--dtype", "object"], "object"),
        (["--size", "huge"], "Invalid value for --size: must be tiny, cache, dram, large, a size such as 256M or 2G"),
        (["--rounds", "0"], "`rounds`"),
        (["--threads", "0"], "`threads`"),
        (["--device", "npu"], "`device` must be auto, cpu, cuda or cuda:N, got 'npu'"),
        (["--plot", "a.pdf"], "`path` must end in .png or .svg, got 'a.pdf'"),
        (["--plot", "nowhere/a.svg"], "No such folder: nowhere"),
        (["--out", "a.svg", "--plot", "./a.svg"], "--out and --plot must be two files, got a.svg and ./a.svg"),
        (["--out", ".", "--overwrite"], "the output must be a file, got the folder ."),
        (["--plot", "..", "--overwrite"], "the output must be a file, got the folder .."),
        (["--out", "nowhere/a.json"], "the folder of --out nowhere/a.json is not there"),
    ],
)
def test_mistakes(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "measure", None)  # nothing is measured first
    assert run([*QUICK, *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("xascend: error: ")
    assert shown.err.count("\n") == 1
    assert words in shown.err
    assert not list(tmp_path.iterdir())


def test_cuda_without_cupy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert run([*QUICK, "--device", "cuda"]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("xascend: error: `device` cuda needs CuPy, which cannot be imported")
    assert shown.count("\n") == 1


def test_chart_without_matplotlib(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert run([*QUICK, "--plot", "a.svg"]) == 2
    assert "install the extra `plot` (pip install 'xascend[plot]')" in capsys.readouterr().err


def test_import_loads_nothing_optional() -> None:
    code = "import sys, xascend.bench; sys.exit(bool({'matplotlib', 'rich', 'torch', 'cupy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""The command line in this process: what it prints, its exit statuses, and the one line that an error is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import xascend
from xascend import Format, _native_library
from xascend.cli import run

TO_NZ = ["--from", "ND", "--to", "NZ"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with x.npy and m.npz in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    np.save("x.npy", np.arange(560, dtype=np.float16).reshape(20, 28))
    np.savez("m.npz", weight=np.ones((20, 28), np.float16), bias=np.ones(28, np.float16))
    return tmp_path


def failed(capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, *words: str) -> None:
    """Assert the status and one line on stderr with these words."""
    assert run(arguments) == status
    shown = capsys.readouterr()
    assert shown.err.startswith("xascend: error: ")
    assert shown.err.count("\n") == 1
    for word in words:
        assert word in shown.err
    if "--json" in arguments:
        assert json.loads(shown.out)["status"] == status
    else:
        assert shown.out == ""


def test_convert_there_and_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "x.npy", "y.npy", *TO_NZ, "--verify"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    first, last = shown.out.splitlines()
    assert first == f"wrote {folder / 'y.npy'}"
    assert last.startswith("1 converted, 0 copied, 3.2 kB read and written in ")
    assert last.endswith(" GB/s; files verified: 1")
    assert run(["convert", "y.npy", "z.npy", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (folder / "z.npy").read_bytes() == (folder / "x.npy").read_bytes()
    assert run(["convert", "y.npy", "y2.npy", "--to", "2", "--quiet"]) == 0


def test_convert_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "m.npz", "y.npz", *TO_NZ, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["status"] == 0
    assert report["written"] == [str(folder / "y.npz")]
    assert report["failed"] == []
    weight, bias = report["tensors"]
    taken = xascend.explain(np.zeros((20, 28), np.float16), "ND", "NZ")
    assert weight | {"file": ""} == {
        "name": "weight",
        "file": "",
        "action": "convert",
        "reason": "",
        "dtype": "float16",
        "src_format": "ND",
        "dst_format": "FRACTAL_NZ",
        "src_shape": [20, 28],
        "dst_shape": [2, 2, 16, 16],
        "nbytes": 2048,
        "executor": taken.executor,
        "refused": taken.refused,
    }
    assert (bias["action"], bias["reason"]) == ("copy", "FRACTAL_NZ takes 2 axes or more, not 1")
    assert (bias["executor"], bias["refused"]) == ("", {})


def test_dry_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "m.npz", "y.npz", *TO_NZ, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "convert weight float16 20x28 ND -> FRACTAL_NZ 2x2x16x16, 2048 bytes",
        "copy bias float16 28: FRACTAL_NZ takes 2 axes or more, not 1",
    ]
    assert not (folder / "y.npz").exists()


def test_explain(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    np.load("x.npy").tofile("x.bin")
    raw = ["--dtype", "float16", "--shape", "20,28"]
    before = sorted(folder.iterdir())
    for why, shown in ((None, "native"), ("switched off by a test", "numpy (not native: switched off by a test)")):
        monkeypatch.setattr("xascend._native.reason_unsupported", lambda why=why: why)
        converted = f"float16 20x28 ND -> FRACTAL_NZ 2x2x16x16, 2048 bytes, by {shown}"
        copied = "copy bias float16 28: FRACTAL_NZ takes 2 axes or more, not 1"
        for src, options, lines in (
            ("m.npz", [], [f"convert weight {converted}", copied]),
            ("m.npz", ["--dry-run"], [f"convert weight {converted}", copied]),
            ("x.npy", [], [f"convert x {converted}"]),
            ("x.bin", raw, [f"convert x {converted}"]),
        ):
            assert run(["convert", src, "y.npz", *TO_NZ, "--explain", *options]) == 0
            assert capsys.readouterr().out.splitlines() == lines
        assert run(["convert", "m.npz", "y.npz", *TO_NZ, "--explain", "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["dry_run"]
        assert [(tensor["executor"], tensor["refused"]) for tensor in report["tensors"]] == [
            (shown.split()[0], {} if why is None else {"native": why}),
            ("", {}),
        ]
    assert sorted(folder.iterdir()) == before


def test_failed_tensors_are_listed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken\nin two lines")

    monkeypatch.setattr("xascend.files.tasks.convert_slab", broken)
    failed(capsys, ["convert", "m.npz", "y.npz", *TO_NZ, "--quiet"], 1, "weight in m.npz: broken\n")
    assert run(["convert", "m.npz", "y.npz", *TO_NZ, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["status"], report["failed"], report["written"]) == (1, ["weight"], [])
    assert sorted(path.name for path in folder.iterdir()) == ["m.npz", "x.npy"]


def test_resume_and_overwrite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "x.npy", "y.npy", *TO_NZ, "-q"]) == 0
    failed(capsys, ["convert", "x.npy", "y.npy", *TO_NZ], 2, "--overwrite", str(folder / "y.npy"))
    assert run(["convert", "x.npy", "y.npy", *TO_NZ, "--resume"]) == 0
    assert f"skipped {folder / 'y.npy'}: complete" in capsys.readouterr().out
    assert run(["convert", "x.npy", "y.npy", *TO_NZ, "--overwrite", "--c0", "8"]) == 0
    assert np.load("y.npy").shape == (4, 2, 16, 8)


def test_what_is_verified_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "in").mkdir()
    for name in ("a", "b"):
        save_file({name: np.ones((20, 28), np.float16)}, folder / "in" / f"{name}.safetensors")
    verify = ["convert", "in", "out", *TO_NZ, "--resume", "--verify"]
    assert run([*verify, "--dry-run"]) == 0
    a, b = (folder / "out" / f"{name}.safetensors" for name in "ab")
    assert capsys.readouterr().out.splitlines()[2:] == [f"verify {a}", f"verify {b}"]
    assert run(verify) == 0
    assert capsys.readouterr().out.endswith(" GB/s; files verified: 2\n")
    b.unlink()
    assert run([*verify, "--dry-run"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert (shown[0], shown[2:]) == (f"skipped {a}: complete", [f"verify {b}", f"verify {a}"])
    assert shown[1].startswith("convert b ")
    assert run([*verify, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"] == [str(b), str(a)]
    b.write_bytes(b.read_bytes()[:-2048] + bytes(2048))
    assert run(verify) == 1
    assert capsys.readouterr().out.endswith(" GB/s; files verified: 1\n")
    assert run(verify[:-1]) == 0
    assert "files verified" not in capsys.readouterr().out


@pytest.mark.parametrize("shape", ["20,28", "20x28", " 20 , 28 "])
def test_raw_data(folder: Path, capsys: pytest.CaptureFixture[str], shape: str) -> None:
    np.load("x.npy").tofile("x.bin")
    options = ["--dtype", "float16", "--shape", shape, "--max-memory", "1MiB", "--jobs", "2"]
    assert run(["convert", "x.bin", "y.bin", *TO_NZ, *options]) == 0
    assert run(["convert", "y.bin", "z.bin"]) == 0
    assert (folder / "z.bin").read_bytes() == (folder / "x.bin").read_bytes()
    capsys.readouterr()
    assert run(["info", "x.bin", "--dtype", "float16", "--shape", shape]) == 0
    assert capsys.readouterr().out.startswith("x float16 20x28 1120 bytes\n")


def test_globs_and_groups(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("g.npz", a=np.ones((12, 3, 2, 2)), b=np.ones((12, 3, 2, 2)), c=np.ones((12, 3, 2, 2)))
    options = [
        "--from",
        "NCHW",
        "--to",
        "FRACTAL_Z",
        "--groups",
        "4",
        "--include",
        "a",
        "--include",
        "b",
        "--exclude",
        "b",
    ]
    assert run(["convert", "g.npz", "y.npz", *options, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [tensor["action"] for tensor in report["tensors"]] == ["convert", "copy", "copy"]


WRONG_USAGE = (
    (["convert"], "Missing argument 'IN'"),
    (["convert", "x.npy"], "Missing argument 'OUT'"),
    (["convert", "x.npy", "y.npy", "--bogus"], "No such option"),
    (["bogus"], "No such command"),
    (["convert", "x.npy", "y.npy", *TO_NZ, "--shape", "20;28"], "1x3x224x224, got '20;28'"),
    (["convert", "x.npy", "y.npy", *TO_NZ, "--max-memory", "much"], "256M or 2G, got 'much'"),
    (["convert", "x.npy", "y.npy", *TO_NZ, "--c0", "x"], "--c0"),
    (["convert", "x.npy", "y.npy", *TO_NZ, "--c0", "0"], "`c0` must be an integer of at least 1"),
    (["convert", "x.npy", "y.npy", "--from", "ND", "--to", "FRACTAL_NX"], "is not a known format; did you mean"),
    (["convert", "x.npy", "y.npy", *TO_NZ, "--device", "tpu"], "`device` must be auto, cpu, cuda or cuda:N"),
    (["convert", "x.npy", "y.npy", *TO_NZ, "--dtype", "bogus"], "`dtype` bogus is not supported"),
    (["convert", "none.npy", "y.npy", *TO_NZ], "none.npy"),
    (["convert", "none.npy", "y.npy", *TO_NZ, "--json"], "none.npy"),
    (["info"], "pass either a FILE or --system"),
    (["info", "x.npy", "--system"], "pass either a FILE or --system"),
    (["info", "none.npy"], "none.npy"),
    (["locate", "1,2", "--shape", "20,28", "--to", "NZ"], "`locate` needs `dtype` or `c0`"),
    (["locate", "1,99", "--shape", "20,28", "--to", "NZ", "--c0", "16"], "`index` axis 1 must lie in [0, 28), got 99"),
)


@pytest.mark.parametrize(("arguments", "words"), WRONG_USAGE, ids=[" ".join(a) for a, _ in WRONG_USAGE])
def test_wrong_usage(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    failed(capsys, arguments, 2, words)
    assert sorted(path.name for path in folder.iterdir()) == ["m.npz", "x.npy"]


def test_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["convert", "m.npz", "y.npz", *TO_NZ, "-q"])
    assert run(["info", "y.npz"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "weight float16 2x2x16x16 2048 bytes, FRACTAL_NZ of ND 20x28, c0 16",
        "bias float16 28 56 bytes, ND",
        "2 tensors, 2.1 kB",
    ]
    assert run(["info", "y.npz", "--json"]) == 0
    weight, _ = json.loads(capsys.readouterr().out)["tensors"]
    assert (weight["format"], weight["plain_shape"], weight["c0"]) == ("FRACTAL_NZ", [20, 28], 16)


@pytest.mark.filterwarnings("ignore")  # CuPy's, on importing it, are not ours
def test_info_system(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "--system", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["numpy"] == np.__version__
    assert facts["cuda devices"]
    assert run(["info", "--system"]) == 0
    assert f"numpy: {np.__version__}" in capsys.readouterr().out


def test_info_system_tells_why_there_is_no_native_library(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["info", "--system", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["native library"] == str(xascend.build_info())
    monkeypatch.setenv("XASCEND_DISABLE_NATIVE", "1")
    _native_library.load.cache_clear()
    try:
        assert run(["info", "--system", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["native library"] == "not used: XASCEND_DISABLE_NATIVE is set"
    finally:
        _native_library.load.cache_clear()


def test_info_system_without_cupy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert run(["info", "--system", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cuda devices"].startswith("none: CuPy cannot be imported")


def test_formats(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formats", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["formats"]}
    assert set(rows) == {fmt.value for fmt in Format}
    assert rows["FRACTAL_NZ"] == {
        "name": "FRACTAL_NZ",
        "spellings": "NZ, FRACTALNZ",
        "aclFormat": 29,
        "axes": "*batch, m, n",
        "storage axes": "*batch, n1, m1, m0, n0",
        "C0": "by item size",
    }
    assert rows["FRACTAL_Z"]["storage axes"] == "C1*H*W, N1, N0, C0"
    assert rows["NC1HWC0_C04"]["C0"] == 4
    assert rows["NCHW"]["C0"] is None
    assert run(["formats"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in rows)
    assert "C0 by item size: 64 for 4 bits, 32 for 1 byte, 16 for wider items" in shown


def test_locate(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["locate", "19,27", "--shape", "20x28", "--from", "ND", "--to", "NZ", "--dtype", "float16"]
    assert run(arguments) == 0
    assert capsys.readouterr().out == "1,1,3,11\n"
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"index": [1, 1, 3, 11]}
    assert run(["locate", "1,1,3,11", "--shape", "20x28", "--from", "29", "--to", "2", "--c0", "16"]) == 0
    assert capsys.readouterr().out == "19,27\n"


def test_progress_on_a_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(["convert", "x.npy", "y.npy", *TO_NZ]) == 0
    shown = capsys.readouterr()
    assert "converting" in shown.err
    assert "2.0/2.0 kB" in shown.err
    assert "GB/s" in shown.err
    assert "wrote" in shown.out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"xascend {xascend.__version__}\n"
    for arguments in (["--help"], ["convert", "-h"]):
        assert run(arguments) == 0
        shown = capsys.readouterr()
        assert "Usage:" in shown.out
        assert shown.err == ""


def test_names_are_shown_in_one_line_without_control_characters(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez("m.npz", **{"a\x1b[31m\nb\u202e": np.ones((20, 28), np.float16)})
    shown = "a\\x1b[31m\\nb\\u202e"
    assert run(["info", "m.npz"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{shown} float16 20x28 1120 bytes"
    assert run(["convert", "m.npz", "y.npz", *TO_NZ, "--dry-run"]) == 0
    assert capsys.readouterr().out == f"convert {shown} float16 20x28 ND -> FRACTAL_NZ 2x2x16x16, 2048 bytes\n"
    monkeypatch.setattr("xascend.files.tasks.convert_slab", None)
    failed(capsys, ["convert", "m.npz", "y.npz", *TO_NZ, "--quiet"], 1, f"{shown} in m.npz")
    failed(capsys, ["info", "none\x1b[31m.npy"], 2, "none\\x1b[31m.npy")


@pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes")
def test_file_names_that_are_no_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"\xff.npy")
    assert run(["convert", "x.npy", name, *TO_NZ]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"wrote {folder}/\\udcff.npy"
    failed(capsys, ["convert", "x.npy", name, *TO_NZ], 2, "\\udcff.npy")
    Path("x.npy").rename(os.fsdecode(b"\xfe.npy"))
    for kind in ("safetensors", "npz"):
        words = ["no tensor called \\udcfe", "rename the input, or write .npy or .bin"]
        failed(capsys, ["convert", os.fsdecode(b"\xfe.npy"), f"z.{kind}", *TO_NZ], 2, *words)
    for kind in ("npy", "bin"):
        assert run(["convert", os.fsdecode(b"\xfe.npy"), f"z.{kind}", *TO_NZ]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "x.npy", "y.npy", *TO_NZ, "--shape", "9" * 5000],
        ["convert", "x.npy", "y.npy", *TO_NZ, "--shape", "1," * 5000],
        ["convert", "x.npy", "y.npy", *TO_NZ, "--c0", "9" * 5000],
        ["convert", "x.npy", "y.npy", *TO_NZ, "--max-memory", "9" * 5000],
        ["convert", "x.npy", "y.npy", "--from", "9" * 5000, "--to", "NZ"],
        ["locate", "1,2", "--shape", f"20,{'9' * 4000}", "--to", "NZ", "--c0", "0"],
        ["show", f"20,{'9' * 5000}", "--to", "NZ"],
    ],
)
def test_long_values_are_not_echoed(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("xascend: error: ")
    assert "set_int_max_str_digits" not in shown
    assert len(shown) < 2100
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "option", "rule"),
    [
        (["convert", "x.npy", "y.npy", *TO_NZ, "--device-memory", "abc"], "--device-memory", "a size such as 256M"),
        (["convert", "x.npy", "y.npy", *TO_NZ, "--max-memory", "abc"], "--max-memory", "a size such as 256M"),
        (["convert", "x.npy", "y.npy", *TO_NZ, "--shape", "abc"], "--shape", "a list such as 1,3"),
        (["bench", "--size", "abc"], "--size", "tiny, cache, dram, large, a size such as 256M"),
        (["info", "x.npy", "--shape", "abc"], "--shape", "a list such as 1,3"),
        (["compare", "x.npy", "x.npy", "--shape", "abc"], "--shape", "a list such as 1,3"),
        (["locate", "abc", "--shape", "20,28", "--to", "NZ"], "INDEX", "a list such as 1,3"),
        (["locate", "1,2", "--shape", "abc", "--to", "NZ"], "--shape", "a list such as 1,3"),
        (["show", "abc", "--to", "NZ"], "SHAPE", "a list such as 1,3"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_mistakes_name_the_option(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], option: str, rule: str
) -> None:
    failed(capsys, arguments, 2, f"error: Invalid value for {option}: must be {rule}", "got 'abc'\n")


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["convert", "", "y.npy", *TO_NZ], "IN"),
        (["convert", "x.npy", "", *TO_NZ], "OUT"),
        (["info", ""], "FILE"),
        (["compare", "", "x.npy"], "ACTUAL"),
        (["compare", "x.npy", ""], "GOLDEN"),
        (["golden", "Brcb", "--config", "", "--out", "case"], "--config"),
        (["golden", "Brcb", "--config", "brcb.toml", "--out", ""], "--out"),
        (["golden", "Brcb", "--example", "--out", ""], "--out"),
        (["show", "20,28", "--to", "NZ", "--out", ""], "--out"),
        (["bench", "--size", "1", "--rounds", "1", "--out", ""], "--out"),
        (["bench", "--size", "1", "--rounds", "1", "--plot", ""], "--plot"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_an_empty_path_is_not_the_current_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], option: str
) -> None:
    before = sorted(folder.iterdir())
    failed(capsys, arguments, 2, option, "must be a path, got an empty text")
    assert sorted(folder.iterdir()) == before


def test_info_of_a_folder_names_the_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "f/g").mkdir(parents=True)
    for name in ("f/a.npy", "f/g/a.npy"):
        np.save(name, np.ones(3, np.int8))
    assert run(["info", "f"]) == 0
    first, second, _ = capsys.readouterr().out.splitlines()
    assert (first, second) == ("f/a.npy: a int8 3 3 bytes", "f/g/a.npy: a int8 3 3 bytes")


def test_start_up_loads_nothing_heavy() -> None:
    code = (
        "import sys, xascend.cli\n"
        "assert xascend.cli.run(['--version']) == 0\n"
        "heavy = {'torch', 'cupy', 'dask', 'distributed', 'matplotlib', 'safetensors'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    root = Path(xascend.__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root, capture_output=True)

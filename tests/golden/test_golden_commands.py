"""``xascend golden`` and ``xascend compare``: options, what is printed, exit status."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from xascend import cli, golden

CONFIG = str(Path(golden.__file__).parent / "examples" / "Transdata.toml")


def run(*arguments: str) -> int:
    return cli.run(arguments)


def test_golden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("golden", "transdata", "--config", CONFIG, "--out", str(tmp_path / "case")) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"wrote {tmp_path}/case/input/x.bin int8 2x3x4, 24 bytes",
        f"wrote {tmp_path}/case/output/golden.bin int8 2x1x16x32, 1024 bytes",
    ]
    assert run("golden", "transdata", "--config", CONFIG, "--out", str(tmp_path / "case")) == 2
    assert capsys.readouterr().err == (
        f"xascend: error: `out` {tmp_path}/case exists; choose another folder, or overwrite it (--overwrite)\n"
    )
    assert run("golden", "Transdata", "--config", CONFIG, "--out", str(tmp_path / "case"), "--overwrite", "--json") == 0
    assert capsys.readouterr().out == (tmp_path / "case/manifest.json").read_text()


def test_an_example_to_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("golden", "brcb", "--example") == 0
    Path("brcb.toml").write_text(capsys.readouterr().out)
    assert run("golden", "Brcb", "--config", "brcb.toml", "--out", "case1") == 0
    assert run("compare", "case1/output/golden.bin", "case1/output/golden.bin") == 0


def test_help_tells_what_a_configuration_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("golden", "--help") == 0
    text = " ".join(capsys.readouterr().out.split())
    for part in ("xascend golden Brcb --example > brcb.toml", "help(xascend.golden.make_golden)"):
        assert part in text


def test_warnings_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    array = 'dtype = "float16"\nshape = [128]\nvalues = 0\n'
    (tmp_path / "brcb.toml").write_text(f"repeat_times = 0\n[src]\n{array}[dst]\n{array}")
    assert run("golden", "brcb", "--config", str(tmp_path / "brcb.toml"), "--out", str(tmp_path / "case")) == 0
    assert capsys.readouterr().err == "xascend: warning: `repeat_times` is 0: nothing is written\n"


def test_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("golden", "transdata", "--config", CONFIG, "--out", str(tmp_path / "case"))
    golden = tmp_path / "case/output/golden.bin"
    capsys.readouterr()
    assert run("compare", str(golden), str(golden)) == 0
    assert capsys.readouterr().out == "equal: 1024 elements of int8\n"
    actual = np.fromfile(golden, np.int8)
    actual[37] += 5
    actual.tofile(tmp_path / "actual.bin")
    assert run("compare", str(tmp_path / "actual.bin"), str(golden)) == 1
    assert capsys.readouterr().out.splitlines() == [
        "different: 1 of 1024 elements of int8 (0.10%), 1 in padding",
        "largest difference: 5 absolute, 0 relative, 5 ulp",
        "[0, 0, 1, 5] (padding): 5, expected 0",
    ]
    for tolerance in (("--atol", "5"), ("--ulp", "5")):
        assert run("compare", str(tmp_path / "actual.bin"), str(golden), *tolerance) == 0
    assert run("compare", str(tmp_path / "actual.bin"), str(golden), "--rtol", "5") == 1


def test_options_of_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    e = np.arange(256, dtype=np.float32)
    a = e.copy()
    a[17], a[200] = np.nan, np.inf
    e.tofile(tmp_path / "g.bin")
    a.tofile(tmp_path / "a.bin")
    options = ["--dtype", "float32", "--shape", "16x16", "--format", "29", "--plain-format", "ND", "--c0", "16"]
    assert run("compare", str(tmp_path / "a.bin"), str(tmp_path / "g.bin"), *options, "--show", "1", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["status"], report["equal"], report["different"]) == (1, False, 2)
    assert report["largest_absolute"] == "inf"
    assert report["first"] == [
        {"index": [0, 0, 1, 1], "logical": [1, 1], "in_padding": False, "actual": "nan", "expected": 17.0}
    ]


def test_complex_numbers_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "g.npy", np.array([1 + 2j], np.complex64))
    np.save(tmp_path / "a.npy", np.array([1 + 3j], np.complex64))
    assert run("compare", str(tmp_path / "a.npy"), str(tmp_path / "g.npy"), "--json") == 1
    assert json.loads(capsys.readouterr().out)["first"][0]["actual"] == "(1+3j)"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("none.bin", "g.bin"), "No such file or directory: none.bin"),
        (("g.bin", "none.bin"), "No such file or directory: none.bin"),
        (("a.bin", "g.bin"), "take 4 bytes, a.bin has 3"),
        (("g.bin", "g.bin", "--shape", "5"), "take 5 bytes, g.bin has 4"),
        (("text.npy", "g.bin"), "text.npy cannot be compared: `dtype` str32 is not supported"),
        (("g.bin", "g.bin", "--shape", "2;2"), "must be a list such as 1,3,224,224"),
        (("g.bin", "g.bin", "--dtype", "int9"), "`dtype` int9 is not supported"),
        (("g.bin", "g.bin", "--format", "NY"), "`format` 'NY' is not a known format"),
        (("g.bin", "g.bin", "--rtol", "-1"), "`rtol` must be finite and at least 0, got -1.0"),
        (("g.bin", "g.bin", "--ulp", "x"), "--ulp"),
        (("bad.npy", "g.bin"), "bad.npy is not a readable .npy file"),
        ((".", "g.bin"), "a folder is no file to compare: ."),
    ],
)
def test_what_cannot_be_read_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.bin").write_bytes(b"abcd")
    (tmp_path / "a.bin").write_bytes(b"abc")
    (tmp_path / "bad.npy").write_bytes(b"abc")
    np.save(tmp_path / "text.npy", np.array(["a"]))
    assert run("compare", "--dtype", "int8", "--shape", "4", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("xascend: error: ")
    assert captured.err.count("\n") == 1
    assert text in captured.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("Brcb", "--config", "none.toml", "--out", "case"), "No such file or directory: none.toml"),
        (("Brcb", "--config", "bad.toml", "--out", "case"), "bad.toml is no TOML file"),
        (("Brcb", "--config", "gap.toml", "--out", "case"), "has the unknown key `saturate` = True"),
        (("Brcb", "--config", "far.toml", "--out", "case"), "far.toml: [src] `low` must be at most `high`"),
        (("Fixpipe", "--config", "gap.toml", "--out", "case"), "gap.toml: `quant_pre` QF322FP8_PRE is not implemented"),
        (
            ("Conv", "--config", "gap.toml", "--out", "case"),
            "`op` must be one of TransDataTo5HD, Brcb, Transdata",
        ),
        (("Brcb", "--out", "case"), "`--config` and `--out` are needed; `--example` shows a configuration"),
        (("Brcb", "--config", "gap.toml"), "`--config` and `--out` are needed; `--example` shows a configuration"),
        (("Conv", "--example"), "`op` must be one of TransDataTo5HD, Brcb, Transdata"),
        (("Brcb", "--example", "--out", "case"), "`--example` goes without `--config` and `--out`"),
    ],
)
def test_what_cannot_be_made_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("repeat_times =")
    array = 'dtype = "float32"\nshape = [256]\nvalues = 0\n'
    far = f'dtype = "float64"\nshape = [8]\nvalues = "random"\nlow = -{"9" * 308}\nhigh = {"9" * 308}\n'
    (tmp_path / "far.toml").write_text(f"repeat_times = 1\n[src]\n{far}[dst]\n{array}")
    params = 'n_size = 16\nm_size = 16\nsrc_stride = 16\ndst_stride = 16\nquant_pre = "QF322FP8_PRE"\n'
    (tmp_path / "gap.toml").write_text(f"saturate = true\n[params]\n{params}[src]\n{array}[dst]\n{array}")
    assert run("golden", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("xascend: error: ")
    assert captured.err.count("\n") == 1
    assert text in captured.err
    assert not (tmp_path / "case").exists()

"""``xascend show``: text on the terminal, a drawing in a file, errors in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from xascend.cli import run


def test_text_of_a_small_image(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "1,3,1,2", "--from", "NCHW", "--to", "5HD", "--c0", "4"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[-3:] == ["H,W\\C0  0 1 2 3", "   0,0  0 2 4 .", "   0,1  1 3 5 ."]


def test_drawing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "nz.svg"
    assert run(["show", "20x28", "--to", "29", "--dtype", "int8", "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    assert out.read_text(encoding="utf-8").count("FRACTAL_NZ")


def test_an_existing_file_is_replaced_only_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "nz.svg"
    out.write_text("mine")
    assert run(["show", "20x28", "--to", "NZ", "--out", str(out)]) == 2
    assert capsys.readouterr().err == (
        f"xascend: error: the file exists; choose another name, or overwrite it (--overwrite): {out}\n"
    )
    assert out.read_text() == "mine"
    assert run(["show", "20x28", "--to", "NZ", "--out", str(out), "--overwrite"]) == 0
    assert out.read_text(encoding="utf-8").count("FRACTAL_NZ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["20", "--to", "NZ"], "`shape` must have the axes (*batch, m, n)"),
        (["20,28", "--to", "XY"], "not a known format"),
        (["20,28", "--to", "NZ", "--dtype", "object"], "object"),
        (["20,28", "--to", "NZ", "--out", "picture.gif"], ".svg"),
        (["2000,2800", "--to", "NZ", "--out", "picture.svg"], "4096"),
        (["20,28", "--to", "NZ", "--c0", "9" * 20], "`c0` must be at most 256"),
        (["a,b", "--to", "NZ"], "must be a list"),
    ],
)
def test_mistakes(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", *arguments]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("xascend: error: ")
    assert words in shown
    assert shown.count("\n") == 1

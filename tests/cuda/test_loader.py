"""Sources are found in the package or the checkout, and become one text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xascend._cuda import _loader


def test_sources_of_the_checkout_are_found() -> None:
    assert (_loader.source_folder() / "runs.cu").is_file()


def test_the_installed_package_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed, checkout = tmp_path / "package", tmp_path / "checkout"
    monkeypatch.setattr(_loader, "_PLACES", (installed, checkout))
    with pytest.raises(FileNotFoundError, match=re.escape(f"neither in {installed} nor in {checkout}")):
        _loader.source_folder()
    for place in (checkout, installed):
        place.mkdir()
        (place / "tiles.cu").touch()
        assert _loader.source_folder() == place


def test_includes_are_spliced_once_with_line_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiles.cu").write_text('// a\n#include "one.cuh"\n#include "two.cuh"\nint tiles;\n')
    (tmp_path / "one.cuh").write_text('#pragma once\n#include "two.cuh"\nint one;\n')
    (tmp_path / "two.cuh").write_text("#pragma once\nint two;\n")
    monkeypatch.setattr(_loader, "_PLACES", (tmp_path,))
    assert _loader.read_source("tiles.cu").splitlines() == [
        *('#line 1 "tiles.cu"', "// a"),
        *('#line 1 "one.cuh"', ""),
        *('#line 1 "two.cuh"', "", "int two;"),
        *('#line 3 "one.cuh"', "int one;"),
        *('#line 3 "tiles.cu"', '#line 4 "tiles.cu"', "int tiles;"),
    ]


def test_every_mark_tells_the_line_of_its_file() -> None:
    folder = _loader.source_folder()
    for file in (path.name for path in folder.glob("*.cu")):
        name, number = "", 0
        for line in _loader.read_source(file).splitlines():
            mark = re.fullmatch(r'#line (\d+) "(.+)"', line)
            if mark:
                number, name = int(mark[1]), mark[2]
                continue
            original = (folder / name).read_text(encoding="utf-8").splitlines()[number - 1]
            assert line in (original, "")
            number += 1

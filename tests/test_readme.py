"""The Python examples of the README run as they stand, one after the other in one session."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

import xascend
from xascend.golden import compare_files, example_config, make_golden

README = Path(xascend.__file__).parents[1] / "README.md"
NEEDS_DEVICE = "cupy"


def blocks_of(language: str) -> list[str]:
    if not README.is_file():
        pytest.skip("no README.md beside the package: not a source tree")
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_golden_example(tmp_path: Path) -> None:
    (block,) = blocks_of("toml")
    assert block == example_config("Brcb")
    (tmp_path / "brcb.toml").write_text(block, encoding="utf-8")
    make_golden("Brcb", tmp_path / "brcb.toml", tmp_path / "case1")
    assert compare_files(tmp_path / "case1/output/golden.bin", tmp_path / "case1/output/golden.bin")


def test_python_examples() -> None:
    blocks = blocks_of("python")
    assert len(blocks) > 4
    session: dict[str, Any] = {}
    for block in blocks:
        needed = set(re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE))
        if NEEDS_DEVICE not in needed and all(map(importlib.util.find_spec, needed)):
            exec(compile(block, str(README), "exec"), session)

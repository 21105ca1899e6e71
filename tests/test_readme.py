"""The Python examples of the README run as they stand, one after the other in one session."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

import xascend

README = Path(xascend.__file__).parents[1] / "README.md"
NEEDS_DEVICE = "cupy"


def test_python_examples() -> None:
    if not README.is_file():
        pytest.skip("no README.md beside the package: not a source tree")
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 4
    session: dict[str, Any] = {}
    for block in blocks:
        needed = set(re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE))
        if NEEDS_DEVICE not in needed and all(map(importlib.util.find_spec, needed)):
            exec(compile(block, str(README), "exec"), session)

"""Broken kernels: a copy of the sources with one place changed."""

from __future__ import annotations

import shutil
from pathlib import Path

from cuda import harness


def make_mutant(name: str, file: str, old: str, new: str) -> Path:
    """Return a folder of the kernels' sources in which the first `old` of a file is `new`."""
    folder = harness.BUILD / "mutants" / name.replace(" ", "_")
    shutil.copytree(harness.KERNELS, folder, dirs_exist_ok=True)
    source = (harness.KERNELS / file).read_text(encoding="utf-8")
    assert old in source
    (folder / file).write_text(source.replace(old, new, 1), encoding="utf-8")
    return folder

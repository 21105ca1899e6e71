"""Broken kernels: a copy of the sources with one place changed."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from cuda import harness

BARRIER = "        __syncthreads();\n"


def each_mutation(mutations: Iterable[str], quick: set[str]) -> pytest.MarkDecorator:
    """Parametrize a test with the name of every mutation; those that are not quick are slow."""
    params = [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in mutations]
    return pytest.mark.parametrize("name", params)


def make_mutant(name: str, file: str, old: str, new: str) -> Path:
    """Return a folder of the kernels' sources in which the first `old` of a file is `new`."""
    folder = harness.BUILD / "mutants" / name.replace(" ", "_")
    shutil.copytree(harness.KERNELS, folder, dirs_exist_ok=True)
    source = (harness.KERNELS / file).read_text(encoding="utf-8")
    assert old in source
    (folder / file).write_text(source.replace(old, new, 1), encoding="utf-8")
    return folder

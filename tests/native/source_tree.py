"""The library under test, its sources beside the package, and what is needed to compile them."""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest
from scripts import load_script

import xascend as xa

ROOT = Path(xa.__file__).parent.parent
SOURCES = ROOT / "kernels_cpu"

#: A library to test instead of the one in its place: a build with sanitizers and small limits.
LIBRARY = os.environ.get("XASCEND_TEST_LIBRARY", "")

in_a_source_tree = pytest.mark.skipif(
    not SOURCES.is_dir(), reason="no kernels_cpu beside the package: not a source tree"
)


@functools.cache
def builder() -> ModuleType:
    """Return ``kernels_cpu/build.py`` as a module."""
    return load_script(SOURCES / "build.py")


def need(*tools: str) -> None:
    """Skip a test where a tool is missing; with ``XASCEND_NATIVE=require``, as in CI, let it fail."""
    for tool in tools:
        if shutil.which(tool) is None:
            missing(f"{tool} is not installed")


def missing(what: str) -> NoReturn:
    if os.environ.get("XASCEND_NATIVE") == "require":
        pytest.fail(f"{what}, and XASCEND_NATIVE=require is set")
    pytest.skip(what)

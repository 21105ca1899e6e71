"""The native library, which these tests demand wherever it can be built."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from native.source_tree import missing

import xascend as xa
from xascend import _native_library


@pytest.fixture(autouse=True, scope="session")
def library() -> None:
    found = _native_library.load()
    if found.reason is None:
        return
    if os.environ.get("XASCEND_DISABLE_NATIVE"):
        pytest.skip(f"no native library: {found.reason}")
    if os.environ.get("CXX") or any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.fail(f"there is a C++ compiler but no native library: {found.reason}")
    missing(f"there is no native library: {found.reason}")


@pytest.fixture(autouse=True)
def same_threads_afterwards() -> Iterator[None]:
    yield
    xa.set_num_threads(None)

"""The native library, which these tests demand wherever it can be built."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from xascend import _native_library

#: A library to test instead of the one in its place: a build with sanitizers, or for another processor.
LIBRARY = os.environ.get("XASCEND_TEST_LIBRARY", "")
if LIBRARY:
    _native_library.load.cache_clear()
    _native_library._PLACES = (Path(LIBRARY),)


@pytest.fixture(autouse=True, scope="session")
def library() -> _native_library.Library:
    found = _native_library.load()
    if found.reason is None:
        return found
    if os.environ.get("XASCEND_DISABLE_NATIVE") or not (
        os.environ.get("CXX") or any(map(shutil.which, ("c++", "g++", "clang++")))
    ):
        pytest.skip(f"no native library: {found.reason}")
    pytest.fail(f"there is a C++ compiler but no native library: {found.reason}")

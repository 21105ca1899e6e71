"""Fixtures and the deterministic Hypothesis profile that all tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis
import pytest
from gpus import GPUS, Gpu
from libraries import LIBRARIES, ON_GPU, Library
from native.source_tree import LIBRARY

from xascend import _cuda, _native_library, quant
from xascend._cuda._loader import get_function

hypothesis.settings.register_profile("deterministic", derandomize=True, deadline=None, max_examples=60)
hypothesis.settings.register_profile("fuzz", derandomize=True, deadline=None, max_examples=500)
hypothesis.settings.load_profile("deterministic")

if LIBRARY:
    _native_library.load.cache_clear()
    _native_library._PLACES = (Path(LIBRARY),)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on a library whose arrays lie on a GPU."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        values = callspec.params.values() if callspec is not None else ()
        if any(isinstance(value, str) and value in ON_GPU for value in values):
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(params=LIBRARIES)
def xp(request: pytest.FixtureRequest) -> Library:
    """One array library after the other; one that is missing here is skipped with the reason."""
    return LIBRARIES[request.param]()


@pytest.fixture(params=GPUS)
def gpu(request: pytest.FixtureRequest) -> Gpu:
    """One library with arrays on a GPU after the other; skipped without a device."""
    return GPUS[request.param]()


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that were launched, by entry."""
    names: list[str] = []

    def spy(kernel: Any, device: int) -> Any:
        names.append(kernel.entry)
        return get_function(kernel, device)

    for module in (_cuda, quant._cuda):
        monkeypatch.setattr(module, "get_function", spy)
    return names

"""Fixtures that the tests of what Python hands to the kernels share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from cuda import harness
from cuda.stand_in import StandIn

from xascend import _cuda
from xascend._cuda import _loader


def forget() -> None:
    for cached in (_cuda.reason_absent, _loader.get_function):
        cached.cache_clear()


@pytest.fixture
def forgetting() -> Iterator[None]:
    """Let nothing compiled, and nothing found out about CuPy, come into a test or out of it."""
    forget()
    yield
    forget()


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch, forgetting: None) -> StandIn:
    """The module `cupy` for a test."""
    harness.require_compiler()
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    monkeypatch.delenv(_cuda._DISABLE, raising=False)
    return stand_in

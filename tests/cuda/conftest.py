"""A fixture that the tests of what Python hands to the kernels share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from cuda import harness
from cuda.stand_in import StandIn

from xascend import _cuda
from xascend._cuda import _loader


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The module `cupy` for a test; nothing compiled is kept."""
    harness.require_compiler()
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    monkeypatch.delenv(_cuda._DISABLE, raising=False)
    for cached in (_cuda.reason_absent, _loader.get_function):
        cached.cache_clear()
    yield stand_in
    for cached in (_cuda.reason_absent, _loader.get_function):
        cached.cache_clear()

"""Fixtures and the deterministic Hypothesis profile that all tests share."""

from __future__ import annotations

import hypothesis
import pytest
from libraries import LIBRARIES, Library

hypothesis.settings.register_profile("deterministic", derandomize=True, deadline=None, max_examples=60)
hypothesis.settings.load_profile("deterministic")


@pytest.fixture(params=LIBRARIES)
def xp(request: pytest.FixtureRequest) -> Library:
    """One array library after the other; one that is missing here is skipped with the reason."""
    return LIBRARIES[request.param]()

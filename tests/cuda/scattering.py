"""The kernel that scatters, wherever it may take a tile: by itself it is only taken where gathering meets in banks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from xascend._cuda import _banks, _launches


@contextmanager
def scattering() -> Iterator[None]:
    """Let tiles be scattered that may be."""
    search = _banks._search

    def scattered_first(job: Any, scattered: Any, *others: Any) -> Any:
        return _banks._Layout(job.store.slots, 0, scattered=True) if scattered else search(job, scattered, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_banks, "_search", scattered_first)
        _launches.make_launches.cache_clear()
        try:
            yield
        finally:
            _launches.make_launches.cache_clear()

"""Each of the jobs that do the same, where by itself the one is taken whose elements meet least in the banks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from xascend._cuda import _banks, _launches


@contextmanager
def alternative(number: int) -> Iterator[None]:
    """Let job `number` be taken, where there are that many; -1 is the one that scatters, where that may be."""
    search = _banks._search

    def choose(jobs: tuple[Any, ...], most: int) -> Any:
        if not -len(jobs) <= number < len(jobs):
            return search(jobs, most)
        layout = _banks._Layout(number % len(jobs), jobs[number].store.slots, 0)
        fits = _banks._lay_out(jobs[number], layout).shared <= most
        return layout if fits else search(jobs, most)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_banks, "_search", choose)
        _launches.make_launches.cache_clear()
        try:
            yield
        finally:
            _launches.make_launches.cache_clear()

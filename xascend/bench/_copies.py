"""Plain copies that read and write as many bytes as the conversion: what every ratio is to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from xascend.bench._problem import Problem

__all__ = ["copy", "new_copy"]

MIN_BYTES_PER_THREAD = 1 << 20  # below, handing over to a thread takes longer than copying


@contextmanager
def copy(problem: Problem, threads: int) -> Iterator[Callable[[], Any]]:
    """Give the copy into memory that is there, one part per thread."""
    xp, source, target = problem.device.xp, problem.copied, problem.copy
    shares = max(1, min(threads, source.nbytes // MIN_BYTES_PER_THREAD))
    if shares == 1:
        yield lambda: xp.copyto(target, source)
        return
    parts = list(zip(np.array_split(target, shares), np.array_split(source, shares), strict=True))
    with ThreadPoolExecutor(shares - 1) as pool:

        def copy_parts() -> None:
            others = [pool.submit(np.copyto, *part) for part in parts[1:]]
            np.copyto(*parts[0])
            for other in others:
                other.result()

        yield copy_parts


@contextmanager
def new_copy(problem: Problem, _threads: int) -> Iterator[Callable[[], Any]]:
    """Give the copy into new memory, as ``x.copy()`` makes it."""
    yield problem.copied.copy

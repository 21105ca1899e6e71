"""Work on an array part by part, so that temporaries are small; on NumPy with a thread for each core."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np

from xascend.quant._steps import Steps, steps_for

__all__ = ["cuts", "for_each_part"]

Part: TypeAlias = tuple[slice, ...]

_CACHED = 1 << 17  # elements: the few arrays of 4 bytes that a step touches stay in a core's L2 cache
_LARGE = 1 << 21  # elsewhere a call costs more than the cache gains, and five arrays of 8 MiB are still little
_ALONE = 1 << 19  # elements below which starting threads costs more than they gain


def for_each_part(
    x: Any, shape: tuple[int, ...], columns: int, work: Callable[[Part, Steps], None], threads: int | None = None
) -> None:
    """Call `work` with the slices of every part of `shape`, each element of which stands for `columns` of `x`.

    NumPy lets other threads run while it computes, so that each core gets a thread unless `threads` says otherwise.
    Parts must be independent of each other.
    """
    is_numpy = isinstance(x, np.ndarray)
    parts = list(cuts(shape, max(1, (_CACHED if is_numpy else _LARGE) // max(columns, 1))))

    def work_on(some: list[Part]) -> None:
        steps = steps_for(x)
        with np.errstate(all="ignore"):  # a setting of the thread
            for part in some:
                work(part, steps)

    threads = min(threads or _cores(), len(parts))
    if not is_numpy or threads < 2 or math.prod(shape) * columns < _ALONE:
        work_on(parts)
        return
    step = -(-len(parts) // threads)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work_on, [parts[start : start + step] for start in range(0, len(parts), step)]))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # what this process may use, where the system tells
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cuts(shape: tuple[int, ...], limit: int) -> Iterator[Part]:
    """Yield slices of all axes, in order, of parts of at most `limit` elements (at least one) that make up `shape`."""
    if math.prod(shape) <= limit:
        yield tuple(slice(0, size) for size in shape)
        return
    inner = math.prod(shape[1:])
    step = max(1, limit // inner)
    for start in range(0, shape[0], step):
        for rest in cuts(shape[1:], limit):
            yield (slice(start, min(start + step, shape[0])), *rest)

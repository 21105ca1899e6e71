"""Work on an array part by part, so that temporaries are small."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from xascend.quant._steps import Steps, steps_for

__all__ = ["cuts", "for_each_part"]

Part: TypeAlias = tuple[slice, ...]

_CACHED = 1 << 16  # elements: the few arrays of 4 bytes that a step of NumPy touches stay in a core's L2 cache
_LARGE = 1 << 21  # elsewhere a call costs more than the cache gains, and five arrays of 8 MiB are still little


def for_each_part(x: Any, shape: tuple[int, ...], columns: int, work: Callable[[Part, Steps], None]) -> None:
    """Call `work` with the slices of every part of `shape`, each element of which stands for `columns` of `x`."""
    limit = _CACHED if isinstance(x, np.ndarray) else _LARGE
    steps = steps_for(x)
    with np.errstate(all="ignore"):
        for part in cuts(shape, max(1, limit // max(columns, 1))):
            work(part, steps)


def cuts(shape: tuple[int, ...], limit: int) -> Iterator[Part]:
    """Yield slices of all axes, in order, of parts of at most `limit` elements (at least one) that make up `shape`."""
    if math.prod(shape) <= limit:
        yield tuple(slice(0, size) for size in shape)
        return
    inner = math.prod(shape[1:])
    step = max(1, limit // inner)
    for start in range(0, shape[0], step):
        for rest in cuts(shape[1:], limit):
            yield (slice(start, start + step), *rest)

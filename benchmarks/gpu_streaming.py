"""Streaming from host memory through a device, timed beside copies of pinned memory alone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import xascend as xa
from xascend._plan import make_plan
from xascend.bench._cases import Case
from xascend.files.streaming import LANES, Device, Pipeline, cut
from xascend.formats import as_format

__all__ = ["time_streaming"]


def time_streaming(device: Device, case: Case, device_memory: int) -> tuple[list[float], list[float], int]:
    """Return seconds of streaming a host tensor, seconds of the copies in the same rounds, and the bytes moved.

    The copies go both ways at once, in as many queues and in the same parts. What is converted is checked.
    """
    src, dst = (as_format("format", fmt) for fmt in case.formats)
    x = np.resize(np.arange(101, dtype=np.uint16), case.shape)
    plan = make_plan(src, dst, x.shape, None, 16, None, 1)
    parts = list(cut(plan, x.itemsize, device_memory))
    wanted = xa.trans_data(x, src, dst)
    pipeline = Pipeline(device, device_memory)
    try:
        for part, made in zip(parts, pipeline.convert(x, parts), strict=True):
            if not np.array_equal(made, wanted[part.dst]):
                raise RuntimeError(f"streaming returned a wrong result for {case}")
        sizes = [(math.prod(part.plan.src_shape) * 2, math.prod(part.plan.dst_shape) * 2) for part in parts]
        copies = _Copies(device, sizes)
        copies.run()
        rounds = [(_clock(lambda: [None for _ in pipeline.convert(x, parts)]), _clock(copies.run)) for _ in range(3)]
    finally:
        pipeline.close()
    ours, theirs = map(list, zip(*rounds, strict=True))
    return ours, theirs, x.nbytes + wanted.nbytes


class _Copies:
    """To the device and back, without kernels and without work of the host."""

    def __init__(self, device: Device, sizes: list[tuple[int, int]]) -> None:
        self._sizes = sizes
        up, down = (max(side) for side in zip(*sizes, strict=True))
        self._lanes = [
            (device.queue(), device.pinned(up), device.memory(up), device.memory(down), device.pinned(down))
            for _ in range(LANES)
        ]

    def run(self) -> None:
        for number, (up, down) in enumerate(self._sizes):
            queue, staged, source, target, fetched = self._lanes[number % LANES]
            queue.upload(source, staged[:up])
            queue.download(fetched[:down], target)
        for queue, *_ in self._lanes:
            queue.mark().wait()


def _clock(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start

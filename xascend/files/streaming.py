"""Slabs by way of a device with little memory: to it and back through pinned buffers, two slabs at a time.

While the host fills or empties the buffers of one slab, the device works on the other; copies to the device, kernels
and copies from it overlap too, because each slab in flight has a queue of its own.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from xascend._plan import Plan
from xascend._slabs import Slab, slabs
from xascend._threads import get_num_threads

__all__ = ["LANES", "Bytes", "Device", "Mark", "Pipeline", "Queue", "cut", "device_bytes"]

LANES = 2
_SLAB_BYTES = 32 << 20  # starting a copy then costs little beside it, and filling the pipeline little beside a tensor
_PART_BYTES = 1 << 20  # of a copy on the host that is worth a thread

Words = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Memory = Any  # of the device


class Mark(Protocol):
    """A place in a queue."""

    def wait(self) -> None:
        """Wait until all work before it is done."""


class Queue(Protocol):
    """Work that a device does one after the other, and beside that of other queues; nothing here waits for it."""

    def upload(self, target: Memory, source: Bytes, /) -> None:
        """Copy pinned memory to the device."""

    def convert(self, plan: Plan, word: np.dtype[Any], source: Memory, target: Memory, /) -> None:
        """Convert between two blocks of the device that hold C-contiguous arrays; padding is zero."""

    def download(self, target: Bytes, source: Memory, /) -> None:
        """Copy from the device to pinned memory."""

    def mark(self) -> Mark:
        """Return the end of the work so far."""


class Device(Protocol):
    """Where slabs are converted. Memory is given back when nothing refers to it any more."""

    def pinned(self, nbytes: int, /) -> Bytes:
        """Return host memory that the device copies from and to."""

    def memory(self, nbytes: int, /) -> Memory:
        """Return memory of the device."""

    def queue(self) -> Queue:
        """Return a new queue."""


def cut(plan: Plan, itemsize: int, nbytes: int, /) -> Iterator[Slab]:
    """Return the slabs of a conversion of which as many as there are lanes take `nbytes`, where it can be helped."""
    most = min(nbytes // LANES, _SLAB_BYTES) // itemsize
    if device_bytes(slabs(plan, most), itemsize) > most * itemsize:  # the largest source and the largest result differ
        most //= 2
    return slabs(plan, most)


def device_bytes(parts: Iterable[Slab], itemsize: int, /) -> int:
    """Return the bytes of the device that one lane takes for any of `parts`."""
    return sum(_sizes(parts, itemsize))


def _sizes(parts: Iterable[Slab], itemsize: int) -> tuple[int, int]:
    """Return the bytes of the largest source and of the largest destination."""
    pairs = [(math.prod(slab.plan.src_shape), math.prod(slab.plan.dst_shape)) for slab in parts]
    return max(src for src, _ in pairs) * itemsize, max(dst for _, dst in pairs) * itemsize


class Pipeline:
    """Lanes through which slabs pass, kept from one tensor to the next; for one thread.

    Parameters
    ----------
    device
        Where slabs are converted.
    nbytes
        Memory of the device that is taken at most; `convert` must not be given slabs that need more.
    """

    def __init__(self, device: Device, nbytes: int) -> None:
        self._device = device
        self._most = nbytes
        self._lanes: list[_Lane] = []
        self._pool = ThreadPoolExecutor(get_num_threads(), "xascend-copy")

    def close(self) -> None:
        """Give all memory back."""
        self._lanes.clear()
        self._pool.shutdown()

    def convert(self, x: Words, parts: Sequence[Slab], /) -> Iterator[Words]:
        """Yield the result of each part of `x` in host memory; it is valid until the next is asked for."""
        word = np.dtype(f"u{x.itemsize}") if x.itemsize < 16 else np.dtype("c16")  # no device knows every type
        lanes = self._reserve(_sizes(parts, x.itemsize), len(parts))
        coming: deque[tuple[Mark, Words]] = deque()

        def arrived() -> Words:
            mark, result = coming.popleft()
            mark.wait()
            return result.view(x.dtype)

        try:
            for number, slab in enumerate(parts):
                lane = lanes[number % len(lanes)]
                self._copy(lane.staging(slab.plan, word), x[slab.src].view(word))
                lane.start(slab.plan, word)
                if len(coming) == len(lanes):  # the result before it in this lane lies where this one will
                    yield arrived()
                coming.append(lane.fetch(slab.plan, word))
            while coming:
                yield arrived()
        finally:
            for lane in lanes:
                lane.finish()

    def _reserve(self, sizes: tuple[int, int], most: int) -> list[_Lane]:
        count = min(LANES, most) if LANES * sum(sizes) <= self._most else 1
        if len(self._lanes) < count or not all(lane.fits(sizes) for lane in self._lanes):
            self._lanes.clear()  # given back before as much is taken again
            self._lanes += (_Lane(self._device, sizes) for _ in range(count))
        return self._lanes[:count]

    def _copy(self, target: Words, source: Words) -> None:
        """Copy on the host: in parts, since one thread is slower than the way to a device."""
        parts = min(get_num_threads(), source.nbytes // _PART_BYTES)
        axis = next((axis for axis, size in enumerate(source.shape) if size > 1), None)
        if parts < 2 or axis is None:
            np.copyto(target, source)
            return
        pairs = zip(np.array_split(target, parts, axis), np.array_split(source, parts, axis), strict=True)
        for _ in self._pool.map(lambda pair: np.copyto(*pair), pairs):
            pass


class _Lane:
    """A queue and the four buffers of the slab in it."""

    def __init__(self, device: Device, sizes: tuple[int, int]) -> None:
        source, target = (max(1, size) for size in sizes)
        self._queue = device.queue()
        self._staged, self._fetched = device.pinned(source), device.pinned(target)
        self._source, self._target = device.memory(source), device.memory(target)
        self._uploaded: Mark | None = None

    def fits(self, sizes: tuple[int, int]) -> bool:
        """Say whether slabs of these sizes have room."""
        return sizes[0] <= self._staged.nbytes and sizes[1] <= self._fetched.nbytes

    def staging(self, plan: Plan, word: np.dtype[Any]) -> Words:
        """Return where the source of the next slab goes, once the one before it has left."""
        if self._uploaded is not None:
            self._uploaded.wait()
        return _view(self._staged, plan.src_shape, word)

    def start(self, plan: Plan, word: np.dtype[Any]) -> None:
        """Let the device take what was staged, and convert it."""
        nbytes = math.prod(plan.src_shape) * word.itemsize
        self._queue.upload(self._source, self._staged[:nbytes])
        self._uploaded = self._queue.mark()
        self._queue.convert(plan, word, self._source, self._target)

    def fetch(self, plan: Plan, word: np.dtype[Any]) -> tuple[Mark, Words]:
        """Let the device bring the result; return where it comes to, and the mark after which it is there."""
        result = _view(self._fetched, plan.dst_shape, word)
        self._queue.download(self._fetched[: result.nbytes], self._target)
        return self._queue.mark(), result

    def finish(self) -> None:
        """Wait until the device touches none of the buffers any more, also where nobody wanted the rest."""
        self._queue.mark().wait()
        self._uploaded = None


def _view(memory: Bytes, shape: tuple[int, ...], word: np.dtype[Any]) -> Words:
    view: Words = memory[: math.prod(shape) * word.itemsize].view(word).reshape(shape)
    return view

"""CUDA devices by way of CuPy: which of them there are, and the queues and memory that streaming needs of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from xascend._dispatch import array_namespace
from xascend._execute import choose_executor, execute
from xascend._plan import Plan
from xascend.files.streaming import Bytes, Mark

__all__ = ["Cuda", "Share", "as_device", "executor_of_slabs", "free_bytes"]


def as_device(device: str, /) -> int | None:
    """Return the number of a CUDA device, or None for the CPU; ValueError naming what is missing."""
    if device in ("auto", "cpu"):
        return None
    match = re.fullmatch(r"cuda(?::(\d+))?", device) if isinstance(device, str) else None
    if match is None:
        raise ValueError(f"`device` must be auto, cpu, cuda or cuda:N, got {device!r}")
    try:
        import cupy
    except ImportError as error:
        raise ValueError(
            f"`device` {device} needs CuPy, which cannot be imported ({error}); "
            "install xascend[cuda12] or xascend[cuda13]"
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ValueError(f"`device` {device} needs a CUDA driver and device: {error}") from error
    number = int(match[1] or 0)
    if number >= count:
        raise ValueError(f"`device` {device} is not there: CUDA devices are numbered from 0, and there are {count}")
    return number


def executor_of_slabs(device: int | None, /) -> tuple[str, dict[str, str]]:
    """Return the name of the executor that slabs are given to, and why those before it do not take the call."""
    if device is None:
        return choose_executor(np.empty(0, np.uint8), None)
    import cupy

    with cupy.cuda.Device(device):
        return choose_executor(cupy.asarray(np.empty(0, np.uint8)), None)


def free_bytes(number: int, /) -> int:
    """Return the memory of a device that nobody has taken."""
    import cupy

    with cupy.cuda.Device(number):
        free: int = cupy.cuda.runtime.memGetInfo()[0]
    return free


@dataclass(frozen=True, slots=True)
class Share:
    """What one thread may use of a device: its number, and bytes of its memory."""

    number: int
    nbytes: int


class Cuda:
    """A CUDA device as streaming sees it: memory that no pool keeps, and streams of CuPy."""

    def __init__(self, number: int) -> None:
        self._number = number

    def pinned(self, nbytes: int, /) -> Bytes:
        """Return page-locked host memory."""
        import cupy

        with cupy.cuda.Device(self._number):
            memory = cupy.cuda.PinnedMemory(nbytes)
        return np.ndarray((nbytes,), np.uint8, cupy.cuda.PinnedMemoryPointer(memory, 0))

    def memory(self, nbytes: int, /) -> Any:
        """Return memory of the device, whose address is a multiple of 256 bytes."""
        import cupy

        with cupy.cuda.Device(self._number):
            return cupy.cuda.MemoryPointer(cupy.cuda.Memory(nbytes), 0)

    def queue(self) -> _Stream:
        """Return a new stream."""
        return _Stream(self._number)


class _Stream:
    """A stream that does not wait for the default one."""

    def __init__(self, number: int) -> None:
        import cupy

        self._device = cupy.cuda.Device(number)
        with self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)

    def upload(self, target: Any, source: Bytes, /) -> None:
        """Copy pinned memory to the device."""
        with self._device:
            target.copy_from_host_async(source.ctypes.data, source.nbytes, self._stream)

    def convert(self, plan: Plan, word: np.dtype[Any], source: Any, target: Any, /) -> None:
        """Convert by the executor that arrays of CuPy get."""
        import cupy

        zero: Any = np.zeros((), word)
        with self._device, self._stream:
            x, out = cupy.ndarray(plan.src_shape, word, source), cupy.ndarray(plan.dst_shape, word, target)
            execute(plan, x, array_namespace("x", x), zero, out)

    def download(self, target: Bytes, source: Any, /) -> None:
        """Copy from the device to pinned memory."""
        with self._device:
            source.copy_to_host_async(target.ctypes.data, target.nbytes, self._stream)

    def mark(self) -> Mark:
        """Return an event that leaves the processor to others while it is waited for."""
        import cupy

        with self._device:
            event = cupy.cuda.Event(block=True, disable_timing=True)
            event.record(self._stream)
        return _Event(event)


class _Event:
    def __init__(self, event: Any) -> None:
        self._event = event

    def wait(self) -> None:
        """Wait until the device has come to the event."""
        self._event.synchronize()

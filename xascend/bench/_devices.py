"""Where arrays lie, how time passes there, and how much memory a call takes."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from xascend.bench._caches import host_caches
from xascend.files.device import as_device

__all__ = ["Cuda", "Device", "Host", "open_device"]

Array = Any
Call = Callable[[], Any]
_LINE = 64
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Device(Protocol):
    """What measuring needs to know of a device."""

    @property
    def xp(self) -> Any:
        """The array library: NumPy, or CuPy, which has the same functions."""

    def current(self) -> AbstractContextManager[Any]:
        """Return a context in which arrays are made on the device."""

    def caches(self) -> dict[str, int]:
        """Return the bytes of the caches for data by name; none where none tells."""

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Return an array whose memory is there and begins at a cache line."""

    def place(self, x: npt.NDArray[Any]) -> Array:
        """Return a copy of `x` on the device."""

    def fetch(self, x: Array) -> npt.NDArray[Any]:
        """Return `x` in host memory."""

    def first_seconds(self, call: Call) -> float:
        """Return how long one call takes until its result is there, with all that is made on the way."""

    def seconds(self, call: Call, number: int) -> float:
        """Return how long one of `number` calls in a row takes."""

    def peak_bytes(self, call: Call) -> int | None:
        """Return the most memory that one call holds at a time beside what was there; None where none can tell."""


@dataclass(frozen=True, slots=True)
class Host:
    """The CPU, with NumPy."""

    @property
    def xp(self) -> Any:
        """NumPy."""
        return np

    def current(self) -> AbstractContextManager[Any]:
        """Return a context that changes nothing."""
        return nullcontext()

    def caches(self) -> dict[str, int]:
        """Return what the system tells of the first core's."""
        return host_caches()

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return an array that has been written to, so that its pages are there."""
        dtype = np.dtype(dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        memory = np.full(nbytes + _LINE, 0xA5, np.uint8)
        return np.ndarray(shape, dtype, memory, -memory.__array_interface__["data"][0] % _LINE)

    def place(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a copy that begins at a cache line."""
        placed = self.empty(x.shape, x.dtype)
        placed[...] = x
        return placed

    def fetch(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return `x`, as an array of NumPy."""
        return np.asarray(x)

    def first_seconds(self, call: Call) -> float:
        """Return the wall-clock time of one call."""
        return self.seconds(call, 1)

    def seconds(self, call: Call, number: int) -> float:
        """Return the mean wall-clock time of a call."""
        start = time.perf_counter()
        for _ in range(number):
            call()
        return (time.perf_counter() - start) / number

    def peak_bytes(self, call: Call) -> int | None:
        """Return the growth of the resident memory at its highest, which Linux alone can tell."""
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if _CLEAR.exists() else None
        if trim is None:
            return None
        trim(0)  # freed memory that the process still holds would serve the call unseen
        _CLEAR.write_text("5", encoding="ascii")  # sets the high-water mark to what is resident now
        before = _status_bytes("VmRSS")
        call()
        return max(0, _status_bytes("VmHWM") - before)


def _status_bytes(field: str) -> int:
    lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{field}:"))


@dataclass(frozen=True, slots=True)
class Cuda:
    """A CUDA device, with CuPy; time is taken by events on the current stream."""

    number: int

    @property
    def xp(self) -> Any:
        """CuPy."""
        import cupy

        return cupy

    def properties(self) -> dict[str, Any]:
        """Return what the CUDA runtime tells of the device."""
        properties: dict[str, Any] = self.xp.cuda.runtime.getDeviceProperties(self.number)
        return properties

    def current(self) -> AbstractContextManager[Any]:
        """Return a context in which the device is the current one."""
        device: AbstractContextManager[Any] = self.xp.cuda.Device(self.number)
        return device

    def caches(self) -> dict[str, int]:
        """Return the one that all multiprocessors share."""
        return {"L2": self.properties()["l2CacheSize"]}

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Return a new array; CuPy begins every one at 512 bytes."""
        return self.xp.empty(shape, _known(np.dtype(dtype)))

    def place(self, x: npt.NDArray[Any]) -> Array:
        """Return the array on the device."""
        return self.xp.asarray(x.view(_known(x.dtype)))

    def fetch(self, x: Array) -> npt.NDArray[Any]:
        """Return the array in host memory."""
        fetched: npt.NDArray[Any] = self.xp.asnumpy(x)
        return fetched

    def first_seconds(self, call: Call) -> float:
        """Return the wall-clock time of one call until the device is done, so that compiling counts."""
        stream = self.xp.cuda.get_current_stream()
        stream.synchronize()
        start = time.perf_counter()
        call()
        stream.synchronize()
        return time.perf_counter() - start

    def seconds(self, call: Call, number: int) -> float:
        """Return the mean time between two events around the calls."""
        start, stop = self.xp.cuda.Event(), self.xp.cuda.Event()
        start.record()
        for _ in range(number):
            call()
        stop.record()
        stop.synchronize()
        milliseconds: float = self.xp.cuda.get_elapsed_time(start, stop)
        return milliseconds / 1e3 / number

    def peak_bytes(self, call: Call) -> int | None:
        """Return the growth of CuPy's memory pool, which keeps what is given back."""
        pool = self.xp.get_default_memory_pool()
        pool.free_all_blocks()
        before: int = pool.total_bytes()
        call()
        after: int = pool.total_bytes()
        return after - before


def _known(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype that CuPy knows: that of NumPy itself, or for others a word of their size."""
    return dtype if dtype.isbuiltin == 1 else np.dtype(f"u{dtype.itemsize}")


def open_device(device: str, /) -> Device:
    """Return the device that ``auto``, ``cpu``, ``cuda`` or ``cuda:N`` names; ValueError where it is missing."""
    number = as_device(device)
    return Host() if number is None else Cuda(number)

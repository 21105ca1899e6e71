"""CuPy without a driver: its own arrays over host memory, and its RawModule by way of the harness.

Enough for whole calls of the library on arrays of CuPy; what CuPy itself would compute on a device fails as ever.
"""

from __future__ import annotations

import ctypes
import re
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda import harness

from xascend._cuda._jobs import Kernel


def array_type(cupy: Any) -> type:
    """Return a class of arrays of CuPy whose elements come and go by way of the host."""

    class ndarray(cupy.ndarray):  # noqa: N801 - the name that messages and `place` look at
        def get(self, *_: Any, **__: Any) -> np.ndarray:
            return host_view(self).copy()

        def __setitem__(self, key: Any, value: Any) -> None:
            host_view(require_aligned(self))[key] = (
                host_view(require_aligned(value)) if isinstance(value, cupy.ndarray) else value
            )

    ndarray.__module__ = "cupy"
    return ndarray


def require_aligned(x: Any) -> Any:
    """Return `x`, of which CuPy's own kernels load and store whole elements; misaligned ones end a real context."""
    assert host_view(x).flags.aligned, "a typed access to misaligned memory"
    return x


def host_view(x: Any) -> np.ndarray:
    """Return an array of NumPy on the same memory."""
    if x.size == 0:
        return np.empty(x.shape, x.dtype)
    reaches = [(size - 1) * stride for size, stride in zip(x.shape, x.strides, strict=True)]
    low, high = sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0) + x.itemsize
    memory = (ctypes.c_char * (high - low)).from_address(x.data.ptr + low)
    memory.owner = x
    return np.ndarray(x.shape, x.dtype, memory, -low, x.strides)


class Driverless:
    """Takes the place of what CuPy needs a driver for; `entries` are the kernels that ran."""

    def __init__(self, cupy: Any, patch: pytest.MonkeyPatch) -> None:
        self.memories: list[weakref.ref[np.ndarray]] = []
        self.entries: list[str] = []
        self._cupy, self._type = cupy, array_type(cupy)
        patch.setattr(cupy.cuda, "Device", lambda number: _Current())
        patch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 1)
        patch.setattr(cupy, "empty", lambda shape, dtype: self.put(np.full(shape, 0xA5, np.uint8).astype(dtype)))
        patch.setattr(cupy, "asarray", self.put)
        patch.setattr(cupy, "asnumpy", lambda x: host_view(x).copy())
        patch.setattr(cupy, "ascontiguousarray", self._contiguous)
        patch.setattr(cupy, "RawModule", self._module)

    def put(self, x: np.ndarray, offset: int = 0) -> Any:
        """Return a copy that begins `offset` bytes after a multiple of 256."""
        memory = harness.aligned_empty((x.nbytes + offset + 1,), np.dtype(np.uint8))
        memory[offset : offset + x.nbytes] = np.frombuffer(x.tobytes(), np.uint8)
        self.memories.append(weakref.ref(memory))
        owner = self._cupy.cuda.UnownedMemory(memory.ctypes.data + offset, x.nbytes + 1, memory, 0)
        return self._type(x.shape, x.dtype, self._cupy.cuda.MemoryPointer(owner, 0))

    def _contiguous(self, x: Any) -> Any:
        return x if x.flags.c_contiguous else self.put(host_view(require_aligned(x)))

    def _module(self, *, code: str, options: tuple[str, ...]) -> Any:
        (file,) = re.findall(r'\A#line 1 "(.+)"', code)
        macros = dict(option.removeprefix("-DXASCEND_").split("=") for option in options if option.startswith("-D"))
        word = int(macros.pop("WORD"))
        return SimpleNamespace(
            get_function=lambda entry: self._function(Kernel(file, entry, word, tuple(macros.items())))
        )

    def _function(self, kernel: Kernel) -> Any:
        def call(grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...], *, shared_mem: int) -> None:
            there = [memory for memory in (reference() for reference in self.memories) if memory is not None]
            harness.run_kernel(
                *(kernel, arguments, there, there, harness.Counts()),
                blocks=grid[0],
                threads=block[0],
                shared=shared_mem,
            )
            self.entries.append(kernel.entry)

        return call


class _Current:
    id = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

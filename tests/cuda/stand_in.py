"""A stand-in for CuPy whose kernels run on the host."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
from cuda import harness

from xascend._cuda import _jobs
from xascend._cuda._launches import THREADS


class DeviceArray:
    """As much of a CuPy array as the executor looks at; the memory is NumPy's."""

    def __init__(self, host: np.ndarray, device: int = 0) -> None:
        self.host = host
        self.device = SimpleNamespace(id=device)
        self.data = SimpleNamespace(ptr=harness.address(host))
        self.shape, self.strides, self.dtype = host.shape, host.strides, host.dtype

    def __setitem__(self, key: Any, value: DeviceArray) -> None:
        self.host[key] = value.host


class StandIn:
    """Module `cupy`: allocates on the host, and runs kernels through the harness."""

    def __init__(self) -> None:
        self.ndarray = DeviceArray
        self.current = [0]
        self.arrays: list[np.ndarray] = []
        self.sources: list[tuple[str, tuple[str, ...]]] = []
        self.launches: list[tuple[int, str]] = []
        self.copies = 0
        self.devices = 1
        error = type("CUDARuntimeError", (RuntimeError,), {})
        runtime = SimpleNamespace(CUDARuntimeError=error, getDeviceCount=lambda: self.devices)
        self.cuda = SimpleNamespace(Device=self._device, runtime=runtime)

    def _device(self, number: int) -> Any:
        stand_in = self

        class Current:
            def __enter__(self) -> None:
                stand_in.current.append(number)

            def __exit__(self, *_: object) -> None:
                stand_in.current.pop()

        return Current()

    def array(self, host: np.ndarray, device: int = 0) -> DeviceArray:
        self.arrays.append(host)
        return DeviceArray(host, device)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
        host = harness.aligned_empty(shape, dtype)
        host.view(np.uint8)[...] = 0xA5
        return self.array(host, self.current[-1])

    def asarray(self, host: np.ndarray) -> DeviceArray:
        return self.array(harness.aligned(host), self.current[-1])

    def ascontiguousarray(self, x: DeviceArray) -> DeviceArray:
        if x.host.flags.c_contiguous:
            return x
        self.copies += 1
        return self.array(harness.aligned(x.host), self.current[-1])

    def RawModule(self, *, code: str, options: tuple[str, ...]) -> Any:
        self.sources.append((code, options))
        (file,) = re.findall(r'\A#line 1 "(.+)"', code)
        macros = [re.fullmatch("-DXASCEND_(.+)=(.+)", option).groups() for option in options[1:]]
        return SimpleNamespace(get_function=lambda entry: self._function(file, entry, macros))

    def _function(self, file: str, entry: str, macros: list[tuple[str, str]]) -> Any:
        (_, word), *others = macros
        kernel = _jobs.Kernel(file, entry, int(word), tuple(others))

        def call(grid: tuple[int], block: tuple[int], args: tuple, *, shared_mem: int) -> None:
            src, dst, *others = args
            assert block == (THREADS,)
            assert all(isinstance(arg, int) or arg.size == 1 for arg in others)
            reads = [self._at(address) for address in (src, *others) if isinstance(address, int) and address]
            counts = harness.Counts()
            harness.run_kernel(kernel, args, reads, [self._at(dst)], counts, blocks=grid[0], shared=shared_mem)
            self.launches.append((self.current[-1], entry))

        return call

    def _at(self, address: int) -> np.ndarray:
        (found,) = (a for a in self.arrays if 0 <= address - harness.address(a) < a.nbytes)
        return found

"""Arrays on a CUDA device, of CuPy or PyTorch: where they lie, and on which stream their library works."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import array_api_compat as compat
import numpy.typing as npt

from xascend import _torch
from xascend._cuda._jobs import SECTOR
from xascend._cuda._launches import Memory

__all__ = [
    "address_of",
    "as_contiguous",
    "as_device_array",
    "current_stream",
    "empty_output",
    "is_on_device",
    "memory_of",
    "reason_not_memory",
    "stream_of",
]

Array = Any


def is_on_device(x: Array, /) -> bool:
    """Say whether `x` is an array of CuPy or a tensor of PyTorch on a CUDA device."""
    return bool(compat.is_cupy_array(x) or (compat.is_torch_array(x) and x.device.type == "cuda"))


def reason_not_memory(x: Array, name: str, /) -> str | None:
    """Return why a tensor cannot be seen as plain memory, or None."""
    if not compat.is_torch_array(x):
        return None
    if _torch.is_recorded(x):
        return f"a gradient of `{name}` is recorded"
    if x.is_conj() or x.is_neg():
        return f"`{name}` has a pending conjugation or negation"
    try:
        x.data_ptr()
    except RuntimeError:
        return f"`{name}` has no memory of its own"
    return None


def address_of(x: Array, /) -> int:
    """Return the address of an array's first element."""
    return int(x.data_ptr() if compat.is_torch_array(x) else x.data.ptr)


def memory_of(x: Array, /) -> tuple[int, Memory]:
    """Return the address of an array's first element and how it lies in memory."""
    address = address_of(x)
    if compat.is_torch_array(x):
        itemsize = x.element_size()
        strides = tuple(stride * itemsize for stride in x.stride())
    else:
        itemsize, strides = x.dtype.itemsize, x.strides
    return address, Memory(tuple(x.shape), tuple(strides), itemsize, min(address & -address, SECTOR) or SECTOR)


class _Foreign:
    """A stream of another library, as CuPy asks for it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol and the handle."""
        return 0, self._handle


def stream_of(handle: int, device: int, /) -> Any:
    """Return a stream of another library as one of CuPy; before 14 CuPy knows no other class for it."""
    from cupy import cuda

    if hasattr(cuda.Stream, "from_external"):
        return cuda.Stream.from_external(_Foreign(handle))
    return cuda.ExternalStream(handle, device)


@contextlib.contextmanager
def current_stream(x: Array, /) -> Iterator[int]:
    """Work under the device of `x`, on the stream that its library works on; yields the number of the device."""
    import cupy

    if compat.is_torch_array(x):
        import torch

        device = x.device.index
        with cupy.cuda.Device(device), stream_of(torch.cuda.current_stream(x.device).cuda_stream, device):
            yield device
    else:
        with cupy.cuda.Device(x.device.id):
            yield x.device.id


def empty_output(x: Array, shape: tuple[int, ...], /) -> Array:
    """Return an uninitialised C-contiguous array of the library, dtype and device of `x`."""
    if compat.is_torch_array(x):
        import torch

        return torch.empty(shape, dtype=x.dtype, device=x.device)
    import cupy

    with cupy.cuda.Device(x.device.id):
        return cupy.empty(shape, x.dtype)


def as_device_array(host: npt.NDArray[Any], like: Array, /) -> Array:
    """Return a copy of a contiguous array of the host, of the library and on the device of `like`."""
    if compat.is_torch_array(like):
        import torch

        return torch.from_numpy(host).to(like.device)  # which waits: `host` may be dropped afterwards
    import cupy

    with cupy.cuda.Device(like.device.id):
        return cupy.asarray(host)


def as_contiguous(x: Array, /) -> Array:
    """Return a C-contiguous copy of `x`."""
    if compat.is_torch_array(x):
        return x.contiguous()
    import cupy

    with cupy.cuda.Device(x.device.id):
        return cupy.ascontiguousarray(x)

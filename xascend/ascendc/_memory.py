"""Where 1-D arrays lie in memory, and windows of half data blocks on it.

Only NumPy, PyTorch and CuPy arrays say where a view lies in the buffer it is cut from. Arrays of other
libraries are refused: bounds, alignment and overlap could not be checked on them, nor do all write in place.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np

from xascend._dispatch import array_namespace, require_same_place

__all__ = [
    "BLOCK",
    "HALF",
    "Places",
    "half_block_window",
    "integer_dtype",
    "is_writable",
    "locate",
    "owner_of",
    "require_addressable",
    "require_apart",
    "require_buffer",
    "require_like",
    "require_writable",
]

BLOCK = 32  # bytes in a data block, the unit of every stride and alignment of the Unified Buffer
HALF = 16  # bytes in half a data block, the least that an instruction writes


class Places(NamedTuple):
    """Where arrays lie: the addresses of their memories' owners, and bytes from the owner's first one."""

    owners: tuple[int, ...]
    starts: tuple[int, ...]
    stops: tuple[int, ...]


def require_addressable(name: str, x: Any) -> None:
    """Raise unless `x` is an array of a library that says where its views lie, without a gradient to record."""
    if type(x) is np.ndarray:
        return
    array_namespace(name, x)
    if not (isinstance(x, np.ndarray | np.generic) or compat.is_torch_array(x) or compat.is_cupy_array(x)):
        raise TypeError(
            f"`{name}` is a {type(x).__module__}.{type(x).__name__}: instructions write in place and must know "
            "where a view lies in its buffer, which NumPy, PyTorch and CuPy arrays tell; convert it first"
        )
    if compat.is_torch_array(x) and x.device.type == "meta":
        raise ValueError(f"`{name}` is on the device meta and has no data")
    if compat.is_torch_array(x) and (x.is_conj() or x.is_neg()):
        pending = "resolve_conj" if x.is_conj() else "resolve_neg"
        raise ValueError(f"`{name}` is a view with a pending operation; pass `{name}.{pending}()`")
    if getattr(x, "requires_grad", False):
        raise ValueError(f"`{name}` requires grad, and an instruction has no derivative; pass `{name}.detach()`")


def require_buffer(name: str, x: Any) -> None:
    """Raise unless `x` is a 1-D contiguous array of a library that says where its views lie."""
    require_addressable(name, x)
    if x.ndim != 1:
        raise ValueError(f"`{name}` must be 1-D, a stretch of a buffer, got {x.ndim} axes")
    if not (x.is_contiguous() if compat.is_torch_array(x) else x.flags.c_contiguous):
        raise ValueError(f"`{name}` must be contiguous, as a view cut by `buf[a:]` is, got a strided view")


def require_like(name: str, x: Any, other_name: str, other: Any) -> None:
    """Raise TypeError unless `other` is of the library, device and dtype of `x`."""
    require_same_place(name, x, other_name, other)
    if other.dtype != x.dtype:
        raise TypeError(f"`{other_name}` has dtype {other.dtype} but `{name}` has {x.dtype}; they must be equal")


def is_writable(x: Any) -> bool:
    """Say whether an array can be written; only NumPy's can be read-only."""
    return not isinstance(x, np.ndarray) or x.flags.writeable


def require_writable(name: str, x: Any) -> None:
    """Raise ValueError where `x` cannot be written."""
    if not is_writable(x):
        raise ValueError(f"`{name}` is read-only; the instruction writes into it")


def locate(arrays: list[Any]) -> Places:
    """Return where each array lies; all are of one library.

    The owner is the array that owns the memory (NumPy), the storage (PyTorch) or the allocation (CuPy).
    """
    if isinstance(arrays[0], np.ndarray):
        owners, starts = _locate_numpy(arrays)
    elif compat.is_torch_array(arrays[0]):
        owners = [x.untyped_storage().data_ptr() for x in arrays]
        starts = [x.storage_offset() * x.itemsize for x in arrays]
    else:
        owners = [x.data.mem.ptr for x in arrays]
        starts = [x.data.ptr - x.data.mem.ptr for x in arrays]
    stops = tuple([start + x.nbytes for start, x in zip(starts, arrays, strict=True)])
    return Places(tuple(owners), tuple(starts), stops)


def _locate_numpy(arrays: list[Any]) -> tuple[list[int], list[int]]:
    addresses = _numpy_addresses(arrays)
    bases = [x.base for x in arrays]
    origins = {}
    for base, x in {id(base): (base, x) for base, x in zip(bases, arrays, strict=True)}.values():
        if isinstance(base, np.ndarray):  # views of one buffer have one base
            origins[id(base)] = _numpy_addresses([owner_of(x)])[0]
    owners = [origins.get(id(base), address) for base, address in zip(bases, addresses, strict=True)]
    return owners, [address - owner for address, owner in zip(addresses, owners, strict=True)]


def owner_of(x: Any) -> Any:
    """Return the NumPy array that owns the memory of another, or borrows it from something that is no array."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def _numpy_addresses(arrays: list[Any]) -> list[int]:
    # An instruction asks for 32 addresses. The buffer protocol answers in a third of the time that NumPy's own
    # interface takes, but not for read-only or empty arrays, nor for bfloat16.
    try:
        return [ctypes.addressof(ctypes.c_char.from_buffer(x)) for x in arrays]
    except (TypeError, ValueError):
        return [x.__array_interface__["data"][0] for x in arrays]


def require_apart(places: Places) -> None:
    """Refuse two owners that claim the same memory, as two `np.frombuffer` of one buffer do."""
    reach: dict[int, tuple[int, int]] = {}
    for owner, start, stop in zip(*places, strict=True):
        low, high = reach.get(owner, (start, stop))
        reach[owner] = (min(low, start), max(high, stop))
    spans = sorted((owner + low, owner + high) for owner, (low, high) in reach.items())
    if any(high > low for (_, high), (low, _) in itertools.pairwise(spans)):
        raise ValueError(
            "`dst` and `src` hold arrays that share memory without a common owner (two wrappers of one foreign "
            "buffer, for instance); cut all views from one array, so that they have one origin"
        )


def half_block_window(x: Any, skip: int, count: int) -> Any:
    """Return `count` half blocks, from `skip` bytes after the start of `x`, as an array on the same memory.

    Its first axis counts half blocks. On NumPy they are complex128 scalars, 16 bytes that move together several
    times faster than rows do and that no arithmetic touches; elsewhere rows of integers, since other libraries
    fault on scalars that are not aligned in memory. The window may reach past the end of `x`, up to where a later
    view of the same owner ends.
    """
    first, length = skip // x.itemsize, count * HALF // x.itemsize
    if skip + count * HALF <= x.nbytes:
        part = x[first : first + length]
    elif isinstance(x, np.ndarray):
        part = np.lib.stride_tricks.as_strided(x[first:], (length,), (x.itemsize,))
    elif compat.is_torch_array(x):
        part = x.as_strided((length,), (1,), x.storage_offset() + first)
    else:
        import cupy

        part = cupy.lib.stride_tricks.as_strided(x[first:], (length,), (x.itemsize,))
    if isinstance(x, np.ndarray):
        return part.view(np.complex128)
    return part.view(integer_dtype(x)).reshape(count, -1)


def integer_dtype(x: Any) -> Any:
    """Return the signed integer dtype of the size of the elements of `x`, in its library."""
    name = f"int{8 * x.itemsize}"
    return getattr(compat.array_namespace(x), name) if compat.is_torch_array(x) else np.dtype(name)

"""New arrays for results."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import array_api_compat as compat
import numpy as np
import numpy.typing as npt

__all__ = ["empty_aligned", "empty_beside"]

Array = npt.NDArray[Any]
_LINE = 64  # bytes of a cache line, where whole lines are written fastest


def empty_aligned(shape: tuple[int, ...], dtype: np.dtype[Any], /) -> Array:
    """Return an uninitialised array that begins at a cache line."""
    memory = np.empty(math.prod(shape) * dtype.itemsize + _LINE, np.uint8)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory.data))  # quicker than `__array_interface__`
    return np.ndarray(shape, dtype, memory, -address % _LINE)


def empty_beside(x: Any, xp: Any, shape: tuple[int, ...], dtype: Any, /) -> Any:
    """Return an uninitialised array of the library `xp` of `x`, and on its device; one of NumPy is aligned."""
    if isinstance(x, np.ndarray):
        return empty_aligned(shape, np.dtype(dtype))
    return xp.empty(shape, dtype=dtype, device=compat.device(x))

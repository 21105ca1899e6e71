"""New arrays for results in host memory."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["empty_aligned"]

Array = npt.NDArray[Any]
_LINE = 64  # bytes of a cache line, where whole lines are written fastest


def empty_aligned(shape: tuple[int, ...], dtype: np.dtype[Any], /) -> Array:
    """Return an uninitialised array that begins at a cache line."""
    memory = np.empty(math.prod(shape) * dtype.itemsize + _LINE, np.uint8)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory.data))  # quicker than `__array_interface__`
    return np.ndarray(shape, dtype, memory, -address % _LINE)

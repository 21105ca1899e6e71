"""Arrays beside pages that nobody may touch: whoever reads or writes a byte too far is ended by the system."""

from __future__ import annotations

import ctypes
import math
import mmap
import sys

import numpy as np
import pytest

#: Which end of an array lies at such a page.
each_end = pytest.mark.parametrize("end", ["first", "last"])


def between_guards(nbytes: int) -> np.ndarray:
    """Return whole pages, of at least `nbytes` bytes, between two that must not be touched."""
    if sys.platform == "win32":
        pytest.skip("this system has no mprotect")
    page = mmap.PAGESIZE
    inside = -(-nbytes // page) * page
    memory = mmap.mmap(-1, inside + 2 * page)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    assert protect(begin, page, 0) == protect(begin + page + inside, page, 0) == 0
    return np.frombuffer(memory, np.uint8, inside, page)


def guarded(shape: tuple[int, ...], dtype: np.dtype, end: str) -> np.ndarray:
    """Return an array whose first byte has such a page before it, or whose last byte one behind it."""
    nbytes = math.prod(shape) * dtype.itemsize
    memory = between_guards(nbytes)
    return (memory[:nbytes] if end == "first" else memory[-nbytes:]).view(dtype).reshape(shape)


def guarded_copy(x: np.ndarray, end: str) -> np.ndarray:
    """Return a read-only copy that lies so."""
    copy = guarded(x.shape, x.dtype, end)
    copy[...] = x
    copy.flags.writeable = False
    return copy

"""Where the memory of a NumPy array begins, for calls into the native library."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy.typing as npt

__all__ = ["address_of"]


class _ArrayStruct(ctypes.Structure):
    """``PyArrayInterface`` of NumPy's array interface protocol, which is to be had in half the time of the mapping."""

    _fields_ = (
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
    )


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def address_of(x: npt.NDArray[Any], /) -> int:
    """Return the address of the first element of an array."""
    capsule = x.__array_struct__  # owns the structure
    address: int = _ArrayStruct.from_address(_capsule_pointer(capsule, None)).data or 0
    return address

"""The native executor: all fills and copies of a plan in one call into the C++ library, for arrays in memory.

A plan becomes a program of 64-bit integers once per pair of strides; the library walks it with vectors and threads,
and holds no lock of the interpreter meanwhile.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy.typing as npt

from xascend._native_library import load
from xascend._native_program import make_program
from xascend._plan import Plan
from xascend._threads import get_num_threads

__all__ = ["reason_unsupported", "run"]

Array = npt.NDArray[Any]


def reason_unsupported() -> str | None:
    """Return why the library converts nothing here, or None: every plan and every array in memory suit it."""
    return load().reason


def run(plan: Plan, x: Array, out: Array, pad_value: Array, /) -> None:
    """Carry out `plan` from `x` into `out`, which must not overlap."""
    program = make_program(plan, x.dtype.itemsize, x.strides, out.strides)
    item = pad_value.tobytes() if program.fills else b""
    status = load().convert(program.address, _address(x), _address(out), item, get_num_threads())
    if status:
        raise MemoryError(f"the native library got no memory for its work (status {status})")


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


def _address(x: Array) -> int:
    capsule = x.__array_struct__  # owns the structure
    address: int = _ArrayStruct.from_address(_capsule_pointer(capsule, None)).data or 0
    return address

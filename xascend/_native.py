"""The native executor: all fills and copies of a plan in one call into the C++ library, for arrays in memory.

A plan becomes a program of 64-bit integers once per pair of strides; the library walks it with vectors and threads,
and holds no lock of the interpreter meanwhile.
"""

from __future__ import annotations

import array
import ctypes
import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._native_library import load
from xascend._plan import Plan
from xascend._threads import get_num_threads

__all__ = ["empty_output", "reason_unsupported", "run"]

Array = npt.NDArray[Any]
Strides = tuple[int, ...]
_LINE = 64
_COPY, _FILL = 0, 1


def reason_unsupported() -> str | None:
    """Return why the library converts nothing here, or None: every plan and every array in memory suit it."""
    return load().reason


def empty_output(plan: Plan, x: Array, /) -> Array:
    """Return an uninitialised output array for `x` that begins at a cache line."""
    memory = np.empty(math.prod(plan.dst_shape) * x.itemsize + _LINE, np.uint8)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory.data))  # quicker than `_address`
    return np.ndarray(plan.dst_shape, x.dtype, memory, -address % _LINE)


def run(plan: Plan, x: Array, out: Array, pad_value: Array, /) -> None:
    """Carry out `plan` from `x` into `out`, which must not overlap."""
    program = _program(plan, x.dtype.itemsize, x.strides, out.strides)
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


@dataclass(frozen=True, slots=True)
class _Program:
    """What the library reads: see ``kernels_cpu/conversion.hpp``."""

    words: array.array[int]
    address: int
    fills: bool


@functools.lru_cache(maxsize=256)
def _program(plan: Plan, itemsize: int, src_strides: Strides, dst_strides: Strides) -> _Program:
    fills = _fills(plan, dst_strides)
    copies = []
    for box in plan.boxes:
        src, dst, dims = box.strided(src_strides, dst_strides)
        copies.append((_COPY, src, dst, dims))
    # padding apart from the copies goes with them; padding below them must be there before
    phases = [fills, copies] if plan.padding is None else [fills + copies]
    words = array.array("q", [itemsize, len(phases)])
    for boxes in phases:
        words.append(len(boxes))
        for kind, src, dst, dims in boxes:
            words.extend((1, len(dims), kind, src, dst, len(dims), *(word for dim in dims for word in dim)))
    return _Program(words, words.buffer_info()[0], bool(fills))


def _fills(plan: Plan, strides: Strides) -> list[tuple[int, int, int, list[tuple[int, int, int]]]]:
    if plan.padding is None:
        regions = [(0, list(zip(plan.dst_shape, strides, strict=True)))]
    else:
        regions = [region.placed(strides) for region in plan.padding]
    fills = []
    for offset, placed in regions:
        merged: list[tuple[int, int, int]] = []
        for count, stride in sorted((dim for dim in placed if dim[0] != 1), key=lambda dim: -abs(dim[1])):
            if merged and merged[-1][2] == count * stride:
                merged[-1] = (merged[-1][0] * count, 0, stride)
            else:
                merged.append((count, 0, stride))
        fills.append((_FILL, 0, offset, merged))
    return fills

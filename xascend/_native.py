"""The native executor: all fills and copies of a plan in one call into the C++ library, for arrays in memory.

A plan becomes a program of 64-bit integers once per pair of strides; the library walks it with vectors and threads,
and holds no lock of the interpreter meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from xascend._address import address_of
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
    status = load().convert(program.address, address_of(x), address_of(out), item, get_num_threads())
    if status:
        raise MemoryError(f"the native library got no memory for its work (status {status})")

"""The CUDA executor: the plan's copies by kernels of our own, for arrays of CuPy and PyTorch on a GPU.

Nothing here imports CuPy before there is an array on a device to convert.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._cuda._alignment import as_aligned, copy_into
from xascend._cuda._arrays import (
    address_of,
    as_contiguous,
    current_stream,
    empty_output,
    is_on_device,
    memory_of,
    reason_not_memory,
)
from xascend._cuda._instructions import make_broadcast, make_transposition
from xascend._cuda._launches import THREADS, Launch, make_launches, make_padding, reason_not_direct
from xascend._cuda._loader import get_function
from xascend._plan import Plan

__all__ = [
    "Launch",
    "address_of",
    "is_on_device",
    "make_broadcast",
    "make_transposition",
    "reason_unsupported",
    "run",
    "run_instruction",
    "takes",
]

Array = Any
_DISABLE = "XASCEND_DISABLE_CUDA_KERNELS"


def reason_unsupported(x: Array, out: Array | None, /) -> str | None:
    """Return why the kernels do not convert `x` into `out`, or None."""
    if os.environ.get(_DISABLE, "") not in ("", "0"):
        return f"{_DISABLE} is set"
    for name, array in (("x", x), ("out", out)):
        reason = None if array is None else reason_not_memory(array, name)
        if reason:
            return reason
    return reason_absent()


def takes(x: Array, out: Array | None = None, /) -> bool:
    """Say whether the kernels carry out instructions on the memory of `x` and, where it is another, of `out`."""
    return type(x) is not np.ndarray and is_on_device(x) and reason_unsupported(x, out) is None


@functools.cache
def reason_absent() -> str | None:
    """Return why no kernel can run in this process: CuPy is missing, or it finds no device."""
    try:
        import cupy
    except ImportError as error:
        return f"CuPy cannot be imported ({error}); install xascend[cuda12] or xascend[cuda13]"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy finds no CUDA device ({error})"
    return None if count else "CuPy finds no CUDA device"


def run(plan: Plan, x: Array, out: Array | None, pad_value: np.generic | npt.NDArray[Any], /) -> Array:
    """Carry out `plan` on the current stream and return `out`, or a new array; nothing is waited for."""
    result = empty_output(x, plan.dst_shape) if out is None else out
    with current_stream(x) as device:
        if reason_not_direct(plan, memory_of(x)[1], memory_of(result)[1]) is None:
            _launch(plan, x, result, pad_value, device)
            return result
        dense = empty_output(x, plan.dst_shape)
        _launch(plan, as_contiguous(as_aligned(x)), dense, pad_value, device)
        copy_into(dense, result)
    return result


def _launch(plan: Plan, x: Array, out: Array, pad_value: np.generic | npt.NDArray[Any], device: int) -> None:
    padding = make_padding(np.asarray(pad_value))
    (src, src_memory), (dst, dst_memory) = memory_of(x), memory_of(out)
    for launch in make_launches(plan, src_memory, dst_memory):
        function = get_function(launch.kernel, device)
        function((launch.blocks,), (THREADS,), (src, dst, padding, launch.table), shared_mem=launch.shared)


def run_instruction(launch: Launch, beside: Array, /) -> None:
    """Launch an instruction, whose table says all, on the current stream of the library and device of `beside`."""
    with current_stream(beside) as device:
        function = get_function(launch.kernel, device)
        function((launch.blocks,), (THREADS,), (launch.table,), shared_mem=launch.shared)

"""Where a slab is converted: in host memory by NumPy, or on a CUDA device by CuPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._dispatch import array_namespace
from xascend._execute import choose_executor, execute
from xascend._plan import Plan

__all__ = ["as_device", "convert_slab", "executor_of_slabs"]


def as_device(device: str, /) -> int | None:
    """Return the number of a CUDA device, or None for the CPU; ValueError naming what is missing."""
    if device in ("auto", "cpu"):
        return None
    match = re.fullmatch(r"cuda(?::(\d+))?", device) if isinstance(device, str) else None
    if match is None:
        raise ValueError(f"`device` must be auto, cpu, cuda or cuda:N, got {device!r}")
    try:
        import cupy
    except ImportError as error:
        raise ValueError(
            f"`device` {device} needs CuPy, which cannot be imported ({error}); "
            "install xascend[cuda12] or xascend[cuda13]"
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ValueError(f"`device` {device} needs a CUDA driver and device: {error}") from error
    number = int(match[1] or 0)
    if number >= count:
        raise ValueError(f"`device` {device} is not there: CUDA devices are numbered from 0, and there are {count}")
    return number


def executor_of_slabs(device: int | None, /) -> tuple[str, dict[str, str]]:
    """Return the name of the executor that `convert_slab` takes, and why those before it do not take the call."""
    if device is None:
        return choose_executor(np.empty(0, np.uint8), None)
    import cupy

    with cupy.cuda.Device(device):
        return choose_executor(cupy.asarray(np.empty(0, np.uint8)), None)


def convert_slab(plan: Plan, x: npt.NDArray[Any], out: npt.NDArray[Any], device: int | None, /) -> None:
    """Convert a part into `out`, both in host memory, on the CPU or by way of a device; padding is zero."""
    zero: Any = np.zeros((), x.dtype)[()]
    if device is None:
        execute(plan, x, np, zero, out)
        return
    import cupy

    word: np.dtype[Any] = np.dtype(f"u{x.dtype.itemsize}") if x.dtype.itemsize < 16 else np.dtype("c16")
    zero_word: Any = np.zeros((), word)[()]
    with cupy.cuda.Device(device):  # moved as words of its size: CuPy does not know every type
        moved = cupy.asarray(np.ascontiguousarray(x).view(word))
        result = execute(plan, moved, array_namespace("x", moved), zero_word, None)
        result.get(out=out.view(word))

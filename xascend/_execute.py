"""Carrying a plan out on one array: the choice of executor, and what every executor owes its caller."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np
import numpy.typing as npt

from xascend import _agnostic, _cuda, _native, _numpy, _torch
from xascend._dispatch import is_dense, overlaps
from xascend._outputs import empty_beside
from xascend._plan import Plan

__all__ = ["choose_executor", "execute"]

Array = Any


def choose_executor(x: Array, out: Array | None, /) -> tuple[str, dict[str, str]]:
    """Return the name of the executor for `x`, and why those before it do not take the call."""
    name, refused, *_ = _choose(x, out)
    return name, refused


def _choose(x: Array, out: Array | None) -> tuple[str, dict[str, str], Array | None, Array | None]:
    """Return what `choose_executor` does, and for executors in host memory that of `x` and `out` as NumPy sees it."""
    source, target = x, out
    if not isinstance(x, np.ndarray):
        if compat.is_dask_array(x):
            why = "a Dask array is not computed yet; its chunks are seen later"
            return "dask", dict.fromkeys(("native", "numpy"), why), None, None
        if _cuda.is_on_device(x):
            reason = _cuda.reason_unsupported(x, out)
            if reason:
                return "agnostic", {"cuda": reason}, None, None
            return "cuda", {}, None, None
        source, target = _memory(x), None if out is None else _memory(out, is_written=True)
        if source is None or (target is None and out is not None):
            name = "x" if source is None else "out"
            why = f"`{name}` is not memory that NumPy can see, or a gradient is recorded"
            return "agnostic", {"native": why, "numpy": why}, None, None
    reason = _native.reason_unsupported()
    if reason:
        return "numpy", {"native": reason}, source, target
    return "native", {}, source, target


def execute(plan: Plan, x: Array, xp: Any, pad_value: npt.NDArray[Any], out: Array | None, /) -> Array:
    """Return the converted array: `out` where given, otherwise a new C-contiguous one."""
    name, _, source, target = _choose(x, out)
    if source is not None:
        executor = _native if name == "native" else _numpy
        if out is None:
            out = empty_beside(x, xp, plan.dst_shape, x.dtype)
            target = out if source is x else _torch.memory(out)
        executor.run(plan, source, target, pad_value)
        if target is not out:
            _torch.count_change(out)
        return out
    if name == "dask":
        from xascend import _dask

        return _dask.run(plan, x, pad_value)
    if name == "cuda":
        result = _cuda.run(plan, x, out, pad_value)
        if out is not None and compat.is_torch_array(out):
            _torch.count_change(out)
        return result
    result = _agnostic.run(plan, x, xp, pad_value.item())
    if out is None:
        return _own(x, result, plan.dst_shape, xp)
    out[...] = result
    return out


def _own(x: Array, result: Array, shape: tuple[int, ...], xp: Any) -> Array:
    """Return a result of the agnostic executor, which may be a view, with C-contiguous memory of its own."""
    if compat.is_torch_array(x):
        return result.clone(memory_format=xp.contiguous_format)
    flat = xp.reshape(result, (-1,))
    if overlaps(x, flat) or not is_dense(flat):
        flat = xp.concat((flat,))
    return xp.reshape(flat, shape)


def _memory(x: Array, is_written: bool = False) -> Any:
    """Return the memory of a tensor of PyTorch as a NumPy array, or None where there is none to be had."""
    return _torch.host_memory(x, is_written=is_written) if compat.is_torch_array(x) else None

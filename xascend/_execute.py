"""Carrying a plan out on one array: the choice of executor, and what every executor owes its caller."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np

from xascend import _agnostic, _numpy
from xascend._dispatch import overlaps
from xascend._plan import Plan

__all__ = ["execute"]

Array = Any


def execute(plan: Plan, x: Array, xp: Any, pad_value: np.generic, out: Array | None, /) -> Array:
    """Return the converted array: `out` where given, otherwise a new C-contiguous one."""
    if compat.is_numpy_array(x):
        result = _numpy.empty_output(plan, x) if out is None else out
        _numpy.run(plan, x, result, pad_value)
        return result
    if compat.is_dask_array(x):
        from xascend import _dask

        return _dask.run(plan, x, pad_value)
    result = _agnostic.run(plan, x, xp, pad_value.item())
    if out is not None:
        out[...] = result
        return out
    flat = xp.reshape(result, (-1,))  # of a permuted view this makes a contiguous copy
    if overlaps(x, flat):
        flat = xp.asarray(flat, copy=True)
    return xp.reshape(flat, plan.dst_shape)

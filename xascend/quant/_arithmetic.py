"""The arithmetic of Fixpipe: one definition for every array library, without float64 and without warnings.

It is applied to slabs that fit in a cache, so that the steps cost little.
"""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np

from xascend._dispatch import array_namespace
from xascend._dtypes import numpy_dtype
from xascend.quant._rules import EIGHT_BITS, NINE_BITS, Numbers, Rule
from xascend.quant._steps import Steps

__all__ = ["apply_rule", "result_dtype"]

_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}
_VANISHING = {"float16": 2.0**-25, "bfloat16": 2.0**-134}  # the largest number that is rounded to 0
_INT16 = (-32768, 32767)


def apply_rule(x: Any, rule: Rule, steps: Steps, out: Any = None) -> Any:
    """Return what becomes of `x`, whose last axis counts columns: `x` itself where nothing changes.

    The result may lie in `out`, an array of its shape and dtype.

    The caller turns NumPy's floating-point warnings off: overflow is part of the arithmetic.
    """
    if rule.source == "int32" and rule.result == "int32":
        return steps.clip(x, 0) if rule.relu else x
    y = _multiplied(_as_float32(x, rule, steps), rule, steps)
    if rule.result == "float32":
        return y
    dtype = result_dtype(x, rule.result)
    # NaN is rare, and `where` costs NumPy ten times as much as looking for it.
    nan = None if rule.source == "int32" else steps.xp.isnan(y)
    if nan is not None and not bool(steps.xp.any(nan)):
        nan = None
    if rule.result in EIGHT_BITS:
        y = _replaced(y, nan, 0.0)
        if rule.clips_to_9_bits:
            y = steps.clip(y, *NINE_BITS)
        y = steps.round(y)
        if rule.offset is not None:
            y = steps.add(y, _operand(y, rule.offset))
        return steps.cast(steps.clip(y, *EIGHT_BITS[rule.result]), dtype, out)
    if rule.relu and rule.may_be_negative:
        vanishing = (y < 0) & (y >= -_VANISHING[rule.result])
        y = _replaced(y, vanishing if bool(steps.xp.any(vanishing)) else None, 0.0)  # or -0.0 would come of it
    if rule.saturate:
        largest = _LARGEST[rule.result]
        return steps.cast(steps.clip(_replaced(y, nan, 0.0), -largest, largest), dtype, out)
    # Libraries make different NaNs in this cast; the one they agree on is put in afterwards.
    return _replaced(steps.cast(y, dtype, out), nan, float("nan"))


def result_dtype(x: Any, name: str) -> Any:
    """Return the dtype called `name` in the library of `x`; TypeError where it has none."""
    if isinstance(x.dtype, np.dtype):
        return numpy_dtype(name)  # bfloat16 too
    found = getattr(array_namespace("x", x), name, None)
    if found is None:
        raise TypeError(f"`x` is of {type(x).__module__.partition('.')[0]}, which has no {name} for the result")
    return found


def _as_float32(x: Any, rule: Rule, steps: Steps) -> Any:
    if rule.source == "float32":
        return x
    xp = steps.xp
    if rule.shift is not None and rule.shift.any():
        shift = _operand(x, rule.shift)
        shifted = xp.clip(x >> shift, *_INT16)
        x = shifted if rule.shift.all() else xp.where(xp.broadcast_to(shift != 0, x.shape), shifted, x)
    return steps.cast(x, xp.float32)


def _multiplied(y: Any, rule: Rule, steps: Steps) -> Any:
    if rule.slope is not None:
        product = y if rule.scale is None else y * _operand(y, rule.scale)
        y = steps.xp.where(y < 0, y * _operand(y, rule.slope), product)
    else:
        if rule.relu:
            y = steps.clip(y, 0)  # the document's max(0, x); a multiplication by 0 would make NaN of -inf
        if rule.scale is not None:
            y = steps.multiply(y, _operand(y, rule.scale))
    return steps.add(y, 0.0) if rule.relu else y  # turns -0.0 into 0.0


def _replaced(y: Any, where: Any, value: float) -> Any:
    if where is None:
        return y
    xp = array_namespace("y", y)
    return xp.where(where, xp.asarray(value, dtype=y.dtype, device=compat.device(y)), y)


def _operand(beside: Any, numbers: Numbers) -> Any:
    if numbers.size == 1:
        return numbers.item()
    return array_namespace("beside", beside).asarray(numbers, device=compat.device(beside))

"""The bits of float32 numbers as integers and back, in any array library."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np

from xascend._dispatch import array_namespace

__all__ = ["EXPONENT", "MULTIPLIER", "float32_bits", "float32_from_bits"]

EXPONENT = 0x7F800000  # of a float32
MULTIPLIER = 0xFFFFE000  # what the hardware keeps of one: sign, exponent and 10 bits of the mantissa


def float32_bits(x: Any) -> Any:
    """Return the bits of a float32 array as int64 numbers below 2**32."""
    xp = array_namespace("x", x)
    return xp.astype(_viewed(x, xp.int32), xp.int64) & 0xFFFFFFFF


def float32_from_bits(bits: Any) -> Any:
    """Return the float32 array that has these bits, given as int64 numbers below 2**32."""
    xp = array_namespace("bits", bits)
    wrapped = (bits ^ 0x80000000) - 0x80000000  # into the range of int32: array libraries differ in out-of-range casts
    return _viewed(xp.astype(wrapped, xp.int32), xp.float32)


def _viewed(x: Any, dtype: Any) -> Any:
    if hasattr(x, "view"):
        return x.view(dtype)
    # The array-API standard has no views of another type. Its exchange protocol reaches NumPy, which has.
    xp = array_namespace("x", x)
    name = "int32" if dtype == xp.int32 else "float32"
    return xp.asarray(np.asarray(x).view(name), device=compat.device(x))

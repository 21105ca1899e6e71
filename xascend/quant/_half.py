"""Rounding float32 to float16 in the integer steps that NumPy carries out with vectors.

NumPy's own cast works element by element, and for results below 2**-14 it takes thirty times as long again, because
it reports each of them as an underflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xascend.quant._bits import EXPONENT

__all__ = ["round_to_half"]

_INFINITY = 65536.0  # the first power of two beyond float16: what is as large becomes infinity
_NORMAL = 0x38800000  # 2**-14, the smallest normal number of float16: below it, numbers are as far apart as there
_SIGN = 0x8000

# Added to the exponent of x it makes 2**13 times the power of two that x begins with. The sum of x and that number is
# rounded, half to even, where float16 ends, so that the last bits of the sum are those of the result. Its own last
# bits make up for the bias of the exponents, which comes with the exponent itself a few steps later.
_ROUNDER = 0x06800000 + 0x800


def round_to_half(x: NDArray[Any], out: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> None:
    """Write `x`, float32, into `out`, float16, rounding half to even; of a NaN something comes out.

    `first` and `second` are uint32 arrays for the work between, all of one shape.
    """
    sum_ = first.view(np.float32)
    x.clip(-_INFINITY, _INFINITY, out=sum_)
    np.bitwise_and(first, 0x7FFFFFFF, out=first)
    np.bitwise_and(first, EXPONENT, out=second)
    second.clip(_NORMAL, EXPONENT, out=second)
    np.add(second, _ROUNDER, out=second)
    np.add(sum_, second.view(np.float32), out=sum_)
    np.right_shift(second, 13, out=second)
    np.add(first, second, out=first)
    np.right_shift(x.view(np.uint32), 16, out=second)
    np.bitwise_and(second, _SIGN, out=second)
    np.add(first, second, out=first)
    np.copyto(out.view(np.uint16), first, casting="unsafe")  # the lower half

"""Whether pairs of values are equal, and how far apart they are: exact for integers, without overflow or warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._dtypes import resolve_dtype

__all__ = ["Distances", "Tolerance", "measure"]

Bools = npt.NDArray[np.bool]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far apart two values may be: ``|a - e| <= atol + rtol * |e|``, or at most `ulp` steps."""

    rtol: float
    atol: float
    ulp: int | None

    def allows(self, d: Distances, /) -> Bools:
        """Say for each pair whether the tolerance covers it."""
        with np.errstate(all="ignore"):  # no relative part of an infinity
            limit = self.atol + self.rtol * d.reference
        if d.absolute.dtype == np.uint64:
            # A float64 cannot hold every difference: the limit is brought to the integers, not the other way round.
            floor = np.where(limit < 2.0**64, np.floor(limit), 0).astype(np.uint64)
            covered = (d.absolute <= floor) | (limit >= 2.0**64)
        else:
            covered = (d.absolute <= limit) & np.isfinite(d.absolute)
        if self.ulp is not None:
            covered |= (d.steps <= self.ulp) & d.finite
        return covered


@dataclass(frozen=True, slots=True)
class Distances:
    """What is known of each pair of values.

    Attributes
    ----------
    equal
        The values are the same number, or both NaN.
    unpaired
        One of them is NaN.
    finite
        Both are finite.
    absolute, reference
        ``|a - e|`` (uint64 for integers, otherwise float64) and ``|e|`` (float64).
    steps
        Values of the type from one to the other (uint64).
    """

    equal: Bools
    unpaired: Bools
    finite: Bools
    absolute: npt.NDArray[Any]
    reference: npt.NDArray[np.float64]
    steps: npt.NDArray[np.uint64]


def measure(a: npt.NDArray[Any], e: npt.NDArray[Any], /) -> Distances:
    """Return the distances of pairs of real values of one dtype in the byte order of this machine."""
    name = a.dtype.name
    with np.errstate(all="ignore"):  # infinite differences and NaN are wanted here
        if name == "bool" or "int" in name:
            return _integer_distances(a, e)
        return _float_distances(a, e)


def _apart(a: npt.NDArray[Any], e: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return ``|a - e|`` of 64-bit integers: the difference of the bits is exact modulo 2**64, and fits."""
    apart: npt.NDArray[np.uint64] = np.maximum(a, e).view(np.uint64) - np.minimum(a, e).view(np.uint64)
    return apart


def _integer_distances(a: npt.NDArray[Any], e: npt.NDArray[Any]) -> Distances:
    wide = np.uint64 if a.dtype == np.uint64 else np.int64
    steps = _apart(a.astype(wide), e.astype(wide))
    nowhere = np.zeros(steps.shape, np.bool)
    return Distances(steps == 0, nowhere, ~nowhere, steps, np.abs(e.astype(np.float64)), steps)


def _float_distances(a: npt.NDArray[Any], e: npt.NDArray[Any]) -> Distances:
    steps = _apart(_ordinals(a), _ordinals(e))
    a, e = a.astype(np.float64), e.astype(np.float64)
    nan_a, nan_e = np.isnan(a), np.isnan(e)
    finite = np.isfinite(a) & np.isfinite(e)
    return Distances((a == e) | (nan_a & nan_e), nan_a ^ nan_e, finite, np.abs(a - e), np.abs(e), steps)


def _ordinals(x: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the place of each value among the values of its type, both zeros at 0; NaN lies anywhere."""
    dtype = resolve_dtype(x.dtype)
    bits = x.view(f"u{x.dtype.itemsize}").astype(np.int64)
    if dtype.name == "float8_e8m0fnu":  # powers of two, without a sign
        return bits
    magnitude = bits & ((1 << (dtype.bits - 1)) - 1)
    negative = bits >> (dtype.bits - 1) & 1
    return np.where(negative, -magnitude, magnitude)

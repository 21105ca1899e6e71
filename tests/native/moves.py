"""Carrying out one plan with several executors, and comparing what they write."""

from __future__ import annotations

from typing import Any

import array_api_compat.numpy as xp
import numpy as np
from libraries import assert_same_bits
from native.guards import guarded, guarded_copy

import xascend as xa
from xascend import _agnostic, _native, _numpy
from xascend._outputs import empty_aligned
from xascend._plan import Plan, make_plan
from xascend.formats import as_format

#: One type per size of an element; what is moved is bytes, so a type of the same size behaves the same.
DTYPES = {"uint8": 8, "float16": 16, "float32": 32, "float64": 64, "complex128": 128}


def plan_of(
    x: np.ndarray, src: str, dst: str, shape: tuple[int, ...] | None, c0: int | None = None, groups: int = 1
) -> Plan:
    bits = 8 * x.dtype.itemsize
    return make_plan(as_format("src", src), as_format("dst", dst), x.shape, shape, bits, c0, groups)


def pad_of(x: np.ndarray) -> np.ndarray:
    return np.asarray(3).astype(x.dtype)


def by_native(plan: Plan, x: np.ndarray) -> np.ndarray:
    out = empty_aligned(plan.dst_shape, x.dtype)
    out.reshape(-1).view(np.uint8)[:] = 0xA5
    _native.run(plan, x, out, pad_of(x))
    return out


def by_numpy(plan: Plan, x: np.ndarray) -> np.ndarray:
    out = empty_aligned(plan.dst_shape, x.dtype)
    _numpy.run(plan, x, out, pad_of(x))
    return out


def by_definition(plan: Plan, x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(_agnostic.run(plan, x, xp, pad_of(x).item()))


def convert(x: np.ndarray, src: str, dst: str, shape: tuple[int, ...] | None = None, **options: Any) -> np.ndarray:
    """Convert with the native executor and the NumPy executor, compare, and return the result."""
    plan = plan_of(x, src, dst, shape, **options)
    made = by_native(plan, x)
    assert_same_bits(made, by_numpy(plan, x))
    return made


def check_ends(x: np.ndarray, plan: Plan, end: str, *threads: int) -> np.ndarray:
    """Convert beside pages that must not be touched; unlike bytes around an array, they tell of reads as well."""
    expected = by_numpy(plan, x)
    for number in threads:
        xa.set_num_threads(number)
        out = guarded(plan.dst_shape, x.dtype, end)
        _native.run(plan, guarded_copy(x, end), out, pad_of(x))
        assert_same_bits(out, expected)
    return expected

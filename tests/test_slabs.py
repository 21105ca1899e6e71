"""Slabs: a conversion cut into parts gives the same bytes, in the order of the destination's memory."""

from __future__ import annotations

import numpy as np
import oracle
import pairs
import pytest
from libraries import assert_same_bits, counting

from xascend import _numpy
from xascend._plan import Plan, make_plan
from xascend._slabs import slabs
from xascend.formats import as_format


def plan_of(x: np.ndarray, src: str, dst: str, shape: tuple | None, groups: int = 1) -> Plan:
    return make_plan(as_format("src", src), as_format("dst", dst), x.shape, shape, 16, None, groups)


def run_in_slabs(plan: Plan, x: np.ndarray, max_elements: int) -> tuple[np.ndarray, int]:
    """Convert slab by slab; check that each slab continues where the one before ended."""
    out = np.full(plan.dst_shape, 9, x.dtype)
    flat = np.arange(out.size).reshape(out.shape)
    end = count = 0
    for slab in slabs(plan, max_elements):
        places = flat[slab.dst]
        if places.size:
            assert places.ravel()[0] == end
            assert np.array_equal(places.ravel(), np.arange(end, end + places.size))
            end += places.size
        part = np.empty(slab.plan.dst_shape, x.dtype)
        _numpy.run(slab.plan, x[slab.src], part, np.uint16(0))
        out[slab.dst] = part
        count += 1
    assert end == out.size
    return out, count


@pytest.mark.parametrize("max_elements", [1, 500, 10**9])
@pytest.mark.parametrize(("src", "dst"), pairs.PLAIN_TO_BLOCKED)
def test_there_and_back(src: str, dst: str, max_elements: int) -> None:
    for shape in pairs.shapes(src, dst):
        x = counting(shape, "uint16")
        stored, _ = run_in_slabs(plan_of(x, src, dst, None), x, max_elements)
        assert_same_bits(stored, oracle.convert(x, src, dst))
        back, _ = run_in_slabs(plan_of(stored, dst, src, shape), stored, max_elements)
        assert_same_bits(back, x)


@pytest.mark.parametrize(("src", "dst"), pairs.BLOCKED_TO_BLOCKED)
def test_blocked_to_blocked(src: str, dst: str) -> None:
    axes = pairs.logical_axes(src, dst)
    for shape in pairs.shapes(axes, src, dst):
        logical = counting(shape, "uint16")
        stored = oracle.convert(logical, axes, src)
        result, _ = run_in_slabs(plan_of(stored, src, dst, shape), stored, 1)
        assert_same_bits(result, oracle.convert(logical, axes, dst))


def test_groups() -> None:
    x = counting((18, 3, 2, 2), "uint16")
    stored, _ = run_in_slabs(plan_of(x, "NCHW", "FRACTAL_Z", None, 3), x, 1)
    assert_same_bits(stored, oracle.to_storage(x, "FRACTAL_Z", groups=3))


@pytest.mark.parametrize(
    ("src", "dst", "shape"),
    [
        ("ND", "FRACTAL_NZ", (1000, 1000)),
        ("ND", "FRACTAL_NZ", (3, 5, 1000, 333)),
        ("NCHW", "NC1HWC0", (8, 100, 31, 33)),
        ("NHWC", "NC1HWC0", (1, 331, 33, 100)),
        ("NCHW", "FRACTAL_Z", (100, 100, 5, 5)),
    ],
)
def test_slabs_stay_below_the_limit(src: str, dst: str, shape: tuple) -> None:
    limit = 100_000
    x = np.empty(shape, np.uint16)
    parts = list(slabs(plan_of(x, src, dst, None), limit))
    assert len(parts) > 1
    assert max(part.elements for part in parts) <= limit

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


@pytest.mark.parametrize("max_elements", [1, 4000])
@pytest.mark.parametrize(
    ("groups", "channels", "outputs", "packs"),
    [
        (3, 1, 6, 1),
        (2, 16, 16, 2),
        (33, 1, 1, 2),
        (9, 2, 3, 1),
        (50, 2, 3, 3),
        (3, 17, 15, 1),
        (7, 8, 20, 1),
        (9, 8, 20, 2),
    ],
)
@pytest.mark.parametrize("plain", ["NCHW", "NHWC", "HWCN"])
def test_groups(plain: str, groups: int, channels: int, outputs: int, packs: int, max_elements: int) -> None:
    """Groups behind the last whole pack go with it, so that there are as many slabs as whole packs, or more."""
    shape = pairs.sizes_of(plain, "NCHW", (groups * outputs, channels, 2, 3))
    x = counting(shape, "uint16")
    expected = oracle.to_storage(x, "FRACTAL_Z", axes=plain, groups=groups)
    stored, count = run_in_slabs(plan_of(x, plain, "FRACTAL_Z", None, groups), x, max_elements)
    assert_same_bits(stored, expected)
    assert max_elements > 1 or count >= packs
    back, count = run_in_slabs(plan_of(stored, "FRACTAL_Z", plain, shape, groups), stored, max_elements)
    assert_same_bits(back, x)
    assert max_elements > 1 or plain == "HWCN" or count >= packs
    other, _ = run_in_slabs(
        plan_of(stored, "FRACTAL_Z", "NC1HWC0", pairs.sizes_of("NCHW", plain, shape), groups), stored, 1
    )
    assert_same_bits(other, oracle.convert(x, plain, "NC1HWC0"))


@pytest.mark.parametrize("max_elements", [1, 4000])
@pytest.mark.parametrize("height_width", [(1, 40), (1, 3), (8, 4), (7, 6), (9, 7), (20, 2), (2, 2)])
@pytest.mark.parametrize("plain", oracle.PLAIN_4D)
def test_pixels_beside_each_other(plain: str, height_width: tuple[int, int], max_elements: int) -> None:
    shape = pairs.sizes_of(plain, "NCHW", (35, 3, *height_width))
    x = counting(shape, "uint16")
    stored, count = run_in_slabs(plan_of(x, plain, "FRACTAL_Z_C04", None), x, max_elements)
    assert_same_bits(stored, oracle.convert(x, plain, "FRACTAL_Z_C04"))
    assert max_elements > 1 or count > 1
    back, _ = run_in_slabs(plan_of(stored, "FRACTAL_Z_C04", plain, shape), stored, max_elements)
    assert_same_bits(back, x)


MIB = 1 << 20


@pytest.mark.parametrize(
    ("src", "dst", "shape", "groups"),
    [
        ("NCHW", "FRACTAL_Z", (8192, 512, 3, 3), 2),
        ("NCHW", "FRACTAL_Z", (1 << 20, 1, 5, 5), 1 << 20),
        ("NHWC", "FRACTAL_Z", (122_880, 3, 3, 98), 640),
        ("NCHW", "FRACTAL_Z_C04", (1 << 18, 3, 8, 8), 1),
        ("NHWC", "FRACTAL_Z_C04", (16384, 31, 33, 3), 1),
        ("HWCN", "FRACTAL_Z_C04", (1, 4096, 4, 4096), 1),
    ],
)
def test_large_filters_take_64_mib(src: str, dst: str, shape: tuple, groups: int) -> None:
    """No array is made here: the sizes of the slabs tell."""
    plan = make_plan(as_format("src", src), as_format("dst", dst), shape, None, 16, None, groups)
    back = make_plan(plan.dst_format, plan.src_format, plan.dst_shape, shape, 16, None, groups)
    for direction in (plan, back):
        parts = list(slabs(direction, 64 * MIB // 2))
        assert len(parts) > 1
        assert max(part.elements for part in parts) <= 64 * MIB // 2


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

"""Every kernel, word size and direction equals the NumPy executor bit for bit, on the host and in two thread orders."""

from __future__ import annotations

import mmap
import sys
from collections import Counter

import numpy as np
import pairs
import pytest
from cuda import harness
from cuda.alternatives import alternative
from libraries import assert_same_bits, random_bits

from xascend import _numpy
from xascend._cuda import _launches
from xascend._outputs import empty_aligned
from xascend._plan import Plan, make_plan
from xascend.formats import as_format

BITS = {"uint8": 8, "float16": 16, "float32": 32, "float64": 64, "complex128": 128}
VIEWS = {
    "reversed": lambda x: x[:, ::-1, ::-2],
    "transposed": lambda x: x.transpose(0, 2, 1),
    "cut": lambda x: x[:, 1:, 3:],
    "rows_broadcast": lambda x: np.broadcast_to(x[:, :1, :], x.shape),
    "one_element": lambda x: np.broadcast_to(x[:1, :1, :1], x.shape),
    "every_third": lambda x: x[:, ::2, ::3],
    "rotated_reversed": lambda x: x.transpose(2, 0, 1)[::-1],
    "narrow": lambda x: x[:, 5:30, 1:6],
}


@pytest.fixture(autouse=True)
def _compiler() -> None:
    harness.require_compiler()


def plan_of(
    x: np.ndarray, src: str, dst: str, shape: tuple | None = None, c0: int | None = None, groups: int = 1
) -> Plan:
    return make_plan(as_format("src", src), as_format("dst", dst), x.shape, shape, BITS[x.dtype.name], c0, groups)


def check(
    plan: Plan, x: np.ndarray, *, orders: tuple[bool, ...] = (False, True), blocks: int | None = None
) -> np.ndarray:
    """Run a plan by the kernels over memory full of other bytes, and compare with NumPy; return the result."""
    pad_value = np.asarray(3).astype(x.dtype)
    expected = empty_aligned(plan.dst_shape, x.dtype)
    _numpy.run(plan, x, expected, pad_value)
    for descending in orders:
        out = harness.aligned_empty(plan.dst_shape, x.dtype)
        out.view(np.uint8)[...] = 0xA5
        harness.convert(plan, x, out, pad_value, descending=descending, blocks=blocks)
        assert_same_bits(out, expected)
    return harness.aligned(expected)


@pytest.mark.parametrize(("src", "dst"), pairs.PLAIN_TO_BLOCKED)
def test_there_and_back(src: str, dst: str) -> None:
    for i, (shape, dtype) in enumerate(zip(pairs.shapes(src, dst), list(BITS) * 3, strict=False)):
        x = harness.aligned(random_bits(shape, dtype))
        stored = check(plan_of(x, src, dst), x, orders=(i % 2 == 0,))
        assert_same_bits(check(plan_of(stored, dst, src, shape), stored, orders=(i % 2 == 1,)), x)


@pytest.mark.parametrize(("src", "dst"), [*pairs.BLOCKED_TO_BLOCKED, *pairs.PLAIN_TO_PLAIN])
def test_between_formats(src: str, dst: str) -> None:
    axes = pairs.logical_axes(src, dst) if (src, dst) in pairs.BLOCKED_TO_BLOCKED else src
    for shape in pairs.shapes(axes, src, dst)[2:5]:
        x = harness.aligned(random_bits(shape, "float16"))
        if src != axes:
            x = check(plan_of(x, axes, src), x, orders=(True,))
        check(plan_of(x, src, dst, shape if src != axes else None), x, orders=(False,))


@pytest.mark.parametrize(("groups", "c", "cout"), [(2, 4, 4), (5, 3, 2), (9, 2, 3), (33, 1, 1), (3, 17, 20)])
def test_groups(groups: int, c: int, cout: int) -> None:
    shape = (groups * cout, c, 2, 3)
    x = harness.aligned(random_bits(shape, "float32"))
    stored = check(plan_of(x, "NCHW", "FRACTAL_Z", groups=groups), x)
    assert_same_bits(check(plan_of(stored, "FRACTAL_Z", "NCHW", shape, groups=groups), stored), x)
    check(plan_of(stored, "FRACTAL_Z", "FRACTAL_NZ", shape, 8, groups), stored, orders=(False,))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
@pytest.mark.parametrize("shape", [(64, 128, 3, 3), (80, 96, 3, 3), (176, 32, 1, 5), (16, 64, 7, 7)])
def test_weights_without_padding_are_scattered(shape: tuple[int, ...], dtype: str) -> None:
    """In one tile and in many, the last of them smaller; by few blocks and by many."""
    x = harness.aligned(random_bits(shape, dtype))
    stored = check(plan_of(x, "NCHW", "FRACTAL_Z"), x, orders=())
    back = plan_of(stored, "FRACTAL_Z", "NCHW", shape)
    for blocks in (None, 2):
        assert_same_bits(check(back, stored, blocks=blocks), x)
    out = harness.aligned_empty(shape, x.dtype)
    assert harness.convert(back, stored, out, np.zeros((), dtype)).kernels == {"scatter": 1}


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize(
    ("shape", "dst"), [((2, 64, 36, 36), "NC1HWC0"), ((48, 64, 3, 3), "FRACTAL_Z"), ((2, 32, 8, 20), "NHWC")]
)
def test_what_may_be_scattered(shape: tuple[int, ...], dst: str, dtype: str) -> None:
    x = harness.aligned(random_bits(shape, dtype))
    with alternative(-1):
        stored = check(plan_of(x, "NCHW", dst), x)
        back = plan_of(stored, dst, "NCHW", shape)
        assert_same_bits(check(back, stored), x)
        out = harness.aligned_empty(shape, x.dtype)
        assert harness.convert(back, stored, out, np.zeros((), dtype)).kernels == {"scatter": 1}


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(
    ("shape", "src", "dst"),
    [
        ((2, 64, 28, 28), "NCHW", "NC1HWC0"),
        ((2, 64, 14, 14), "NCHW", "NC1HWC0"),
        ((2, 50, 30, 31), "NCHW", "NHWC"),
        ((3, 1, 64, 96), "HWCN", "FRACTAL_Z"),
        ((40, 24, 3, 3), "NCHW", "FRACTAL_Z"),
    ],
)
def test_every_alternative(shape: tuple[int, ...], src: str, dst: str, number: int) -> None:
    for dtype in ("uint8", "float32"):
        x = harness.aligned(random_bits(shape, dtype))
        with alternative(number):
            stored = check(plan_of(x, src, dst), x, orders=(False,))
            assert_same_bits(check(plan_of(stored, dst, src, shape), stored, orders=(True,)), x)


@pytest.mark.parametrize("view", VIEWS)
def test_views_need_no_copy(view: str) -> None:
    x = VIEWS[view](harness.aligned(random_bits((2, 40, 70), "float16")))
    check(plan_of(x, "ND", "FRACTAL_NZ"), x)
    check(plan_of(x, "ND", "FRACTAL_NZ", c0=7), x, orders=(True,))
    for dst in ("NC1HWC0", "FRACTAL_Z", "NHWC"):
        check(plan_of(x[None], "NCHW", dst), x[None], orders=(False,))


@pytest.mark.parametrize("offset", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("dtype", BITS)
def test_misaligned_addresses(dtype: str, offset: int) -> None:
    size = 40 * 50
    memory = harness.aligned_empty((size * 16 + 32,), np.dtype(np.uint8))
    memory[...] = np.arange(memory.size) % 251
    x = np.ndarray((40, 50), dtype, memory, offset)
    check(plan_of(x, "ND", "FRACTAL_NZ"), x, orders=(False,))
    check(plan_of(x.T, "ND", "FRACTAL_NZ"), x.T, orders=(True,))
    images = x.reshape(2, 20, 5, 10)
    check(plan_of(images, "NCHW", "NC1HWC0"), images, orders=(True,))


@pytest.mark.parametrize("dtype", BITS)
def test_outputs_of_any_strides_and_addresses(dtype: str) -> None:
    """What lies between the elements of `out` stays as it is."""
    x = harness.aligned(random_bits((2, 20, 6, 5), dtype))
    plan = plan_of(x, "NCHW", "NC1HWC0")
    pad_value = np.asarray(5).astype(x.dtype)
    expected = empty_aligned(plan.dst_shape, x.dtype)
    _numpy.run(plan, x, expected, pad_value)
    n, c1, h, w, c0 = plan.dst_shape
    wide = harness.aligned_empty((n, c1, h, w, c0 + 3), x.dtype)
    wide.view(np.uint8)[...] = 0x77
    out = wide[..., 2:-1]
    harness.convert(plan, x, out, pad_value)
    assert_same_bits(np.ascontiguousarray(out), expected)
    assert (wide[..., :2].copy().view(np.uint8) == 0x77).all()
    assert (wide[..., -1:].copy().view(np.uint8) == 0x77).all()
    memory = harness.aligned_empty((expected.nbytes + x.itemsize,), np.dtype(np.uint8))
    shifted = np.ndarray(plan.dst_shape, x.dtype, memory, x.itemsize)
    harness.convert(plan, x, shifted, pad_value, descending=True)
    assert_same_bits(shifted.copy(), expected)


@pytest.mark.skipif(sys.platform != "linux", reason="needs memory that is only reserved")
@pytest.mark.parametrize("dst", ["FRACTAL_NZ", "FRACTAL_ZZ"])
def test_offsets_beyond_32_bits(dst: str) -> None:
    """Rows 300 MiB apart, on either side; only the pages that are touched exist."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    memory = np.frombuffer(mmap.mmap(-1, 17 * (300 << 20), flags=flags), np.uint8)
    rows = np.lib.stride_tricks.as_strided(memory, (17, 40), (300 << 20, 1))
    for dtype in ("uint8", "float32"):
        values = random_bits((17, 40 // np.dtype(dtype).itemsize), dtype)
        far = rows.view(dtype)
        far[...] = values
        check(plan_of(far, "ND", dst), far, orders=(False,))
        stored = harness.aligned(check(plan_of(values, "ND", dst), harness.aligned(values), orders=()))
        far[...] = 0
        harness.convert(plan_of(stored, dst, "ND", values.shape), stored, far, np.zeros((), dtype))
        assert_same_bits(far.copy(), values)


def test_few_blocks_take_many_tiles() -> None:
    for dtype, blocks in (("uint8", 3), ("float32", 2), ("complex128", 1)):
        x = harness.aligned(random_bits((2, 50, 30, 31), dtype))
        for dst in ("NC1HWC0", "NHWC", "FRACTAL_NZ"):
            check(plan_of(x, "NCHW", dst), x, blocks=blocks)


@pytest.mark.parametrize("shape", [(0, 20), (20, 0), (0, 0), (3, 0, 20)])
def test_nothing_to_write_launches_nothing(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float16)
    plan = plan_of(x, "ND", "FRACTAL_NZ")
    assert (
        _launches.make_launches(plan, harness.memory_of(x), harness.memory_of(np.zeros(plan.dst_shape, x.dtype))) == ()
    )


def test_all_kernels_and_words_took_part() -> None:
    """The shapes above reach every kernel; a plan of each is made here, so that this holds when run alone."""
    seen: Counter[tuple[str, int]] = Counter()
    for dtype in BITS:
        for shape, src, dst in (
            ((64, 64), "ND", "FRACTAL_NZ"),
            ((2, 32, 8, 8), "NCHW", "NC1HWC0"),
            ((2, 20, 5, 7), "NCHW", "NHWC"),
            ((33, 35), "ND", "FRACTAL_NZ"),
            ((64, 128, 3, 3), "NCHW", "FRACTAL_Z"),
        ):
            x = harness.aligned_empty(shape, np.dtype(dtype))
            for offset in (0, x.itemsize):
                for plan in (
                    plan_of(x, src, dst),
                    plan_of(np.empty(plan_of(x, src, dst).dst_shape, dtype), dst, src, shape),
                ):
                    if plan.src_format is plan.dst_format:
                        continue
                    src_memory, dst_memory = (
                        _launches.Memory(s, np.empty(s, dtype).strides, x.itemsize, offset or 32)
                        for s in (plan.src_shape, plan.dst_shape)
                    )
                    launches = _launches.make_launches(plan, src_memory, dst_memory)
                    seen.update((each.kernel.entry, each.kernel.word) for each in launches)
    assert {entry for entry, _ in seen} == {"runs", "scatter", "tiles_aligned", "tiles_shifted"}
    assert {word for entry, word in seen if entry != "runs"} == {1, 2, 4, 8, 16}

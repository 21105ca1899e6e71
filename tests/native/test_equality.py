"""The native executor equals the NumPy executor and the definition, bit for bit."""

from __future__ import annotations

import itertools

import numpy as np
import oracle
import pairs
import pytest
from libraries import assert_same_bits, counting, random_bits
from native.moves import DTYPES, by_definition, by_native, convert, plan_of


@pytest.mark.parametrize(("src", "dst"), [*pairs.PLAIN_TO_BLOCKED, *pairs.PLAIN_TO_PLAIN])
def test_there_and_back(src: str, dst: str) -> None:
    for shape, dtype in itertools.product(pairs.shapes(src, dst), DTYPES):
        x = random_bits(shape, dtype)
        stored = convert(x, src, dst)
        back = convert(stored, dst, src, None if dst in oracle.PLAIN else shape)
        assert_same_bits(back, x)


@pytest.mark.parametrize(("src", "dst"), pairs.BLOCKED_TO_BLOCKED)
def test_blocked_to_blocked(src: str, dst: str) -> None:
    axes = pairs.logical_axes(src, dst)
    for shape, dtype in zip(pairs.shapes(axes, src, dst), itertools.cycle(DTYPES), strict=False):
        convert(convert(random_bits(shape, dtype), axes, src), src, dst, shape)


@pytest.mark.parametrize(("src", "dst"), pairs.PLAIN_TO_BLOCKED)
def test_the_definition(src: str, dst: str) -> None:
    for shape, dtype in zip(pairs.shapes(src, dst), itertools.cycle(DTYPES), strict=False):
        x = random_bits(shape, dtype)
        there = plan_of(x, src, dst, None)
        stored = by_native(there, x)
        assert_same_bits(stored, by_definition(there, x))
        back = plan_of(stored, dst, src, shape)
        assert_same_bits(by_native(back, stored), by_definition(back, stored))


# More than a tile and more than a block on every axis that is cut, with and without rests.
MEDIUM = (
    ("ND", "FRACTAL_NZ", (48, 544)),
    ("ND", "FRACTAL_NZ", (83, 531)),
    ("ND", "FRACTAL_NZ", (3, 161, 97)),
    ("ND", "FRACTAL_NZ_C0_2", (37, 75)),
    ("ND", "FRACTAL_NZ_C0_4", (37, 75)),
    ("ND", "FRACTAL_ZZ", (83, 131)),
    ("NCHW", "NC1HWC0", (2, 64, 8, 24)),
    ("NCHW", "NC1HWC0", (2, 67, 13, 17)),
    ("NCHW", "NC1HWC0", (2, 33, 32, 64)),  # planes 2 KiB and more apart
    ("NCHW", "NC1HWC0", (3, 48, 7, 7)),
    ("NCHW", "NC1HWC0", (3, 3, 29, 31)),  # padding between all elements
    ("NHWC", "NC1HWC0", (2, 13, 17, 67)),
    ("NHWC", "NC1HWC0", (2, 13, 17, 64)),
    ("NHWC", "NC1HWC0", (3, 5, 7, 35)),  # all blocks of an image are near each other
    ("HWCN", "NC1HWC0", (13, 17, 35, 19)),
    ("NCHW", "NC1HWC0_C04", (2, 3, 33, 31)),
    ("NCHW", "FRACTAL_Z", (67, 70, 3, 3)),
    ("NCHW", "FRACTAL_Z", (64, 64, 3, 3)),
    ("NCHW", "FRACTAL_Z", (67, 1, 3, 3)),
    ("NCHW", "FRACTAL_Z", (33, 40, 1, 1)),
    ("NCHW", "FRACTAL_Z", (33, 40, 5, 7)),
    ("HWCN", "FRACTAL_Z", (3, 3, 70, 67)),
    ("NCHW", "FRACTAL_Z_C04", (33, 3, 7, 7)),
    ("NCDHW", "NDC1HWC0", (2, 35, 3, 9, 11)),
    ("NCDHW", "FRACTAL_Z_3D", (35, 37, 2, 3, 3)),
    ("NCHW", "C1HWNCoC0", (35, 37, 3, 3)),
    ("NCHW", "NHWC", (2, 67, 13, 17)),
    ("NCHW", "HWCN", (19, 35, 13, 17)),
)
medium = pytest.mark.parametrize(
    ("src", "dst", "shape"), MEDIUM, ids=[f"{src}-{dst}-{'x'.join(map(str, s))}" for src, dst, s in MEDIUM]
)


@medium
@pytest.mark.parametrize("dtype", DTYPES)
def test_several_blocks(src: str, dst: str, shape: tuple[int, ...], dtype: str) -> None:
    x = random_bits(shape, dtype)
    back = convert(convert(x, src, dst), dst, src, None if dst in oracle.PLAIN else shape)
    assert_same_bits(back, x)


@pytest.mark.parametrize(("groups", "c", "cout"), [(2, 4, 4), (5, 3, 2), (9, 2, 3), (33, 1, 1), (3, 17, 20)])
@pytest.mark.parametrize("plain", oracle.PLAIN_4D)
def test_groups(plain: str, groups: int, c: int, cout: int) -> None:
    shape = pairs.sizes_of(plain, "NCHW", (groups * cout, c, 2, 3))
    x = random_bits(shape, "float32")
    stored = convert(x, plain, "FRACTAL_Z", groups=groups)
    assert_same_bits(convert(stored, "FRACTAL_Z", plain, shape, groups=groups), x)


@pytest.mark.parametrize(("c0", "other"), [(16, 32), (32, 16), (16, 24), (5, 3), (1, 7)])
def test_another_c0(c0: int, other: int) -> None:
    shape = (2, 77, 5, 3)
    stored = convert(counting(shape, "uint16"), "NCHW", "NC1HWC0", c0=c0)
    convert(stored, "NC1HWC0", "NC1HWC0", shape, c0=other)


# Read and written together these are past the caches, where stores are streamed and threads share the work.
LARGE = (
    ("ND", "FRACTAL_NZ", (1024, 3072), "float16"),
    ("ND", "FRACTAL_NZ", (1021, 3079), "float16"),
    ("ND", "FRACTAL_NZ", (2043, 4099), "uint8"),
    ("ND", "FRACTAL_NZ", (600, 1025), "complex128"),
    ("NCHW", "NC1HWC0", (5, 64, 128, 64), "float16"),
    ("NCHW", "NC1HWC0", (10, 128, 28, 28), "float32"),
    ("NCHW", "NC1HWC0", (64, 200, 14, 14), "float16"),
    ("NCHW", "NC1HWC0", (40, 96, 37, 41), "uint8"),
    ("NHWC", "NC1HWC0", (8, 56, 57, 130), "float16"),
    ("NCHW", "NC1HWC0", (3, 3, 291, 293), "float16"),
    ("NCHW", "NC1HWC0_C04", (9, 3, 291, 293), "uint8"),
    ("NCHW", "FRACTAL_Z", (520, 500, 3, 3), "float16"),
    ("NCHW", "FRACTAL_Z", (700, 1000, 3, 3), "uint8"),
    ("NCHW", "NHWC", (8, 67, 99, 101), "float16"),
    ("NCHW", "NCHW", (8, 67, 99, 101), "float16"),  # long runs are streamed as they are read
)


past_the_caches = pytest.mark.parametrize(
    ("src", "dst", "shape", "dtype"), LARGE, ids=[f"{src}-{dst}-{s}-{dtype}" for src, dst, s, dtype in LARGE]
)


@past_the_caches
def test_past_the_caches(src: str, dst: str, shape: tuple[int, ...], dtype: str) -> None:
    x = random_bits(shape, dtype)
    back = convert(convert(x, src, dst), dst, src, None if dst in oracle.PLAIN else shape)
    assert np.array_equal(back.view(np.uint8), x.view(np.uint8))

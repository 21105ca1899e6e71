"""`mmad`: loops-only products laid out by loops, the order of addition, and every refusal."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ascendc import cube_oracle as oracle
from ascendc.forms import WRITING, library
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import LIBRARIES, assert_same_bits, numpy_dtype

from xascend import ascendc
from xascend.ascendc import MmadParams

RESULTS = {"float16": np.float32, "bfloat16": np.float32, "int8": np.int32}
SIZES = st.one_of(st.integers(1, 18), st.sampled_from((31, 32, 33)))


def k0_of(dtype: str) -> int:
    return 32 // numpy_dtype(dtype).itemsize


def multiply(a: list[list[Any]], b: list[list[Any]], dtype: str, junk: Any = 0, rest: int = 0) -> np.ndarray:
    """Lay two matrices out by loops, with `junk` beyond them, and return L0C, with `rest` beyond the product."""
    m, k, n = len(a), len(b), len(b[0])
    element = numpy_dtype(dtype)
    left = np.array(oracle.l0a(a, k0_of(dtype), junk)).astype(element)
    right = np.array(oracle.l0b(b, k0_of(dtype), junk)).astype(element)
    dst = np.full(256 * -(-m // 16) * -(-n // 16), rest, RESULTS[dtype])
    assert ascendc.mmad(dst, left, right, MmadParams(m, n, k)) is dst
    return dst


def test_document_30_by_70_by_40_in_half_precision() -> None:
    """2 x 5 fractals of A, 5 x 3 of B, 2 x 3 of C; what lies beyond the sizes is ignored."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 10, (30, 70)).tolist(), rng.integers(-9, 10, (70, 40)).tolist()
    dst = multiply(a, b, "float16", junk=math.nan, rest=-1)
    assert dst.size == 2 * 3 * 256
    assert dst.tolist() == oracle.l0c(oracle.product(a, b, 0), -1)


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("dtype", RESULTS)
def test_any_sizes(name: str, dtype: str) -> None:
    lib = library(name, dtype)
    result = RESULTS[dtype]

    @settings(max_examples=25)
    @given(m=SIZES, n=SIZES, k=SIZES, spare=st.integers(0, 3), seed=st.integers(0, 999))
    def check(m: int, n: int, k: int, spare: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        values = rng.integers(-128, 128, (m * k + k * n)) if dtype == "int8" else rng.normal(size=m * k + k * n)
        elements = values.astype(numpy_dtype(dtype))
        a, b = elements[: m * k].reshape(m, k), elements[m * k :].reshape(k, n)
        left = oracle.l0a(list(a), k0_of(dtype), 77)
        right = oracle.l0b(list(b), k0_of(dtype), 88)
        blocks = -(-m // 16) * -(-n // 16)
        dst = lib.asarray(np.full(256 * blocks + spare, 5, result))
        operands = [lib.asarray(np.array([*x, *[0] * spare], numpy_dtype(dtype))) for x in (left, right)]
        assert ascendc.mmad(dst, *operands, MmadParams(m, n, k)) is dst
        wanted = [*oracle.l0c(oracle.product(list(a), list(b), result(0)), 5), *[5] * spare]
        assert_same_bits(lib.to_numpy(dst), np.array(wanted, result))

    check()


def test_products_are_added_from_the_first_to_the_last() -> None:
    """2**24 swallows each 1 that is added to it, but not their sum."""
    big, ones = [4096.0], [1.0] * 3
    column = [[value] for value in [*big, *ones]]
    assert multiply([[*big, *ones]], column, "float16")[0] == 2**24
    assert multiply([[*ones, *big]], column[1:] + column[:1], "float16")[0] == 2**24 + 4


def test_half_extremes_stay_exact() -> None:
    assert multiply([[65504.0, 2.0**-24]], [[65504.0], [0.0]], "float16")[0] == 65504.0**2
    assert multiply([[2.0**-24]], [[2.0**-24]], "float16")[0] == 2.0**-48


def test_infinities_and_nan_are_values() -> None:
    row = [math.inf, 1.0]
    dst = multiply([row], [[1.0, 1.0, 0.0], [1.0, -math.inf, 1.0]], "float16")
    assert dst[0] == math.inf
    assert np.isnan(dst[1:3]).all()


def test_int8_at_its_extremes() -> None:
    """The longest sum of the largest products is exact."""
    a, b = [[-128] * 4095], [[-128]] * 4095
    assert multiply(a, b, "int8")[0] == 4095 * 2**14
    assert multiply(a, [[127]] * 4095, "int8")[0] == -4095 * 128 * 127


@pytest.mark.parametrize("name", ["m", "n", "k"])
def test_nothing_to_compute(name: str) -> None:
    dst = np.ones(8)
    with pytest.warns(UserWarning, match=f"`{name}` is 0: nothing is computed"):
        assert ascendc.mmad(dst, None, None, dataclasses.replace(MmadParams(1, 1, 1), **{name: 0})) is dst
    assert dst.all()


@pytest.mark.parametrize("name", ["m", "n", "k"])
def test_parameter_ranges(name: str) -> None:
    assert MmadParams() == MmadParams(0, 0, 0) == MmadParams(m=0, n=0, k=0)
    for value in (0, 4095):
        assert getattr(MmadParams(**{name: value}), name) == value
    for value in (-1, 4096):
        with pytest.raises(ValueError, match=rf"`{name}` must lie in \[0, 4095\], got {value}"):
            MmadParams(**{name: value})
    for wrong in (1.0, True, "1"):
        with pytest.raises(TypeError, match=f"`{name}` must be an int"):
            MmadParams(**{name: wrong})


C = np.zeros(512, np.float32)
A, B = np.ones(1024, np.float16), np.ones(512, np.float16)
ALL = MmadParams(17, 16, 32)


@pytest.mark.parametrize(
    ("dst", "a", "b", "error", "match"),
    [
        (C[:511], A, B, ValueError, "`dst` must have at least 512 elements for these parameters, got 511"),
        (C, A[:1023], B, ValueError, "`a` must have at least 1024 elements for these parameters, got 1023"),
        (C, A, B[:511], ValueError, "`b` must have at least 512 elements for these parameters, got 511"),
        (np.zeros(640, np.float32)[128:], A, B, ValueError, "`dst` must start at .* 1024 bytes, got byte 512 "),
        (C, np.ones(1152, np.float16)[128:], B, ValueError, "`a` must start at a multiple of 512 bytes, got byte 256 "),
        (C, A, np.ones(528, np.float16)[16:], ValueError, "`b` must start at a multiple of 512 bytes, got byte 32 "),
        (C.reshape(2, 256), A, B, ValueError, "`dst` must be 1-D"),
        (C, A.reshape(2, 512), B, ValueError, "`a` must be 1-D"),
        (C, A, np.ones(1024, np.float16)[::2], ValueError, "`b` must be contiguous"),
        (C, [1.0] * 1024, B, TypeError, "`a` must be an array .*got list"),
        (C, A, B.astype(np.int8), TypeError, "`b` has dtype int8 but `a` has float16"),
        (C, A.astype(np.float32), B.astype(np.float32), TypeError, "one of float16, bfloat16, int8, got float32"),
        (C.astype(np.float16), A, B, TypeError, "`dst` must be float32 for operands of float16, got float16"),
        (C, A.astype(np.int8), B.astype(np.int8), TypeError, "`dst` must be int32 for operands of int8, got float32"),
        (C, A.astype(ml_dtypes.int4), B.astype(ml_dtypes.int4), TypeError, "`a` must be one of .* got int4"),
    ],
)  # fmt: skip
def test_refusals(dst: Any, a: Any, b: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.mmad(dst, a, b, ALL)
    assert not dst.any()


@pytest.mark.parametrize("which", ["a", "b"])
def test_shared_memory(which: str) -> None:
    memory = np.zeros(1024, np.float32)
    operands = {"a": A, "b": B, which: memory.view(np.float16)[512:]}
    with pytest.raises(ValueError, match=f"`{which}` must not share memory with the part of `dst`"):
        ascendc.mmad(memory, operands["a"], operands["b"], ALL)


def test_other_refusals() -> None:
    frozen = C.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="`dst` is read-only"):
        ascendc.mmad(frozen, A, B, ALL)
    with pytest.raises(TypeError, match="`params` must be a MmadParams, got tuple"):
        ascendc.mmad(C, A, B, (17, 16, 32))
    torch = library("torch", "float16")
    with pytest.raises(TypeError, match="`a` is torch on cpu but `dst` is numpy on cpu"):
        ascendc.mmad(C, torch.asarray(A), torch.asarray(B), ALL)
    with pytest.raises(TypeError, match="`b` is torch on cpu but `a` is numpy on cpu"):
        ascendc.mmad(C, A, torch.asarray(B), ALL)
    strict = LIBRARIES["array_api_strict"]().asarray(C)
    with pytest.raises(TypeError, match=r"`dst` is a array_api_strict.*: instructions write in place"):
        ascendc.mmad(strict, A, B, ALL)

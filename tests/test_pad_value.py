"""pad_value: what fills the places that no element goes to, and what the dtype cannot hold."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import oracle
import pytest
from libraries import assert_same_bits, counting

import xascend as xa

ACCEPTED = (
    (3, "float32"),
    (3, "int8"),
    (-128, "int8"),
    (255, "uint8"),
    (2**64 - 1, "uint64"),
    (-(2**63), "int64"),
    (2**53 + 1, "int64"),  # a detour through float64 would round it
    (0.1, "float16"),  # rounded as any literal of the dtype is
    (65504, "float16"),
    (float("nan"), "float32"),
    (float("-inf"), "float16"),
    (float("nan"), "float8_e4m3fn"),
    (float("inf"), "float8_e5m2"),
    (-0.0, "float16"),
    (-0.0, "bfloat16"),
    (-0.0, "float64"),
    (1 + 2j, "complex64"),
    (1.5, "complex128"),
    (True, "bool"),
    (1, "bool"),
    (-8, "int4"),
    (15, "uint4"),
    (6.0, "float4_e2m1fn"),
    (3.0, "int32"),  # a float that is a whole number
    (np.float32(2), "float16"),
    (np.int64(7), "int8"),
)


@pytest.mark.parametrize(("value", "dtype"), ACCEPTED)
@pytest.mark.parametrize(("src", "dst", "shape"), [("ND", "FRACTAL_NZ", (2, 3)), ("NCHW", "C1HWNCoC0", (1, 2, 1, 1))])
def test_accepted(value, dtype: str, src: str, dst: str, shape: tuple) -> None:
    target = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.ones(shape, target)
    y = xa.trans_data(x, src, dst, c0=4, pad_value=value)
    assert_same_bits(y, oracle.to_storage(x, dst, c0=4, pad_value=value))


def test_values_that_compare_equal_are_not_taken_for_each_other() -> None:
    x = np.ones((1, 1), np.float32)
    quiet, other = np.array([0x7FF8000000000000, 0x7FF8000020000000], np.uint64).view(np.float64).tolist()
    for value in (0, 0.0, -0.0, 1, 1.0, True, -0.0, 0.0, quiet, other, quiet, np.float32(-0.0)):
        y = xa.nd_to_nz(x, c0=1, pad_value=value)
        assert y[0, 0, 1].tobytes() == np.float32(value).tobytes()
    for _ in range(2):
        with pytest.raises(ValueError, match="`pad_value` must be a number that int8 can hold, got 300"):
            xa.nd_to_nz(np.ones((1, 1), np.int8), pad_value=300)
        with pytest.raises(TypeError, match="`pad_value` must be a number, got str '1'"):
            xa.nd_to_nz(x, pad_value="1")


def test_a_type_without_zero_is_padded_with_zero_bytes() -> None:
    y = xa.nd_to_nz(np.ones((2, 3), ml_dtypes.float8_e8m0fnu), c0=4)
    assert np.count_nonzero(y.view(np.uint8)) == 6


@pytest.mark.parametrize("fmt", oracle.BLOCKED)
def test_fills_every_place_of_padding(fmt: str) -> None:
    shape = (2, 3, 2, 1, 3) if fmt in oracle.CONV_5D else (5, 3, 2, 3)
    x = counting(shape, "int16")
    y = xa.trans_data(x, "NCDHW" if fmt in oracle.CONV_5D else "NCHW", fmt, pad_value=-5)
    assert_same_bits(y, oracle.to_storage(x, fmt, pad_value=-5))


def test_new_blocks_of_a_blocked_source_are_filled_too() -> None:
    x = counting((2, 5, 2, 3), "int16")
    stored = oracle.to_storage(x, "NC1HWC0", c0=16, pad_value=777)
    y = xa.trans_data(stored, "NC1HWC0", "NC1HWC0", shape=x.shape, c0=32, pad_value=-5)
    assert_same_bits(y, oracle.to_storage(x, "NC1HWC0", c0=32, pad_value=-5))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (300, "int8"),
        (-129, "int8"),
        (-1, "uint8"),
        (256, "uint8"),
        (2**64, "uint64"),
        (2**63, "int64"),
        (2.5, "int32"),
        (1e10, "float16"),
        (-1e10, "float16"),
        (1e39, "float32"),
        (1e39, "bfloat16"),
        (1e39, "complex64"),
        (10**400, "float64"),
        (1000, "float8_e4m3fn"),
        (float("inf"), "float8_e4m3fn"),
        (float("nan"), "int8"),
        (float("inf"), "int64"),
        (float("nan"), "bool"),
        (2, "bool"),
        (0.5, "bool"),
        (8, "int4"),
        (-1, "uint4"),
        (7.5, "float4_e2m1fn"),
        (float("nan"), "float4_e2m1fn"),
        (-1.0, "float8_e8m0fnu"),
        (1j, "float32"),
        (-1j, "float32"),
        (1j, "int8"),
        (1 + 0.5j, "bfloat16"),
    ],
)
def test_what_the_dtype_cannot_hold(value, dtype: str) -> None:
    x = np.ones((2, 3), np.dtype(getattr(ml_dtypes, dtype, dtype)))
    with pytest.raises(ValueError, match=rf"`pad_value`.*{dtype}"):
        xa.nd_to_nz(x, pad_value=value)


@pytest.mark.parametrize("value", ["a", "0", None, [0], np.zeros(1), b"0", object()])
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(TypeError, match="`pad_value` must be a number"):
        xa.nd_to_nz(np.ones((2, 3), np.float16), pad_value=value)


@pytest.mark.parametrize(("value", "dtype"), [(300, "int8"), (1j, "float32"), (2.5, "int32"), (1e39, "float32")])
def test_the_same_refusal_on_torch(value, dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(ValueError, match="`pad_value`"):
        xa.nd_to_nz(torch.ones((2, 3), dtype=getattr(torch, dtype)), pad_value=value)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2**53 + 1, "int64"),
        (2**64 - 1, "uint64"),
        (float("nan"), "float8_e4m3fn"),
        (-0.0, "bfloat16"),
        (1 + 2j, "complex64"),
    ],
)
def test_exact_on_every_library(xp, value, dtype: str) -> None:
    xp.require(dtype)
    x = np.ones((2, 3), np.dtype(getattr(ml_dtypes, dtype, dtype)))
    y = xp.to_numpy(xa.nd_to_nz(xp.asarray(x), c0=4, pad_value=value))
    assert_same_bits(np.ascontiguousarray(y), oracle.to_storage(x, "FRACTAL_NZ", c0=4, pad_value=value))

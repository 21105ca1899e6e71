"""Element types: all that are carried, bit for bit; all that are refused, by name."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import oracle
import pytest
from libraries import ALL_DTYPES, FLOAT8, FOUR_BIT, assert_same_bits, random_bits

import xascend as xa

PAIRS = (
    ("ND", "FRACTAL_NZ", (17, 33)),
    ("ND", "FRACTAL_ZZ", (5, 70)),
    ("NCHW", "NC1HWC0", (2, 17, 2, 3)),
    ("NHWC", "NC1HWC0_C04", (2, 2, 3, 5)),
    ("HWCN", "FRACTAL_Z", (2, 1, 5, 17)),
    ("NCHW", "FRACTAL_Z_C04", (2, 3, 3, 3)),
    ("NDHWC", "NDC1HWC0", (1, 2, 2, 1, 5)),
    ("NCDHW", "FRACTAL_Z_3D", (3, 5, 2, 2, 1)),
    ("NCHW", "C1HWNCoC0", (2, 5, 1, 2)),
    ("NCHW", "NHWC", (2, 3, 4, 5)),
)
pairs = pytest.mark.parametrize(("src", "dst", "shape"), PAIRS, ids=[f"{src}-{dst}" for src, dst, _ in PAIRS])


def default_c0(dtype: str, x: np.ndarray) -> int:
    return oracle.default_c0(x.itemsize, 4 if dtype in FOUR_BIT else None)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pairs
def test_every_dtype(dtype: str, src: str, dst: str, shape: tuple) -> None:
    x = random_bits(shape, dtype)
    y = xa.trans_data(x, src, dst)
    assert_same_bits(y, oracle.convert(x, src, dst, c0=default_c0(dtype, x)))
    assert_same_bits(xa.trans_data(y, dst, src, shape=shape), x)


@pytest.mark.parametrize("dtype", [">f2", ">i4", ">u8", ">c8", ">c16", "<f2", ">f8", ">i2"])
@pairs
def test_byte_order_is_kept(dtype: str, src: str, dst: str, shape: tuple) -> None:
    x = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype)
    y = xa.trans_data(x, src, dst, pad_value=3)
    assert y.dtype == np.dtype(dtype)
    assert_same_bits(y, oracle.convert(x, src, dst, pad_value=3))
    assert_same_bits(xa.trans_data(y, dst, src, shape=shape), x)


@pytest.mark.parametrize(
    ("bits", "dtype"),
    [
        (np.array([0x7E01, 0x7C01, 0x8000, 0xFD55], "u2"), "float16"),
        (np.array([0x7FC1, 0x7F81, 0x8000, 0xFFFF], "u2"), "bfloat16"),
        (np.array([0x7F800001, 0x80000000, 0xFFC12345], "u4"), "float32"),
        (np.array([0x7FF0000000000001, 1 << 63, 0xFFF8DEADBEEF0001], "u8"), "float64"),
        (np.array([0x7F800001, 0x80000000, 0xFFC12345, 1], "u4"), "complex64"),
        (np.array([0x7FF0000000000001, 1 << 63, 0xFFF8DEADBEEF0001, 1], "u8"), "complex128"),
        (np.array([0x7F, 0xFF, 0x80, 0x01], "u1"), "float8_e4m3fn"),
        (np.array([0x7D, 0xFE, 0x80, 0x01], "u1"), "float8_e5m2"),
    ],
)
def test_payloads_and_signs_survive(bits: np.ndarray, dtype: str) -> None:
    x = bits.view(np.dtype(getattr(ml_dtypes, dtype, dtype)))[None]
    y = xa.nd_to_nz(x)
    assert y.dtype == x.dtype
    assert y[0, 0, 0, : x.size].tobytes() == bits.tobytes()
    assert xa.nz_to_nd(y, x.shape).tobytes() == bits.tobytes()


def test_bool_padding_is_false() -> None:
    y = xa.nd_to_nz(np.ones((20, 40), bool))
    assert y.shape == (2, 2, 16, 32)
    assert y.dtype == bool
    assert np.count_nonzero(y) == 800


@pytest.mark.parametrize("dtype", FOUR_BIT)
def test_four_bit_types_have_a_c0_of_64(dtype: str) -> None:
    x = random_bits((17, 65), dtype)
    assert xa.nd_to_nz(x).shape == (2, 2, 16, 64)


def test_packed_four_bit_values_are_bytes_and_c0_counts_bytes() -> None:
    x = np.arange(16 * 64, dtype=np.uint8).reshape(16, 64)
    assert xa.nd_to_nz(x).shape == (2, 1, 16, 32)
    assert xa.nd_to_nz(x, c0=64).shape == (1, 1, 16, 64)


REFUSED = (
    (np.array([[1, "a"]], object), "object"),
    (np.zeros((2, 2), [("a", "f4")]), r"\('a', '<f4'\)"),
    (np.zeros((2, 2), "f4,i2"), r"'f0'"),
    (np.array([["a", "bc"]]), r"(<U2|str)"),
    (np.array([[b"a", b"bc"]]), r"(S2|bytes)"),
    (np.zeros((2, 2), "M8[s]"), "datetime64"),
    (np.zeros((2, 2), "m8[ms]"), "timedelta64"),
    (np.zeros((2, 2), "V2"), r"V2.*\.view\("),
    (np.zeros((2, 2), "V1"), r"V1.*\.view\("),
    (np.zeros((2, 2), "V3"), r"V3"),
    (np.zeros((2, 2), np.longdouble), r"(float128|longdouble|float96)"),
    (np.zeros((2, 2), np.clongdouble), r"(complex256|clongdouble|complex192)"),
    (np.zeros((2, 2), ml_dtypes.int2), "int2"),
    (np.zeros((2, 2), ml_dtypes.float6_e2m3fn), "float6_e2m3fn"),
    (np.zeros((2, 2), np.dtypes.StringDType()), "StringDType"),
)


@pytest.mark.parametrize(("x", "name"), REFUSED, ids=[str(x.dtype) for x, _ in REFUSED])
def test_refused_dtypes_are_named(x: np.ndarray, name: str) -> None:
    for convert in (
        lambda: xa.trans_data(x, "ND", "FRACTAL_NZ"),
        lambda: xa.trans_data(x[:, None, None, :, None], "NC1HWC0", "NCHW"),
        lambda: xa.nd_to_nz(x),
        lambda: xa.storage_shape((2, 2), "NZ", x.dtype),
        lambda: xa.default_c0(x.dtype),
    ):
        with pytest.raises(TypeError, match=name):
            convert()


def test_void_after_npy_says_which_view_helps() -> None:
    x = random_bits((4, 4), "bfloat16")
    raw = x.view("V2")
    with pytest.raises(TypeError, match=r"view\(ml_dtypes\.bfloat16\)"):
        xa.nd_to_nz(raw)
    assert_same_bits(xa.nd_to_nz(raw.view(ml_dtypes.bfloat16)), oracle.to_storage(x, "FRACTAL_NZ"))


@pytest.mark.parametrize("dtype", ["torch.complex32", "torch.qint8"])
def test_refused_torch_dtypes(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    name = dtype.removeprefix("torch.")
    with pytest.raises(TypeError, match=name):
        xa.storage_shape((2, 2), "NZ", getattr(torch, name))


def test_float8_table_is_complete() -> None:
    known = {name for name in dir(ml_dtypes) if name.startswith("float8_")}
    assert known == set(FLOAT8)

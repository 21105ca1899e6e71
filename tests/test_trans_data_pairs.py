"""trans_data equals the oracle for every possible pair of formats, with sizes around the block edges."""

from __future__ import annotations

import numpy as np
import oracle
import pairs
import pytest
from libraries import assert_same_bits, counting

import xascend as xa

GARBAGE = 60_000  # in the padding of sources: it must never show up in a result
DEFAULT_C0 = 16  # of uint16


def params(pair_list: tuple[tuple[str, str], ...], plain_of) -> list:
    return [
        pytest.param(src, dst, shape, id=f"{src}-{dst}-{'x'.join(map(str, shape))}")
        for src, dst in pair_list
        for shape in pairs.shapes(plain_of(src, dst), src, dst)
    ]


@pytest.mark.parametrize(("src", "dst", "shape"), params(pairs.PLAIN_TO_BLOCKED, lambda src, _: src))
def test_plain_to_blocked(src: str, dst: str, shape: tuple[int, ...]) -> None:
    x = counting(shape, "uint16")
    for c0 in (None,) if dst in oracle.OWN_C0 else (None, 4, 8):
        expected = oracle.convert(x, src, dst, c0=c0 or DEFAULT_C0)
        assert_same_bits(xa.trans_data(x, src, dst, c0=c0), expected)


@pytest.mark.parametrize(("src", "dst", "shape"), params(pairs.BLOCKED_TO_PLAIN, lambda _, dst: dst))
def test_blocked_to_plain(src: str, dst: str, shape: tuple[int, ...]) -> None:
    x = counting(shape, "uint16")
    for c0 in (None,) if src in oracle.OWN_C0 else (16, 4, 8):
        stored = oracle.convert(x, dst, src, c0=c0 or DEFAULT_C0, pad_value=GARBAGE)
        assert_same_bits(xa.trans_data(stored, src, dst, shape=shape), x)


@pytest.mark.parametrize(("src", "dst", "shape"), params(pairs.BLOCKED_TO_BLOCKED, pairs.logical_axes))
def test_blocked_to_blocked(src: str, dst: str, shape: tuple[int, ...]) -> None:
    logical = counting(shape, "uint16")
    for src_c0, dst_c0 in ((16, None), (4, 16), (16, 8)):
        axes = pairs.logical_axes(src, dst)
        stored = oracle.convert(logical, axes, src, c0=src_c0, pad_value=GARBAGE)
        dst_c0 = None if dst in oracle.OWN_C0 else dst_c0
        expected = oracle.convert(logical, axes, dst, c0=dst_c0 or DEFAULT_C0)
        assert_same_bits(xa.trans_data(stored, src, dst, shape=shape, c0=dst_c0), expected)


@pytest.mark.parametrize(("src", "dst", "shape"), params(pairs.PLAIN_TO_PLAIN, lambda src, _: src))
def test_plain_to_plain(src: str, dst: str, shape: tuple[int, ...]) -> None:
    x = counting(shape, "uint16")
    assert_same_bits(xa.trans_data(x, src, dst), oracle.permute(x, src, dst))


@pytest.mark.parametrize(("src_c0", "dst_c0"), [(16, 32), (16, 8), (3, 16), (16, 3), (32, 16), (1, 5), (5, 1)])
@pytest.mark.parametrize("fmt", ["FRACTAL_NZ", "FRACTAL_ZZ", "NC1HWC0", "FRACTAL_Z", "C1HWNCoC0", "NDC1HWC0"])
def test_c0_changes_within_a_format(fmt: str, src_c0: int, dst_c0: int) -> None:
    shape = (2, 35, 2, 2, 1) if fmt == "NDC1HWC0" else (2, 35, 2, 3)
    logical = counting(shape, "int16")
    stored = oracle.to_storage(logical, fmt, c0=src_c0, pad_value=-1)
    expected = oracle.to_storage(logical, fmt, c0=dst_c0)
    assert_same_bits(xa.trans_data(stored, fmt, fmt, shape=shape, c0=dst_c0), expected)


@pytest.mark.parametrize("src", ["FRACTAL_NZ", "FRACTAL_ZZ", "NC1HWC0", "C1HWNCoC0"])
@pytest.mark.parametrize("dst", ["FRACTAL_NZ", "FRACTAL_ZZ", "NC1HWC0", "C1HWNCoC0"])
def test_without_shape_the_padded_sizes_are_logical(src: str, dst: str) -> None:
    padded = (16, 16, 16, 8) if src == "FRACTAL_ZZ" else (4, 8, 16, 24)
    logical = counting(padded, "uint16")
    stored = oracle.to_storage(logical, src, c0=8)
    assert_same_bits(xa.trans_data(stored, src, dst, c0=16), oracle.to_storage(logical, dst, c0=16))


@pytest.mark.parametrize(("src", "plain"), [("NC1HWC0", "NCHW"), ("NC1HWC0", "NHWC"), ("NDC1HWC0", "NDHWC")])
def test_without_shape_padded_channels_stay(src: str, plain: str) -> None:
    shape = pairs.sizes_of(plain, "NCDHW", (2, 5, 2, 3, 2))
    x = counting(shape, "uint16")
    stored = oracle.convert(x, plain, src, c0=4)
    full = np.zeros([8 if axis == "C" else size for axis, size in zip(plain, shape, strict=True)], x.dtype)
    full[tuple(map(slice, shape))] = x
    assert_same_bits(xa.trans_data(stored, src, plain), full)


def test_a_default_c0_of_the_destination_comes_from_the_dtype() -> None:
    logical = counting((2, 40, 2, 3), "int8")
    stored = oracle.to_storage(logical, "NC1HWC0", c0=16)
    result = xa.trans_data(stored, "NC1HWC0", "NC1HWC0", shape=logical.shape)
    assert_same_bits(result, oracle.to_storage(logical, "NC1HWC0", c0=32))


def test_nd_of_four_axes_is_taken_as_nchw() -> None:
    x = counting((2, 5, 2, 3), "uint16")
    stored = oracle.to_storage(x, "NC1HWC0")
    assert_same_bits(xa.trans_data(x, "ND", "NC1HWC0"), stored)
    assert_same_bits(xa.trans_data(stored, "NC1HWC0", "ND", shape=x.shape), x)


def test_nd_of_two_axes_is_a_filter_of_one_pixel() -> None:
    x = counting((5, 18), "uint16")  # (c, n)
    stored = oracle.to_storage(x.T.reshape(18, 5, 1, 1), "FRACTAL_Z")
    assert_same_bits(xa.trans_data(x, "ND", "FRACTAL_Z"), stored)
    assert_same_bits(xa.trans_data(stored, "FRACTAL_Z", "ND", shape=x.shape), x)

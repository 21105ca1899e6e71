"""The named pairs and npu_format_cast: each is trans_data under the name that users know."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from libraries import Library, assert_result, assert_same_bits, counting

import xascend as xa


@pytest.mark.parametrize("shape", [(20, 28), (3, 17, 5), (2, 3, 1, 16)])
def test_nd_to_nz_and_back(xp: Library, shape: tuple) -> None:
    x = counting(shape, "int32")
    y = xa.nd_to_nz(xp.asarray(x))
    assert_result(xp, y, oracle.to_storage(x, "FRACTAL_NZ"))
    assert_result(xp, xa.nz_to_nd(y, shape), x)
    assert_result(xp, xa.nz_to_nd(y, shape[-2:]), x)
    assert_result(xp, xa.nz_to_nd(y, shape=list(shape[-2:])), x)


def test_nz_to_nd_without_shape_keeps_the_padding() -> None:
    x = counting((20, 28), "int32")
    full = np.zeros((32, 32), np.int32)
    full[:20, :28] = x
    assert_same_bits(xa.nz_to_nd(xa.nd_to_nz(x)), full)


def test_nd_to_nz_takes_the_options_of_trans_data() -> None:
    x = counting((20, 28), "int32")
    out = np.empty((4, 2, 16, 8), np.int32)
    assert xa.nd_to_nz(x, c0=8, pad_value=-1, out=out) is out
    assert_same_bits(out, oracle.to_storage(x, "FRACTAL_NZ", c0=8, pad_value=-1))
    with pytest.raises(ValueError, match="`strict`"):
        xa.nd_to_nz(x, strict=True)


@pytest.mark.parametrize("channels", [1, 15, 16, 17, 35])
def test_5hd_pairs(xp: Library, channels: int) -> None:
    nchw = counting((2, channels, 3, 5), "int32")
    nhwc = oracle.permute(nchw, "NCHW", "NHWC")
    stored = oracle.to_storage(nchw, "NC1HWC0")
    assert_result(xp, xa.nchw_to_nc1hwc0(xp.asarray(nchw)), stored)
    assert_result(xp, xa.nhwc_to_nc1hwc0(xp.asarray(nhwc)), stored)
    assert_result(xp, xa.nc1hwc0_to_nchw(xp.asarray(stored), channels), nchw)
    assert_result(xp, xa.nc1hwc0_to_nhwc(xp.asarray(stored), channels=channels), nhwc)


def test_5hd_pairs_take_c0_and_keep_padded_channels_by_default() -> None:
    nchw = counting((2, 5, 3, 1), "int32")
    y = xa.nchw_to_nc1hwc0(nchw, c0=4)
    assert y.shape == (2, 2, 3, 1, 4)
    full = np.zeros((2, 8, 3, 1), np.int32)
    full[:, :5] = nchw
    assert_same_bits(xa.nc1hwc0_to_nchw(y), full)
    assert_same_bits(xa.nc1hwc0_to_nhwc(y), oracle.permute(full, "NCHW", "NHWC"))


@pytest.mark.parametrize("channels", [16, 33, 40, 2, 0])
def test_channels_outside_the_padded_interval(channels: int) -> None:
    y = np.zeros((1, 2, 4, 4, 16), np.float16)
    assert xa.nc1hwc0_to_nchw(y, 22).shape == (1, 22, 4, 4)
    for function in (xa.nc1hwc0_to_nchw, xa.nc1hwc0_to_nhwc):
        with pytest.raises(ValueError, match=rf"`channels`.*\(16, 32\], got {channels}"):
            function(y, channels)


@pytest.mark.parametrize("channels", [True, 22.0, "22", -22])
def test_channels_must_be_a_size(channels: object) -> None:
    with pytest.raises(ValueError, match="`channels`"):
        xa.nc1hwc0_to_nchw(np.zeros((1, 2, 4, 4, 16), np.float16), channels)


@pytest.mark.parametrize("shape", [(1, 2, 4, 16), (1, 2, 4, 4, 4, 16), (5,)])
def test_5hd_needs_five_axes(shape: tuple) -> None:
    for function in (xa.nc1hwc0_to_nchw, xa.nc1hwc0_to_nhwc):
        with pytest.raises(ValueError, match="`x` must have"):
            function(np.zeros(shape, np.float16), 16)


@pytest.mark.parametrize(
    ("number", "fmt"),
    [(29, "FRACTAL_NZ"), (3, "NC1HWC0"), (4, "FRACTAL_Z"), (12, "NC1HWC0_C04"), (50, "FRACTAL_NZ_C0_16")],
)
def test_npu_format_cast_of_four_axes(number: int, fmt: str) -> None:
    x = counting((17, 5, 2, 3), "float16")
    assert_same_bits(xa.npu_format_cast(x, number), oracle.to_storage(x, fmt))
    assert_same_bits(xa.npu_format_cast(x, fmt), oracle.to_storage(x, fmt))


def test_npu_format_cast_of_a_matrix() -> None:
    x = counting((20, 28), "float16")
    assert_same_bits(xa.npu_format_cast(x, 29), oracle.to_storage(x, "FRACTAL_NZ"))
    assert_same_bits(xa.npu_format_cast(x, 2), x)


def test_npu_format_cast_does_not_guess_at_a_blocked_tensor() -> None:
    with pytest.raises(ValueError, match=r"NC1HWC0"):
        xa.npu_format_cast(np.zeros((1, 2, 4, 4, 16), np.float16), 3)


@pytest.mark.parametrize(
    "function",
    [xa.nd_to_nz, xa.nchw_to_nc1hwc0, xa.nhwc_to_nc1hwc0, xa.nz_to_nd, xa.nc1hwc0_to_nchw, xa.nc1hwc0_to_nhwc],
)
def test_array_is_positional_only(function) -> None:
    with pytest.raises(TypeError, match="positional"):
        function(x=np.zeros((2, 2), np.float16))

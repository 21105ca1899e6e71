"""The library against shapes and values typed from the vendor's pages and test tables."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from layout_vectors import PIXELS_UINT8, STORAGE_SHAPES
from libraries import numpy_dtype

import xascend as xa


@pytest.mark.parametrize("vector", STORAGE_SHAPES, ids=str)
def test_storage_shapes(vector) -> None:
    options = {"c0": vector.c0, "groups": vector.groups}
    assert xa.storage_shape(vector.shape, vector.fmt, vector.dtype, src_format=vector.src, **options) == vector.storage
    x = np.zeros(vector.shape, numpy_dtype(vector.dtype))
    y = xa.trans_data(x, vector.src, vector.fmt, **options)
    assert y.shape == vector.storage
    assert y.dtype == x.dtype
    back = xa.trans_data(y, vector.fmt, vector.src, shape=vector.shape, groups=vector.groups)
    assert back.shape == vector.shape


def test_nz_of_20_by_28() -> None:
    x = np.arange(560, dtype=np.float16).reshape(20, 28)
    y = xa.trans_data(x, "ND", "FRACTAL_NZ")
    assert y.shape == (2, 2, 16, 16)
    assert y[0, 0, 1, 0] == 28
    assert y[1, 1, 3, 11] == 559
    assert not y[1, 1, 4:].any()
    assert np.array_equal(y[0, 0, 0], np.arange(16))
    assert np.array_equal(y[1, 0, 0], [*range(16, 28), 0, 0, 0, 0])


def test_nc1hwc0_of_three_channels() -> None:
    y = xa.trans_data(PIXELS_UINT8, "NCHW", "NC1HWC0")
    assert y.shape == (1, 1, 4, 4, 32)
    assert y[0, 0, 0, 0].tolist() == [1, 101, 201] + [0] * 29
    assert y[0, 0, 3, 3].tolist() == [16, 116, 216] + [0] * 29


def test_nc1hwc0_of_whole_blocks_is_reshape_and_transpose() -> None:
    x = np.arange(2 * 32 * 16 * 16).astype(np.float16).reshape(2, 32, 16, 16)
    assert np.array_equal(xa.nchw_to_nc1hwc0(x), x.reshape(2, 2, 16, 16, 16).transpose(0, 1, 3, 4, 2))


def test_fractal_z_with_two_groups() -> None:
    x = np.array([19, 88], np.float16).reshape(1, 1, 1, 2)
    y = xa.trans_data(x, "HWCN", "FRACTAL_Z", groups=2)
    assert y.shape == (1, 1, 16, 16)
    assert y[0, 0, 0, 0] == 19
    assert y[0, 0, 1, 1] == 88
    assert np.count_nonzero(y) == 2


def test_rows_that_do_not_exist_are_zero_not_the_next_row() -> None:
    x = np.stack([np.full(60, 1), np.full(60, 2)]).astype(np.float16)
    y = xa.nd_to_nz(x)
    assert (y[:, 0, 0].ravel()[:60] == 1).all()
    assert not y[3, 0, :, 12:].any()
    assert not y[:, :, 2:].any()
    z = xa.nchw_to_nc1hwc0(np.ones((1, 60, 2, 2), np.float16))
    assert z[0, :3].all()
    assert z[0, 3, :, :, :12].all()
    assert not z[0, 3, :, :, 12:].any()


def test_four_rows_of_bfloat16_are_padded_to_sixteen() -> None:
    y = xa.nd_to_nz(np.ones((4, 128), ml_dtypes.bfloat16))
    assert y.shape == (8, 1, 16, 16)
    assert (y[:, :, :4] == 1).all()
    assert not y[:, :, 4:].astype(np.float32).any()


@pytest.mark.parametrize(("n", "blocks"), [(9, 1), (20, 2), (22, 2)])
def test_channel_counts_of_real_reports(n: int, blocks: int) -> None:
    x = np.arange(n * 6, dtype=np.float32).reshape(1, n, 2, 3)
    y = xa.nchw_to_nc1hwc0(x)
    assert y.shape == (1, blocks, 2, 3, 16)
    assert np.array_equal(xa.nc1hwc0_to_nchw(y, n), x)


def test_result_keeps_half_precision_when_nothing_is_padded() -> None:
    assert xa.nchw_to_nc1hwc0(np.ones((1, 16, 2, 2), np.float16)).dtype == np.float16


def test_float32_is_never_narrowed() -> None:
    x = np.array([[1 + 2**-20]], np.float32)
    for c0 in (None, 8, 16):
        assert xa.nz_to_nd(xa.nd_to_nz(x, c0=c0), (1, 1)).tolist() == x.tolist()


def test_5hd_to_nz_makes_nz_of_the_nchw_tensor() -> None:
    x = np.arange(2 * 5 * 17 * 3, dtype=np.int16).reshape(2, 5, 17, 3)
    y = xa.trans_data(xa.nchw_to_nc1hwc0(x), "5HD", "NZ", shape=x.shape)
    assert y.shape == (2, 5, 1, 2, 16, 16)
    assert np.array_equal(y, xa.nd_to_nz(x))

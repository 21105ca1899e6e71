"""The oracle itself, held against values typed from the vendor's documents and test tables."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import oracle
import pytest
from layout_vectors import PIXELS_UINT8, STORAGE_SHAPES


@pytest.mark.parametrize("vector", STORAGE_SHAPES, ids=str)
def test_storage_shape(vector) -> None:
    c0 = vector.c0 or vector.default_c0
    got = oracle.storage_shape(vector.shape, vector.fmt, axes=oracle.letters(vector.src), c0=c0, groups=vector.groups)
    assert got == vector.storage


def test_matrix_of_20_by_28() -> None:
    x = np.arange(560, dtype=np.float16).reshape(20, 28)
    y = oracle.to_storage(x, "FRACTAL_NZ")
    assert y.shape == (2, 2, 16, 16)
    assert y[0, 0, 1, 0] == 28
    assert y[1, 1, 3, 11] == 559
    assert not y[1, 1, 4:].any()
    assert not y[1, 1, :4, 12:].any()


def test_zz_goes_along_block_rows() -> None:
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    y = oracle.to_storage(x, "FRACTAL_ZZ", c0=2)
    assert y.tolist() == [
        [[[0, 1], [4, 5]], [[2, 3], [6, 7]]],
        [[[8, 9], [0, 0]], [[10, 11], [0, 0]]],
    ]


def test_nc1hwc0_of_three_channels() -> None:
    y = oracle.to_storage(PIXELS_UINT8, "NC1HWC0", c0=32)
    assert y.shape == (1, 1, 4, 4, 32)
    pixels = y.reshape(16, 32)
    assert pixels[0].tolist() == [1, 101, 201] + [0] * 29
    assert pixels[15].tolist() == [16, 116, 216] + [0] * 29


def test_fractal_z_with_groups_is_a_diagonal() -> None:
    x = np.array([19, 88], np.float16).reshape(1, 1, 1, 2)
    y = oracle.to_storage(x, "FRACTAL_Z", axes="HWCN", groups=2)
    expected = np.zeros((1, 1, 16, 16), np.float16)
    expected[0, 0, 0, 0] = 19
    expected[0, 0, 1, 1] = 88
    assert np.array_equal(y, expected)


def test_fractal_z_rows_are_c1_h_w() -> None:
    x = np.arange(1, 1 + 2 * 5 * 2 * 3, dtype=np.int32).reshape(2, 5, 2, 3)
    y = oracle.to_storage(x, "FRACTAL_Z", c0=4)
    assert y.shape == (2 * 2 * 3, 1, 16, 4)
    assert y[1 * 6 + 1 * 3 + 2, 0, 1, 0] == x[1, 4, 1, 2]
    assert y[1 * 3 + 0, 0, 0, 3] == x[0, 3, 1, 0]


def test_fractal_z_c04_runs_over_pixels_of_four_channels() -> None:
    x = np.arange(1, 1 + 1 * 3 * 2 * 3, dtype=np.int32).reshape(1, 3, 2, 3)
    y = oracle.to_storage(x, "FRACTAL_Z_C04", c0=16)
    assert y.shape == (2, 1, 16, 16)
    assert y[:, 0, 0].ravel().tolist()[:8] == [1, 7, 13, 0, 2, 8, 14, 0]
    assert y[1, 0, 0, 4:8].tolist() == [6, 12, 18, 0]


def test_c1hwncoc0_repeats_c0_on_the_diagonal() -> None:
    x = np.arange(1, 4, dtype=np.int32).reshape(1, 3, 1, 1)
    y = oracle.to_storage(x, "C1HWNCoC0", c0=2, pad_value=-1)
    assert y.shape == (2, 1, 1, 1, 2, 2)
    assert y.reshape(2, 2, 2).tolist() == [[[1, -1], [-1, 2]], [[3, -1], [-1, -1]]]


def test_three_dimensional_formats_put_depth_first() -> None:
    x = np.arange(1, 1 + 1 * 3 * 2 * 1 * 2, dtype=np.int32).reshape(1, 3, 2, 1, 2)
    six = oracle.to_storage(x, "NDC1HWC0", c0=2)
    assert six.shape == (1, 2, 2, 1, 2, 2)
    assert six[0, 1, 1, 0, 1].tolist() == [x[0, 2, 1, 0, 1], 0]
    fz = oracle.to_storage(x, "FRACTAL_Z_3D", c0=2)
    assert fz.shape == (2 * 2 * 1 * 2, 1, 16, 2)
    assert fz[(1 * 2 + 1) * 2 + 1, 0, 0].tolist() == [x[0, 2, 1, 0, 1], 0]


def test_permute_follows_the_letters() -> None:
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    assert oracle.permute(x, "NCHW", "HWCN")[3, 4, 2, 1] == x[1, 2, 3, 4]


@pytest.mark.parametrize("fmt", oracle.BLOCKED)
def test_every_format_holds_each_element_once(fmt: str) -> None:
    shape = (2, 3, 2, 1, 3) if fmt in oracle.CONV_5D else (17, 3, 2, 3)
    x = np.arange(1, 1 + np.prod(shape), dtype=np.int32).reshape(shape)
    y = oracle.to_storage(x, fmt, c0=16)
    assert sorted(y[y != 0]) == list(range(1, 1 + x.size))
    assert np.array_equal(oracle.to_logical(y, fmt, shape), x)


def test_bits_are_moved_not_values() -> None:
    bits = np.array([[0x7FC1, 0x8000, 0xFF81]], np.uint16)
    y = oracle.to_storage(bits.view(ml_dtypes.bfloat16), "FRACTAL_NZ", c0=16)
    assert y.dtype == ml_dtypes.bfloat16
    assert y.view(np.uint16)[0, 0, 0, :4].tolist() == [0x7FC1, 0x8000, 0xFF81, 0]

"""FRACTAL_Z with groups: packed along a diagonal, in both directions and between blocked formats."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from libraries import assert_same_bits, counting

import xascend as xa

CASES = [  # groups, channels per group, output channels per group, C0
    (2, 4, 4, 16),
    (2, 1, 1, 16),
    (3, 5, 7, 16),
    (5, 3, 2, 16),
    (4, 16, 16, 16),
    (7, 17, 15, 16),
    (8, 8, 8, 16),
    (9, 2, 3, 4),
    (33, 1, 1, 16),
    (17, 1, 1, 32),
    (6, 6, 10, 8),
]


@pytest.mark.parametrize("plain", oracle.PLAIN_4D)
@pytest.mark.parametrize(("groups", "c", "cout", "c0"), CASES)
def test_there_and_back(groups: int, c: int, cout: int, c0: int, plain: str) -> None:
    size = {"N": cout * groups, "C": c, "H": 2, "W": 3}
    x = counting(tuple(size[axis] for axis in plain), "uint16")
    expected = oracle.to_storage(x, "FRACTAL_Z", axes=plain, c0=c0, groups=groups)
    assert xa.storage_shape(x.shape, "FRACTAL_Z", x.dtype, src_format=plain, c0=c0, groups=groups) == expected.shape
    stored = xa.trans_data(x, plain, "FRACTAL_Z", c0=c0, groups=groups)
    assert_same_bits(stored, expected)
    assert_same_bits(xa.trans_data(stored, "FRACTAL_Z", plain, shape=x.shape, groups=groups), x)


@pytest.mark.parametrize("other", ["NC1HWC0", "FRACTAL_NZ", "FRACTAL_ZZ", "C1HWNCoC0"])
@pytest.mark.parametrize(("groups", "c", "cout", "c0"), [(2, 4, 4, 16), (3, 3, 7, 4), (18, 1, 1, 16), (5, 2, 17, 8)])
def test_against_other_blocked_formats(groups: int, c: int, cout: int, c0: int, other: str) -> None:
    x = counting((cout * groups, c, 2, 3), "uint16")
    grouped = oracle.to_storage(x, "FRACTAL_Z", c0=c0, groups=groups, pad_value=60_000)
    stored = oracle.to_storage(x, other, c0=8, pad_value=60_000)
    to_other = xa.trans_data(grouped, "FRACTAL_Z", other, shape=x.shape, c0=8, groups=groups)
    assert_same_bits(to_other, oracle.to_storage(x, other, c0=8))
    from_other = xa.trans_data(stored, other, "FRACTAL_Z", shape=x.shape, c0=c0, groups=groups)
    assert_same_bits(from_other, oracle.to_storage(x, "FRACTAL_Z", c0=c0, groups=groups))


@pytest.mark.parametrize(("groups", "c", "cout"), [(2, 4, 4), (5, 3, 2), (18, 1, 1), (3, 17, 5)])
def test_c0_changes(groups: int, c: int, cout: int) -> None:
    x = counting((cout * groups, c, 2, 1), "uint16")
    stored = oracle.to_storage(x, "FRACTAL_Z", c0=16, groups=groups, pad_value=60_000)
    result = xa.trans_data(stored, "FRACTAL_Z", "FRACTAL_Z", shape=x.shape, c0=32, groups=groups)
    assert_same_bits(result, oracle.to_storage(x, "FRACTAL_Z", c0=32, groups=groups))


def test_pad_value_fills_off_the_diagonal() -> None:
    x = np.array([19, 88], np.float16).reshape(1, 1, 1, 2)
    y = xa.trans_data(x, "HWCN", "FRACTAL_Z", groups=2, pad_value=-3)
    assert y[0, 0, 0, 0] == 19
    assert y[0, 0, 1, 1] == 88
    assert np.count_nonzero(y == -3) == y.size - 2


@pytest.mark.parametrize("axis", ["H", "W"])
def test_zero_pixels(axis: str) -> None:
    size = {"H": 2, "W": 3, "C": 4, "N": 8} | {axis: 0}
    x = counting(tuple(size.values()), "uint16")
    y = xa.trans_data(x, "HWCN", "FRACTAL_Z", groups=2)
    assert y.shape == (0, 1, 16, 16)
    assert xa.trans_data(y, "FRACTAL_Z", "HWCN", shape=x.shape, groups=2).shape == x.shape


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "2", None])
def test_groups_must_be_a_positive_integer(bad: object) -> None:
    with pytest.raises(ValueError, match=r"`groups` must be an integer of at least 1, got"):
        xa.trans_data(counting((4, 2, 1, 1)), "NCHW", "FRACTAL_Z", groups=bad)


def test_groups_must_divide_the_output_channels() -> None:
    with pytest.raises(ValueError, match=r"`groups` .*N = 8, got 3"):
        xa.trans_data(counting((8, 2, 1, 1)), "NCHW", "FRACTAL_Z", groups=3)


@pytest.mark.parametrize("dst", ["NC1HWC0", "FRACTAL_NZ", "NHWC", "C1HWNCoC0"])
def test_groups_need_fractal_z(dst: str) -> None:
    with pytest.raises(ValueError, match=r"`groups` must be 1 .*FRACTAL_Z, got 2"):
        xa.trans_data(counting((8, 2, 1, 1)), "NCHW", dst, groups=2)


def test_fractal_z_c04_has_no_groups() -> None:
    with pytest.raises(ValueError, match=r"`groups` must be 1 .*got 2"):
        xa.trans_data(counting((8, 2, 1, 1)), "NCHW", "FRACTAL_Z_C04", groups=2)


def test_shape_that_does_not_fit_the_storage_is_refused() -> None:
    stored = oracle.to_storage(counting((8, 4, 3, 3)), "FRACTAL_Z", groups=2)
    with pytest.raises(ValueError, match=r"`shape`"):
        xa.trans_data(stored, "FRACTAL_Z", "NCHW", shape=(8, 4, 3, 4), groups=2)

"""c0: what is accepted for the destination, and what a blocked source must show in its fixed axes."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from libraries import counting

import xascend as xa

HALF = np.float16


@pytest.mark.parametrize("bad", [0, -1, -16, 2.5, 16.0, True, False, "16", np.float32(16), np.bool_(True), [16]])
@pytest.mark.parametrize("dst", ["FRACTAL_NZ", "NC1HWC0", "FRACTAL_Z"])
def test_must_be_a_positive_integer(bad: object, dst: str) -> None:
    x = np.zeros((2, 2, 2, 2), HALF)
    for call in (
        lambda: xa.trans_data(x, "NCHW", dst, c0=bad),
        lambda: xa.storage_shape((2, 2, 2, 2), dst, HALF, c0=bad),
        lambda: xa.is_aligned((2, 2, 2, 2), dst, HALF, c0=bad),
        lambda: xa.locate((0, 0, 0, 0), (2, 2, 2, 2), "NCHW", dst, c0=bad),
    ):
        with pytest.raises(ValueError, match=r"`c0` must be an integer of at least 1, got"):
            call()


@pytest.mark.parametrize("c0", [1, 3, np.int64(16), np.uint8(7), 4096])
def test_any_positive_integer_works(c0: int) -> None:
    x = counting((17, 20), "int32")
    y = xa.nd_to_nz(x, c0=c0)
    assert y.shape == (-(-20 // int(c0)), 2, 16, c0)
    assert np.array_equal(xa.nz_to_nd(y, x.shape), x)


@pytest.mark.parametrize(("fmt", "own"), oracle.OWN_C0.items())
def test_formats_with_a_c0_of_their_own(fmt: str, own: int) -> None:
    x = np.zeros((2, 2, 2, 2), HALF)
    assert xa.trans_data(x, "NCHW", fmt, c0=own).shape[-1] == own
    with pytest.raises(ValueError, match=rf"`c0` must be {own} .*{fmt}, got {own + 1}"):
        xa.trans_data(x, "NCHW", fmt, c0=own + 1)


@pytest.mark.parametrize(("fmt", "own"), oracle.OWN_C0.items())
def test_sources_with_a_c0_of_their_own(fmt: str, own: int) -> None:
    stored = np.zeros((1, 1, 16, 16, own + 1), HALF)
    with pytest.raises(ValueError, match=rf"`x` must have C0 = {own} as its last axis in {fmt}"):
        xa.trans_data(stored, fmt, "NCHW" if fmt.startswith("NC1") else "ND")


def test_a_claimed_c0_must_be_the_last_axis() -> None:
    stored = np.zeros((1, 1, 4, 4, 12), HALF)
    with pytest.raises(ValueError, match=r"`c0` must be .*12.*got 16"):
        xa.trans_data(stored, "5HD", "NCHW", c0=16)
    assert xa.trans_data(stored, "5HD", "NCHW", c0=12).shape == (1, 12, 4, 4)


def test_plain_to_plain_has_no_c0() -> None:
    with pytest.raises(ValueError, match=r"`c0` must be .*got 16"):
        xa.trans_data(np.zeros((1, 2, 3, 4), HALF), "NCHW", "NHWC", c0=16)


def test_a_c0_of_zero_in_the_array() -> None:
    for fmt, shape in (("NZ", (1, 1, 16, 0)), ("5HD", (1, 1, 4, 4, 0))):
        with pytest.raises(ValueError, match=r"`x` must have C0 of at least 1"):
            xa.trans_data(np.zeros(shape, HALF), fmt, "ND" if fmt == "NZ" else "NCHW")


@pytest.mark.parametrize("m0", [0, 1, 8, 15, 17, 32])
def test_rows_of_a_fractal_are_sixteen(m0: int) -> None:
    with pytest.raises(ValueError, match=r"`x` must have 16 as axis -2"):
        xa.nz_to_nd(np.zeros((2, 2, m0, 16), HALF))
    with pytest.raises(ValueError, match=r"`x` must have 16 as axis -2"):
        xa.trans_data(np.zeros((8, 1, m0, 16), HALF), "FRACTAL_Z", "NCHW", shape=(1, 1, 1, 8))


@pytest.mark.parametrize("fmt", ["FRACTAL_ZZ", "C1HWNCoC0"])
def test_square_blocks_are_square(fmt: str) -> None:
    with pytest.raises(ValueError, match=r"`x` must have 16 as axis -2"):
        xa.trans_data(np.zeros((2, 2, 2, 2, 8, 16), HALF), fmt, "ND" if fmt == "FRACTAL_ZZ" else "NCHW")


def test_atb_form_is_not_taken_for_nz() -> None:
    with pytest.raises(ValueError, match=r"`x` must have 16 as axis -2"):
        xa.nz_to_nd(np.zeros((1, 2, 32, 16), HALF), (20, 28))


@pytest.mark.parametrize("c", [5, 16])
def test_fractal_z_c04_holds_four_channels(c: int) -> None:
    with pytest.raises(ValueError, match=rf"`x` must have at most 4 channels for FRACTAL_Z_C04, got C = {c}"):
        xa.trans_data(np.zeros((2, c, 3, 3), HALF), "NCHW", "FRACTAL_Z_C04")

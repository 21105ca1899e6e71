"""strict=True: sizes that are whole blocks pass, all others are refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from libraries import counting

import xascend as xa

HALF = np.float16


@pytest.mark.parametrize(
    ("src", "dst", "shape", "text"),
    [
        ("ND", "NZ", (16, 173), "n = 173 is not a multiple of 16"),
        ("ND", "NZ", (96, 173), "n = 173 is not a multiple of 16"),
        ("ND", "NZ", (15, 32), "m = 15 is not a multiple of 16"),
        ("ND", "ZZ", (17, 16), "m = 17 is not a multiple of 16"),
        ("NCHW", "5HD", (1, 22, 3, 3), "C = 22 is not a multiple of 16"),
        ("HWCN", "FRACTAL_Z", (3, 3, 16, 15), "N = 15 is not a multiple of 16"),
        ("NCHW", "FRACTAL_Z_C04", (16, 3, 2, 2), "C = 3 is not"),
        ("NCDHW", "NDC1HWC0", (1, 1, 2, 2, 2), "C = 1 is not a multiple of 16"),
    ],
)
def test_unaligned_sizes_name_the_axis(src: str, dst: str, shape: tuple, text: str) -> None:
    with pytest.raises(ValueError, match=rf"`strict`.*{text}"):
        xa.trans_data(np.zeros(shape, HALF), src, dst, strict=True)


@pytest.mark.parametrize(
    ("src", "dst", "shape"),
    [
        ("ND", "NZ", (2, 32, 48)),
        ("NCHW", "5HD", (1, 32, 3, 3)),
        ("HWCN", "FRACTAL_Z", (3, 3, 16, 32)),
        ("NCHW", "FRACTAL_Z_C04", (16, 4, 2, 2)),
        ("NCHW", "NHWC", (1, 2, 3, 5)),
    ],
)
def test_aligned_sizes_pass(src: str, dst: str, shape: tuple) -> None:
    x = counting(shape, "int16")
    strict = xa.trans_data(x, src, dst, strict=True)
    assert np.array_equal(strict, xa.trans_data(x, src, dst))


def test_blocked_to_blocked() -> None:
    stored = np.zeros((1, 2, 4, 4, 16), HALF)
    assert xa.trans_data(stored, "5HD", "5HD", c0=32, strict=True).shape == (1, 1, 4, 4, 32)
    with pytest.raises(ValueError, match=r"`strict`.*C = 22"):
        xa.trans_data(stored, "5HD", "5HD", shape=(1, 22, 4, 4), c0=32, strict=True)

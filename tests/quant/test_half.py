"""Rounding to float16 in integer steps, against NumPy's own cast."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from libraries import random_bits

from xascend.quant._half import round_to_half


def rounded(x: np.ndarray) -> np.ndarray:
    out = np.full(x.shape, 0xABCD, np.uint16).view(np.float16)
    before = x.tobytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        round_to_half(x, out, np.empty(x.shape, np.uint32), np.empty(x.shape, np.uint32))
    assert x.tobytes() == before
    return out


def cast(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return x.astype(np.float16)


def test_every_half_and_the_numbers_around_the_middle_to_the_next() -> None:
    """Bits count up from 0 to infinity; float32 numbers beside and at each middle, of both signs."""
    halves = np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float32)
    halves[-1] = 65536.0
    middles = (halves[:-1] + halves[1:]) / 2  # exact
    bits = np.concatenate([halves, middles]).view(np.int32)
    near = np.unique(np.maximum(np.add.outer([-2, -1, 0, 1, 2], bits), 0))
    x = near.astype(np.int32).view(np.float32)
    for signed in (x, -x):
        assert rounded(signed).tobytes() == cast(signed).tobytes()


def test_any_bits() -> None:
    x = random_bits((300, 1001), "float32")
    x = np.where(np.isnan(x), np.float32(1), x)
    assert rounded(x).tobytes() == cast(x).tobytes()


@pytest.mark.parametrize("value", [0.0, np.inf, np.finfo(np.float32).max, np.finfo(np.float32).tiny, 1e-45, 65520.0])
def test_ends(value: float) -> None:
    x = np.array([value, -value], np.float32)
    assert rounded(x).tobytes() == cast(x).tobytes()


def test_strided_arrays() -> None:
    x = random_bits((40, 60), "int16").astype(np.float32).T[::2, ::-1]
    out = np.zeros((40, 60), np.float16).T[::2, ::-1]
    round_to_half(x, out, np.empty(x.shape, np.uint32), np.empty(x.shape, np.uint32))
    assert np.array_equal(out, cast(x))

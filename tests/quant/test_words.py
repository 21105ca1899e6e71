"""The 64-bit parameter word: the documents' bit table, vectors, and every refusal."""

from __future__ import annotations

import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libraries import Library

from xascend.quant import QuantParam, pack_quant_param, unpack_quant_param

VECTORS = [
    (1.0, 0, False, 1065353216),
    (2.0, 0, False, 1073741824),
    (2.0, 0, True, 70369817919488),
    (0.5, 3, True, 70782118002688),
    (0.5, -1, True, 140601106366464),
    (1.0, -256, True, 105554181619712),
    (1.0, 255, False, 35047998488576),
    (0.1, 0, True, 0x400000000000 | 0x3DCCC000),
    (-1.0, 0, True, 0x4000BF800000),
    (-0.0, 0, False, 0x80000000),
    (0.0, 0, False, 0),
]


@pytest.mark.parametrize(("scale", "offset", "signed", "word"), VECTORS)
def test_vectors(scale: float, offset: int, signed: bool, word: int) -> None:
    packed = pack_quant_param(scale, offset, signed)
    assert type(packed) is int
    assert packed == word
    read = unpack_quant_param(word)
    assert read == QuantParam(0.0999755859375 if scale == 0.1 else scale, offset, signed, None)
    assert struct.pack("<f", read.scale) == struct.pack("<I", word & 0xFFFFFFFF)


def test_arrays_on_every_library(xp: Library) -> None:
    rows = [row for row in VECTORS if row[2]]
    scales = xp.asarray(np.array([row[0] for row in rows], np.float32))
    offsets = xp.asarray(np.array([row[1] for row in rows], np.int32))
    words = pack_quant_param(scales, offsets)
    assert xp.to_numpy(words).dtype == np.uint64
    assert xp.to_numpy(words).tolist() == [row[3] for row in rows]
    read = unpack_quant_param(words)
    assert xp.to_numpy(read.scale).view(np.uint32).tolist() == [row[3] & 0xFFFFFFFF for row in rows]
    assert xp.to_numpy(read.offset).tolist() == [row[1] for row in rows]
    assert xp.to_numpy(read.signed).tolist() == [True] * len(rows)
    assert xp.to_numpy(read.shift).tolist() == [0] * len(rows)
    for name, dtype in (("scale", "float32"), ("offset", "int32"), ("signed", "bool"), ("shift", "int32")):
        assert xp.to_numpy(getattr(read, name)).dtype == dtype


def test_one_array_with_a_number() -> None:
    assert pack_quant_param(np.array([0.5, 2.0]), 3, signed=False).tolist() == [
        pack_quant_param(0.5, 3, signed=False),
        pack_quant_param(2.0, 3, signed=False),
    ]
    assert pack_quant_param(0.5, np.array([[3], [-1]], np.int8)).tolist() == [[70782118002688], [140601106366464]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
def test_scales_of_every_floating_type(dtype: Any) -> None:
    assert pack_quant_param(np.array([0.5, -1.0]).astype(dtype)).tolist() == [0x40003F000000, 0x4000BF800000]


@pytest.mark.parametrize(
    ("bits", "truncated", "nearest"),
    [
        (0x3DCCCCCD, 0x3DCCC000, 0x3DCCC000),
        (0x3F801000, 0x3F800000, 0x3F800000),  # half: to even, down
        (0x3F803000, 0x3F802000, 0x3F804000),  # half: to even, up
        (0x3F801001, 0x3F800000, 0x3F802000),
        (0x3F800FFF, 0x3F800000, 0x3F800000),
        (0x3FFFFFFF, 0x3FFFE000, 0x40000000),  # the carry reaches the exponent
        (0xBF803000, 0xBF802000, 0xBF804000),
    ],
)
def test_rounding_to_19_bits(bits: int, truncated: int, nearest: int) -> None:
    scale = np.array([bits], np.uint32).view(np.float32)
    assert pack_quant_param(float(scale[0]), signed=False) == truncated
    assert pack_quant_param(float(scale[0]), signed=False, rounding="nearest") == nearest
    assert pack_quant_param(scale, signed=False, rounding="nearest")[0] == nearest


@pytest.mark.parametrize("shift", range(1, 17))
def test_shift(shift: int) -> None:
    word = pack_quant_param(1.0, -3, False, shift=shift)
    assert word >> 32 & 0x1F == 0b10000 | (shift - 1)
    assert unpack_quant_param(word) == QuantParam(1.0, -3, False, shift)
    assert unpack_quant_param(np.array([word, 0], np.uint64)).shift.tolist() == [shift, 0]
    assert pack_quant_param(np.array([1.0]), -3, False, shift=np.int64(shift))[0] == word


@given(st.integers(0, (1 << 64) - 1))
def test_every_word_can_be_read(word: int) -> None:
    read = unpack_quant_param(word)
    assert struct.pack("<f", read.scale) == struct.pack("<I", word & 0xFFFFE000) or read.scale != read.scale
    assert -256 <= read.offset <= 255
    assert read.offset % 512 == word >> 37 & 511
    assert read.signed == bool(word >> 46 & 1)
    assert (read.shift or 0) == ((word >> 32 & 15) + 1 if word >> 36 & 1 else 0)
    array = unpack_quant_param(np.array([word], np.uint64))
    assert array.scale.view(np.uint32)[0] == word & 0xFFFFE000
    assert (array.offset[0], array.signed[0], array.shift[0]) == (read.offset, read.signed, read.shift or 0)


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False),
    st.integers(-256, 255),
    st.booleans(),
    st.none() | st.integers(1, 16),
)
def test_what_is_packed_is_read_back(scale: float, offset: int, signed: bool, shift: int | None) -> None:
    read = unpack_quant_param(pack_quant_param(scale, offset, signed, shift=shift))
    assert (read.offset, read.signed, read.shift) == (offset, signed, shift)
    assert abs(read.scale) <= abs(scale) < abs(read.scale) * (1 + 2.0**-10) or scale == read.scale == 0


def test_arguments_stay_as_they_are() -> None:
    scales, offsets = np.array([0.1, 0.2], np.float32), np.array([3, -4], np.int32)
    before = scales.tobytes(), offsets.tobytes()
    unpack_quant_param(pack_quant_param(scales, offsets, rounding="nearest"))
    assert before == (scales.tobytes(), offsets.tobytes())


UNUSABLE = [float("nan"), float("inf"), float("-inf"), 1e-40, -1e-45, 1e-60, 1e39]


@pytest.mark.parametrize("scale", UNUSABLE)
def test_unusable_scales(scale: float) -> None:
    for value in (scale, np.array([1.0, scale])):
        with pytest.raises(ValueError, match="`scale` must be 0 or a number whose float32 is normal and finite"):
            pack_quant_param(value)


@pytest.mark.parametrize("scale", [10**400, -(10**400)], ids=["large", "small"])
def test_scales_beyond_all_floats(scale: int) -> None:
    with pytest.raises(ValueError, match=r"`scale` must be 0 or a number whose float32 is normal .* got -?1000"):
        pack_quant_param(scale)


def test_rounding_into_infinity() -> None:
    assert pack_quant_param(3.4028234e38, signed=False) == 0x7F7FE000
    with pytest.raises(ValueError, match="normal and finite, also in 19 bits"):
        pack_quant_param(3.4028234e38, rounding="nearest")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "match"),
    [
        ((1.0, 256), {}, ValueError, r"`offset` must lie in \[-256, 255\], got 256"),
        ((1.0, -257), {}, ValueError, r"`offset` must lie in \[-256, 255\], got -257"),
        ((1.0, np.array([0, 256])), {}, ValueError, r"`offset` must lie in \[-256, 255\], got 256"),
        ((1.0, np.array([0, -257], np.int16)), {}, ValueError, r"got -257"),
        ((1.0, np.array([1, (1 << 63) + 5], np.uint64)), {}, ValueError, "255], got 9223372036854775813"),
        ((1.0, 10**400), {}, ValueError, r"`offset` must lie in \[-256, 255\], got 1000"),
        ((np.ones(2), np.zeros(3, int)), {}, ValueError, r"`offset` \(3,\) must broadcast with `scale` \(2,\)"),
        ((np.ones((2, 1)), np.zeros((3, 2), int)), {}, ValueError, r"`offset` \(3, 2\) must broadcast with"),
        ((1.0, 1.0), {}, TypeError, r"`offset` must be an int in \[-256, 255\] or an array of integers, got 1.0"),
        ((1.0, True), {}, TypeError, "`offset` must be an int"),
        ((1.0, np.array([1.0])), {}, TypeError, "`offset` must be an int .*, got an array of float64"),
        ((True,), {}, TypeError, "`scale` must be a number or an array .*, got True"),
        (("1",), {}, TypeError, "`scale` must be a number or an array of floating-point numbers, got '1'"),
        (([1.0],), {}, TypeError, r"`scale` must be a number or an array of floating-point numbers, got \[1.0\]"),
        ((None,), {}, TypeError, "`scale` must be a number or an array of floating-point numbers, got None"),
        ((1.0, "1"), {}, TypeError, r"`offset` must be an int in \[-256, 255\] or an array of integers, got '1'"),
        ((1.0, None), {}, TypeError, r"`offset` must be an int in \[-256, 255\] or an array of integers, got None"),
        ((np.ones(2), [1, 2]), {}, TypeError, r"`offset` must be an int in .* or an array of integers, got \[1, 2\]"),
        ((np.array([1]),), {}, TypeError, r"numbers \(float16, bfloat16, float32, float64\), got an array of int64"),
        ((1.0, 0, 1), {}, TypeError, "`signed` must be a bool, got 1"),
        ((1.0,), {"rounding": "even"}, ValueError, "`rounding` must be 'truncate' or 'nearest', got 'even'"),
        ((1.0,), {"rounding": np.ones(2)}, ValueError, r"`rounding` must be 'truncate' or 'nearest', got array\("),
        ((1.0,), {"shift": 0}, ValueError, r"`shift` must lie in \[1, 16\], got 0"),
        ((1.0,), {"shift": 17}, ValueError, r"`shift` must lie in \[1, 16\], got 17"),
        ((1.0,), {"shift": True}, TypeError, r"`shift` must be None or an int in \[1, 16\], got True"),
    ],
)  # fmt: skip
def test_refusals(arguments: Any, options: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        pack_quant_param(*arguments, **options)


@pytest.mark.parametrize(
    ("word", "error", "match"),
    [
        (-1, ValueError, r"`word` must lie in \[0, 2\*\*64\), got -1"),
        (1 << 64, ValueError, r"`word` must lie in \[0, 2\*\*64\)"),
        (True, TypeError, "`word` must be an int, a 64-bit quantisation word, got True"),
        (1.0, TypeError, r"`word` must be an int, a 64-bit quantisation word, or an array of uint64, got 1\.0"),
        (None, TypeError, "`word` must be an int, a 64-bit quantisation word, or an array of uint64, got None"),
        ("1", TypeError, "`word` must be an int, a 64-bit quantisation word, or an array of uint64, got '1'"),
        (np.array([1]), TypeError, "`word` must be an int, .*or an array of uint64, got an array of int64"),
    ],
)
def test_unreadable_words(word: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        unpack_quant_param(word)


def test_arrays_of_two_libraries() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match="`offset` is torch on cpu but `scale` is numpy on cpu"):
        pack_quant_param(np.array([1.0]), torch.tensor([1]))
    with pytest.raises(ValueError, match="`scale` is on the device meta and has no data"):
        pack_quant_param(torch.zeros(3, device="meta"))

"""`brcb`: the document's examples, the oracle, and every refusal."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ascendc import instruction_oracle as oracle
from ascendc.forms import WRITING, library
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import LIBRARIES, numpy_dtype, random_bits

from xascend import ascendc

DTYPES = (
    "int8",
    "bool",
    "float8_e5m2",
    "uint16",
    "float16",
    "bfloat16",
    "int32",
    "float32",
    "int64",
    "float64",
    "complex64",
)


def test_document_half_1_to_16_consecutive() -> None:
    src = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], np.float16)
    dst = np.zeros(256, np.float16)
    assert ascendc.brcb(dst, src, 2, ascendc.BrcbRepeatParams(1, 8)) is dst
    assert dst[:32].tolist() == [1] * 16 + [2] * 16
    assert dst[224:].tolist() == [15] * 16 + [16] * 16
    assert dst.reshape(16, 16).tolist() == [[value] * 16 for value in range(1, 17)]


def test_document_half_with_a_gap_after_each_block() -> None:
    src = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], np.float16)
    dst = np.full(31 * 16, -1, np.float16)
    ascendc.brcb(dst, src, 2, ascendc.BrcbRepeatParams(2, 16))
    blocks = dst.reshape(31, 16).tolist()
    assert blocks[0::2] == [[value] * 16 for value in range(1, 17)]
    assert blocks[1::2] == [[-1] * 16] * 15


@pytest.mark.parametrize(("dtype", "copies"), [("float16", 16), ("float32", 8), ("int8", 32), ("int64", 4)])
def test_copies_fill_a_data_block(dtype: str, copies: int) -> None:
    src, dst = np.arange(8).astype(dtype), np.zeros(8 * copies, dtype)
    ascendc.brcb(dst, src, 1)
    assert dst.tolist() == [value for value in range(8) for _ in range(copies)]


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_strides(name: str, dtype: str) -> None:
    lib = library(name, dtype)
    itemsize = numpy_dtype(dtype).itemsize

    @settings(max_examples=15)
    @given(
        repeats=st.sampled_from((1, 2, 3, 9)),
        block_stride=st.integers(1, 5),
        repeat_stride=st.integers(0, 20),
        spare=st.integers(0, 3),
        seed=st.integers(0, 99),
    )
    def check(repeats: int, block_stride: int, repeat_stride: int, spare: int, seed: int) -> None:
        blocks = (repeats - 1) * repeat_stride + 7 * block_stride + 1 + spare
        before = random_bits((blocks * 32 // itemsize,), dtype, seed)
        src = random_bits((8 * repeats + spare,), dtype, seed + 1)
        expected = bytearray(before.tobytes())
        oracle.brcb(expected, src.tobytes(), itemsize, repeats, block_stride, repeat_stride)
        dst = lib.asarray(before.copy())
        result = ascendc.brcb(dst, lib.asarray(src), repeats, ascendc.BrcbRepeatParams(block_stride, repeat_stride))
        assert result is dst
        assert lib.to_numpy(dst).tobytes() == bytes(expected)

    check()


def test_255_repeats_and_numpy_integers() -> None:
    src, dst = np.arange(255 * 8, dtype=np.int16), np.zeros(255 * 8 * 16 + 5, np.int16)
    ascendc.brcb(dst, src, np.uint8(255), ascendc.BrcbRepeatParams(np.uint8(1), np.uint8(8)))
    assert (dst[:-5].reshape(-1, 16) == src[:, np.newaxis]).all()
    assert not dst[-5:].any()


def test_repeat_stride_0_keeps_the_last_repeat() -> None:
    src, dst = np.arange(24, dtype=np.int32), np.full(64, -1, np.int32)
    ascendc.brcb(dst, src, 3, ascendc.BrcbRepeatParams(1, 0))
    assert dst.reshape(8, 8).tolist() == [[value] * 8 for value in range(16, 24)]


def test_block_stride_0_counts_as_1() -> None:
    src, dst = np.arange(16, dtype=np.int32), np.zeros(128, np.int32)
    zero = ascendc.BrcbRepeatParams(0, 8)
    with pytest.warns(UserWarning, match="`dst_blk_stride` is 0, .* may be undefined behaviour; it counts as 1"):
        ascendc.brcb(dst, src, 2, zero)
    assert dst.reshape(16, 8).tolist() == [[value] * 8 for value in range(16)]
    assert zero.dst_blk_stride == 0


def test_no_repeat_does_nothing_and_says_so() -> None:
    dst = np.full(4, 7, np.int16)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert ascendc.brcb(dst, None, 0, ascendc.BrcbRepeatParams(0, 0)) is dst
    assert [str(warning.message) for warning in caught] == ["`repeat_times` is 0: nothing is written"]
    assert dst.tolist() == [7] * 4


def test_source_and_destination_in_one_buffer() -> None:
    ub = np.zeros(10 * 16, np.int16)
    ub[:8] = range(1, 9)
    ascendc.brcb(ub[32:], ub, 1)
    assert ub[32:].reshape(8, 16).tolist() == [[value] * 16 for value in range(1, 9)]
    ub[:8] = range(11, 19)
    ascendc.brcb(ub[16:], ub[:8], 1)
    assert ub[16:32].tolist() == [11] * 16


def test_source_in_a_gap_of_the_destination() -> None:
    ub = np.zeros(16 * 16, np.int16)
    ub[16:24] = range(1, 9)
    ascendc.brcb(ub, ub[16:24], 1, ascendc.BrcbRepeatParams(2, 16))
    assert ub.reshape(16, 16)[0::2].tolist() == [[value] * 16 for value in range(1, 9)]
    assert ub[16:24].tolist() == list(range(1, 9))


@pytest.mark.parametrize(("src_block", "elements"), [(0, 8), (7, 8), (5, 16), (-1, 24)])
def test_source_in_the_filled_blocks(src_block: int, elements: int) -> None:
    ub = np.arange(16 * 60, dtype=np.int32)
    dst, src = ub[160:], ub[160 + 8 * src_block :][:elements]
    before = ub.tobytes()
    with pytest.raises(ValueError, match=r"`src` must not lie in the blocks that are filled, but block \d"):
        ascendc.brcb(dst, src, elements // 8, ascendc.BrcbRepeatParams(1, 8))
    assert ub.tobytes() == before


def test_source_of_half_a_block_in_a_filled_block() -> None:
    ub = np.arange(16 * 8, dtype=np.int16)
    with pytest.raises(ValueError, match="block 3 of `dst` holds it"):
        ascendc.brcb(ub, ub[48:56], 1)
    assert ub.tolist() == list(range(128))


def test_foreign_buffers_that_cross() -> None:
    raw = bytearray(1024)
    for src, offset in ((np.frombuffer(raw, np.int32, 64), 8), (np.frombuffer(raw, np.int32, 16), 32)):
        dst = np.frombuffer(raw, np.int32, 128, offset)
        with pytest.raises(ValueError, match="share memory without a common owner"):
            ascendc.brcb(dst, src, 1)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((-1, 8), ValueError, r"`dst_blk_stride` must lie in \[0, 65535\], got -1"),
        ((1, 65536), ValueError, r"`dst_rep_stride` must lie in \[0, 65535\], got 65536"),
        ((1.0, 8), TypeError, "`dst_blk_stride` must be an int"),
        ((1, False), TypeError, "`dst_rep_stride` must be an int"),
    ],
)
def test_parameter_ranges(arguments: tuple[Any, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.BrcbRepeatParams(*arguments)


GOOD = np.zeros(128, np.int16)
SRC = np.ones(8, np.int16)


@pytest.mark.parametrize(
    ("dst", "src", "repeats", "error", "match"),
    [
        (GOOD, SRC, 256, ValueError, r"`repeat_times` must lie in \[0, 255\], got 256"),
        (GOOD, SRC, -1, ValueError, r"`repeat_times` must lie in \[0, 255\], got -1"),
        (GOOD, SRC, 1.0, TypeError, r"`repeat_times` must be an int in \[0, 255\], got 1.0"),
        (GOOD, SRC, True, TypeError, "`repeat_times` must be an int"),
        (GOOD, SRC[:7], 1, ValueError, r"`src` must have at least 8 \* repeat_times = 8 elements, got 7"),
        (GOOD, SRC, 2, ValueError, r"at least 8 \* repeat_times = 16 elements, got 8"),
        (GOOD[:127], SRC, 1, ValueError, "`dst` must reach to the last block, 256 bytes, got 254"),
        (np.zeros(256, np.int16)[1:], SRC, 1, ValueError, "`dst` must start at a multiple of 32 bytes, got byte 2 "),
        (GOOD, np.ones(32, np.int16)[8:], 1, ValueError, "`src` must start at a multiple of 32 bytes, got byte 16 "),
        (np.zeros(256, np.int16)[::2], SRC, 1, ValueError, "`dst` must be contiguous"),
        (GOOD, np.ones((2, 8), np.int16), 1, ValueError, "`src` must be 1-D"),
        (GOOD, np.float16(3), 1, ValueError, "`src` must be 1-D"),
        (np.array(3, np.int16), SRC, 1, ValueError, "`dst` must be 1-D"),
        ([0] * 128, SRC, 1, TypeError, "`dst` must be an array .*got list"),
        (GOOD, SRC.astype(np.uint16), 1, TypeError, "`src` has dtype uint16 but `dst` has int16"),
        (np.zeros(128, np.complex128), np.ones(8, np.complex128), 1, TypeError, "8, 16, 32 or 64 bits, got complex128"),
        (np.zeros(256, ml_dtypes.int4), np.ones(8, ml_dtypes.int4), 1, TypeError, "8, 16, 32 or 64 bits, got int4"),
        (np.zeros(256, object), np.ones(8, object), 1, TypeError, "`dst` has dtype object, which is not supported"),
    ],
)  # fmt: skip
def test_refusals(dst: Any, src: Any, repeats: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.brcb(dst, src, repeats)
    assert not GOOD.any()


def test_other_refusals() -> None:
    frozen = np.zeros(128, np.int16)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="`dst` is read-only"):
        ascendc.brcb(frozen, SRC, 1)
    with pytest.raises(TypeError, match="`params` must be a BrcbRepeatParams, got tuple"):
        ascendc.brcb(GOOD, SRC, 1, (1, 8))
    with pytest.raises(TypeError, match="`src` is torch on cpu but `dst` is numpy on cpu"):
        ascendc.brcb(GOOD, library("torch", "int16").asarray(SRC), 1)
    strict = LIBRARIES["array_api_strict"]().asarray(GOOD)
    with pytest.raises(TypeError, match=r"`dst` is a array_api_strict.*: instructions write in place"):
        ascendc.brcb(strict, strict, 1)


def test_products() -> None:
    product = ascendc.Product
    with pytest.raises(TypeError, match=r"brcb does not support int16 on KIRIN_X90 .* which has uint16, float16"):
        ascendc.brcb(GOOD, SRC, 1, product=product.KIRIN_X90)
    with pytest.raises(TypeError, match=r"brcb does not support int16 on ATLAS_200I_500_A2 .* no type at all"):
        ascendc.brcb(GOOD, SRC, 1, product=product.ATLAS_200I_500_A2)
    dst = np.zeros(128, np.int16)
    assert ascendc.brcb(dst, SRC, 1, product=product.ATLAS_A3) is dst
    assert dst.all()

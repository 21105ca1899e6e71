"""`load_data_with_transpose`: the document's figures, the oracle, and every refusal."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from ascendc import cube_oracle as oracle
from ascendc.forms import WRITING, library
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import FOUR_BIT, LIBRARIES, numpy_dtype, random_bits

from xascend import ascendc
from xascend.ascendc import LoadData2dTransposeParams

DTYPES = ("int4", "uint4", "int8", "float8_e5m2", "uint16", "float16", "bfloat16", "uint32", "float32")


def test_16_bits_one_fractal() -> None:
    src, dst = np.arange(512, dtype=np.int16), np.full(768, -1, np.int16)
    params = LoadData2dTransposeParams(repeat_times=2, src_stride=1, dst_gap=1, dst_frac_gap=7)  # 7 without effect
    assert ascendc.load_data_with_transpose(dst, src, params) is dst
    blocks = dst.reshape(3, 16, 16)
    assert blocks[0].tolist() == [[16 * j + i for j in range(16)] for i in range(16)]
    assert blocks[2].tolist() == [[256 + 16 * j + i for j in range(16)] for i in range(16)]
    assert (blocks[1] == -1).all()


def test_document_three_8_bit_squares_first_fractals_a_fractal_apart() -> None:
    """dst_gap 1, dst_frac_gap 0: the two fractals of a square follow each other."""
    src = (np.arange(3072) % 251).astype(np.uint8)
    dst = np.zeros(3072, np.uint8)
    ascendc.load_data_with_transpose(dst, src, LoadData2dTransposeParams(0, 3, 1, 1, 0))
    assert dst.reshape(3, 32, 32).tolist() == src.reshape(3, 32, 32).transpose(0, 2, 1).tolist()


def test_document_three_8_bit_squares_second_fractals_behind_all_first_ones() -> None:
    """dst_gap 0, dst_frac_gap 2: three first fractals, then three second ones."""
    src = (np.arange(3072) % 251).astype(np.uint8)
    dst = np.zeros(3072, np.uint8)
    ascendc.load_data_with_transpose(dst, src, LoadData2dTransposeParams(0, 3, 1, 0, 2))
    turned = src.reshape(3, 32, 32).transpose(0, 2, 1)
    assert dst[:1536].tolist() == turned[:, :16].reshape(-1).tolist()
    assert dst[1536:].tolist() == turned[:, 16:].reshape(-1).tolist()


@pytest.mark.parametrize(("gap", "frac_gap"), [(1, 0), (0, 2)])
def test_document_three_32_bit_squares(gap: int, frac_gap: int) -> None:
    squares = np.arange(768, dtype=np.float32).reshape(3, 16, 16)
    src = np.concatenate([half.reshape(-1) for square in squares for half in (square[:, :8], square[:, 8:])])
    dst = np.zeros(768, np.float32)
    ascendc.load_data_with_transpose(dst, src, LoadData2dTransposeParams(0, 3, 1, gap, frac_gap))
    fractals = dst.reshape(6, 16, 8)
    for number, square in enumerate(squares):
        left, right = (2 * number, 2 * number + 1) if gap else (number, 3 + number)
        assert np.concatenate([fractals[left], fractals[right]], axis=1).tolist() == square.T.tolist()


def test_document_skips_squares_and_fractals() -> None:
    """src_stride 2, dst_gap 2, dst_frac_gap 1, from the first and the third of three 8-bit squares."""
    src = np.repeat(np.arange(3), 1024).astype(np.int8)
    dst = np.full(6 * 512, -1, np.int8)
    ascendc.load_data_with_transpose(dst, src, LoadData2dTransposeParams(0, 2, 2, 2, 1))
    assert dst.reshape(6, 512)[:, 0].tolist() == [0, -1, 0, 2, -1, 2]


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_parameters(name: str, dtype: str) -> None:
    lib = library(name, dtype)
    k0 = 64 if dtype in FOUR_BIT else 32 // numpy_dtype(dtype).itemsize
    square = max(16, k0) ** 2
    in_a_square = square // (16 * k0)

    @settings(max_examples=15)
    @given(
        start=st.integers(0, 2),
        repeats=st.integers(1, 4),
        stride=st.integers(0, 2),
        gaps=st.tuples(st.integers(0, 3), st.integers(0, 3)),
        addr_mode=st.sampled_from((0, 1)),
        spare=st.integers(0, 3),
        seed=st.integers(0, 99),
    )
    def check(
        start: int, repeats: int, stride: int, gaps: tuple[int, int], addr_mode: int, spare: int, seed: int
    ) -> None:
        way = (repeats - 1) * stride
        start += way if addr_mode else 0
        params = LoadData2dTransposeParams(start, repeats, stride, *gaps, addr_mode)
        read = square * (start + 1 + (0 if addr_mode else way))
        written = 16 * k0 * ((repeats - 1) * (gaps[0] + 1) + (in_a_square - 1) * (gaps[1] + 1) + 1)
        src, dst = random_bits((read + spare,), dtype, seed), random_bits((written + spare,), dtype, seed + 1)
        wanted = bits(dst)
        oracle.load_data_with_transpose(wanted, bits(src), k0, start, repeats, stride, *gaps, addr_mode)
        target = lib.asarray(dst)
        assert ascendc.load_data_with_transpose(target, lib.asarray(src), params) is target
        assert bits(lib.to_numpy(target)) == wanted
        for short_src, short_dst, which in ((read - 1, written, "src"), (read, written - 1, "dst")):
            target = lib.asarray(dst[:short_dst])
            with pytest.raises(ValueError, match=f"`{which}` must have at least"):
                ascendc.load_data_with_transpose(target, lib.asarray(src[:short_src]), params)
            assert bits(lib.to_numpy(target)) == bits(dst[:short_dst])

    check()


def bits(x: np.ndarray) -> list[int]:
    return x.view(f"u{x.dtype.itemsize}").tolist()


def test_nothing_to_move() -> None:
    dst = np.ones(8)
    with pytest.warns(UserWarning, match="`repeat_times` is 0: nothing is moved"):
        assert ascendc.load_data_with_transpose(dst, None, LoadData2dTransposeParams()) is dst
    assert dst.all()


LIMITS = {"start_index": 65535, "repeat_times": 255, "src_stride": 65535, "dst_gap": 65535, "dst_frac_gap": 65535}


def test_fields_are_the_vendors() -> None:
    names = [field.name for field in dataclasses.fields(LoadData2dTransposeParams)]
    assert names == [*LIMITS, "addr_mode"]
    assert dataclasses.astuple(LoadData2dTransposeParams()) == (0,) * 6


@pytest.mark.parametrize("name", LIMITS)
def test_parameter_ranges(name: str) -> None:
    high = LIMITS[name]
    for value in (0, high):
        assert getattr(LoadData2dTransposeParams(**{name: value}), name) == value
    for value in (-1, high + 1):
        with pytest.raises(ValueError, match=rf"`{name}` must lie in \[0, {high}\], got {value}"):
            LoadData2dTransposeParams(**{name: value})
    for wrong in (1.0, True, "1"):
        with pytest.raises(TypeError, match=f"`{name}` must be an int"):
            LoadData2dTransposeParams(**{name: wrong})


def test_addr_mode_is_0_or_1() -> None:
    with pytest.raises(ValueError, match=r"`addr_mode` must be 0 \(upwards\) or 1 \(downwards\), got 2"):
        LoadData2dTransposeParams(addr_mode=2)
    with pytest.raises(TypeError, match=r"`addr_mode` must be 0 .* got None"):
        LoadData2dTransposeParams(addr_mode=None)


GOOD = np.zeros(2048, np.int8)
SRC = np.ones(2048, np.int8)
TWO = LoadData2dTransposeParams(repeat_times=2, src_stride=1, dst_gap=1)
DOWN = LoadData2dTransposeParams(1, 3, 1, addr_mode=1)


@pytest.mark.parametrize(
    ("dst", "src", "params", "error", "match"),
    [
        (GOOD, SRC[:2047], TWO, ValueError, "`src` must have at least 2048 elements for these parameters, got 2047"),
        (GOOD[:2047], SRC, TWO, ValueError, "`dst` must have at least 2048 elements for these parameters, got 2047"),
        (np.zeros(2080, np.int8)[32:], SRC, TWO, ValueError, "`dst` must start at .* 512 bytes, got byte 32 "),
        (GOOD, np.ones(2064, np.int8)[16:], TWO, ValueError, "`src` must start at .* 32 bytes, got byte 16 "),
        (GOOD, SRC, DOWN, ValueError, "`start_index` must be at least .* = 2 with `addr_mode` 1, got 1"),
        (GOOD.reshape(2, 1024), SRC, TWO, ValueError, "`dst` must be 1-D"),
        (GOOD, np.ones(4096, np.int8)[::2], TWO, ValueError, "`src` must be contiguous"),
        (GOOD, [1] * 2048, TWO, TypeError, "`src` must be an array .*got list"),
        (GOOD, SRC.view(np.uint8), TWO, TypeError, "`src` has dtype uint8 but `dst` has int8"),
        (np.zeros(512), np.ones(512), TWO, TypeError, "moves elements of 4, 8, 16 or 32 bits, got float64"),
        (GOOD, SRC, ascendc.LoadData2dParams(), TypeError, "`params` must be a LoadData2dT"),
    ],
)  # fmt: skip
def test_refusals(dst: Any, src: Any, params: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.load_data_with_transpose(dst, src, params)
    assert not dst.any()


def test_other_refusals() -> None:
    frozen = GOOD.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="`dst` is read-only"):
        ascendc.load_data_with_transpose(frozen, SRC, TWO)
    memory = np.zeros(3072, np.int8)
    with pytest.raises(ValueError, match="`src` must not share memory with the part of `dst`"):
        ascendc.load_data_with_transpose(memory, memory[1024:], TWO)
    with pytest.raises(TypeError, match="`src` is torch on cpu but `dst` is numpy on cpu"):
        ascendc.load_data_with_transpose(GOOD, library("torch", "int8").asarray(SRC), TWO)
    strict = LIBRARIES["array_api_strict"]().asarray(np.ones(2048, np.int8))
    with pytest.raises(TypeError, match=r"`dst` is a array_api_strict.*: instructions write in place"):
        ascendc.load_data_with_transpose(strict, strict, TWO)

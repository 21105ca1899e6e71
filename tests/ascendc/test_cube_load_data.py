"""`load_data`: the document's figures, the oracle, and every refusal."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ascendc import cube_oracle as oracle
from ascendc.forms import WRITING, library
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import FOUR_BIT, LIBRARIES, numpy_dtype, random_bits

from xascend import ascendc
from xascend.ascendc import LoadData2dParams

DTYPES = ("int4", "int8", "bool", "float8_e4m3fn", "uint16", "float16", "bfloat16", "int32", "float32")


def numbered(fractals: int, dtype: str = "int32") -> np.ndarray:
    """Return fractals of 512 bytes, each filled with its number."""
    return np.repeat(np.arange(fractals), 512 // numpy_dtype(dtype).itemsize).astype(dtype)


@pytest.mark.parametrize(
    ("params", "order"),
    [
        (LoadData2dParams(repeat_times=4, src_stride=2, dst_gap=2), (0, 2, 4, 6)),
        (LoadData2dParams(start_index=1, repeat_times=4, src_stride=2, dst_gap=2), (1, 3, 5, 7)),
        (LoadData2dParams(start_index=6, repeat_times=4, src_stride=2, dst_gap=2, addr_mode=1), (6, 4, 2, 0)),
        (LoadData2dParams(start_index=3, repeat_times=4, src_stride=0, dst_gap=2), (3, 3, 3, 3)),
    ],
    ids=["skipping", "from the second", "downwards", "the same each time"],
)
def test_document_four_float_fractals_with_gaps_of_two(params: LoadData2dParams, order: tuple[int, ...]) -> None:
    dst = np.full(10 * 128, -1, np.float32)
    assert ascendc.load_data(dst, numbered(8, "float32"), params) is dst
    fractals = dst.reshape(10, 128)
    assert fractals[::3].tolist() == [[number] * 128 for number in order]
    assert (fractals[[1, 2, 4, 5, 7, 8]] == -1).all()


def test_document_two_half_fractals_transposed() -> None:
    src, dst = np.arange(768, dtype=np.float16), np.full(1024, -1, np.float16)
    ascendc.load_data(dst, src, LoadData2dParams(repeat_times=2, src_stride=2, dst_gap=2, if_transpose=True))
    blocks, wanted = dst.reshape(4, 16, 16), src.reshape(3, 16, 16)
    assert blocks[0].tolist() == wanted[0].T.tolist()
    assert blocks[3].tolist() == wanted[2].T.tolist()
    assert (blocks[1:3] == -1).all()


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_parameters(name: str, dtype: str) -> None:
    lib = library(name, dtype)
    itemsize = numpy_dtype(dtype).itemsize
    k0 = 64 if dtype in FOUR_BIT else 32 // itemsize

    @settings(max_examples=25)
    @given(
        start=st.integers(0, 4),
        repeats=st.integers(1, 5),
        stride=st.integers(0, 3),
        gap=st.integers(0, 3),
        turned=st.booleans() if itemsize == 2 else st.just(False),
        addr_mode=st.sampled_from((0, 1)),
        spare=st.integers(0, 3),
        seed=st.integers(0, 99),
    )
    def check(
        start: int, repeats: int, stride: int, gap: int, turned: bool, addr_mode: int, spare: int, seed: int
    ) -> None:
        way = (repeats - 1) * stride
        start += way if addr_mode else 0
        params = LoadData2dParams(start, repeats, stride, 0, gap, turned, addr_mode)
        read = 16 * k0 * (start + 1 + (0 if addr_mode else way))
        written = 16 * k0 * ((repeats - 1) * (gap + 1) + 1)
        src, dst = random_bits((read + spare,), dtype, seed), random_bits((written + spare,), dtype, seed + 1)
        wanted = bits(dst)
        oracle.load_data(wanted, bits(src), k0, start, repeats, stride, gap, turned, addr_mode)
        target = lib.asarray(dst)
        assert ascendc.load_data(target, lib.asarray(src), params) is target
        assert bits(lib.to_numpy(target)) == wanted
        for short_src, short_dst, which in ((read - 1, written, "src"), (read, written - 1, "dst")):
            target = lib.asarray(dst[:short_dst])
            with pytest.raises(ValueError, match=f"`{which}` must have at least"):
                ascendc.load_data(target, lib.asarray(src[:short_src]), params)
            assert bits(lib.to_numpy(target)) == bits(dst[:short_dst])

    check()


def bits(x: np.ndarray) -> list[int]:
    return x.view(f"u{x.dtype.itemsize}").tolist()


def test_packed_and_unpacked_4_bit_values_move_alike() -> None:
    values = random_bits((4096,), "uint4", 1)
    nibbles = values.view(np.uint8)
    packed = nibbles[::2] | nibbles[1::2] << 4
    params = LoadData2dParams(1, 2, 2, 0, 1)
    by_value = ascendc.load_data(np.zeros(3072, ml_dtypes.uint4), values, params).view(np.uint8)
    by_byte = ascendc.load_data(np.zeros(1536, np.uint8), packed, params)
    assert (by_value[::2] | by_value[1::2] << 4).tolist() == by_byte.tolist()


def test_nothing_to_move() -> None:
    dst = np.ones(8)
    with pytest.warns(UserWarning, match="`repeat_times` is 0: nothing is moved"):
        assert ascendc.load_data(dst, None, LoadData2dParams()) is dst
    assert dst.all()


LIMITS = {"start_index": 65535, "repeat_times": 255, "src_stride": 65535, "sid": 255, "dst_gap": 65535}


def test_fields_are_the_vendors() -> None:
    names = ["start_index", "repeat_times", "src_stride", "sid", "dst_gap", "if_transpose", "addr_mode"]
    assert [field.name for field in dataclasses.fields(LoadData2dParams)] == names
    assert dataclasses.astuple(LoadData2dParams()) == (0, 0, 0, 0, 0, False, 0)


@pytest.mark.parametrize("name", LIMITS)
def test_parameter_ranges(name: str) -> None:
    high = LIMITS[name]
    for value in (0, high):
        assert getattr(LoadData2dParams(**{name: value}), name) == value
    for value in (-1, high + 1):
        with pytest.raises(ValueError, match=rf"`{name}` must lie in \[0, {high}\], got {value}"):
            LoadData2dParams(**{name: value})
    for wrong in (1.0, True, "1"):
        with pytest.raises(TypeError, match=f"`{name}` must be an int"):
            LoadData2dParams(**{name: wrong})


@pytest.mark.parametrize(
    ("name", "value", "error", "match"),
    [
        ("addr_mode", 2, ValueError, r"`addr_mode` must be 0 \(upwards\) or 1 \(downwards\), got 2"),
        ("addr_mode", -1, ValueError, "`addr_mode` must be 0"),
        ("addr_mode", 1.0, TypeError, "`addr_mode` must be 0 .* got 1.0"),
        ("addr_mode", True, TypeError, "`addr_mode` must be 0 .* got True"),
        ("addr_mode", np.False_, TypeError, "`addr_mode` must be 0 .* got .*False"),
        ("if_transpose", 1, TypeError, "`if_transpose` must be a bool, got 1"),
    ],
)
def test_flags(name: str, value: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        LoadData2dParams(**{name: value})


GOOD = np.zeros(512, np.float16)
SRC = np.ones(512, np.float16)
TWO = LoadData2dParams(repeat_times=2, src_stride=1)


@pytest.mark.parametrize(
    ("dst", "src", "params", "error", "match"),
    [
        (GOOD, SRC[:511], TWO, ValueError, "`src` must have at least 512 elements for these parameters, got 511"),
        (GOOD[:511], SRC, TWO, ValueError, "`dst` must have at least 512 elements for these parameters, got 511"),
        (np.zeros(528, np.float16)[16:], SRC, TWO, ValueError, "`dst` must start at .* 512 bytes, got byte 32 "),
        (GOOD, np.ones(520, np.float16)[8:], TWO, ValueError, "`src` must start at .* 32 bytes, got byte 16 "),
        (GOOD, SRC, LoadData2dParams(1, 3, 1, addr_mode=1), ValueError, "`start_index` must be .* = 2 .* got 1"),
        (GOOD.reshape(2, 256), SRC, TWO, ValueError, "`dst` must be 1-D"),
        (GOOD, np.ones(1024, np.float16)[::2], TWO, ValueError, "`src` must be contiguous"),
        (GOOD, [1.0] * 512, TWO, TypeError, "`src` must be an array .*got list"),
        (GOOD, SRC.view(np.int16), TWO, TypeError, "`src` has dtype int16 but `dst` has float16"),
        (np.zeros(512), np.ones(512), TWO, TypeError, "moves elements of 4, 8, 16 or 32 bits, got float64"),
        (GOOD, SRC, LoadData2dParams, TypeError, "`params` must be a LoadData2dParams, got type"),
    ],
)  # fmt: skip
def test_refusals(dst: Any, src: Any, params: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.load_data(dst, src, params)
    assert not dst.any()


@pytest.mark.parametrize("dtype", ["int8", "float32", "int4"])
def test_transpose_is_for_16_bits(dtype: str) -> None:
    dst, src = np.zeros(1024, numpy_dtype(dtype)), np.ones(1024, numpy_dtype(dtype))
    with pytest.raises(TypeError, match=f"`if_transpose` is for 16-bit types only, the arrays are {dtype}"):
        ascendc.load_data(dst, src, LoadData2dParams(repeat_times=1, if_transpose=True))


def test_alignment_of_4_bit_values_counts_the_hardwares_bytes() -> None:
    dst, src = np.zeros(2048, ml_dtypes.int4), np.ones(2112, ml_dtypes.int4)
    ascendc.load_data(dst[1024:], src[64:], LoadData2dParams(repeat_times=1))
    with pytest.raises(ValueError, match="`dst` must start at a multiple of 512 bytes, got byte 256 "):
        ascendc.load_data(dst[512:], src, LoadData2dParams(repeat_times=1))
    with pytest.raises(ValueError, match=r"`src` must start at .* 32 bytes, got byte 16 "):
        ascendc.load_data(dst, src[32:], LoadData2dParams(repeat_times=1))
    with pytest.raises(ValueError, match="`src` must start at a multiple of 32 bytes, got byte 0 "):
        ascendc.load_data(dst, src[1:], LoadData2dParams(repeat_times=1))  # half a byte


def test_alignment_of_a_view_that_starts_inside_an_element() -> None:
    src = np.zeros(514, np.int8)[1:513].view(np.int16)
    with pytest.raises(ValueError, match="`src` must start at a multiple of 32 bytes, got byte 1 "):
        ascendc.load_data(np.zeros(256, np.int16), src, LoadData2dParams(repeat_times=1))


def test_shared_memory() -> None:
    memory = np.arange(1024, dtype=np.int16)
    one = LoadData2dParams(repeat_times=1)
    with pytest.raises(ValueError, match="`src` must not share memory with the part of `dst`"):
        ascendc.load_data(memory, memory[240:], one)
    assert memory.tolist() == list(range(1024))
    ascendc.load_data(memory, memory, LoadData2dParams(start_index=1, repeat_times=1))
    assert memory[:256].tolist() == list(range(256, 512))


def test_other_refusals() -> None:
    frozen = GOOD.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="`dst` is read-only"):
        ascendc.load_data(frozen, SRC, TWO)
    with pytest.raises(TypeError, match="`src` is torch on cpu but `dst` is numpy on cpu"):
        ascendc.load_data(GOOD, library("torch", "float16").asarray(SRC), TWO)
    strict = LIBRARIES["array_api_strict"]().asarray(np.ones(512, np.float32))
    with pytest.raises(TypeError, match=r"`dst` is a array_api_strict.*: instructions write in place"):
        ascendc.load_data(strict, strict, TWO)

"""`data_copy_nd2nz`: the document's two figures, the oracle, and every refusal."""

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
from libraries import LIBRARIES, numpy_dtype, random_bits

from xascend import ascendc
from xascend.ascendc import Nd2NzParams

DTYPES = ("int8", "bool", "float8_e5m2", "uint16", "float16", "bfloat16", "int32", "float32")
ONE = Nd2NzParams(1, 2, 20, 0, 20, 2, 1, 0)  # 2 x 20 half-precision elements: two column blocks


def test_document_consecutive_16_by_23() -> None:
    src = np.arange(1, 513, dtype=np.float16)
    dst = np.full(512, -1, np.float16)
    params = Nd2NzParams(
        nd_num=1,
        n_value=16,
        d_value=23,
        src_nd_matrix_stride=0,
        src_d_value=32,
        dst_nz_c0_stride=16,
        dst_nz_n_stride=1,
        dst_nz_matrix_stride=0,
    )
    assert ascendc.data_copy_nd2nz(dst, src, params) is dst
    for row in range(16):
        assert dst[16 * row : 16 * row + 16].tolist() == list(range(32 * row + 1, 32 * row + 17))
        assert dst[256 + 16 * row :][:16].tolist() == [*range(32 * row + 17, 32 * row + 24), *[0] * 9]


def test_document_two_matrices_of_8_by_23_with_gaps() -> None:
    src = np.arange(1, 1 + 384 + 12 * 32, dtype=np.int16)
    dst = np.full(320 + 37 * 16 + 15 * 16, -1, np.int16)
    ascendc.data_copy_nd2nz(dst, src, Nd2NzParams(2, 8, 23, 384, 32, 37, 2, 320))
    wanted = [-1] * dst.size
    for matrix in range(2):
        for row in range(8):
            begin, first = 320 * matrix + 32 * row, 1 + 384 * matrix + 32 * row
            wanted[begin : begin + 16] = range(first, first + 16)
            wanted[begin + 592 : begin + 608] = [*range(first + 16, first + 23), *[0] * 9]
    assert dst.tolist() == wanted


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_parameters(name: str, dtype: str) -> None:
    lib = library(name, dtype)
    itemsize = numpy_dtype(dtype).itemsize
    k0 = 32 // itemsize

    @settings(max_examples=40)
    @given(
        counts=st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 70)),
        src_strides=st.tuples(st.integers(0, 200), st.integers(1, 80)),
        dst_strides=st.tuples(st.integers(1, 8), st.integers(1, 4), st.integers(0, 300)),
        spare=st.integers(0, 3),
        seed=st.integers(0, 99),
    )
    def check(
        counts: tuple[int, int, int],
        src_strides: tuple[int, int],
        dst_strides: tuple[int, int, int],
        spare: int,
        seed: int,
    ) -> None:
        arguments = (*counts, *src_strides, *dst_strides)
        matrices, rows, columns = counts
        blocks = -(-columns // k0)
        read = (matrices - 1) * src_strides[0] + (rows - 1) * src_strides[1] + columns
        written = (matrices - 1) * dst_strides[2]
        written += k0 * ((blocks - 1) * dst_strides[0] + (rows - 1) * dst_strides[1] + 1)
        src, dst = random_bits((read + spare,), dtype, seed), random_bits((written + spare,), dtype, seed + 1)
        wanted = bits(dst)
        oracle.data_copy_nd2nz(wanted, bits(src), k0, *arguments)
        target = lib.asarray(dst)
        assert ascendc.data_copy_nd2nz(target, lib.asarray(src), Nd2NzParams(*arguments)) is target
        assert bits(lib.to_numpy(target)) == wanted
        for short_src, short_dst, which in ((read - 1, written, "src"), (read, written - 1, "dst")):
            if min(short_src, short_dst):
                before = random_bits((short_dst,), dtype, seed)
                target = lib.asarray(before)
                with pytest.raises(ValueError, match=f"`{which}` must have at least"):
                    ascendc.data_copy_nd2nz(target, lib.asarray(src[:short_src]), Nd2NzParams(*arguments))
                assert bits(lib.to_numpy(target)) == bits(before)

    check()


def bits(x: np.ndarray) -> list[int]:
    return x.view(f"u{x.dtype.itemsize}").tolist()


def test_matrices_at_stride_0_overwrite_the_first() -> None:
    src, dst = np.arange(48, dtype=np.int16), np.zeros(16, np.int16)
    ascendc.data_copy_nd2nz(dst, src, Nd2NzParams(3, 1, 16, 16, 16, 1, 1, 0))
    assert dst.tolist() == list(range(32, 48))


@pytest.mark.parametrize("name", ["nd_num", "n_value", "d_value"])
def test_nothing_to_copy(name: str) -> None:
    params = dataclasses.replace(ONE, **{name: 0})
    dst = np.ones(8)
    with pytest.warns(UserWarning, match=f"`{name}` is 0: nothing is copied"):
        assert ascendc.data_copy_nd2nz(dst, None, params) is dst
    assert dst.all()


def test_defaults_copy_nothing() -> None:
    with pytest.warns(UserWarning, match="`nd_num` is 0"):
        ascendc.data_copy_nd2nz(None, None, Nd2NzParams())


LIMITS = {
    "nd_num": (0, 4095),
    "n_value": (0, 16384),
    "d_value": (0, 65535),
    "src_nd_matrix_stride": (0, 65535),
    "src_d_value": (1, 65535),
    "dst_nz_c0_stride": (1, 16384),
    "dst_nz_n_stride": (1, 16384),
    "dst_nz_matrix_stride": (0, 65535),
}


def test_fields_are_the_vendors() -> None:
    assert [field.name for field in dataclasses.fields(Nd2NzParams)] == list(LIMITS)


@pytest.mark.parametrize("name", LIMITS)
def test_parameter_ranges(name: str) -> None:
    low, high = LIMITS[name]
    for value in (low, high):
        assert getattr(dataclasses.replace(ONE, **{name: value}), name) == value
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match=rf"`{name}` must lie in \[{low}, {high}\], got {value}"):
            dataclasses.replace(ONE, **{name: value})
    for value in (1.0, True, "1"):
        with pytest.raises(TypeError, match=f"`{name}` must be an int"):
            dataclasses.replace(ONE, **{name: value})


GOOD = np.zeros(64, np.float16)
SRC = np.ones(40, np.float16)


@pytest.mark.parametrize(
    ("dst", "src", "error", "match"),
    [
        (GOOD, SRC[:39], ValueError, "`src` must have at least 40 elements for these parameters, got 39"),
        (GOOD[:63], SRC, ValueError, "`dst` must have at least 64 elements for these parameters, got 63"),
        (np.zeros(80, np.float16)[8:], SRC, ValueError, "`dst` must start at a multiple of 32 bytes, got byte 16 "),
        (GOOD.reshape(2, 32), SRC, ValueError, "`dst` must be 1-D"),
        (GOOD, np.ones(80, np.float16)[::2], ValueError, "`src` must be contiguous"),
        (GOOD, [1.0] * 40, TypeError, "`src` must be an array .*got list"),
        (GOOD, SRC.view(np.int16), TypeError, "`src` has dtype int16 but `dst` has float16"),
        (GOOD.astype(np.int64), SRC.astype(np.int64), TypeError, "moves elements of 8, 16 or 32 bits, got int64"),
        (GOOD.astype(ml_dtypes.int4), SRC.astype(ml_dtypes.int4), TypeError, "8, 16 or 32 bits, got int4"),
    ],
)  # fmt: skip
def test_refusals(dst: Any, src: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.data_copy_nd2nz(dst, src, ONE)
    assert not np.asarray(dst).any()


def test_source_may_start_anywhere() -> None:
    dst = np.zeros(64, np.float16)
    ascendc.data_copy_nd2nz(dst, np.arange(41, dtype=np.float16)[1:], ONE)
    assert dst[:2].tolist() == [1, 2]


def test_shared_memory() -> None:
    memory = np.arange(104, dtype=np.float16)
    with pytest.raises(ValueError, match="`src` must not share memory with the part of `dst`"):
        ascendc.data_copy_nd2nz(memory, memory[63:], ONE)
    assert memory.tolist() == list(range(104))
    ascendc.data_copy_nd2nz(memory, memory[64:], ONE)
    assert memory[:2].tolist() == [64, 65]


def test_other_refusals() -> None:
    frozen = GOOD.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="`dst` is read-only"):
        ascendc.data_copy_nd2nz(frozen, SRC, ONE)
    with pytest.raises(TypeError, match="`params` must be a Nd2NzParams, got LoadData2dParams"):
        ascendc.data_copy_nd2nz(GOOD, SRC, ascendc.LoadData2dParams())
    with pytest.raises(TypeError, match="`src` is torch on cpu but `dst` is numpy on cpu"):
        ascendc.data_copy_nd2nz(GOOD, library("torch", "float16").asarray(SRC), ONE)
    strict = LIBRARIES["array_api_strict"]().asarray(np.ones(64, np.float32))
    with pytest.raises(TypeError, match=r"`dst` is a array_api_strict.*: instructions write in place"):
        ascendc.data_copy_nd2nz(strict, strict, ONE)

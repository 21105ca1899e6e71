"""Every refusal of `trans_data_to_5hd`, with the destination unchanged."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ascendc.forms import address_array, library, run
from libraries import LIBRARIES

from xascend import ascendc

ONCE = ascendc.TransDataTo5HDParams()
SRC = [32 * block for block in range(16)]
DST = [512 + 32 * block for block in range(16)]


def replaced(entries: list[Any], entry: int, value: Any) -> list[Any]:
    return [*entries[:entry], value, *entries[entry + 1 :]]


def cut(buf: Any, addresses: list[int]) -> list[Any]:
    return [buf[address // buf.itemsize :] for address in addresses]


@pytest.mark.parametrize(
    ("fields", "error", "match"),
    [
        ({"dst_high_half": 1}, TypeError, "`dst_high_half` must be a bool, got 1"),
        ({"src_high_half": "high"}, TypeError, "`src_high_half` must be a bool, got 'high'"),
        ({"repeat_times": 2.0}, TypeError, r"`repeat_times` must be an int in \[0, 255\], got 2.0"),
        ({"repeat_times": True}, TypeError, "`repeat_times` must be an int"),
        ({"repeat_times": -1}, ValueError, r"`repeat_times` must lie in \[0, 255\], got -1"),
        ({"repeat_times": 256}, ValueError, r"`repeat_times` must lie in \[0, 255\], got 256"),
        ({"dst_rep_stride": None}, TypeError, "`dst_rep_stride` must be an int"),
        ({"dst_rep_stride": 65536}, ValueError, r"`dst_rep_stride` must lie in \[0, 65535\], got 65536"),
        ({"src_rep_stride": -1}, ValueError, r"`src_rep_stride` must lie in \[0, 65535\], got -1"),
        ({"src_rep_stride": np.float32(1)}, TypeError, "`src_rep_stride` must be an int"),
    ],
)
def test_parameter_ranges(fields: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.TransDataTo5HDParams(**fields)


def test_parameters_are_frozen() -> None:
    with pytest.raises(AttributeError):
        ONCE.repeat_times = 2


@pytest.mark.parametrize(
    ("dst", "src", "error", "match"),
    [
        (DST[:15], SRC, ValueError, "`dst_list` must have 16 entries, got 15"),
        (DST, [*SRC, 512], ValueError, "`src_list` must have 16 entries, got 17"),
        (DST, range(16), TypeError, "`src_list` must be a list of 16 views or of 16 ints.*got range"),
        (DST, np.zeros(16, np.int64), TypeError, "got an array of int64"),
        (DST, np.array(SRC, np.uint64), TypeError, "must come in one form"),
        (replaced(DST, 3, 4.0), SRC, TypeError, r"`dst_list\[3\]` must be an int, a byte address in `ub`, got 4.0"),
        (replaced(DST, 3, True), SRC, TypeError, r"`dst_list\[3\]` must be an int.* got True"),
        (replaced(DST, 0, True), SRC, TypeError, r"`dst_list\[0\]` must be an int.* got True"),
        (replaced(DST, 5, 516), SRC, ValueError, r"`dst_list\[5\]` must start at a multiple of 32 bytes, got byte 516"),
        (DST, replaced(SRC, 9, 16), ValueError, r"`src_list\[9\]` must start at a multiple of 32 bytes, got byte 16"),
        (DST, replaced(SRC, 2, -32), ValueError, r"`src_list\[2\]` must hold a block in every repeat: from byte -32"),
        (replaced(DST, 15, 1024), SRC, ValueError, r"`dst_list\[15\]` .* `ub` ends at byte 1024"),
        (replaced(DST, 1, 512), SRC, ValueError, "destinations 0 and 1 of one repeat are the same block"),
        (replaced(DST, 1, 0), SRC, ValueError, "in repeat 0 sources and destinations share some blocks"),
    ],
)  # fmt: skip
def test_addresses(dst: Any, src: Any, error: type[Exception], match: str) -> None:
    ub = np.arange(512, dtype=np.uint16)
    with pytest.raises(error, match=match):
        ascendc.trans_data_to_5hd(dst, src, ONCE, ub=ub)
    assert ub.tolist() == list(range(512))


def test_address_arrays() -> None:
    ub = np.arange(512, dtype=np.uint16)
    good = np.array(SRC, np.uint64)
    with pytest.raises(ValueError, match="`dst_list` must have 16 entries, got 15"):
        ascendc.trans_data_to_5hd(good[:15], good, ONCE, ub=ub)
    with pytest.raises(ValueError, match="`src_list` must be 1-D"):
        ascendc.trans_data_to_5hd(good, good.reshape(4, 4), ONCE, ub=ub)
    with pytest.raises(ValueError, match="`src_list` must be contiguous"):
        ascendc.trans_data_to_5hd(good, np.zeros(32, np.uint64)[::2], ONCE, ub=ub)
    beyond = good.copy()
    beyond[7] = 2**63
    with pytest.raises(ValueError, match=r"`src_list\[7\]` must hold a block in every repeat"):
        ascendc.trans_data_to_5hd(good, beyond, ONCE, ub=ub)


def test_repeats_leave_the_buffer() -> None:
    ub = np.arange(512, dtype=np.uint16)
    for fields, match in (
        ({"dst_rep_stride": 1}, r"`dst_list\[15\]` must hold a block in every repeat"),
        ({"repeat_times": 3, "src_rep_stride": 9}, r"`src_list\[14\]` .* the last one is bytes \[1024, 1056\)"),
        ({"repeat_times": 255, "dst_rep_stride": 65535}, r"`dst_list\[0\]` must hold a block in every repeat"),
    ):
        with pytest.raises(ValueError, match=match):
            run("ints", ub, DST, SRC, ascendc.TransDataTo5HDParams(**fields))
    assert ub.tolist() == list(range(512))


def test_later_repeat_reads_what_an_earlier_one_wrote() -> None:
    ub = np.arange(48 * 16, dtype=np.uint16)
    with pytest.raises(ValueError, match="repeat 1 reads a block that repeat 0 has written"):
        run("ints", ub, DST, SRC, ascendc.TransDataTo5HDParams(False, False, 2, 16, 16))
    # The other way round is allowed: an earlier repeat reads what a later one writes.
    run("ints", ub, SRC, DST, ascendc.TransDataTo5HDParams(False, False, 2, 16, 16))


def test_whole_blocks_count_for_overlap_also_of_one_half() -> None:
    ub = np.arange(1024).astype(np.uint8)
    with pytest.raises(ValueError, match="share some blocks but not all"):
        run("ints", ub, [480, *DST[1:]], SRC, ascendc.TransDataTo5HDParams(dst_high_half=True))


def test_ub_belongs_to_addresses() -> None:
    ub = np.arange(512, dtype=np.uint16)
    with pytest.raises(TypeError, match="`ub` is required with byte addresses"):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE)
    with pytest.raises(TypeError, match="`ub` is required with byte addresses"):
        ascendc.trans_data_to_5hd(np.array(DST, np.uint64), np.array(SRC, np.uint64), ONCE)
    with pytest.raises(TypeError, match="`ub` goes with byte addresses"):
        ascendc.trans_data_to_5hd(cut(ub, DST), cut(ub, SRC), ONCE, ub=ub)


@pytest.mark.parametrize(
    ("ub", "error", "match"),
    [
        ([0] * 512, TypeError, "`ub` must be an array .*got list"),
        (np.ma.zeros(512, np.int16), TypeError, "`ub` is a masked array"),
        (np.zeros((2, 256), np.int16), ValueError, "`ub` must be 1-D, a stretch of a buffer, got 2 axes"),
        (np.array(3, np.int16), ValueError, "`ub` must be 1-D"),
        (np.zeros(1024, np.int16)[::2], ValueError, "`ub` must be contiguous"),
        (np.zeros(512, np.int64), TypeError, "moves elements of 8, 16 or 32 bits, got int64"),
        (np.zeros(512, np.complex64), TypeError, "moves elements of 8, 16 or 32 bits, got complex64"),
        (np.zeros(1024, ml_dtypes.int4), TypeError, "moves elements of 8, 16 or 32 bits, got int4"),
        (np.zeros(512, "V2"), TypeError, "`dtype` V2 is raw bytes"),
        (np.zeros(512, object), TypeError, "`dtype` object is not supported"),
    ],
)
def test_ub(ub: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=ub)


def test_read_only() -> None:
    ub = np.zeros(512, np.int16)
    ub.flags.writeable = False
    with pytest.raises(ValueError, match="`ub` is read-only"):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=ub)
    dst = cut(np.zeros(512, np.int16), DST)
    dst[4].flags.writeable = False
    with pytest.raises(ValueError, match=r"`dst_list\[4\]` is read-only"):
        ascendc.trans_data_to_5hd(dst, cut(ub, SRC), ONCE)


@pytest.mark.parametrize("dtype", ["int16", "bfloat16", "float32"])
@pytest.mark.parametrize("half", ["dst_high_half", "src_high_half"])
def test_halves_are_for_8_bits(dtype: str, half: str) -> None:
    ub = np.zeros(512, getattr(ml_dtypes, dtype, dtype))
    with pytest.raises(TypeError, match=f"choose a half for 8-bit types only, the arrays are {dtype}"):
        ascendc.trans_data_to_5hd(DST, SRC, ascendc.TransDataTo5HDParams(**{half: True}), ub=ub)


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (None, TypeError, r"`src_list\[6\]` must be an array .*got NoneType"),
        (192, TypeError, r"`src_list\[6\]` must be an array"),
        (np.zeros((4, 16), np.int16), ValueError, r"`src_list\[6\]` must be 1-D"),
        (np.zeros(64, np.int16)[::2], ValueError, r"`src_list\[6\]` must be contiguous"),
        (np.zeros(64, np.uint16), TypeError, r"`src_list\[6\]` has dtype uint16 but `dst_list\[0\]` has int16"),
        (np.zeros(64, ">i2"), TypeError, r"`src_list\[6\]` has dtype >i2"),
        (np.zeros(64, np.int16)[3:], ValueError, r"`src_list\[6\]` must start at a multiple of 32 bytes, got byte 6"),
        (np.zeros(15, np.int16), ValueError, r"`src_list\[6\]` must hold a block"),
        (np.zeros(0, np.int16), ValueError, r"`src_list\[6\]` must hold a block"),
    ],
)  # fmt: skip
def test_one_wrong_view(value: Any, error: type[Exception], match: str) -> None:
    dst, src = np.zeros(256, np.int16), np.ones(256, np.int16)
    with pytest.raises(error, match=match):
        ascendc.trans_data_to_5hd(cut(dst, SRC), replaced(cut(src, SRC), 6, value), ONCE)
    assert not dst.any()


def test_lists_of_nothing_and_params_of_another_kind() -> None:
    with pytest.raises(TypeError, match=r"`dst_list\[0\]` must be an array"):
        ascendc.trans_data_to_5hd([None] * 16, [None] * 16, ONCE)
    with pytest.raises(TypeError, match="`params` must be a TransDataTo5HDParams, got dict"):
        ascendc.trans_data_to_5hd(DST, SRC, {"repeat_times": 1}, ub=np.zeros(512, np.int16))


@pytest.mark.parametrize("name", ["array_api_strict", "dask"])
def test_libraries_that_do_not_tell_where_views_lie(name: str) -> None:
    buf = LIBRARIES[name]().asarray(np.zeros(512, np.int16))
    with pytest.raises(TypeError, match="instructions write in place and must know where a view lies"):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=buf)
    with pytest.raises(TypeError, match="instructions write in place and must know where a view lies"):
        ascendc.trans_data_to_5hd([buf] * 16, [buf] * 16, ONCE)


def test_libraries_do_not_mix() -> None:
    torch_buf = library("torch", "int16").asarray(np.zeros(512, np.int16))
    numpy_buf = np.zeros(512, np.int16)
    with pytest.raises(TypeError, match=r"`src_list\[0\]` is torch on cpu but `dst_list\[0\]` is numpy on cpu"):
        ascendc.trans_data_to_5hd(cut(numpy_buf, DST), cut(torch_buf, SRC), ONCE)
    mixed = replaced(cut(torch_buf, DST), 9, numpy_buf)
    with pytest.raises(TypeError, match=r"`dst_list\[9\]` is numpy on cpu but `dst_list\[0\]` is torch on cpu"):
        ascendc.trans_data_to_5hd(mixed, cut(torch_buf, SRC), ONCE)
    with pytest.raises(TypeError, match="`dst_list` is numpy on cpu but `ub` is torch on cpu"):
        ascendc.trans_data_to_5hd(np.array(DST, np.uint64), address_array(SRC, torch_buf), ONCE, ub=torch_buf)


def test_torch_views() -> None:
    buf = library("torch", "int16").asarray(np.zeros(1024, np.int16))
    with pytest.raises(ValueError, match=r"`src_list\[2\]` must be contiguous"):
        ascendc.trans_data_to_5hd(cut(buf, DST), replaced(cut(buf, SRC), 2, buf[::2]), ONCE)
    with pytest.raises(ValueError, match=r"`src_list\[2\]` must start at a multiple of 32 bytes, got byte 2 "):
        ascendc.trans_data_to_5hd(cut(buf, DST), replaced(cut(buf, SRC), 2, buf[1:]), ONCE)
    with pytest.raises(ValueError, match="`ub` must be contiguous"):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=buf[::2])


@pytest.mark.parametrize("side", ["dst_list", "src_list"])
def test_torch_tensors_that_require_grad(side: str) -> None:
    lists = {
        name: [library("torch", "float16").asarray(np.zeros(16, np.float16)) for _ in SRC]
        for name in ("dst_list", "src_list")
    }
    lists[side][3].requires_grad_()
    with pytest.raises(ValueError, match=rf"`{side}\[3\]` requires grad, and an instruction has no derivative"):
        ascendc.trans_data_to_5hd(**lists, params=ONCE)
    with pytest.raises(ValueError, match="`ub` requires grad"):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=lists[side][3])


def test_products() -> None:
    ub = np.zeros(256, np.float32)
    with pytest.raises(TypeError, match="does not support float32 on ATLAS_TRAINING"):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=ub, product=ascendc.Product.ATLAS_TRAINING)
    with pytest.raises(TypeError, match=r"on ATLAS_INFERENCE_VECTORCORE .* which has no type at all"):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=ub, product=ascendc.Product.ATLAS_INFERENCE_VECTORCORE)
    with pytest.raises(TypeError, match="`product` must be a member of ascendc"):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=ub, product="A2")
    ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=ub, product=ascendc.Product.ATLAS_A2)
    bfloat16 = np.zeros(512, ml_dtypes.bfloat16)
    ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=bfloat16, product=ascendc.Product.ATLAS_350)
    with pytest.raises(TypeError, match="does not support bfloat16 on ATLAS_A2"):
        ascendc.trans_data_to_5hd(DST, SRC, ONCE, ub=bfloat16, product=ascendc.Product.ATLAS_A2)

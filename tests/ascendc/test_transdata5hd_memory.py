"""How `trans_data_to_5hd` sees memory: ends and owners of views, and what it returns."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from ascendc.forms import FORMS, WRITING, library, run
from libraries import numpy_dtype, random_bits

from xascend import ascendc

ONCE = ascendc.TransDataTo5HDParams()
SRC = [32 * block for block in range(16)]
DST = [512 + 32 * block for block in range(16)]


def counting_ub(blocks: int = 32) -> np.ndarray:
    return np.arange(blocks * 16, dtype=np.uint16)


def cut(buf: np.ndarray, addresses: list[int]) -> list[np.ndarray]:
    return [buf[address // buf.itemsize :] for address in addresses]


def test_the_three_forms_agree() -> None:
    results = []
    for form in FORMS:
        ub = counting_ub()
        run(form, ub, DST, SRC, ONCE)
        results.append(ub.tobytes())
    assert len(set(results)) == 1
    assert results[0] != counting_ub().tobytes()


def test_returns_ub_or_the_destination_list() -> None:
    ub = counting_ub()
    assert run("ints", ub, DST, SRC, ONCE) is ub
    assert run("uint64 arrays", ub, DST, SRC, ONCE) is ub
    views = cut(ub, DST)
    assert ascendc.trans_data_to_5hd(views, cut(ub, SRC), ONCE) is views


def test_views_that_end_after_their_block_are_enough_for_one_repeat() -> None:
    src, dst = counting_ub(16), np.zeros(256, np.uint16)
    ascendc.trans_data_to_5hd(
        [dst[16 * i : 16 * i + 16] for i in range(16)], [src[16 * j : 16 * j + 16] for j in range(16)], ONCE
    )
    assert (dst.reshape(16, 16) == src.reshape(16, 16).T).all()


def test_the_end_of_each_view_bounds_its_repeats() -> None:
    src, dst = counting_ub(32), np.zeros(512, np.uint16)
    sources = cut(src, SRC)
    sources[3] = src[48 : 48 + 16]
    with pytest.raises(ValueError, match=r"`src_list\[3\]` must hold a block in every repeat"):
        ascendc.trans_data_to_5hd(
            cut(dst, SRC), sources, ascendc.TransDataTo5HDParams(repeat_times=2, src_rep_stride=16)
        )
    assert not dst.any()


def test_alignment_counts_from_the_owner_of_the_memory() -> None:
    owner = np.zeros(1024 + 64, np.uint8)
    for offset in range(0, 66, 2):
        ub = owner[offset:][:1024].view(np.uint16)
        if offset % 32:
            with pytest.raises(ValueError, match=rf"`dst_list\[0\]` .* multiple of 32 bytes, got byte {512 + offset} "):
                ascendc.trans_data_to_5hd(cut(ub, DST), cut(ub, SRC), ONCE)
        else:
            ascendc.trans_data_to_5hd(cut(ub, DST), cut(ub, SRC), ONCE)


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("dtype", ["int8", "bool", "bfloat16", "float8_e5m2", "int32"])
def test_addresses_count_from_ub_whatever_it_is_cut_from(name: str, dtype: str) -> None:
    lib = library(name, dtype)
    bits = random_bits((1024 // numpy_dtype(dtype).itemsize + 1,), dtype)
    whole, aligned = lib.asarray(bits.copy()), lib.asarray(bits[1:].copy())
    run("ints", whole[1:], DST, SRC, ONCE)
    run("ints", aligned, DST, SRC, ONCE)
    assert lib.to_numpy(whole).tobytes() == bits[:1].tobytes() + lib.to_numpy(aligned).tobytes()
    assert lib.to_numpy(aligned).tobytes() != bits[1:].tobytes()


def test_views_of_other_types_than_their_owner() -> None:
    owner = np.zeros((2, 2, 256), np.uint8, order="F")
    ub = owner.reshape(-1, order="F").view(np.float16)
    ub[:] = np.arange(512)
    ascendc.trans_data_to_5hd(cut(ub, DST), cut(ub, SRC), ONCE)
    assert ub[256:].reshape(16, 16).tolist() == ub[:256].reshape(16, 16).T.tolist()


def test_read_only_sources_of_the_same_buffer() -> None:
    ub = counting_ub()
    frozen = ub[:]
    frozen.flags.writeable = False
    ascendc.trans_data_to_5hd(cut(ub, DST), cut(frozen, SRC), ONCE)
    assert (ub[256:].reshape(16, 16) == counting_ub(16).reshape(16, 16).T).all()


def test_memory_mapped_buffer(tmp_path) -> None:
    mapped = np.memmap(tmp_path / "ub", np.uint16, "w+", shape=(512,))
    mapped[:] = counting_ub()
    ascendc.trans_data_to_5hd(cut(mapped, DST), cut(mapped, SRC), ONCE)
    assert (mapped[256:].reshape(16, 16) == mapped[:256].reshape(16, 16).T).all()


def test_foreign_buffers() -> None:
    raw = bytearray(counting_ub().tobytes())
    ub = np.frombuffer(raw, np.uint16)
    ascendc.trans_data_to_5hd(cut(ub, DST), cut(ub, SRC), ONCE)
    assert (ub[256:].reshape(16, 16) == ub[:256].reshape(16, 16).T).all()

    apart = [np.frombuffer(raw, np.uint16, 256, offset) for offset in (512, 0)]
    ascendc.trans_data_to_5hd(cut(apart[0], SRC), cut(apart[1], SRC), ONCE)

    before = bytes(raw)
    for crossing in (np.frombuffer(raw, np.uint16, 256, 480), np.frombuffer(raw, np.uint16, 256, 512)):
        source = np.frombuffer(raw, np.uint16, 272)  # reaches a block further than the instruction reads
        with pytest.raises(ValueError, match="share memory without a common owner"):
            ascendc.trans_data_to_5hd(cut(crossing, SRC), cut(source, SRC), ONCE)
    assert bytes(raw) == before


@pytest.mark.parametrize("name", WRITING)
def test_in_place_transpose(name: str) -> None:
    lib = library(name, "float16")
    ub = lib.asarray(np.arange(256, dtype=np.float16))
    for form in FORMS:
        run(form, ub, SRC, SRC, ONCE)
    assert lib.to_numpy(ub).reshape(16, 16).tolist() == np.arange(256).reshape(16, 16).T.tolist()


@pytest.mark.parametrize("name", WRITING)
def test_last_repeat_stays(name: str) -> None:
    lib = library(name, "int16")
    ub = lib.asarray(counting_ub(80).astype(np.int16))
    params = ascendc.TransDataTo5HDParams(repeat_times=3, dst_rep_stride=0, src_rep_stride=16)
    run("ints", ub, [48 * 32 + a for a in SRC], SRC, params)
    got = lib.to_numpy(ub)
    assert (got[48 * 16 : 64 * 16].reshape(16, 16) == got[32 * 16 : 48 * 16].reshape(16, 16).T).all()


@pytest.mark.parametrize("high", [False, True])
def test_the_other_half_stays(high: bool) -> None:
    src, dst = np.arange(512).astype(np.uint8), np.full(512, 7, np.uint8)
    ascendc.trans_data_to_5hd(cut(dst, SRC), cut(src, SRC), ascendc.TransDataTo5HDParams(dst_high_half=high))
    halves = dst.reshape(16, 2, 16)
    assert (halves[:, 1 - high] == 7).all()
    assert (halves[:, int(high)] == src.reshape(16, 2, 16)[:, 0].T).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_nan_payloads_and_signs_stay(dtype: type) -> None:
    bits = {2: [0x7E01, 0x7C01, 0x8000, 0xFD55], 4: [0x7F800001, 0x80000000, 0xFFC12345, 0x7FBFFFFF]}
    word = np.dtype(dtype).itemsize
    src = np.array(bits[word] * (128 // word), f"u{word}").view(dtype)
    dst = np.zeros_like(src)
    ascendc.trans_data_to_5hd(cut(dst, SRC), cut(src, SRC), ONCE)
    assert set(dst.view(f"u{word}").tolist()) == set(bits[word])


def test_big_endian_bytes_are_moved_as_they_are() -> None:
    src, dst = np.arange(256, dtype=">u2"), np.zeros(256, ">u2")
    ascendc.trans_data_to_5hd(cut(dst, SRC), cut(src, SRC), ONCE)
    assert dst.reshape(16, 16).tolist() == src.reshape(16, 16).T.tolist()


def test_numpy_integers_are_addresses_and_parameters() -> None:
    ub, plain = counting_ub(128), counting_ub(128)
    numbers = ascendc.TransDataTo5HDParams(
        repeat_times=np.uint8(2), dst_rep_stride=np.uint8(40), src_rep_stride=np.int64(16)
    )
    run("ints", ub, np.array(DST, np.uint64) + np.uint64(512), np.array(SRC, np.int32), numbers)
    run("ints", plain, [a + 512 for a in DST], SRC, ascendc.TransDataTo5HDParams(False, False, 2, 40, 16))
    assert ub.tobytes() == plain.tobytes()
    assert ub.tobytes() != counting_ub(128).tobytes()


def test_no_repeat_does_nothing_and_says_so() -> None:
    ub = counting_ub()
    none = ascendc.TransDataTo5HDParams(repeat_times=0)
    with pytest.warns(UserWarning, match="`repeat_times` is 0: nothing is moved"):
        assert run("ints", ub, [1, 2, 3], SRC, none) is ub
    with pytest.warns(UserWarning, match="`repeat_times` is 0: nothing is moved"):
        assert ascendc.trans_data_to_5hd([], None, none) == []
    assert ub.tobytes() == counting_ub().tobytes()

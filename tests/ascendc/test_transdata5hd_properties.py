"""`trans_data_to_5hd` against the oracle on arbitrary addresses, legal or not."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from ascendc import instruction_oracle as oracle
from ascendc.forms import DTYPES, FORMS, WRITING, library, run
from hypothesis import event, given, settings
from hypothesis import strategies as st
from libraries import numpy_dtype, random_bits

from xascend import ascendc


@st.composite
def params(draw: st.DrawFn, itemsize: int, strides: st.SearchStrategy[int]) -> ascendc.TransDataTo5HDParams:
    return ascendc.TransDataTo5HDParams(
        dst_high_half=itemsize == 1 and draw(st.booleans()),
        src_high_half=itemsize == 1 and draw(st.booleans()),
        repeat_times=draw(st.sampled_from((1, 1, 2, 3, 5))),
        dst_rep_stride=draw(strides),
        src_rep_stride=draw(strides),
    )


def blocks_from(low: int, high: int, *, unique: bool) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high - 1), min_size=16, max_size=16, unique=unique)


def expected_bytes(ub: np.ndarray, dst: list[int], src: list[int], params: ascendc.TransDataTo5HDParams) -> bytes:
    memory = bytearray(ub.tobytes())
    oracle.trans_data_to_5hd([memory], [(0, a) for a in dst], [(0, a) for a in src], ub.itemsize, **asdict(params))
    return bytes(memory)


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scattered_blocks(name: str, form: str, dtype: str) -> None:
    """Sources anywhere in the lower half of the buffer, destinations anywhere in the upper: always legal."""
    lib = library(name, dtype)

    @settings(max_examples=15)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        p = data.draw(params(numpy_dtype(dtype).itemsize, st.integers(0, 4)))
        src = [32 * b for b in data.draw(blocks_from(0, 24, unique=False))]
        dst = [32 * b for b in data.draw(blocks_from(48, 80, unique=True))]
        start = random_bits((100 * 32 // numpy_dtype(dtype).itemsize,), dtype, seed=data.draw(st.integers(0, 99)))
        ub = lib.asarray(start.copy())
        run(form, ub, dst, src, p)
        assert lib.to_numpy(ub).tobytes() == expected_bytes(start, dst, src, p)

    check()


@settings(max_examples=400)
@given(data=st.data())
def test_any_addresses_are_done_right_or_refused(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(("uint8", "uint16", "uint32")))
    p = data.draw(params(np.dtype(dtype).itemsize, st.sampled_from((0, 0, 0, 1, 2, 16))))
    size = data.draw(st.sampled_from((16, 33, 80, 81)))
    src_blocks = data.draw(st.permutations(range(size)))[:16]
    same = data.draw(st.booleans())
    dst_blocks = data.draw(st.permutations(src_blocks if same else range(size)))[:16]
    src, dst = [32 * b for b in src_blocks], [32 * b for b in dst_blocks]
    start = random_bits((size * 32 // np.dtype(dtype).itemsize,), dtype)
    ub = start.copy()

    walk = {"repeat_times": p.repeat_times}
    fits = oracle.in_bounds([ub.nbytes], [(0, a) for a in dst], p.repeat_times, p.dst_rep_stride)
    fits &= oracle.in_bounds([ub.nbytes], [(0, a) for a in src], p.repeat_times, p.src_rep_stride)
    legal = oracle.may_overlap(
        [(0, a) for a in dst],
        [(0, a) for a in src],
        dst_rep_stride=p.dst_rep_stride,
        src_rep_stride=p.src_rep_stride,
        **walk,
    )
    form = data.draw(st.sampled_from(FORMS))
    event(f"fits {fits}, legal {legal}")
    if fits and legal:
        run(form, ub, dst, src, p)
        assert ub.tobytes() == expected_bytes(start, dst, src, p)
    else:
        with pytest.raises(ValueError, match="overlap against the rule" if fits else "must hold a block"):
            run(form, ub, dst, src, p)
        assert ub.tobytes() == start.tobytes()


@settings(max_examples=300)
@given(data=st.data())
def test_overlap_of_one_block_with_repeats(data: st.DataObject) -> None:
    """Two regions one block apart or overlapping by a few, so that legal and refused walks both come up."""
    p = data.draw(params(2, st.integers(0, 18)))
    shift = data.draw(st.integers(-17, 17))
    src = [32 * (100 + j) for j in range(16)]
    dst = [address + 32 * shift for address in src]
    start = random_bits((220 * 16,), "uint16")
    ub = start.copy()
    legal = oracle.may_overlap(
        [(0, a) for a in dst],
        [(0, a) for a in src],
        repeat_times=p.repeat_times,
        dst_rep_stride=p.dst_rep_stride,
        src_rep_stride=p.src_rep_stride,
    )
    event(f"legal {legal}")
    if legal:
        run("ints", ub, dst, src, p)
        assert ub.tobytes() == expected_bytes(start, dst, src, p)
    else:
        with pytest.raises(ValueError, match="overlap against the rule"):
            run("ints", ub, dst, src, p)
        assert ub.tobytes() == start.tobytes()


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize(("dst_rep_stride", "src_rep_stride"), [(16, 1), (1, 16), (0, 3), (7, 0)])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "int32"])
def test_255_repeats(name: str, dtype: str, dst_rep_stride: int, src_rep_stride: int) -> None:
    lib = library(name, dtype)
    half = 255 * 32 * 16
    start = random_bits((2 * half // numpy_dtype(dtype).itemsize,), dtype)
    src, dst = [32 * j for j in range(16)], [half + 32 * ((5 * i) % 16) for i in range(16)]
    p = ascendc.TransDataTo5HDParams(repeat_times=255, dst_rep_stride=dst_rep_stride, src_rep_stride=src_rep_stride)
    ub = lib.asarray(start.copy())
    run("ints", ub, dst, src, p)
    assert lib.to_numpy(ub).tobytes() == expected_bytes(start, dst, src, p)


@settings(max_examples=150)
@given(data=st.data())
def test_views_of_several_buffers(data: st.DataObject) -> None:
    """Each buffer is a memory of its own; entries of both sides are spread over three of them."""
    dtype = data.draw(st.sampled_from(("int8", "bfloat16", "int32")))
    itemsize = numpy_dtype(dtype).itemsize
    name = data.draw(st.sampled_from(("numpy", "torch")))
    lib = library(name, dtype)
    p = data.draw(params(itemsize, st.sampled_from((0, 0, 1, 5))))
    blocks = 60
    places = [(memory, 32 * block) for memory in range(3) for block in range(blocks - 10)]
    shuffled = data.draw(st.permutations(places))
    dst = shuffled[:16]
    apart = data.draw(st.booleans())
    src = data.draw(st.lists(st.sampled_from(shuffled[16:] if apart else places), min_size=16, max_size=16))
    starts = [random_bits((blocks * 32 // itemsize,), dtype, seed=seed) for seed in range(3)]
    buffers = [lib.asarray(start.copy()) for start in starts]
    lists = [[buffers[memory][address // itemsize :] for memory, address in entries] for entries in (dst, src)]
    walk = {name: value for name, value in asdict(p).items() if not name.endswith("half")}
    sizes = [blocks * 32] * 3
    if (
        oracle.in_bounds(sizes, dst, p.repeat_times, p.dst_rep_stride)
        and oracle.in_bounds(sizes, src, p.repeat_times, p.src_rep_stride)
        and oracle.may_overlap(dst, src, **walk)
    ):
        event("legal")
        memories = [bytearray(start.tobytes()) for start in starts]
        oracle.trans_data_to_5hd(memories, dst, src, itemsize, **asdict(p))
        ascendc.trans_data_to_5hd(*lists, p)
        assert [lib.to_numpy(b).tobytes() for b in buffers] == [bytes(m) for m in memories]
    else:
        with pytest.raises(ValueError, match=r"overlap against the rule|must hold a block"):
            ascendc.trans_data_to_5hd(*lists, p)
        assert [lib.to_numpy(b).tobytes() for b in buffers] == [start.tobytes() for start in starts]

"""`trans_data_to_5hd` and `brcb` by the CUDA kernels, executed on the host, equal NumPy bit for bit in every byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from cuda import harness
from cuda.instructions import Device, place, taking_numpy
from hypothesis import event, given, settings
from hypothesis import strategies as st
from libraries import random_bits

from xascend import ascendc
from xascend.ascendc import TransDataTo5HDParams as Walk

BLOCK = 32
HALVES = [("uint8", d, s) for d in (False, True) for s in (False, True)]
TYPES = [*HALVES, ("float16", False, False), ("float32", False, False)]


@pytest.fixture(autouse=True)
def _compiler() -> None:
    harness.require_compiler()


def check(
    call: Callable[[list[np.ndarray]], Any], contents: Sequence[np.ndarray], offsets: Sequence[int] = (), **how: Any
) -> list[Device]:
    """Run a call in both orders, compare all bytes of its memories with NumPy's; return the devices."""
    expected = [content.copy() for content in contents]
    call(expected)
    devices = []
    for descending in (False, True):
        memories = [place(content, at) for content, at in zip(contents, offsets or [0] * len(contents), strict=True)]
        with taking_numpy(Device(memories, descending, **how)) as device:
            call(memories)
        for actual, wanted in zip(memories, expected, strict=True):
            assert actual.tobytes() == wanted.tobytes()
        assert len(device.launches) == 1
        devices.append(device)
    return devices


def transposing(dst: Sequence[int], src: Sequence[int], walk: Walk) -> Callable[[list[np.ndarray]], Any]:
    """Return a call with blocks of one memory, given as addresses."""
    addresses = [[BLOCK * block for block in side] for side in (dst, src)]
    return lambda memories: ascendc.trans_data_to_5hd(*addresses, walk, ub=memories[0])


def room(dtype: str, blocks: int, seed: int = 0) -> np.ndarray:
    return random_bits((BLOCK * blocks // np.dtype(dtype).itemsize,), dtype, seed)


@pytest.mark.parametrize(("dtype", "dst_high", "src_high"), TYPES)
@pytest.mark.parametrize(
    ("repeats", "dst_stride", "src_stride"),
    [(1, 0, 0), (1, 3, 5), (2, 16, 1), (7, 1, 16), (8, 17, 3), (9, 16, 0), (17, 0, 1), (255, 16, 1), (255, 1, 17)],
)
def test_every_size_and_half(
    dtype: str, dst_high: bool, src_high: bool, repeats: int, dst_stride: int, src_stride: int
) -> None:
    reach = max(repeats, 2)
    first = 40 + src_stride * reach
    src = [(5 * j) % 16 + 3 for j in range(16)]
    dst = [first + (7 * i) % 16 for i in range(16)]
    walk = Walk(dst_high, src_high, repeats, dst_stride, src_stride)
    check(transposing(dst, src, walk), [room(dtype, first + 20 + dst_stride * reach)])


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
@pytest.mark.parametrize("gap", [1, 2, 3, 5])
@pytest.mark.parametrize("stride", [0, 1, 2, 3, 6, 10])
def test_the_last_of_coinciding_destinations_stays(dtype: str, gap: int, stride: int) -> None:
    """Whatever the order of threads and blocks; the overwritten ones are never written."""
    walk = Walk(repeat_times=37, dst_rep_stride=stride, src_rep_stride=1)
    dst = [100 + gap * ((3 * i) % 16) for i in range(16)]
    devices = check(transposing(dst, range(0, 32, 2), walk), [room(dtype, 180 + 37 * stride)])
    written = len({block + stride * repeat for block in dst for repeat in range(37)})
    halves = written if dtype == "uint8" else 2 * written
    for device in devices:
        assert device.counts.bytes("global store") == 16 * halves


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
@pytest.mark.parametrize("repeats", [1, 2, 40])
def test_a_repeat_may_write_what_itself_or_an_earlier_one_has_read(dtype: str, repeats: int) -> None:
    in_place = Walk(repeat_times=repeats, dst_rep_stride=16, src_rep_stride=16)
    for device in check(transposing(range(16, 32), range(16, 32), in_place), [room(dtype, 64 + 16 * repeats)]):
        assert device.launches[0].blocks == -(-repeats // (16 if dtype == "uint8" else 8))
    for device in check(transposing(range(16), range(16, 32), in_place), [room(dtype, 64 + 16 * repeats)]):
        assert repeats == 1 or device.launches[0].blocks == 1


def test_the_order_of_repeats_matters() -> None:
    """Should several blocks of threads take the repeats that only one may take, the harness sees it."""
    walk = Walk(repeat_times=40, dst_rep_stride=16, src_rep_stride=16)
    with pytest.raises(AssertionError, match="assert"):
        check(transposing(range(16), range(16, 32), walk), [room("float16", 700)], blocks=5)


@pytest.mark.parametrize(("dtype", "dst_high", "src_high"), TYPES)
@pytest.mark.parametrize("offsets", [(0, 0, 0), (16, 0, 48), (0, 2, 8), (1, 0, 7)])
def test_views_of_several_memories_at_any_address(
    dtype: str, dst_high: bool, src_high: bool, offsets: tuple[int, ...]
) -> None:
    def call(memories: list[np.ndarray]) -> None:
        size = BLOCK // memories[0].itemsize
        views = [[memories[(i + side) % 3][size * (2 * i + 1) :] for i in range(16)] for side in (0, 1)]
        ascendc.trans_data_to_5hd(*views, Walk(dst_high, src_high, 19, 32, 0))

    for device in check(call, [room(dtype, 32 * 20 + 16, seed) for seed in range(3)], offsets):
        aligned = all(offset % 16 == 0 for offset in offsets)
        assert device.launches[0].kernel.entry == f"trans_data_to_5hd_{'aligned' if aligned else 'unaligned'}"


@settings(max_examples=120)
@given(data=st.data())
def test_any_addresses(data: st.DataObject) -> None:
    """Sources apart from the destinations, or the same blocks, or those that later repeats write."""
    dtype, dst_high, src_high = data.draw(st.sampled_from(TYPES))
    repeats, stride = st.sampled_from((1, 2, 3, 9, 18)), st.sampled_from((0, 1, 2, 3, 5, 16, 17))
    walk = Walk(dst_high, src_high, data.draw(repeats), data.draw(stride), data.draw(stride))
    behind = data.draw(st.sampled_from((0, 16, 17, 400, 400)))
    if behind < 400:
        dst, src = data.draw(st.permutations(range(16))), data.draw(st.permutations(range(behind, behind + 16)))
    else:
        blocks = st.integers(0, 40)
        dst = data.draw(st.lists(blocks, min_size=16, max_size=16, unique=True))
        src = data.draw(st.lists(blocks.map(lambda block: block + 400), min_size=16, max_size=16))
    call, content = transposing(dst, src, walk), room(dtype, 442 + 17 * 18)
    try:
        call([content.copy()])
    except ValueError as error:
        event(str(error).partition(":")[2][:20])
        return
    event(f"{behind} blocks behind")
    check(call, [content])


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex64"])
@pytest.mark.parametrize("offsets", [(0, 0), (16, 32), (0, 8), (1, 0)])
@pytest.mark.parametrize(
    ("repeats", "block_stride", "repeat_stride"),
    [(1, 1, 8), (3, 2, 16), (15, 1, 8), (16, 3, 1), (17, 1, 0), (17, 2, 3), (33, 5, 2), (255, 1, 8)],
)
def test_brcb(dtype: str, offsets: tuple[int, int], repeats: int, block_stride: int, repeat_stride: int) -> None:
    def call(memories: list[np.ndarray]) -> None:
        dst, src = memories
        ascendc.brcb(dst, src, repeats, ascendc.BrcbRepeatParams(block_stride, repeat_stride))

    contents = [
        room(dtype, 8 * block_stride + repeats * repeat_stride + 2),
        random_bits((8 * repeats,), dtype, 1),
    ]
    blocks = {j * block_stride + i * repeat_stride for i in range(repeats) for j in range(8)}
    for device in check(call, contents, offsets):
        assert device.counts.bytes("global store") == BLOCK * len(blocks)
        assert device.counts.bytes("global load") == contents[1].nbytes


def test_brcb_within_one_memory() -> None:
    """The source lies in the gaps of the destination."""

    def call(memories: list[np.ndarray]) -> None:
        ascendc.brcb(memories[0], memories[0][16:], 2, ascendc.BrcbRepeatParams(2, 16))

    check(call, [room("float16", 40)])


def test_nothing_is_launched_for_what_is_refused() -> None:
    memory = place(room("float16", 64))
    before = memory.tobytes()
    with taking_numpy(Device([memory])) as device:
        for call, match in (
            (transposing(range(16), [*range(15), 40], Walk()), "share some blocks"),
            (transposing(range(16), [*range(15), 64], Walk()), "must hold a block"),
            (lambda memories: ascendc.brcb(memories[0], memories[0][16:], 1), "must not lie in the blocks"),
        ):
            with pytest.raises(ValueError, match=match):
                call([memory])
    assert device.launches == []
    assert memory.tobytes() == before


def test_addresses_beyond_32_bits_are_walked() -> None:
    """65535 blocks from one repeat to the next: 254 of them are half a gigabyte, of which only pages touched exist."""
    memory = np.zeros((16 + 254 * 65535 + 1) * BLOCK // 2, np.float16)
    source = room("float16", 16)
    memory[: source.size] = source
    with taking_numpy(Device([memory])) as device:
        ascendc.trans_data_to_5hd(
            [BLOCK * (16 + i) for i in range(16)],
            [BLOCK * j for j in range(16)],
            Walk(repeat_times=254, dst_rep_stride=65535),
            ub=memory,
        )
    assert device.launches[0].blocks == 32
    wanted = source.reshape(16, 16).T.tobytes()
    for repeat in (0, 1, 127, 253):
        begin = 16 * (16 + 65535 * repeat)
        assert memory[begin : begin + 256].tobytes() == wanted

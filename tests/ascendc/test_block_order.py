"""What lets repeats run in any order: which of them stay, and whether one writes what an earlier one reads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from xascend.ascendc._blocks import first_kept, must_keep_order

BLOCKS = st.lists(st.integers(0, 60), min_size=1, max_size=16, unique=True).map(tuple)
REPEATS, STRIDE = st.integers(1, 12), st.integers(0, 20)


@given(dst=BLOCKS, repeats=REPEATS, stride=STRIDE)
def test_repeats_that_stay(dst: tuple[int, ...], repeats: int, stride: int) -> None:
    last = {block + stride * repeat: (repeat, entry) for repeat in range(repeats) for entry, block in enumerate(dst)}
    kept = {
        (repeat, entry)
        for entry, first in enumerate(first_kept(dst, repeats, stride))
        for repeat in range(first, repeats)
    }
    assert kept == set(last.values())


@given(dst=BLOCKS, src=BLOCKS, repeats=REPEATS, dst_stride=STRIDE, src_stride=STRIDE)
def test_repeats_that_must_not_change_places(
    dst: tuple[int, ...], src: tuple[int, ...], repeats: int, dst_stride: int, src_stride: int
) -> None:
    expected, read = False, set()
    for repeat in range(repeats):
        expected |= any(block + dst_stride * repeat in read for block in dst)
        read |= {block + src_stride * repeat for block in src}
    assert must_keep_order(dst, src, repeats, dst_stride, src_stride) == expected
    assert not must_keep_order(dst, (), repeats, dst_stride, src_stride)

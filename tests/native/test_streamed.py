"""What is streamed without a stage: every kernel, planes that end in the middle of anything, any address."""

from __future__ import annotations

import numpy as np
import pytest
from libraries import assert_same_bits, random_bits
from native.guards import each_end, guarded
from native.moves import by_numpy, check_ends, pad_of, plan_of
from native.source_tree import LIBRARY

from xascend import _native, set_num_threads

STREAMED = 5 << 20  # bytes of a tensor; the library with small limits streams all of them

KINDS = [("uint8", 32), ("uint16", 16), ("uint16", 32), ("float32", 8), ("float32", 16)]
kinds = pytest.mark.parametrize(("dtype", "c0"), KINDS)
# Pixels of a plane: ends of a tile, a line, a strip of two lines, a block; rows of whole lines and others.
pixels = pytest.mark.parametrize("pixels", [(1, 49), (4, 8), (4, 16), (8, 8), (16, 12), (3, 64), (57, 55), (64, 72)])


def tensor(dtype: str, c0: int, pixels: tuple[int, int]) -> np.ndarray:
    """Return NCHW of whole blocks, and of two of them for each image."""
    image = 2 * c0 * pixels[0] * pixels[1] * np.dtype(dtype).itemsize
    return random_bits((2 if LIBRARY else STREAMED // image + 1, 2 * c0, *pixels), dtype)


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> None:
    set_num_threads(request.param)


@kinds
@pixels
@each_end
def test_there_and_back_and_nothing_past_the_ends(dtype: str, c0: int, pixels: tuple[int, int], end: str) -> None:
    x = tensor(dtype, c0, pixels)
    stored = check_ends(x, plan_of(x, "NCHW", "NC1HWC0", None, c0), end, 1, 3)
    assert_same_bits(check_ends(stored, plan_of(stored, "NC1HWC0", "NCHW", None), end, 1, 3), x)


RUNS = [("uint8", 16), ("uint8", 32), ("uint16", 16), ("float32", 16)]  # of 16, 32 and 64 bytes
LONG_RUNS = (2, 1, 1, 49 * 30 + 14)  # NHWC, for a C0 of 30
runs = pytest.mark.parametrize(("dtype", "c0"), RUNS)


@runs
@pytest.mark.parametrize("row", [4097, 4700])  # bytes, a little more than is put together in a stage
@each_end
def test_runs_that_are_joined(dtype: str, c0: int, row: int, end: str) -> None:
    columns = row // np.dtype(dtype).itemsize + 1
    x = random_bits((100 if LIBRARY else STREAMED // row + 1, columns), dtype)
    stored = check_ends(x, plan_of(x, "ND", "FRACTAL_NZ", None, c0), end, 1, 3)
    assert_same_bits(check_ends(stored, plan_of(stored, "FRACTAL_NZ", "ND", x.shape), end, 1, 3), x)


@each_end
def test_long_runs_beside_short_ones(end: str) -> None:
    """What is left behind the last whole block, and its padding, are no vectors, and no multiple of one apart."""
    x = random_bits(LONG_RUNS, "uint8")
    check_ends(x, plan_of(x, "NHWC", "NC1HWC0", None, 30), end, 1, 3)


@runs
@pytest.mark.parametrize("blocks", [3, 63, 64, 65])
@pytest.mark.parametrize(("pixels", "end"), [((1, 48), "first"), ((7, 12), "last"), ((57, 55), "first")])
def test_runs_that_stay_together(dtype: str, c0: int, blocks: int, pixels: tuple[int, int], end: str) -> None:
    image = blocks * c0 * pixels[0] * pixels[1] * np.dtype(dtype).itemsize
    x = random_bits((2 if LIBRARY else STREAMED // image + 1, *pixels, blocks * c0), dtype)
    check_ends(x, plan_of(x, "NHWC", "NC1HWC0", None, c0), end, 1, 3)


@kinds
@pytest.mark.parametrize(("channels", "end"), [(slice(-1), "first"), (slice(1, None), "last")])
def test_columns_that_lack_a_channel(dtype: str, c0: int, channels: slice, end: str) -> None:
    """Whole columns would end past the last channel of the last one, where there is no memory."""
    image = 6000 * c0 * np.dtype(dtype).itemsize
    columns = guarded((2 if LIBRARY else STREAMED // image + 1, 60, 100, c0), np.dtype(dtype), end)
    columns[...] = random_bits(columns.shape, dtype)
    x = columns[..., channels]
    for threads in (1, 3):
        set_num_threads(threads)
        plan = plan_of(x, "NHWC", "NCHW", None)
        out = guarded(plan.dst_shape, x.dtype, end)
        _native.run(plan, x, out, pad_of(x))
        assert_same_bits(out, by_numpy(plan, x))


@kinds
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("shift", [1, 16, 32])
def test_any_address(dtype: str, c0: int, shift: int) -> None:
    x = tensor(dtype, c0, (7, 16))
    memory = np.full(x.nbytes + 256, 0xC3, np.uint8)
    for src, dst in (("NCHW", "NC1HWC0"), ("NC1HWC0", "NCHW")):
        plan = plan_of(x, src, dst, None, c0 if src == "NCHW" else None)
        expected = by_numpy(plan, x)
        start = (-memory.ctypes.data) % 64 + shift
        out = memory[start : start + x.nbytes].view(x.dtype).reshape(expected.shape)
        _native.run(plan, x, out, pad_of(x))
        assert_same_bits(out, expected)
        assert (memory[:start] == 0xC3).all()
        assert (memory[start + x.nbytes :] == 0xC3).all()
        memory[:] = 0xC3
        x = expected


@kinds
@pytest.mark.usefixtures("threads")
def test_views_of_the_source_and_gaps_of_the_result(dtype: str, c0: int) -> None:
    x = tensor(dtype, c0, (8, 24))
    for src, dst in (("NCHW", "NC1HWC0"), ("NC1HWC0", "NCHW")):
        views = [x[::-1], x[:, ::-1], x[:, :, ::-1]]
        if src == "NCHW":
            views.append(np.concatenate([x, x], axis=-1)[..., : x.shape[-1]])
        for view in views:
            plan = plan_of(view, src, dst, None, c0 if src == "NCHW" else None)
            expected = by_numpy(plan, view)
            big = np.full((*expected.shape[:2], 2 * expected.shape[2], *expected.shape[3:]), 77, x.dtype)
            out = big[:, :, : expected.shape[2]]
            _native.run(plan, view, out, pad_of(x))
            assert_same_bits(np.ascontiguousarray(out), expected)
            assert (big[:, :, expected.shape[2] :] == 77).all()
        x = expected

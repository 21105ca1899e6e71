"""Whole tensors by TransDataTo5HD alone: against the oracle and against the library's own conversion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ascendc import instruction_oracle as oracle
from ascendc.forms import WRITING, library
from libraries import LIBRARIES, assert_result, counting, numpy_dtype, random_bits

from xascend import ascendc

C0 = {"int8": (32,), "float8_e4m3fn": (32,), "uint16": (16,), "bfloat16": (16,), "int32": (16, 8), "float32": (16, 8)}
CASES = [(dtype, c0) for dtype, choices in C0.items() for c0 in choices]

# H * W and C on both sides of every block: 8, 16 and 32 elements.
SHAPES = (
    (1, 1, 1, 1),
    (2, 32, 16, 16),
    (1, 33, 5, 7),
    (2, 7, 1, 8),
    (1, 8, 3, 3),
    (1, 9, 4, 4),
    (1, 16, 1, 17),
    (3, 17, 2, 16),
    (1, 31, 3, 11),
    (1, 40, 31, 1),
)


def by_oracle(x: np.ndarray, c0: int) -> np.ndarray:
    n, c, h, w = x.shape
    stored = oracle.nchw_to_nc1hwc0(x.tobytes(), x.shape, x.itemsize, c0)
    return np.frombuffer(stored, x.dtype).reshape(n, -(-c // c0), h, w, c0)


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize(("dtype", "c0"), CASES)
def test_there_and_back(name: str, dtype: str, c0: int) -> None:
    lib = library(name, dtype)
    for shape in SHAPES:
        x = random_bits(shape, dtype)
        blocked = ascendc.nchw_to_nc1hwc0_with_instruction(lib.asarray(x), c0=c0)
        assert_result(lib, blocked, by_oracle(x, c0))
        assert_result(lib, ascendc.nc1hwc0_to_nchw_with_instruction(blocked, shape[1]), x)


@pytest.mark.parametrize(("dtype", "c0"), CASES)
def test_more_pixels_than_one_instruction_can_walk(dtype: str, c0: int) -> None:
    """255 repeats and a tail of one: 32, 16 or 8 pixels each on the way there."""
    pixels = 256 * (32 // numpy_dtype(dtype).itemsize) - 3
    x = random_bits((1, 3, 1, pixels), dtype)
    blocked = ascendc.nchw_to_nc1hwc0_with_instruction(x, c0=c0)
    assert blocked.tobytes() == by_oracle(x, c0).tobytes()
    assert ascendc.nc1hwc0_to_nchw_with_instruction(blocked, 3).tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", C0)
def test_equals_the_library_s_conversion(dtype: str) -> None:
    import xascend as xa

    x = random_bits((2, 37, 6, 9), dtype)
    blocked = ascendc.nchw_to_nc1hwc0_with_instruction(x)
    assert blocked.tobytes() == xa.nchw_to_nc1hwc0(x).tobytes()
    assert blocked.shape == xa.nchw_to_nc1hwc0(x).shape
    back = ascendc.nc1hwc0_to_nchw_with_instruction(blocked)
    assert back.tobytes() == xa.nc1hwc0_to_nchw(blocked).tobytes()
    assert back.shape == (2, blocked.shape[1] * blocked.shape[4], 6, 9)


def test_padding_is_kept_without_channels_and_cropped_with() -> None:
    x = np.arange(1, 6, dtype=np.int16).reshape(1, 5, 1, 1)
    blocked = ascendc.nchw_to_nc1hwc0_with_instruction(x)
    assert ascendc.nc1hwc0_to_nchw_with_instruction(blocked).reshape(-1).tolist() == [1, 2, 3, 4, 5] + [0] * 11
    assert ascendc.nc1hwc0_to_nchw_with_instruction(blocked, np.int64(2)).reshape(-1).tolist() == [1, 2]


@pytest.mark.parametrize("shape", [(0, 3, 4, 4), (2, 0, 4, 4), (2, 3, 0, 4), (2, 3, 4, 0)])
def test_zero_sizes(shape: tuple[int, int, int, int]) -> None:
    x = np.zeros(shape, np.float16)
    blocked = ascendc.nchw_to_nc1hwc0_with_instruction(x)
    assert blocked.shape == (shape[0], -(-shape[1] // 16), shape[2], shape[3], 16)
    assert ascendc.nc1hwc0_to_nchw_with_instruction(blocked, shape[1]).shape == shape


def test_strided_and_read_only_input() -> None:
    whole = counting((3, 20, 6, 10), "int32")
    x = whole[::-1, 1:, ::2, ::-3]
    before = whole.tobytes()
    whole.flags.writeable = False
    blocked = ascendc.nchw_to_nc1hwc0_with_instruction(x)
    assert blocked.tobytes() == by_oracle(np.ascontiguousarray(x), 16).tobytes()
    backwards = blocked[:, :, ::-1]
    assert (ascendc.nc1hwc0_to_nchw_with_instruction(backwards, 19) == x[:, :, ::-1]).all()
    assert whole.tobytes() == before


def test_results_begin_at_a_cache_line() -> None:
    kept = []
    for shape in SHAPES:
        kept.append(ascendc.nchw_to_nc1hwc0_with_instruction(np.ones(shape, np.float16)))
        kept.append(ascendc.nc1hwc0_to_nchw_with_instruction(kept[-1], shape[1]))
    assert {y.ctypes.data % 64 for y in kept} == {0}


def test_every_element_is_moved_by_the_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    """8-bit: four instructions, one for each pair of halves, the last two for the other 16 channels."""
    calls = []

    def spy(dst_list: Any, src_list: Any, params: ascendc.TransDataTo5HDParams, **options: Any) -> None:
        calls.append(params)

    monkeypatch.setattr("xascend.ascendc.nc1hwc0.trans_data_to_5hd", spy)
    out = ascendc.nchw_to_nc1hwc0_with_instruction(np.ones((1, 32, 8, 8), np.int8))
    assert not out.any()
    assert [(p.src_high_half, p.dst_high_half) for p in calls] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]
    assert {(p.repeat_times, p.dst_rep_stride, p.src_rep_stride) for p in calls} == {(2, 32, 1)}


@pytest.mark.parametrize(
    ("x", "c0", "error", "match"),
    [
        (np.zeros((2, 3, 4), np.int8), None, ValueError, r"`x` must have 4 axes, \(N, C, H, W\), got"),
        (np.zeros((1, 3, 2, 2), np.int64), None, TypeError, "8, 16 or 32 bits, got int64"),
        (np.zeros((1, 3, 2, 2), np.int8), 16, ValueError, "makes C0 = 32 of 8-bit types, got 16"),
        (np.zeros((1, 3, 2, 2), np.int32), 4, ValueError, "C0 = 16 or 8 of 32-bit types, got 4"),
        (np.zeros((1, 3, 2, 2), np.int32), 8.0, ValueError, "`c0` must be an integer of at least 1, got 8.0"),
        (np.zeros((1, 3, 2, 2), np.int32), True, ValueError, "`c0` must be an integer of at least 1, got True"),
        ([[[[1]]]], None, TypeError, "`x` must be an array"),
    ],
)  # fmt: skip
def test_refusals(x: Any, c0: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.nchw_to_nc1hwc0_with_instruction(x, c0=c0)


@pytest.mark.parametrize(
    ("x", "channels", "error", "match"),
    [
        (np.zeros((1, 2, 4, 16), np.int16), None, ValueError, r"`x` must have 5 axes, \(N, C1, H, W, C0\)"),
        (np.zeros((1, 2, 4, 4, 12), np.int16), None, ValueError, "C0 = 16 of 16-bit types, got 12"),
        (np.zeros((1, 2, 4, 4, 16), np.int16), 16, ValueError, r"`channels` must lie in \(16, 32\], got 16"),
        (np.zeros((1, 2, 4, 4, 16), np.int16), 33, ValueError, r"`channels` must lie in \(16, 32\], got 33"),
        (np.zeros((1, 2, 4, 4, 16), np.int16), 20.0, ValueError, "`channels` must be an integer"),
        (np.zeros((1, 0, 4, 4, 16), np.int16), 1, ValueError, "`channels` must be 0, got 1"),
    ],
)
def test_refusals_on_the_way_back(x: Any, channels: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.nc1hwc0_to_nchw_with_instruction(x, channels)


def test_products() -> None:
    x = np.zeros((0, 3, 2, 2), np.float32)
    with pytest.raises(TypeError, match="does not support float32 on ATLAS_TRAINING"):
        ascendc.nchw_to_nc1hwc0_with_instruction(x, product=ascendc.Product.ATLAS_TRAINING)
    blocked = ascendc.nchw_to_nc1hwc0_with_instruction(x, product=ascendc.Product.ATLAS_A2)
    with pytest.raises(TypeError, match="does not support float32 on ATLAS_TRAINING"):
        ascendc.nc1hwc0_to_nchw_with_instruction(blocked, product=ascendc.Product.ATLAS_TRAINING)


def test_torch_tensors_that_require_grad() -> None:
    x = library("torch", "float32").asarray(np.zeros((1, 3, 2, 2), np.float32)).requires_grad_()
    with pytest.raises(ValueError, match=r"`x` requires grad, .* pass `x.detach\(\)`"):
        ascendc.nchw_to_nc1hwc0_with_instruction(x)


@pytest.mark.parametrize("name", ["array_api_strict", "dask"])
def test_libraries_that_do_not_write_in_place(name: str) -> None:
    x = LIBRARIES[name]().asarray(np.zeros((1, 3, 2, 2), np.float32))
    with pytest.raises(TypeError, match=r"`x` is a .*: instructions write in place"):
        ascendc.nchw_to_nc1hwc0_with_instruction(x)

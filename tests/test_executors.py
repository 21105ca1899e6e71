"""The executors agree bit for bit: the agnostic one, which is the definition, and the one for NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import array_api_compat as compat
import numpy as np
import pairs
import pytest
from libraries import assert_same_bits, random_bits

import xascend as xa
from xascend import _agnostic, _execute, _native, _numpy, ascendc
from xascend._outputs import empty_aligned
from xascend._plan import make_plan
from xascend.formats import as_format

BITS = {"uint8": 8, "float16": 16, "bfloat16": 16, "float32": 32, "complex128": 128}


def both(x: np.ndarray, src: str, dst: str, shape: tuple | None, c0: int | None, groups: int = 1) -> np.ndarray:
    """Run both executors on one plan, compare, and return the result."""
    bits = BITS[x.dtype.name]
    plan = make_plan(as_format("src", src), as_format("dst", dst), x.shape, shape, bits, c0, groups)
    pad = np.asarray(3).astype(x.dtype)[()]
    written = empty_aligned(plan.dst_shape, x.dtype)
    _numpy.run(plan, x, written, pad)
    defined = _agnostic.run(plan, x, compat.array_namespace(x), pad.item())
    assert_same_bits(written, np.ascontiguousarray(defined))
    return written


@pytest.mark.parametrize(("src", "dst"), pairs.PLAIN_TO_BLOCKED)
def test_there_and_back(src: str, dst: str) -> None:
    for shape, dtype in zip(pairs.shapes(src, dst), list(BITS) * 3, strict=False):
        x = random_bits(shape, dtype)
        stored = both(x, src, dst, None, None)
        assert_same_bits(both(stored, dst, src, shape, None), x)


@pytest.mark.parametrize(("src", "dst"), pairs.BLOCKED_TO_BLOCKED)
def test_blocked_to_blocked(src: str, dst: str) -> None:
    axes = pairs.logical_axes(src, dst)
    for shape in pairs.shapes(axes, src, dst):
        stored = xa.trans_data(random_bits(shape, "float16"), axes, src, pad_value=7)
        both(stored, src, dst, shape, None)


@pytest.mark.parametrize("plain", ["NCHW", "NHWC", "HWCN", "CHWN"])
@pytest.mark.parametrize(("groups", "c", "cout"), [(2, 4, 4), (5, 3, 2), (9, 2, 3), (33, 1, 1), (3, 17, 20)])
def test_groups(plain: str, groups: int, c: int, cout: int) -> None:
    shape = pairs.sizes_of(plain, "NCHW", (groups * cout, c, 2, 3))
    x = random_bits(shape, "float32")
    stored = both(x, plain, "FRACTAL_Z", None, None, groups)
    assert_same_bits(both(stored, "FRACTAL_Z", plain, shape, None, groups), x)
    for other in ("NC1HWC0", "FRACTAL_NZ"):
        both(stored, "FRACTAL_Z", other, pairs.sizes_of("NCHW", plain, shape), 8, groups)


@pytest.fixture
def small_slabs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Let the NumPy executor treat small arrays as large ones; return a list that gets the step of every choice."""
    steps = []
    choose = _numpy._slab_first

    def spy(dims: list, nbytes: int) -> int:
        steps.append(choose(dims, nbytes))
        return steps[-1]

    small = {"_MIN_SLABBED_BYTES": 0, "_MIN_SLAB_BYTES": 1, "_PAGE_BYTES": 64, "_MAX_PAGES": 2}
    for name, value in (small | {"_TOGETHER_BYTES": 200, "_MIN_FILLED_ITEMS": 1}).items():
        monkeypatch.setattr(_numpy, name, value)
    monkeypatch.setattr(_numpy, "_slab_first", spy)
    _numpy._rounds.cache_clear()
    yield steps
    _numpy._rounds.cache_clear()


@pytest.mark.parametrize("layout", ["contiguous", "reversed", "broadcast"])
@pytest.mark.parametrize(
    ("src", "dst", "shape"),
    [
        ("ND", "FRACTAL_NZ", (2, 47, 70)),
        ("NCHW", "NC1HWC0", (2, 35, 5, 9)),
        ("NHWC", "NC1HWC0", (2, 5, 9, 35)),
        ("NCHW", "FRACTAL_Z", (33, 35, 2, 3)),
        ("NCHW", "NHWC", (2, 3, 7, 9)),
    ],
)
def test_large_arrays_are_moved_in_slabs(
    src: str, dst: str, shape: tuple[int, ...], layout: str, small_slabs: list[int]
) -> None:
    x = random_bits(shape, "float16")
    x = {"contiguous": x, "reversed": x[::-1, ..., ::-1], "broadcast": np.broadcast_to(x[:1], shape)}[layout]
    stored = both(x, src, dst, None, None)
    assert_same_bits(both(stored, dst, src, shape, None), np.ascontiguousarray(x))
    assert any(small_slabs) or layout != "contiguous"  # strides of views may leave nothing to cut


def test_elements_and_the_padding_between_them_take_turns(small_slabs: list[int]) -> None:
    x = random_bits((2, 5, 9, 3), "float16")
    stored = both(x, "NHWC", "NC1HWC0", None, None)
    plan = make_plan(as_format("src", "NHWC"), as_format("dst", "5HD"), x.shape, None, 16, None, 1)
    (both_moves,) = _numpy._rounds(plan, 2, x.strides, stored.strides)
    assert [move.words for move in both_moves.moves] == [1, 13]
    assert (both_moves.step, both_moves.moves[0].target.shape) == (200 // 32, (90,))
    strided = np.zeros((*stored.shape[:-1], 32), np.float16)[..., ::2]
    _numpy.run(plan, x, strided, np.float16(3)[()])
    assert_same_bits(np.ascontiguousarray(strided), stored)


def test_a_slab_keeps_to_a_few_pages_of_the_source_and_is_worth_a_call() -> None:
    megabytes = 32 << 20
    rows = [(256, 32, 4096 * 32), (4096, 8192, 32)]  # float16, 4096 x 4096, to FRACTAL_NZ
    assert (_numpy._slab_first(rows, megabytes), rows[0]) == (64, (4096, 8192, 32))
    blocks = [(4096, 32, 8192), (256, 4096 * 32, 32)]  # and back
    assert (_numpy._slab_first(blocks, megabytes), blocks[0]) == (64, (256, 4096 * 32, 32))
    images = [(16, 2, 50176 * 2), (50176, 32, 2)]  # 16 channels of 224 x 224, float16, from NC1HWC0
    assert (_numpy._slab_first(images, megabytes), images[0]) == (8192, (50176, 32, 2))
    assert _numpy._slab_first([(16, 2, 3136 * 2), (3136, 32, 2)], megabytes) == 0  # of 56 x 56: 25 pages
    assert _numpy._slab_first([(4096, 2, 8), (4096, 8192, 1 << 20)], 1 << 20) == 256  # short rows: 64 KiB
    same_order = [(4096, 8192, 16384), (256, 32, 64)]
    assert _numpy._slab_first(list(same_order), megabytes) == 0
    assert _numpy._slab_first([(8, 32, 1 << 12), (128, 256, 32)], 1 << 15) == 0  # small
    assert _numpy._slab_first([], megabytes) == 0


@pytest.mark.parametrize(("columns", "item"), [((1 << 31) - 1, "|V2147483647"), (1 << 31, "|u1")])
def test_runs_too_long_for_an_item_of_numpy_stay_elements(columns: int, item: str) -> None:
    plan = make_plan(as_format("src", "ND"), as_format("dst", "NZ"), (2, columns), None, 8, columns, 1)
    *_, last = _numpy._rounds(plan, 1, (columns + 1, 1), (16 * columns, 16 * columns, columns, 1))
    (copy,) = last.moves
    assert copy.source.dtype.str == copy.target.dtype.str == item


def test_without_the_native_library_numpy_arrays_take_the_numpy_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def spy(plan, x, out, pad_value) -> None:
        ran.append(plan)
        _numpy_run(plan, x, out, pad_value)

    _numpy_run = _numpy.run
    monkeypatch.setattr(_execute._numpy, "run", spy)
    monkeypatch.setattr(_execute._native, "reason_unsupported", lambda: "switched off by a test")
    xa.nd_to_nz(np.zeros((20, 28), np.float16))
    assert len(ran) == 1


@pytest.mark.parametrize("shape", [(1, 1), (20, 28), (300, 511)])
@pytest.mark.parametrize("native", [True, False])
def test_results_begin_at_a_cache_line(shape: tuple, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(_native, "reason_unsupported", lambda: "left out")
    x = np.ones(shape, np.float16)
    kept = [xa.nd_to_nz(x) for _ in range(8)]  # so that each lies elsewhere
    kept += [ascendc.requantize(x.astype(np.float32), ascendc.QuantMode.F322F16, 0) for _ in range(8)]
    assert [y.ctypes.data % 64 for y in kept] == [0] * 16

"""TransDataTo5HD and Brcb by the native library, and by NumPy and PyTorch without it: the same bytes or errors."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from ascendc.forms import FORMS, library, run
from hypothesis import event, given, settings
from hypothesis import strategies as st
from libraries import numpy_dtype, random_bits
from native.guards import between_guards

from xascend import ascendc
from xascend.ascendc import _native

LIBRARIES = ("numpy", "torch")
SRC = [32 * block for block in range(16)]
DST = [512 + address for address in SRC]


@contextmanager
def without_library() -> Iterator[None]:
    with mock.patch.object(_native, "_library", return_value=None):
        yield


@contextmanager
def counting() -> Iterator[dict[str, int]]:
    """Count the calls into the library that moved something."""
    found = _native._library()
    assert found is not None
    moved = dict.fromkeys(found._fields, 0)

    def counted(name: str) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            result = getattr(found, name)(*arguments)
            moved[name] += result is not False
            return result

        return function

    with mock.patch.object(_native, "_library", return_value=type(found)(*map(counted, found._fields))):
        yield moved


def outcome(call: Callable[[], Any], *arrays: Any) -> Any:
    """Return the error, or None, and the bytes of the arrays afterwards."""
    error = None
    try:
        call()
    except (TypeError, ValueError) as caught:
        error = type(caught), str(caught)
    return error, [np.asarray(x).tobytes() for x in arrays]


@settings(max_examples=150)
@given(data=st.data())
def test_the_same_as_without_the_library(data: st.DataObject) -> None:
    """Blocks close together, so that calls are plain, legal in another way, and against the rules in many ways."""
    dtype = data.draw(st.sampled_from(("uint8", "uint16", "uint32")))
    high = st.booleans() if dtype == "uint8" else st.just(False)
    params = ascendc.TransDataTo5HDParams(
        dst_high_half=data.draw(high),
        src_high_half=data.draw(high),
        repeat_times=data.draw(st.sampled_from((1, 2, 5))),
        dst_rep_stride=data.draw(st.sampled_from((0, 1, 16, 17))),
        src_rep_stride=data.draw(st.sampled_from((0, 1, 16, 17))),
    )
    apart = data.draw(st.sampled_from((-85, -20, -1, 0, 3, 16, 85)))  # 85 blocks are out of reach
    src = [32 * (90 + block) for block in data.draw(st.permutations(range(17)))[:16]]
    dst = [32 * apart + address for address in data.draw(st.permutations(src))]
    spoilt = data.draw(st.integers(0, 15))
    change = data.draw(st.sampled_from((0, 0, 0, 0, 0, 32, 16, 32 * 100, -(1 << 20), 1 << 70)))
    form = data.draw(st.sampled_from(FORMS if 0 <= change <= 32 else ("ints",)))
    dst[spoilt] += change
    start = random_bits((32 * 260 // np.dtype(dtype).itemsize,), dtype)
    lib = library(data.draw(st.sampled_from(LIBRARIES)), dtype)
    by_library, by_arrays = lib.asarray(start.copy()), lib.asarray(start.copy())

    made = outcome(lambda: run(form, by_library, dst, src, params), by_library)
    with without_library():
        expected = outcome(lambda: run(form, by_arrays, dst, src, params), by_arrays)
    event(str(expected[0] and expected[0][1].split(":")[-1]))
    assert made == expected


@pytest.mark.parametrize("dtype", ["int8", "bool", "bfloat16", "float8_e5m2", "uint32"])
@pytest.mark.parametrize(
    ("form", "name", "function"),
    [
        ("ints", "numpy", "trans_data_to_5hd_in_array"),
        ("views", "numpy", "trans_data_to_5hd_of_views"),
        ("uint64 arrays", "numpy", "trans_data_to_5hd_in_array"),
        ("ints", "torch", "trans_data_to_5hd_in_array"),
        ("uint64 arrays", "torch", "trans_data_to_5hd"),
        ("views", "torch", "trans_data_to_5hd"),
    ],
)
def test_the_library_runs(form: str, name: str, function: str, dtype: str) -> None:
    start = random_bits((1024 // numpy_dtype(dtype).itemsize,), dtype)
    ub = library(name, dtype).asarray(start.copy())
    with counting() as moved:
        run(form, ub, DST, SRC, ascendc.TransDataTo5HDParams())
    assert {name for name, times in moved.items() if times} == {function}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("src_rep_stride", [16, 32])
def test_in_place(form: str, dtype: str, src_rep_stride: int) -> None:
    """Sources of the first repeat are its destinations; those of the second too, or they lie elsewhere."""
    start = random_bits((1536 // np.dtype(dtype).itemsize,), dtype)
    params = ascendc.TransDataTo5HDParams(repeat_times=2, dst_rep_stride=16, src_rep_stride=src_rep_stride)
    by_library, by_numpy = start.copy(), start.copy()
    with counting() as moved:
        run(form, by_library, SRC[::-1], SRC, params)
    assert sum(moved.values()) == 1
    assert moved["trans_data_to_5hd"] == (src_rep_stride == 32)
    with without_library():
        run(form, by_numpy, SRC[::-1], SRC, params)
    assert by_library.tobytes() == by_numpy.tobytes()
    assert by_library.tobytes() != start.tobytes()


@settings(max_examples=100)
@given(data=st.data())
def test_blocks_that_meet(data: st.DataObject) -> None:
    """Sources and destinations among each other, walking alike: in place, in turn, or against the rules."""
    repeats, stride = data.draw(st.sampled_from(((1, 5), (2, 0), (2, 2), (3, 32), (2, 33))))
    params = ascendc.TransDataTo5HDParams(repeat_times=repeats, dst_rep_stride=stride, src_rep_stride=stride)
    spread, odd = data.draw(st.sampled_from((1, 2, 3))), data.draw(st.integers(-1, 1))
    src = [64 + spread * block for block in data.draw(st.permutations(range(16)))]
    dst = [block + odd for block in data.draw(st.permutations(src))]
    if data.draw(st.sampled_from((False, False, True))):
        src[0] = src[1]
    start = random_bits((16 * 200,), "uint16")
    by_library, by_numpy = start.copy(), start.copy()
    addresses = [32 * block for block in dst], [32 * block for block in src]
    made = outcome(lambda: run("ints", by_library, *addresses, params), by_library)
    with without_library():
        expected = outcome(lambda: run("ints", by_numpy, *addresses, params), by_numpy)
    event(f"odd {odd}, {expected[0] and expected[0][1].split(':')[-1]}")
    assert made == expected


@pytest.mark.parametrize("itemsize", [1, 2, 4])
def test_nothing_is_read_or_written_beside_the_blocks(itemsize: int) -> None:
    ub = between_guards(8192).view(f"u{itemsize}")
    low, high = SRC, [ub.nbytes - 1024 + address for address in SRC]
    params = ascendc.TransDataTo5HDParams(repeat_times=2, dst_rep_stride=16, src_rep_stride=16)
    for (dst, src), form in itertools.product(((low, high), (high, low), (low, low)), ("ints", "views")):
        ub[:] = random_bits(ub.shape, ub.dtype.name)
        expected = ub.copy()
        with counting() as moved:
            run(form, ub, dst, src, params)
        assert sum(moved.values()) == 1
        with without_library():
            run(form, expected, dst, src, params)
        assert ub.tobytes() == expected.tobytes()


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_brcb_touches_nothing_beside_its_operands(itemsize: int) -> None:
    ub = between_guards(8192).view(f"u{itemsize}")
    read = max(32 // itemsize, 8)
    written = read * 32 // itemsize
    for dst, src in ((slice(written), slice(-read, None)), (slice(-written, None), slice(read))):
        ub[:] = random_bits(ub.shape, ub.dtype.name)
        expected = ub.copy()
        expected[dst] = np.repeat(ub[src], 32 // itemsize)
        with counting() as moved:
            ascendc.brcb(ub[dst], ub[src], read // 8)
        assert moved["brcb_of_views"] == 1
        assert ub.tobytes() == expected.tobytes()


def test_pytorch_counts_the_change() -> None:
    ub = library("torch", "int16").asarray(np.zeros(512, np.int16))
    calls = [functools.partial(run, form, ub, DST, SRC, ascendc.TransDataTo5HDParams()) for form in FORMS]
    for call in (*calls, functools.partial(ascendc.brcb, ub, ub[128:], 1)):
        version = ub._version
        call()
        assert ub._version > version


@settings(max_examples=200)
@given(data=st.data())
def test_brcb_is_the_same_as_without_the_library(data: st.DataObject) -> None:
    """Source and destination in one buffer: apart, in a gap of each other, or against the rules."""
    dtype = data.draw(st.sampled_from(("uint8", "uint16", "uint32", "uint64")))
    itemsize = np.dtype(dtype).itemsize
    strides = data.draw(st.sampled_from(((1, 8), (2, 16), (3, 1), (1, 0))))
    repeats = data.draw(st.sampled_from((1, 2, 5)))
    dst, src = (data.draw(st.integers(0, 90)) * data.draw(st.sampled_from((32, 32, 32, 16))) // itemsize for _ in "ds")
    start = random_bits((32 * 120 // itemsize,), dtype)
    lib = library(data.draw(st.sampled_from(LIBRARIES)), "int64" if dtype == "uint64" else dtype)
    params = ascendc.BrcbRepeatParams(*strides)
    by_library, by_arrays = (lib.asarray(start.view(f"i{itemsize}").copy()) for _ in "ab")
    made = outcome(lambda: ascendc.brcb(by_library[dst:], by_library[src:], repeats, params), by_library)
    with without_library():
        expected = outcome(lambda: ascendc.brcb(by_arrays[dst:], by_arrays[src:], repeats, params), by_arrays)
    event(str(expected[0] and expected[0][1].split(" ")[1:4]))
    assert made == expected


@pytest.mark.parametrize("dtype", ["int8", "bool", "bfloat16", "float32", "int64", "complex64"])
@pytest.mark.parametrize(("name", "function"), [("numpy", "brcb_of_views"), ("torch", "brcb")])
def test_the_library_runs_brcb(name: str, function: str, dtype: str) -> None:
    lib = library(name, dtype)
    src = lib.asarray(random_bits((24,), dtype))
    dst = lib.asarray(np.zeros(3 * 8 * 32 // numpy_dtype(dtype).itemsize, numpy_dtype(dtype)))
    with counting() as moved:
        ascendc.brcb(dst, src, 3)
    assert {name for name, times in moved.items() if times} == {function}


def test_brcb_in_the_gaps_of_its_destination() -> None:
    ub = np.arange(256, dtype=np.int16)
    with counting() as moved:
        ascendc.brcb(ub, ub[16:24], 1, ascendc.BrcbRepeatParams(2, 16))
    assert moved["brcb"] == 1
    assert ub.reshape(16, 16)[0::2].tolist() == [[value] * 16 for value in range(16, 24)]


class Boasting(list):
    """A list that is said to be as long as the instruction wants it."""

    def __len__(self) -> int:
        return 16


@pytest.mark.parametrize("entries", [3, 17])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("form", ["views", "addresses"])
def test_lists_are_as_long_as_what_they_yield(form: str, side: int, entries: int) -> None:
    x = np.arange(32 * 16, dtype=np.uint16)
    lists = [[x[16 * i :] if form == "views" else 32 * i for i in range(start, start + 16)] for start in (0, 16)]
    lists[side] = Boasting((lists[side] * 2)[:entries])
    ub = None if form == "views" else x
    with pytest.raises(ValueError, match=f"must have 16 entries, got {entries}"):
        ascendc.trans_data_to_5hd(*lists, ascendc.TransDataTo5HDParams(), ub=ub)


@pytest.mark.parametrize("form", ["views", "addresses"])
def test_what_is_told_first_does_not_depend_on_the_library(form: str) -> None:
    x = np.zeros(32 * 16, np.float64)
    x.flags.writeable = False  # and of a type that is not moved
    dst, src = ([x[4 * i :] if form == "views" else 32 * i for i in range(start, start + 16)] for start in (0, 16))

    def call() -> None:
        ascendc.trans_data_to_5hd(dst, src, ascendc.TransDataTo5HDParams(), ub=None if form == "views" else x)

    with_library = outcome(call, x)
    with without_library():
        assert outcome(call, x) == with_library
    assert "read-only" in with_library[0][1]

"""Quantisation by the native library equals that by NumPy, bit for bit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import assert_same_bits, random_bits
from native.guards import each_end, guarded, guarded_copy
from native.quantisers import BELOW_ZERO, KINDS, bare_rule, by_numpy, check, every_rule, rule_of
from numpy.lib.stride_tricks import as_strided
from quant.values import FLOATS, INTS, word

import xascend as xa
from xascend import _native_library
from xascend.quant import QuantMode, _native, requantize
from xascend.quant._rules import Rule

kinds = pytest.mark.parametrize("kind", KINDS, ids="-".join)


@kinds
def test_values_where_implementations_go_wrong(kind: tuple[str, str, str]) -> None:
    values = FLOATS if kind[1] == "float32" else INTS
    x = np.stack([np.roll(values, k) for k in range(40)])
    for shifts in (False, True):
        for rule in every_rule(kind, x.shape[1], shifts=shifts):
            check(x, rule)


@kinds
def test_random_bits(kind: tuple[str, str, str]) -> None:
    x = random_bits((257, 1013), kind[1], seed=3)
    for rule in every_rule(kind, x.shape[1], seed=4):
        check(x, rule)


@pytest.mark.parametrize("saturate", [False, True])
def test_every_boundary_between_two_float16(saturate: bool) -> None:
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middles = (halves + np.append(halves[1:], np.float32(65536))) / 2
    x = np.concatenate([halves, middles]).view(np.int32)[:, None] + np.arange(-2, 3, dtype=np.int32)
    x = np.maximum(x, 0).view(np.float32)
    for signed in (x, -x):
        check(signed, bare_rule("F322F16", "float32", saturate=saturate))


@pytest.mark.parametrize("saturate", [False, True])
def test_every_bfloat16_and_what_is_rounded_to_it(saturate: bool) -> None:
    high = np.arange(1 << 16, dtype=np.uint32)[:, None] << 16
    low = np.array([0, 1, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    check((high | low).view(np.float32), bare_rule("F322BF16", "float32", saturate=saturate))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["F322F16", "F322BF16", "QF322B8_PRE"])
def test_float32_of_every_exponent(mode: str) -> None:
    rule = bare_rule(mode, "float32", *([word(1.0, -3)] if mode == "QF322B8_PRE" else []))
    for start in range(0, 1 << 32, 1 << 28):  # in odd steps, so that all low bits occur with all high bits
        check(np.arange(start, start + (1 << 28), 37, dtype=np.uint32).view(np.float32), rule)


@pytest.mark.parametrize("shift", range(1, 17))
def test_every_int16_that_a_shift_leaves(shift: int) -> None:
    shifted = np.arange(-(1 << 15), 1 << 15, dtype=np.int64)[:, None] << shift
    low = np.array([0, 1, (1 << shift) - 1])
    x = np.clip(shifted + low, -(1 << 31), (1 << 31) - 1).astype(np.int32)
    for mode in ("REQ8", "DEQF16"):
        check(x, bare_rule(mode, "int32", word(0.37, 9, shift=shift)))
        check(x[::16], bare_rule("V" + mode, "int32", *(word(0.5, k, shift=shift * (k < 2)) for k in range(3))))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_ties_and_both_clips_at_every_offset(signed: bool, relu: bool) -> None:
    x = np.repeat(np.arange(-1100, 1101, dtype=np.float32)[:, None] / 4, 512, axis=1)
    words = [word(1.0, offset, signed) for offset in range(-256, 256)]
    check(x, bare_rule("VQF322B8_PRE", "float32", *words, relu=relu))
    for k in range(0, 512, 37):
        check(x[:, 0], bare_rule("QF322B8_PRE", "float32", words[k], relu=relu))


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 8191, 8192, 8193, 16390])
def test_any_number_of_columns(columns: int) -> None:
    for kind in (("VREQ8", "int32", "int8"), ("VDEQF16", "int32", "float16"), ("NoQuant", "float32", "float32")):
        x = random_bits((5, columns), kind[1])
        for rule in (rule_of(kind, columns, shifts=True), rule_of(kind, columns, below_zero="slopes")):
            check(x, rule)
            check(x[:0], rule)


VIEWS = {
    "some columns": lambda x: x[:, 3:-2],
    "every other row": lambda x: x[::2],
    "rows backwards": lambda x: x[::-1],
    "every other column": lambda x: x[:, ::2],
    "columns backwards": lambda x: x[:, ::-1],
    "transposed": lambda x: x.T,
    "one row for all": lambda x: np.broadcast_to(x[:1], x.shape),
    "one column for all": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "rows that overlap": lambda x: as_strided(x, x.shape, (x.itemsize, x.itemsize), writeable=False),
    "a column": lambda x: x[:, 5],
    "one column": lambda x: x[:, 5:6],
    "three axes": lambda x: x.reshape(4, 12, -1).transpose(1, 0, 2),
    "even rows": lambda x: x.reshape(4, 12, -1)[:, ::3],
    "a field": lambda x: np.repeat(x[..., None], 3, -1).view([("a", "i2"), ("x", x.dtype), ("b", "i2", 3)])["x"][
        ..., 0
    ],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS[::3], ids="-".join)
def test_views_of_the_source(view: str, kind: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    x = VIEWS[view](random_bits((48, 90), kind[1]))
    for slab in (_native._SLAB, 100):
        monkeypatch.setattr(_native, "_SLAB", slab)
        for below_zero in BELOW_ZERO:
            check(x, rule_of(kind, x.shape[-1], below_zero=below_zero))


@kinds
@pytest.mark.parametrize("shift", [1, 2, 3, 4, 17, 63])
@pytest.mark.parametrize("shape", [(1, 5), (3, 37), (40, 301)])
def test_any_address_and_nothing_written_beside(kind: tuple[str, str, str], shift: int, shape: tuple[int, int]) -> None:
    x = random_bits(shape, kind[1])
    rule = rule_of(kind, shape[1], below_zero="relu")
    expected = by_numpy(x, rule)
    source_memory = np.full(x.nbytes + 128, 0x5A, np.uint8)
    source = source_memory[shift : shift + x.nbytes].view(x.dtype).reshape(shape)
    source[...] = x
    source.flags.writeable = False
    memory = np.full(expected.nbytes + 256, 0xC3, np.uint8)
    out = memory[64 + shift : 64 + shift + expected.nbytes].view(expected.dtype).reshape(shape)
    _native.quantise_rows(source, out, rule)
    assert_same_bits(out, expected)
    assert (memory[: 64 + shift] == 0xC3).all()
    assert (memory[64 + shift + expected.nbytes :] == 0xC3).all()


def check_ends(x: np.ndarray, rule: Rule, end: str, *threads: int) -> None:
    """Quantise beside pages that must not be touched; unlike bytes around an array, they tell of reads as well."""
    expected = by_numpy(x, rule)
    for number in threads:
        xa.set_num_threads(number)
        out = guarded(x.shape, expected.dtype, end)
        _native.quantise_rows(guarded_copy(x, end), out, rule)
        assert_same_bits(out, expected)


@kinds
@each_end
@pytest.mark.parametrize("shape", [(1, 5), (3, 37), (40, 301)])
def test_nothing_is_touched_past_either_end(kind: tuple[str, str, str], end: str, shape: tuple[int, int]) -> None:
    x = random_bits(shape, kind[1])
    for below_zero in BELOW_ZERO:
        check_ends(x, rule_of(kind, shape[1], below_zero=below_zero, shifts=True), end, 1, 3)


@each_end
@pytest.mark.parametrize("kind", KINDS[::4], ids="-".join)
def test_any_number_of_threads(kind: tuple[str, str, str], end: str) -> None:
    x = random_bits((1501, 1999), kind[1])
    check_ends(x, rule_of(kind, x.shape[1]), end, 1, 2, 3, 4, 5, 8, 16)


@settings(max_examples=150)
@given(
    kind=st.sampled_from(KINDS),
    shape=st.lists(st.integers(0, 9), max_size=2).map(tuple),
    columns=st.integers(1, 70),
    steps=st.lists(st.sampled_from([1, 1, 1, 2, -1, -3]), min_size=3, max_size=3),
    below_zero=st.sampled_from(BELOW_ZERO),
    saturate=st.booleans(),
    shifts=st.booleans(),
    seed=st.integers(0, 1 << 16),
)
def test_anything(kind, shape, columns, steps, below_zero, saturate, shifts, seed) -> None:
    shape = (*shape, columns)
    steps = steps[-len(shape) :]
    big = random_bits(tuple(abs(step) * size for step, size in zip(steps, shape, strict=True)), kind[1], seed)
    x = big[tuple(slice(None, None, step) for step in steps)]
    check(x, rule_of(kind, columns, below_zero=below_zero, saturate=saturate, shifts=shifts, seed=seed))


def test_arrays_really_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    library = _native_library.load()

    def spy(*arguments: int) -> int:
        seen.append(arguments[-1])
        return library.quantise(*arguments)

    monkeypatch.setattr(_native, "load", lambda: dataclasses.replace(library, quantise=spy))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for one in (x, x.T, x[:0]):
        requantize(one, QuantMode.F322F16, 0)
    assert seen == [xa.get_num_threads()] * 2
    requantize(x.astype(">f4"), QuantMode.F322F16, 0)
    assert len(seen) == 2
    torch = pytest.importorskip("torch", reason="torch is not installed")
    requantize(torch.ones((3, 4)), QuantMode.F322F16, 0)
    assert len(seen) == 3


def test_without_memory_for_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _native_library.load()
    monkeypatch.setattr(_native, "load", lambda: dataclasses.replace(library, quantise=lambda *_: 1))
    with pytest.raises(MemoryError, match="the native library got no memory for its work"):
        requantize(np.ones(3, np.float32), QuantMode.F322F16, 0)


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    x = random_bits((20, 28), "int32")
    expected = requantize(x, QuantMode.REQ8, word(0.3))
    monkeypatch.setenv("XASCEND_DISABLE_NATIVE", "1")
    monkeypatch.setattr(_native, "load", _native_library.load.__wrapped__)
    assert _native.host_memories(x, x) is None
    assert_same_bits(requantize(x, QuantMode.REQ8, word(0.3)), expected)

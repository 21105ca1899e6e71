"""`requantize` against the documents' vectors and an oracle of one element at a time, on every library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import quant.quant_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import Library, assert_result, assert_same_bits, numpy_dtype
from quant.values import FLOATS, INTS, SHIFTED, WORDS, expect, quant_mode, values_for, word

from xascend.quant import QuantMode, _rules, pack_quant_param, requantize, unpack_quant_param
from xascend.quant._modes import MODES

SCALAR_MODES = [mode for mode, (_, takes_word, _) in oracle.MODES.items() if takes_word]
PLAIN_MODES = ["NoQuant", "F322F16", "F322BF16"]
OPTIONS = [{"relu": relu, "saturate": saturate} for relu in (False, True) for saturate in (False, True)]


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


# Tables of the vendor's golden scripts, as numbers.
EIGHT_BIT_VECTORS = [
    (f32(0.5, 1.5, 2.5, -0.5, -1.5, 300, -300), (1.0, 0, False), [0, 2, 2, 0, 0, 255, 0]),
    (f32(0.5, 1.5, 2.5, -0.5, -1.5, 300, -300), (1.0, 1, True), [1, 3, 3, 1, -1, 127, -128]),
    (f32(0.5, 300, -300, -5), (1.0, -1, False), [0, 254, 0, 0]),
    (f32(0.5, 2.5, -1.5), (1.0, 1, True), [1, 3, -1]),
    (f32(300), (1.0, -200, True), [55]),
    (f32(-300), (1.0, 200, True), [-56]),
    (f32(300), (1.0, 100, False), [255]),
    (f32(0.5, 1.5, 2.5, -0.5, -1.5, -2.5), (1.0, 0, True), [0, 2, 2, 0, -2, -2]),
    (f32(0.9, -0.9), (1.0, 0, True), [1, -1]),
    (f32(35, 45, 125), (0.1, 0, True), [3, 4, 12]),
    (f32(5), (1.0, -1, True), [4]),
    (f32(-5, 5, 254.5, 255.5, 300), (1.0, 0, False), [0, 5, 254, 255, 255]),
    (f32(np.nan, np.nan), (1.0, 7, True), [7, 7]),
    (f32(np.inf, -np.inf), (-1.0, 0, True), [-128, 127]),
]


@pytest.mark.parametrize(("x", "param", "results"), EIGHT_BIT_VECTORS)
def test_eight_bit_vectors(x: np.ndarray, param: tuple, results: list[int]) -> None:
    made = requantize(x, QuantMode.QF322B8_PRE, pack_quant_param(*param))
    assert made.dtype == ("int8" if param[2] else "uint8")
    assert made.tolist() == results


def test_requantized_integers() -> None:
    x = np.array([-(1 << 31), -300, -5, 0, 5, 300, (1 << 31) - 1], np.int32)
    word_ = pack_quant_param(1.0, -200)
    assert requantize(x, QuantMode.REQ8, word_).tolist() == [-128, -128, -128, -128, -128, 55, 55]


@pytest.mark.parametrize(("x", "scale", "result"), [(3, 0.25, 0.75), (70000, 1.0, 65504), (-70000, 1.0, -65504)])
def test_dequantised_halves(x: int, scale: float, result: float) -> None:
    for offset in (0, 100):  # the offset counts only for 8-bit results
        made = requantize(np.array([x], np.int32), QuantMode.DEQF16, pack_quant_param(scale, offset))
        assert made.dtype == np.float16
        assert made.tolist() == [result]


def test_halves_and_infinities() -> None:
    x = f32(65519.996, 65520.0, -65520.0, np.inf, np.nan)
    kept = requantize(x, QuantMode.F322F16, 0)
    assert kept.view(np.uint16).tolist() == [0x7BFF, 0x7C00, 0xFC00, 0x7C00, 0x7E00]
    assert requantize(x, QuantMode.F322F16, 0, saturate=True).tolist() == [65504, 65504, -65504, 65504, 0]


def test_bfloat16_ties_to_even() -> None:
    x = np.array([0x3F818000, 0x3F808000, 0x7F7F8000], np.uint32).view(np.float32)
    assert requantize(x, QuantMode.F322BF16, 0).view(np.uint16).tolist() == [0x3F82, 0x3F80, 0x7F80]
    assert requantize(x, QuantMode.F322BF16, 0, saturate=True).view(np.uint16).tolist() == [0x3F82, 0x3F80, 0x7F7F]


def test_relu_looks_at_the_input() -> None:
    x = f32(2, -2, -0.0, -np.inf)
    assert requantize(x, QuantMode.QF322B8_PRE, pack_quant_param(-1.0, 5), relu=True).tolist() == [3, 5, 5, 5]
    zeros = requantize(x, QuantMode.F322F16, 0, relu=True)
    assert zeros.view(np.uint16).tolist() == [0x4000, 0, 0, 0]
    assert requantize(x, QuantMode.NoQuant, 0, relu=True).view(np.uint32).tolist() == [0x40000000, 0, 0, 0]
    assert requantize(np.array([2, -2], np.int32), QuantMode.NoQuant, 0, relu=True).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("mode", "x", "scale"),
    [
        ("DEQF16", np.array([1, 3, 0], np.int32), -1e-10),
        ("QF322F16_PRE", f32(1, 3, 1e-30), -(2.0**-26)),
        ("QF322BF16_PRE", f32(1e-10, 1e-38), -1e-35),
    ],
)
def test_no_result_of_relu_is_negative_zero(xp: Library, mode: str, x: np.ndarray, scale: float) -> None:
    xp.require("bfloat16" if "BF16" in mode else "float16")
    word_ = xp.asarray(np.full(x.size, pack_quant_param(scale), np.uint64))
    for made in (
        requantize(xp.asarray(x), QuantMode[mode], pack_quant_param(scale), relu=True),
        requantize(xp.asarray(x), QuantMode["V" + mode], word_, relu=True),
    ):
        bits = xp.to_numpy(made).view(np.uint16)
        assert 0x8000 not in bits
        assert 0 in bits


def test_shift_saturates_to_16_bits_first() -> None:
    x = np.array([100, -3, 1 << 30, -(1 << 30)], np.int32)
    made = requantize(x, QuantMode.DEQF16, pack_quant_param(1.0, shift=1))
    assert made.tolist() == [50, -2, 32768, -32768]  # 32767 is no half
    assert requantize(x, QuantMode.REQ8, pack_quant_param(1.0, shift=1)).tolist() == [50, -2, 127, -128]
    almost = pack_quant_param(1.5 / 32768, shift=1)  # 1.49995 and -1.5
    assert requantize(x[2:], QuantMode.REQ8, almost).tolist() == [1, -2]
    assert requantize(f32(100), QuantMode.QF322B8_PRE, pack_quant_param(1.0, shift=1)).tolist() == [100]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("mode", PLAIN_MODES)
def test_modes_without_words(xp: Library, mode: str, options: dict[str, bool]) -> None:
    for x in (FLOATS[~np.isnan(FLOATS)], INTS) if mode == "NoQuant" else (FLOATS,):
        expected = expect(x, mode, [0], **options)
        xp.require(expected.dtype.name)
        assert_result(xp, requantize(xp.asarray(x), QuantMode[mode], 0, **options), expected)


def test_nan_that_is_not_converted(xp: Library) -> None:
    x = np.array([0x7FC00001, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert_result(xp, requantize(xp.asarray(x), QuantMode.NoQuant, 0), x)
    assert np.isnan(xp.to_numpy(requantize(xp.asarray(x), QuantMode.NoQuant, 0, relu=True))).all()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("mode", SCALAR_MODES)
def test_scalar_modes(xp: Library, mode: str, options: dict[str, bool]) -> None:
    x = values_for(mode)
    for word_ in WORDS + (SHIFTED if mode in oracle.INT_SOURCES else []):
        expected = expect(x, mode, [word_], **options)
        xp.require(expected.dtype.name)
        assert_result(xp, requantize(xp.asarray(x), quant_mode(mode), word_, **options), expected)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("mode", SCALAR_MODES)
def test_vector_modes(xp: Library, mode: str, options: dict[str, bool]) -> None:
    x = np.stack([values_for(mode)] * 2, axis=1)[:, np.newaxis].repeat(7, axis=-1)  # (values, 1, 14)
    for signed in (False, True):
        words = [word(1.0, k - 7, signed, (k * 5) % 17) for k in range(7)] + [
            word(0.37 * (-1) ** k, 30 * k - 90, signed) for k in range(7)
        ]
        expected = expect(x, mode, words, **options)
        xp.require(expected.dtype.name)
        quant = xp.asarray(np.array(words, np.uint64))
        assert_result(xp, requantize(xp.asarray(x), quant_mode(mode, vector=True), quant, **options), expected)


@settings(max_examples=200)
@given(
    mode=st.sampled_from(SCALAR_MODES),
    bits=st.lists(st.integers(0, (1 << 32) - 1), min_size=1, max_size=5),
    exponent=st.integers(1, 254),
    mantissa=st.integers(0, (1 << 23) - 1),
    rest=st.integers(0, (1 << 32) - 1),
    negative=st.booleans(),
    relu=st.booleans(),
    saturate=st.booleans(),
)
def test_any_bits_with_any_word(
    mode: str,
    bits: list[int],
    exponent: int,
    mantissa: int,
    rest: int,
    negative: bool,
    relu: bool,
    saturate: bool,
) -> None:
    word_ = rest << 32 | negative << 31 | exponent << 23 | mantissa
    x = np.array(bits, np.uint32).view(np.int32 if mode in oracle.INT_SOURCES else np.float32)
    expected = expect(x, mode, [word_], relu=relu, saturate=saturate)
    assert_same_bits(requantize(x, quant_mode(mode), word_, relu=relu, saturate=saturate), expected)


@given(
    scale=st.sampled_from([1.0, -0.5, 3.0, 0.1]),
    halves=st.lists(st.integers(-600, 600), min_size=1, max_size=8),
    offset=st.integers(-256, 255),
    signed=st.booleans(),
)
def test_ties_and_the_ends_of_both_clips(scale: float, halves: list[int], offset: int, signed: bool) -> None:
    x = np.array(halves, np.float32) / 2
    word_ = word(scale, offset, signed)
    assert_same_bits(requantize(x, QuantMode.QF322B8_PRE, word_), expect(x, "QF322B8_PRE", [word_]))


@pytest.mark.parametrize("layout", ["transposed", "reversed", "broadcast", "big-endian", "read-only", "empty", "3-D"])
def test_any_numpy_array(layout: str) -> None:
    x = np.random.default_rng(0).integers(-500, 500, (6, 10)).astype(np.int32)
    x = {
        "transposed": x.T,
        "reversed": x[::-1, ::-2],
        "broadcast": np.broadcast_to(x[:1], (4, 10)),
        "big-endian": x.astype(">i4"),
        "read-only": x,
        "empty": x[:0],
        "3-D": x.reshape(2, 3, 10),
    }[layout]
    x.flags.writeable = False if layout != "broadcast" else x.flags.writeable
    words = [word(0.3, k, False) for k in range(x.shape[-1])]
    made = requantize(x, QuantMode.VREQ8, np.array(words, np.uint64))
    assert made.flags.c_contiguous
    assert_same_bits(made, expect(x.astype(np.int32), "REQ8", words) if x.size else np.empty(x.shape, np.uint8))


@pytest.mark.parametrize("mode", ["NoQuant", "F322F16", "QF322B8_PRE"])
def test_input_and_words_stay_as_they_are(mode: str) -> None:
    x, words = FLOATS.copy(), np.full(FLOATS.size, word(2.0), np.uint64)
    before = x.tobytes(), words.tobytes()
    for relu in (False, True):
        for saturate in (False, True):
            made = requantize(
                x, QuantMode[mode], word(2.0) if mode == "QF322B8_PRE" else 0, relu=relu, saturate=saturate
            )
            made[...] = 1
    requantize(x, QuantMode.VQF322B8_PRE, words)
    assert before == (x.tobytes(), words.tobytes())


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (0, 0), (2, 0, 3)])
@pytest.mark.parametrize("mode", [mode for mode in QuantMode if MODES[mode].gap is None])
def test_no_elements(xp: Library, mode: QuantMode, shape: tuple[int, ...]) -> None:
    row = MODES[mode]
    words = {None: 0, 0: word(1.0), 1: xp.asarray(np.full(shape[-1], word(1.0), np.uint64))}[row.words]
    for source, (result, *_) in row.results.items():
        if row.words == 1 and result == "int8" and not shape[-1]:
            continue  # a refusal
        xp.require(result)
        made = requantize(xp.asarray(np.zeros(shape, source)), mode, words)
        assert tuple(made.shape) == shape
        assert xp.to_numpy(made).dtype == numpy_dtype(result)


GOOD = np.zeros((2, 3), np.float32)
WORDS3 = np.array([word(1.0)] * 3, np.uint64)


@pytest.mark.parametrize(
    ("x", "mode", "quant", "error", "match"),
    [
        (GOOD, QuantMode.REQ8, 0, TypeError, "`x` must be int32 for mode REQ8, got float32"),
        (GOOD.astype(np.int32), QuantMode.F322F16, 0, TypeError, "`x` must be float32 for mode F322F16, got int32"),
        (GOOD.astype(np.float64), QuantMode.NoQuant, 0, TypeError, "`x` must be float32 or int32 for mode NoQ"),
        (GOOD.astype(object), QuantMode.NoQuant, 0, TypeError, "`x` has dtype object, which is not supported"),
        ([1.0], QuantMode.NoQuant, 0, TypeError, "`x` must be an array .*got list"),
        (np.float32(1), QuantMode.NoQuant, 0, ValueError, "`x` must have at least one axis"),
        (np.array(1.0, np.float32), QuantMode.NoQuant, 0, ValueError, "`x` must have at least one axis"),
        (GOOD, 24, 0, TypeError, "`mode` must be a member of ascendc.QuantMode, got 24"),
        (GOOD, "QF322B8_PRE", 0, TypeError, "`mode` must be a member of ascendc.QuantMode"),
        (GOOD, QuantMode.F322F16, 5, ValueError, "`quant` must be 0 for mode F322F16, which takes no parameter, got 5"),
        (GOOD, QuantMode.F322F16, WORDS3, TypeError, "`quant` must be an int for mode F322F16, 0, got"),
        (GOOD, QuantMode.QF322B8_PRE, WORDS3, TypeError, "`quant` must be an int for mode QF322B8_PRE, one word, got"),
        (GOOD, QuantMode.QF322B8_PRE, 1.0, TypeError, "`quant` must be an int for mode QF322B8_PRE, one word, got 1.0"),
        (GOOD, QuantMode.QF322B8_PRE, True, TypeError, "`quant` must be an int"),
        (GOOD, QuantMode.QF322B8_PRE, -1, ValueError, r"`quant` must lie in \[0, 2\*\*64\), got -1"),
        (GOOD, QuantMode.VQF322B8_PRE, 0, TypeError, "`quant` must be a uint64 array with a word for each of 3"),
        (GOOD, QuantMode.VQF322B8_PRE, WORDS3[:2], ValueError, r"`quant` must have shape \(3,\), .*got \(2,\)"),
        (GOOD, QuantMode.VQF322B8_PRE, WORDS3[None], ValueError, r"`quant` must have shape \(3,\), .*got \(1, 3\)"),
        (GOOD, QuantMode.VQF322B8_PRE, WORDS3.astype(np.int64), TypeError, "`quant` must be an array of uint64"),
        (GOOD[:, :0], QuantMode.VQF322B8_PRE, WORDS3[:0], ValueError, r"`quant` must have a word: its sign bit \(46\)"),
        (GOOD[:0, :0].astype(np.int32), QuantMode.VREQ8, WORDS3[:0], ValueError, "`quant` must have a word"),
        (GOOD, QuantMode.VQF322B8_PRE, list(WORDS3), TypeError, "`quant` must be an array .*got list"),
        (GOOD, QuantMode.QF322B8_PRE, 0x7F800000, ValueError, "`quant` must hold multipliers that are 0 or .*inf"),
        (GOOD, QuantMode.QF322B8_PRE, 0x7FC00000, ValueError, "`quant` must hold multipliers .*got nan"),
        (GOOD, QuantMode.QF322B8_PRE, 0x00002000, ValueError, "`quant` must hold multipliers .*nor subnormals"),
        (GOOD, QuantMode.VQF322B8_PRE, np.array([0, 0, 0xFF800000], np.uint64), ValueError, "multipliers .*got -inf"),
    ],
)  # fmt: skip
def test_refusals(x: Any, mode: Any, quant: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        requantize(x, mode, quant)


@pytest.mark.parametrize("name", ["relu", "saturate"])
def test_flags_are_bools(name: str) -> None:
    with pytest.raises(TypeError, match=f"`{name}` must be a bool, got 1"):
        requantize(GOOD, QuantMode.NoQuant, 0, **{name: 1})


def test_words_of_both_signs() -> None:
    words = np.array([word(1.0), word(1.0), word(1.0, signed=False)], np.uint64)
    with pytest.raises(ValueError, match=r"one sign bit \(46\) in all words.*word 2 differs from word 0"):
        requantize(GOOD, QuantMode.VQF322B8_PRE, words)
    assert requantize(GOOD.astype(np.int32), QuantMode.VDEQF16, words).dtype == np.float16  # the bit means nothing


def test_words_of_another_library() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match="`quant` is numpy on cpu but `x` is torch on cpu"):
        requantize(torch.zeros(3), QuantMode.VQF322B8_PRE, WORDS3)


def test_tensors_without_numbers_of_their_own() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(ValueError, match="`x` is on the device meta and has no data"):
        requantize(torch.zeros(3, device="meta"), QuantMode.NoQuant, 0)
    for mode in (QuantMode.NoQuant, QuantMode.F322F16):
        with pytest.raises(ValueError, match=r"`x` requires grad, .* no derivative; pass `x.detach\(\)`"):
            requantize(torch.zeros(3, requires_grad=True), mode, 0)


def test_library_without_the_result() -> None:
    strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    with pytest.raises(TypeError, match="`x` is of array_api_strict, which has no bfloat16 for the result"):
        requantize(strict.zeros(3, dtype=strict.float32), QuantMode.F322BF16, 0)


def test_one_word_is_read_once_for_each_way_to_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def unpack(words: Any) -> Any:
        read.append(words.tolist())
        return unpack_quant_param(words)

    monkeypatch.setattr(_rules, "unpack_quant_param", unpack)
    _rules._make_rule_of_word.cache_clear()
    x, words = INTS[:8], (word(0.5, 3, True, 2), word(0.5, 4, True, 2))
    for _ in range(2):
        for word_ in words:
            for relu in (False, True):
                for mode in ("REQ8", "DEQF16"):
                    made = requantize(x, quant_mode(mode), word_, relu=relu)
                    assert_same_bits(made, expect(x, mode, [word_], relu=relu))
    assert len(read) == 8
    for _ in range(2):
        with pytest.raises(ValueError, match="`quant` must hold multipliers that are 0 or normal and finite"):
            requantize(x, QuantMode.REQ8, 1 << 13)

"""How `requantize` works on a large array: by slabs, in little memory, without float64."""

from __future__ import annotations

import tracemalloc
from typing import Any

import array_api_compat.numpy as xnp
import numpy as np
import pytest
import quant.quant_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from libraries import assert_same_bits, numpy_dtype
from quant.values import expect, quant_mode, values_for, word

from xascend.quant import QuantMode, _slabs, requantize
from xascend.quant._arithmetic import apply_rule
from xascend.quant._requantize import quantise_slabs
from xascend.quant._rules import make_rule
from xascend.quant._slabs import cuts
from xascend.quant._steps import ScratchSteps, Steps

MIB = 1 << 20


@given(
    shape=st.lists(st.integers(0, 7), max_size=4).map(tuple),
    limit=st.integers(1, 60),
)
def test_cuts_make_up_the_shape_in_order(shape: tuple[int, ...], limit: int) -> None:
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    parts = [numbers[part] for part in cuts(shape, limit)]
    assert np.concatenate([part.reshape(-1) for part in parts]).tolist() == numbers.reshape(-1).tolist()
    assert all(part.size <= limit for part in parts)


@pytest.mark.parametrize("shape", [(5, 7), (1, 35), (35, 1), (3, 1, 11), (41,)])
@pytest.mark.parametrize("mode", ["REQ8", "DEQF16"])
def test_words_follow_their_columns_into_slabs(monkeypatch: Any, shape: tuple[int, ...], mode: str) -> None:
    monkeypatch.setattr(_slabs, "_CACHED", 6)
    x = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    words = [word(1.0 / (1 + k), k, False, k % 3) for k in range(shape[-1])]
    expected = expect(x, mode, words)
    made = np.empty_like(expected)
    rule = make_rule(quant_mode(mode, vector=True), "int32", np.array(words, np.uint64), "quant")
    quantise_slabs(x, made, rule)
    assert_same_bits(made, expected)


class RecordingSteps(ScratchSteps):
    """Notes the dtype of every intermediate result."""

    def __init__(self) -> None:
        super().__init__(xnp)
        self.dtypes: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in ("cast", "clip", "round", "multiply", "add"):
            return found

        def recording(*arguments: Any) -> Any:
            result = found(*arguments)
            self.dtypes.add(result.dtype.name)
            return result

        return recording


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("mode", oracle.MODES)
def test_both_forms_of_the_steps_agree(mode: str, saturate: bool, relu: bool) -> None:
    x = values_for(mode)
    slopes = None if not relu or (mode == "NoQuant") else np.linspace(-2, 2, x.size, dtype=np.float32)
    words = np.array([word(0.3, k % 50, shift=k % 17) for k in range(x.size)], np.uint64)
    row = oracle.MODES[mode]
    rule = make_rule(
        quant_mode(mode, vector=row[1]), x.dtype.name, words, "quant", slopes=slopes, relu=relu, saturate=saturate
    )
    recorder = RecordingSteps()
    before = x.tobytes()
    with np.errstate(all="ignore"):
        fresh, scratch = apply_rule(x, rule, Steps(xnp)), apply_rule(x, rule, recorder)
    assert_same_bits(scratch, fresh)
    assert x.tobytes() == before
    assert recorder.dtypes <= {"float32", rule.result}


@pytest.mark.parametrize("signed", [False, True])
def test_the_clip_to_9_bits_is_left_out_only_where_it_changes_nothing(signed: bool) -> None:
    x = np.array([-1e9, -400, -257, -256.5, -200, -129, 0, 100, 127.5, 200, 255, 256, 400, 1e9, np.inf], np.float32)
    for offset in range(-256, 256):
        expected = [oracle.eight_bits(float(value), offset, signed) for value in x]
        assert requantize(x, QuantMode.QF322B8_PRE, word(1.0, offset, signed)).tolist() == expected


@pytest.mark.parametrize("mode", ["NoQuant", "F322F16", "F322BF16", "DEQF16", "REQ8", "QF322B8_PRE"])
def test_memory(mode: str) -> None:
    x = np.ones((4096, 4096), np.int32 if mode in oracle.INT_SOURCES else np.float32)
    word_ = word(0.5) if oracle.MODES[mode][1] else 0
    made = requantize(x[:1], QuantMode[mode], word_)
    assert made.dtype == numpy_dtype(oracle.result_dtype(mode, x.dtype.name, word_))
    rule = make_rule(QuantMode[mode], x.dtype.name, np.array([word_], np.uint64), "quant")
    out = np.empty(x.shape, made.dtype)
    for whole, call in (
        (made.nbytes * 4096, lambda: requantize(x, QuantMode[mode], word_)),
        (0, lambda: quantise_slabs(x, out, rule)),
    ):
        tracemalloc.start()
        try:
            call()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak <= whole + 64 * MIB

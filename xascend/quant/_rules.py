"""What a mode and its words say about the numbers: read once on the host, held against the rules, then applied."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import array_api_compat as compat
import numpy as np
from numpy.typing import NDArray

from xascend.quant._bits import EXPONENT, MULTIPLIER
from xascend.quant._modes import QuantMode, mode_of
from xascend.quant._words import unpack_quant_param

__all__ = ["EIGHT_BITS", "NINE_BITS", "Numbers", "Rule", "make_rule", "on_host"]

Numbers = NDArray[Any]
NINE_BITS = (-256, 255)  # what the product is clipped to before it is rounded and the offset added
EIGHT_BITS = {"int8": (-128, 127), "uint8": (0, 255)}


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """How elements change: the numbers are NumPy arrays of shape ``(n,)``, one for each column, or ``(1,)``."""

    source: str
    result: str
    relu: bool = False
    saturate: bool = False
    scale: Numbers | None = None  # None: no multiplication
    slope: Numbers | None = None  # multiplier of negative inputs; None: that of all others
    offset: Numbers | None = None  # None: no addition
    shift: Numbers | None = None  # 0: no shift; None: no column shifts
    clips_to_9_bits: bool = False  # whether that clip can change a result, which also ends in a clip to 8 bits

    @property
    def may_be_negative(self) -> bool:
        """Whether a product can be below 0 after ReLU: by a slope, or by a negative scale."""
        return self.slope is not None or (self.scale is not None and bool((self.scale < 0).any()))

    @property
    def has_columns(self) -> bool:
        """Whether columns differ."""
        numbers = (self.scale, self.slope, self.offset, self.shift)
        return any(each is not None and each.size > 1 for each in numbers)

    def columns(self, start: int, stop: int) -> Rule:
        """Return the rule for some of the columns."""
        if not self.has_columns:
            return self

        def cut(numbers: Numbers | None) -> Numbers | None:
            return numbers if numbers is None or numbers.size == 1 else numbers[start:stop]

        return replace(
            self,
            scale=cut(self.scale),
            slope=cut(self.slope),
            offset=cut(self.offset),
            shift=cut(self.shift),
        )


def make_rule(
    mode: QuantMode,
    source: str,
    words: Numbers,
    words_name: str,
    *,
    slopes: Numbers | None = None,
    relu: bool = False,
    saturate: bool = False,
    has_shift: bool = True,
) -> Rule:
    """Return the rule of a mode for elements of `source`; ValueError where a word or a slope is unusable.

    `words` has shape ``(1,)`` or ``(n,)``. `has_shift` is False for the 950, whose words have no shift. Rules of one
    word are kept, and not to be written into.
    """
    if words.size == 1 and slopes is None:
        return _make_rule_of_word(mode, source, int(words[0]), words_name, relu, saturate, has_shift)
    return _make_rule(mode, source, words, words_name, slopes, relu, saturate, has_shift)


# Reading the word again would be most of the time of a call on a small array.
@functools.lru_cache(maxsize=256)
def _make_rule_of_word(
    mode: QuantMode, source: str, word: int, word_name: str, relu: bool, saturate: bool, has_shift: bool
) -> Rule:
    return _make_rule(mode, source, np.array([word], np.uint64), word_name, None, relu, saturate, has_shift)


def _make_rule(
    mode: QuantMode,
    source: str,
    words: Numbers,
    words_name: str,
    slopes: Numbers | None,
    relu: bool,
    saturate: bool,
    has_shift: bool,
) -> Rule:
    row = mode_of("mode", mode)
    results, saturate = row.results[source], saturate or row.saturates
    if slopes is not None:
        slopes = _usable(slopes, "relu_tensor")
        if mode is QuantMode.NoQuant and source == "int32":
            raise NotImplementedError("`relu_tensor` with int32 results: no document says how they are rounded")
    if row.words is None:
        return Rule(source, results[0], relu, saturate, slope=slopes)
    param = unpack_quant_param(words)
    shift = param.shift if row.shifts and has_shift and param.shift.any() else None
    rule = Rule(source, results[0], relu, saturate, _usable(param.scale, words_name), slopes, shift=shift)
    if len(results) == 1:
        return rule
    if not words.size:
        raise ValueError(
            f"`{words_name}` must have a word: its sign bit (46) tells int8 from uint8 results also where there are "
            "no columns, got none"
        )
    signed = bool(param.signed[0])
    if (param.signed != signed).any():
        raise ValueError(
            f"`{words_name}` must have one sign bit (46) in all words, since the results have one dtype; "
            f"word {int(np.argmax(param.signed != signed))} differs from word 0"
        )
    result, offset = "int8" if signed else "uint8", param.offset
    low, high = EIGHT_BITS[result]
    return replace(
        rule,
        result=result,
        offset=offset.astype(np.float32) if offset.any() else None,
        clips_to_9_bits=bool(offset.min(initial=0) < high - NINE_BITS[1] or offset.max(initial=0) > low - NINE_BITS[0]),
    )


def _usable(scale: Numbers, name: str) -> Numbers:
    """Return float32 multipliers with the 19 bits that count; ValueError for what the hardware must not be given."""
    bits = scale.view(np.uint32) & np.uint32(MULTIPLIER)
    exponent = bits & np.uint32(EXPONENT)
    wrong = (exponent == EXPONENT) | ((exponent == 0) & (bits << np.uint32(1) != 0))
    if wrong.any():
        raise ValueError(
            f"`{name}` must hold multipliers that are 0 or normal and finite: the hardware takes neither NaN nor "
            f"infinities nor subnormals; got {scale[wrong][0]}"
        )
    return bits.view(np.float32)


def on_host(x: Any) -> Numbers:
    """Return a small array of any library as a NumPy array; on a GPU this waits for it."""
    if compat.is_torch_array(x):
        x = x.detach().cpu().numpy()
    elif compat.is_cupy_array(x):
        x = x.get()
    elif compat.is_dask_array(x):
        x = x.compute()
    x = np.asarray(x)
    return np.ascontiguousarray(x, x.dtype.newbyteorder("="))

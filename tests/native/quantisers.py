"""Quantising with the native library and with NumPy, and comparing what they write."""

from __future__ import annotations

from typing import Any

import numpy as np
from libraries import assert_same_bits, numpy_dtype
from quant.values import word

from xascend.quant import QuantMode, _native
from xascend.quant._modes import MODES
from xascend.quant._requantize import quantise_slabs
from xascend.quant._rules import Rule, make_rule

#: Every mode that has an arithmetic, with every result that it makes of a source.
KINDS = [
    (mode.name, source, result)
    for mode, row in MODES.items()
    if row.gap is None
    for source, results in row.results.items()
    for result in results
]
BELOW_ZERO = ("kept", "relu", "slopes")


def rule_of(
    kind: tuple[str, str, str],
    columns: int,
    *,
    below_zero: str = "kept",
    saturate: bool = False,
    shifts: bool = False,
    seed: int = 0,
) -> Rule:
    """Return a rule with arbitrary numbers: of one word or of one for each column, as the mode has it."""
    mode, source, result = kind
    rng = np.random.default_rng(seed)
    count = {None: 0, 0: 1, 1: columns}[MODES[QuantMode[mode]].words]
    words = [
        word(
            float(rng.choice([-1, 1]) * 2.0 ** rng.uniform(-12, 8)),
            int(rng.integers(-256, 256)),
            result == "int8",
            int(rng.integers(0, 17)) if shifts else 0,
        )
        for _ in range(count)
    ]
    if count > 2:
        words[1:3] = [word(0.0, 5, result == "int8"), word(3.0e38, -7, result == "int8")]
    slopes = rng.choice([0.0, -0.0, -1.5, 0.1, 2.0**-100, 3.0e38], columns).astype(np.float32)
    has_slopes = below_zero == "slopes" and result != "int32"
    return make_rule(
        QuantMode[mode],
        source,
        np.array(words or [0], np.uint64),
        "quant",
        slopes=slopes if has_slopes else None,
        relu=below_zero != "kept",
        saturate=saturate,
    )


def bare_rule(mode: str, source: str, *words: int, saturate: bool = False, relu: bool = False) -> Rule:
    """Return a rule with these words, or with none."""
    return make_rule(QuantMode[mode], source, np.array(words or [0], np.uint64), "quant", saturate=saturate, relu=relu)


def by_numpy(x: np.ndarray, rule: Rule) -> np.ndarray:
    out = np.empty(x.shape, numpy_dtype(rule.result))
    quantise_slabs(x, out, rule)
    return out


def by_native(x: np.ndarray, rule: Rule) -> np.ndarray:
    out = np.empty(x.shape, numpy_dtype(rule.result))
    out.reshape(-1).view(np.uint8)[:] = 0xA5
    _native.quantise_rows(x, out, rule)
    return out


def check(x: np.ndarray, rule: Rule) -> None:
    """Quantise by both and compare; `x` stays as it is."""
    before = x.tobytes()
    assert_same_bits(by_native(x, rule), by_numpy(x, rule))
    assert x.tobytes() == before


def every_rule(kind: tuple[str, str, str], columns: int, **options: Any) -> list[Rule]:
    """Return the rules of a kind with everything that can become of elements below 0, saturating and not."""
    return [
        rule_of(kind, columns, below_zero=below_zero, saturate=saturate, **options)
        for below_zero in BELOW_ZERO
        for saturate in (False, True)
    ]

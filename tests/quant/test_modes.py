"""The numbers and element types of the modes, against the document's list in its own words."""

from __future__ import annotations

import numpy as np
import pytest

from xascend import ascendc
from xascend.quant import QuantMode

NUMBERS = {
    "NoQuant": 0,
    "F322F16": 1,
    "VREQ8": 2,
    "REQ8": 3,
    "VDEQF16": 4,
    "DEQF16": 5,
    "VSHIFTS322S16": 12,
    "SHIFTS322S16": 13,
    "F322BF16": 16,
    "VQF322B8_PRE": 23,
    "QF322B8_PRE": 24,
    "QF322F16_PRE": 32,
    "QF322BF16_PRE": 34,
    "QS322BF16_PRE": 35,
    "VQS322BF16_PRE": 36,
}
GAPS = ("QF322F32_PRE", "QF322FP8_PRE", "QF322HIF8_PRE", "SHIFTS322S16")


@pytest.mark.parametrize(("name", "number"), NUMBERS.items())
def test_numbers(name: str, number: int) -> None:
    assert QuantMode[name] == number
    assert QuantMode(number).name == name


def test_no_two_modes_share_a_number() -> None:
    assert len(QuantMode.__members__) == len(set(QuantMode)) == 23


def test_reexported_beside_the_instructions() -> None:
    assert ascendc.QuantMode is QuantMode


def test_gaps_of_8_bit_floats() -> None:
    for name, text in (
        ("QF322HIF8_PRE", "hifloat8 .*, a type that no array library has"),
        ("QF322FP8_PRE", "no public doc"),
    ):
        with pytest.raises(NotImplementedError, match=f"`mode` {name} is not implemented: .*{text}"):
            ascendc.requantize(np.zeros(4, np.float32), QuantMode[name], 0)


@pytest.mark.parametrize("name", [prefix + gap for gap in GAPS for prefix in ("", "V")])
def test_gaps_are_named(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"`mode` {name} is not implemented: .*(vendor|document)"):
        ascendc.requantize(np.zeros(4, np.float32), QuantMode[name], 0)

"""The quantisation modes as literal data: number, element types, which parameter words each takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["MODES", "Mode", "QuantMode", "mode_of"]


class QuantMode(IntEnum):
    """What happens to an element on its way out of the cube unit: the vendor's ``QuantMode_t``.

    A leading ``V`` means one parameter word for each column, its absence one word for the whole matrix.

    ========================  ==================  =========================  =============================
    mode                      from                to                         products
    ========================  ==================  =========================  =============================
    NoQuant                   float32, int32      as it is                   all
    F322F16, F322BF16         float32             float16, bfloat16          all
    (V)DEQF16                 int32               float16                    all
    (V)QF322B8_PRE            float32             int8, uint8                all
    (V)REQ8                   int32               int8, uint8                all
    (V)QF322F16_PRE           float32             float16                    950
    (V)QF322BF16_PRE          float32             bfloat16                   950
    (V)QS322BF16_PRE          int32               bfloat16                   950
    ========================  ==================  =========================  =============================

    The remaining members can be named, but using one raises NotImplementedError: ``(V)QF322F32_PRE`` (the vendor
    promises an error of one in a thousand only), ``(V)QF322FP8_PRE`` (no document gives its rounding),
    ``(V)QF322HIF8_PRE`` (ties are rounded away from zero, to hifloat8, a type that no array library has) and
    ``(V)SHIFTS322S16`` (in a simulator alone).

    Notes
    -----
    Source: "Fixpipe" and the page on quantisation during the move out, Ascend C API. The pages name the modes
    without numbers. The numbers here are those of the vendor's tile library (PTO). The headers of its compiler differ:
    VREQ8 8, REQ8 9, VDEQF16 10, DEQF16 11, VQS322BF16_PRE 35, QS322BF16_PRE 36, and others for the modes without
    arithmetic. They decide only for VQF322F16_PRE and VQF322BF16_PRE, which the tile library numbers differently from
    file to file. So prefer the names.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.QuantMode.REQ8
    <QuantMode.REQ8: 3>
    """

    NoQuant = 0
    F322F16 = 1
    VREQ8 = 2
    REQ8 = 3
    VDEQF16 = 4
    DEQF16 = 5
    VSHIFTS322S16 = 12
    SHIFTS322S16 = 13
    F322BF16 = 16
    VQF322B8_PRE = 23
    QF322B8_PRE = 24
    QF322HIF8_PRE = 25
    QF322FP8_PRE = 26
    QF322F32_PRE = 27
    VQF322HIF8_PRE = 28
    VQF322F16_PRE = 31
    QF322F16_PRE = 32
    VQF322BF16_PRE = 33
    QF322BF16_PRE = 34
    QS322BF16_PRE = 35
    VQS322BF16_PRE = 36
    VQF322FP8_PRE = 37
    VQF322F32_PRE = 38


@dataclass(frozen=True, slots=True)
class Mode:
    """What a mode does: its element types, the words it takes, and what the documents leave open."""

    results: dict[str, tuple[str, ...]]  # by source type
    words: int | None = None  # axes of the parameter: None takes none, 0 one word, 1 a word for each column
    shifts: bool = False  # whether the shift field of the word counts
    saturates: bool = False  # whether float results saturate also in INF/NAN mode
    only_950: bool = False
    gap: str | None = None


_B8 = ("int8", "uint8")
_F32 = "the vendor promises an error of one in a thousand only, so there are no bits to reproduce"
_FP8 = "no public document gives the rounding of its results"
_HIF8 = "its results are of the vendor's hifloat8 (ties are rounded away from zero), a type that no array library has"
_SHIFT = "its arithmetic is in a simulator alone, no public document describes it"

MODES = {
    QuantMode.NoQuant: Mode({"float32": ("float32",), "int32": ("int32",)}),
    QuantMode.F322F16: Mode({"float32": ("float16",)}),
    QuantMode.F322BF16: Mode({"float32": ("bfloat16",)}),
    QuantMode.DEQF16: Mode({"int32": ("float16",)}, words=0, shifts=True, saturates=True),
    QuantMode.VDEQF16: Mode({"int32": ("float16",)}, words=1, shifts=True, saturates=True),
    QuantMode.REQ8: Mode({"int32": _B8}, words=0, shifts=True),
    QuantMode.VREQ8: Mode({"int32": _B8}, words=1, shifts=True),
    QuantMode.QF322B8_PRE: Mode({"float32": _B8}, words=0),
    QuantMode.VQF322B8_PRE: Mode({"float32": _B8}, words=1),
    QuantMode.QF322F16_PRE: Mode({"float32": ("float16",)}, words=0, only_950=True),
    QuantMode.VQF322F16_PRE: Mode({"float32": ("float16",)}, words=1, only_950=True),
    QuantMode.QF322BF16_PRE: Mode({"float32": ("bfloat16",)}, words=0, only_950=True),
    QuantMode.VQF322BF16_PRE: Mode({"float32": ("bfloat16",)}, words=1, only_950=True),
    QuantMode.QS322BF16_PRE: Mode({"int32": ("bfloat16",)}, words=0, only_950=True),
    QuantMode.VQS322BF16_PRE: Mode({"int32": ("bfloat16",)}, words=1, only_950=True),
    QuantMode.QF322F32_PRE: Mode({}, gap=_F32),
    QuantMode.VQF322F32_PRE: Mode({}, gap=_F32),
    QuantMode.QF322FP8_PRE: Mode({}, gap=_FP8),
    QuantMode.VQF322FP8_PRE: Mode({}, gap=_FP8),
    QuantMode.QF322HIF8_PRE: Mode({}, gap=_HIF8),
    QuantMode.VQF322HIF8_PRE: Mode({}, gap=_HIF8),
    QuantMode.SHIFTS322S16: Mode({}, gap=_SHIFT),
    QuantMode.VSHIFTS322S16: Mode({}, gap=_SHIFT),
}


def mode_of(name: str, mode: QuantMode) -> Mode:
    """Return the row of a mode; TypeError where it is no QuantMode, NotImplementedError where it has a gap."""
    if not isinstance(mode, QuantMode):
        raise TypeError(f"`{name}` must be a member of ascendc.QuantMode, got {mode!r}")
    row = MODES[mode]
    if row.gap is not None:
        raise NotImplementedError(f"`{name}` {mode.name} is not implemented: {row.gap}")
    return row

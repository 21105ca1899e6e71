"""A broken Fixpipe kernel is caught, as those of the conversions are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cuda import harness, quantisers
from cuda.mutants import BARRIER, each_mutation, make_mutant
from libraries import random_bits
from native.quantisers import BELOW_ZERO, rule_of
from quant.values import FLOATS, INTS

from xascend.ascendc import CO2Layout, FixpipeParamsC310
from xascend.ascendc._fixpipe_layouts import make_layout

PLACES = {
    "rows without the barrier after loading": (BARRIER + "        const int32 r", "        const int32 r"),
    "rows without the barrier after storing": ("        }\n" + BARRIER + "    }\n}\n\n// The", "}}}// The"),
    "columns without the barrier after loading": (BARRIER + "        if constexpr", "        if constexpr"),
    "columns without the barrier after storing": ("        }\n" + BARRIER + "    }\n}\n\n}  //", "}}}}  //"),
    "the next block's column": ("(column >> 4) * m.src_block", "(column >> 3) * m.src_block"),
    "a stride of the wrong side": ("row * m.dst_row", "row * m.src_row"),
    "a group of the wrong width": ("(1 << m.group) - 1", "(1 << m.group) - 2"),
    "matrices on top of each other": ("place.matrix * m.dst_matrix", "place.matrix"),
    "rows beyond the last": ("if (row < part.rows) quads", "quads"),
    "columns beyond the last": ("if (is_wide && count >= 4)", "if (is_wide)"),
    "wide loads from anywhere": ("if (is_wide && count", "if (count"),
    "rows beyond the last stored": ("if (row >= part.rows) break;", ""),
    "tiles on top of each other": ("m.row_tiles.divisor) * m.height", "m.row_tiles.divisor) * m.height / 2"),
    "words that begin anywhere": ("word * lane - before;", "word * lane;"),
    "a run's end left out": ("< (lane < word ? head : bytes)", "< (lane < word ? head : end)"),
    "a run's head left out": ("lane < word ? head : bytes)", "lane < word ? 0 : bytes)"),
    "a head longer than its run": ("smaller(-before & (word - 1), bytes)", "(-before & (word - 1))"),
    "elements not turned": ("extract<item>(made[i], j)", "extract<item>(made[j], i)"),
    "columns on top of each other": ("column * (m.height * item + 16)", "column * (m.height * item - 16)"),
}
NUMBERS = {
    "another column's numbers": ("tables + 4 * column", "tables + 4 * (column & ~7)"),
    "offset and shift exchanged": ("offset_and_shift & 255", "offset_and_shift >> 8"),
    "halves away from zero": ("limited + 0x7fff + (limited >> 16 & 1)", "limited + 0x8000"),
    "no rounding to even": ("12582912.0f)", "12582912.0f) + (y > 0.0f)"),
    "the offset before the first clip": (
        "y = if_below(255.0f",
        "y += column.offset_and_shift >> 8; y = if_below(255.0f",
    ),
    "subnormal halves lost": ("exponent < 0x38800000 ? 0x38800000", "exponent < 0x380 ? 0x380"),
    "zeros that stay negative": ("made == all.negative_zero ? 0 : made", "made"),
    "the slope for all": ("if_below(y, 0.0f, column.slope, column.scale)", "column.slope"),
    "subnormal numbers lost in products": (
        "product(y, if_below(y, 0.0f, column.slope, column.scale))",
        "y * if_below(y, 0.0f, column.slope, column.scale)",
    ),
    "subnormal numbers lost in comparisons": ("return if_below(y, floor, floor, y)", "return y < floor ? floor : y"),
    "subnormal numbers lost below zero": (
        "if_below(y, 0.0f, product(y, column.slope), y)",
        "y < 0.0f ? product(y, column.slope) : y",
    ),
    "bytes clipped too late": ("if_below(255.0f, y, 255.0f,", "if_below(256.0f, y, 256.0f,"),
    "NaN that stays as it is": ("x | 0x00400000 : 0xffc00000", "x : 0xffc00000"),
    "NaN for a number": (
        "Source::may_be_nan && is_nan(y) ? all.nan : without_negative_zero(made, all)",
        "made",
    ),
    "the shift without its limits": ("within(value >> shift, -32768, 32767)", "value >> shift"),
}
MUTATIONS = {name: ("fixpipe.cu", *change) for name, change in PLACES.items()}
MUTATIONS |= {name: ("quantise.cuh", *change) for name, change in NUMBERS.items()}
QUICK = {"another column's numbers", "rows without the barrier after loading"}

BYTE, HALF, BFLOAT, WORD = (
    ("VREQ8", "int32", "int8"),
    ("VQF322F16_PRE", "float32", "float16"),
    ("VQF322BF16_PRE", "float32", "bfloat16"),
    ("NoQuant", "float32", "float32"),
)
FLOAT_TO_BYTE = ("VQF322B8_PRE", "float32", "int8")
ND, NZ, DN = CO2Layout.ROW_MAJOR, CO2Layout.NZ, CO2Layout.COLUMN_MAJOR
# A kind, a layout, columns, rows, the destination's stride, matrices.
CASES = (
    (BYTE, ND, 83, 90, 84, 2),
    (BYTE, ND, 83, 40, 83, 2),
    (HALF, NZ, 48, 37, 37 * 16, 1),
    (BYTE, DN, 35, 1040, 1056, 1),
    (BYTE, DN, 35, 37, 37, 1),
    (BFLOAT, ND, 40, 33, 43, 1),
    (WORD, DN, 20, 70, 72, 1),
    (BYTE, ND, 2, 9, 5, 1),
)


def is_caught(folder: Path) -> bool:
    """Run the cases by the kernels of `folder`, in few blocks; say whether anything was wrong."""
    for kind, layout, n, m, stride, matrices in CASES:
        params = FixpipeParamsC310(
            *(n, m, m + 1, stride),
            nd_num=matrices,
            src_nd_stride=(m + 1) * -(-n // 16),
            dst_nd_stride=m * stride + 4,
        )
        itemsize = 1 if kind is BYTE else 4 if kind is WORD else 2
        boxes = make_layout(params, layout, itemsize).boxes
        values = FLOATS if kind[1] == "float32" else INTS
        x = harness.aligned(np.resize(values, max(box.src_reach for box in boxes)))
        before = random_bits((max(box.dst_reach for box in boxes),), kind[2])
        rule = rule_of(kind, n, shifts=True, below_zero="kept" if layout is DN else "slopes")
        for descending in (False, True):
            try:
                quantisers.check_boxes(x, before, rule, boxes, blocks=2, descending=descending, folder=folder)
            except (harness.KernelError, pytest.fail.Exception):
                return True
        x = harness.place(x, 4)
        try:
            quantisers.check_boxes(x, before, rule, boxes, folder=folder)
        except (harness.KernelError, pytest.fail.Exception):
            return True
    return computes_wrongly(folder)


def computes_wrongly(folder: Path) -> bool:
    """Say whether a value comes out wrong where implementations go wrong."""
    x = harness.aligned(np.stack([np.roll(FLOATS, k) for k in range(9)]))
    for kind in (FLOAT_TO_BYTE, HALF, BFLOAT, WORD):
        for below_zero in BELOW_ZERO:
            try:
                quantisers.check_rows(x, rule_of(kind, x.shape[1], below_zero=below_zero), folder=folder)
            except (harness.KernelError, pytest.fail.Exception):
                return True
    return False


def test_the_kernels_as_they_are_pass() -> None:
    harness.require_compiler()
    assert not is_caught(harness.KERNELS)


@each_mutation(MUTATIONS, QUICK)
def test_a_mutation_is_caught(name: str) -> None:
    harness.require_compiler()
    assert is_caught(make_mutant(name, *MUTATIONS[name]))

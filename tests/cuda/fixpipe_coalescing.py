"""How well Fixpipe uses sectors and banks with matrices of model shapes, counted on the host.

The matrices are cut down along axes that only repeat what is there, as those of `coalescing` are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cuda import harness, quantisers
from libraries import assert_same_bits, numpy_dtype, random_bits
from native.quantisers import rule_of

from xascend._cuda._jobs import SECTOR
from xascend.ascendc import CO2Layout, FixpipeParamsC310, _fixpipe_moves
from xascend.ascendc._fixpipe_layouts import make_layout
from xascend.quant._cuda_matrices import make_box_matrices

KINDS = (
    ("REQ8", "int32", "int8"),
    ("F322F16", "float32", "float16"),
)


@dataclass(frozen=True)
class Case:
    """A matrix of a cube unit's results: what it stands for, what is run, and what has to come out."""

    whole: str
    layout: CO2Layout
    rows: int
    columns: int
    efficiency: float  # of the sectors touched, at least

    @property
    def name(self) -> str:
        return {CO2Layout.ROW_MAJOR: "NZ2ND", CO2Layout.NZ: "NZ", CO2Layout.COLUMN_MAJOR: "NZ2DN"}[self.layout]

    def __str__(self) -> str:
        return f"{self.name} {self.whole}"

    def params(self, itemsize: int) -> FixpipeParamsC310:
        whole_rows, whole_columns = (int(size) for size in self.whole.split(" x "))
        apart = {
            CO2Layout.ROW_MAJOR: whole_columns,
            CO2Layout.NZ: whole_rows * (32 if itemsize == 1 else 16),
            CO2Layout.COLUMN_MAJOR: whole_rows,
        }[self.layout]
        return FixpipeParamsC310(self.columns, self.rows, -(-whole_rows // 16) * 16, apart)


CASES = (
    Case("4096 x 4096", CO2Layout.ROW_MAJOR, 64, 1024, 0.95),
    Case("4096 x 4096", CO2Layout.NZ, 64, 256, 0.95),
    Case("4096 x 4096", CO2Layout.COLUMN_MAJOR, 512, 64, 0.95),
    Case("4095 x 4083", CO2Layout.ROW_MAJOR, 31, 4083, 0.80),
    Case("4095 x 4083", CO2Layout.COLUMN_MAJOR, 2047, 259, 0.80),
)


@dataclass(frozen=True)
class Measured:
    """Useful bytes per byte of the sectors touched, and passes per access to shared memory."""

    loads: float
    stores: float
    ways: float
    kernels: tuple[str, ...]


def measure(case: Case, kind: tuple[str, str, str]) -> Measured:
    """Run a case, check the bytes, and return what was counted."""
    dtype = numpy_dtype(kind[2])
    layout = make_layout(case.params(dtype.itemsize), case.layout, dtype.itemsize)
    rule = rule_of(kind, case.columns)
    src = harness.aligned(random_bits((max(box.src_reach for box in layout.boxes),), kind[1]))
    dst = harness.aligned_empty((max(box.dst_reach for box in layout.boxes),), dtype)
    dst.view(np.uint8)[...] = 0xA5
    expected = dst.copy()
    _fixpipe_moves.run_boxes(expected, src, layout, rule)
    counts = quantisers.run(src, dst, rule, make_box_matrices(layout.boxes))
    assert_same_bits(dst, expected)
    elements = case.rows * case.columns
    return Measured(
        4 * elements / (SECTOR * counts.sectors("global load")),
        dtype.itemsize * elements / (SECTOR * counts.sectors("global store")),
        counts.ways(),
        tuple(sorted(counts.kernels)),
    )

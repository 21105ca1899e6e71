"""How well conversions of model shapes use sectors and banks, counted on the host.

The shapes are cut down along axes that only repeat what is there, so that strides modulo a sector, tails and tiles
stay what they are in the whole tensor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from cuda import harness

from xascend import _numpy
from xascend._cuda._jobs import SECTOR
from xascend._outputs import empty_aligned
from xascend._plan import Plan, make_plan
from xascend.formats import as_format

DTYPES = ("uint8", "float16", "float32")


@dataclass(frozen=True)
class Case:
    """A conversion there and back: what it stands for, what is run, and what has to come out."""

    whole: str
    shape: tuple[int, ...]
    src: str
    dst: str
    efficiency: float  # of the sectors touched, at least

    def __str__(self) -> str:
        return f"{self.src} {'x'.join(map(str, self.shape))}"


CASES = (
    Case("ND 4096 x 4096", (128, 4096), "ND", "FRACTAL_NZ", 0.95),
    Case("NCHW 16 x 256 x 56 x 56", (1, 64, 56, 56), "NCHW", "NC1HWC0", 0.95),
    Case("NCHW 8 x 512 x 28 x 28", (1, 64, 28, 28), "NCHW", "NC1HWC0", 0.95),
    Case("OIHW 512 x 512 x 3 x 3", (64, 128, 3, 3), "NCHW", "FRACTAL_Z", 0.95),
    Case("HWCN 3 x 3 x 256 x 512", (3, 1, 64, 512), "HWCN", "FRACTAL_Z", 0.95),
    Case("ND 4095 x 4083", (143, 4083), "ND", "FRACTAL_NZ", 0.80),
    Case("NCHW 8 x 100 x 35 x 35", (2, 100, 35, 35), "NCHW", "NC1HWC0", 0.80),
)


@dataclass(frozen=True)
class Measured:
    """Useful bytes per byte of the sectors touched, and passes per access to shared memory."""

    case: Case
    dtype: str
    back: bool
    loads: float
    loads_bound: float  # what padding inside the source's sectors leaves at best
    stores: float
    ways: float
    kernels: tuple[str, ...]


def measure(case: Case, dtype: str) -> tuple[Measured, Measured]:
    """Run a case there and back, check the bytes, and return what was counted."""
    raw = np.random.default_rng(0).integers(0, 256, (*case.shape, np.dtype(dtype).itemsize), np.uint8)
    x = harness.aligned(np.frombuffer(raw.tobytes(), dtype).reshape(case.shape))
    to = make_plan_of(x, case.src, case.dst, None)
    there, stored = _measure(case, x, to, np.ones(x.shape, np.bool_), back=False)
    fro = make_plan_of(stored, case.dst, case.src, case.shape)
    elements = np.zeros(stored.shape, f"u{x.itemsize}")
    _numpy.run(to, np.ones(x.shape, elements.dtype), elements, np.zeros((), elements.dtype))
    back, again = _measure(case, stored, fro, elements != 0, back=True)
    assert again.tobytes() == x.tobytes()
    return there, back


def make_plan_of(x: np.ndarray, src: str, dst: str, shape: tuple[int, ...] | None) -> Plan:
    return make_plan(as_format("src", src), as_format("dst", dst), x.shape, shape, x.itemsize * 8, None, 1)


def _measure(case: Case, x: np.ndarray, plan: Plan, elements: np.ndarray, *, back: bool) -> tuple[Measured, np.ndarray]:
    zero = np.zeros((), x.dtype)
    out = harness.aligned_empty(plan.dst_shape, x.dtype)
    counts = harness.convert(plan, x, out, zero)
    expected = empty_aligned(plan.dst_shape, x.dtype)
    _numpy.run(plan, x, expected, zero)
    assert out.tobytes() == expected.tobytes()
    useful = math.prod(plan.sizes) * x.itemsize
    measured = Measured(
        case,
        x.dtype.name,
        back,
        useful / (SECTOR * counts.sectors("global load")),
        useful / (SECTOR * _sectors_with_elements(elements, x.itemsize)),
        out.nbytes / (SECTOR * counts.sectors("global store")),
        counts.ways(),
        tuple(sorted(counts.kernels)),
    )
    return measured, out


def _sectors_with_elements(elements: np.ndarray, itemsize: int) -> int:
    """Return how many sectors of an array hold an element of the tensor, not only padding."""
    by_byte = np.repeat(elements.reshape(-1), itemsize)
    by_byte = np.pad(by_byte, (0, -len(by_byte) % SECTOR))
    return int(by_byte.reshape(-1, SECTOR).any(axis=1).sum())

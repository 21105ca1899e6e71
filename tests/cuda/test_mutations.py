"""A broken kernel is caught: each of these changes to a formula or a barrier makes the harness or a comparison fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cuda import harness
from cuda.alternatives import alternative
from cuda.mutants import BARRIER, each_mutation, make_mutant
from libraries import random_bits

from xascend import _numpy
from xascend._plan import Plan, make_plan
from xascend.formats import as_format

MUTATIONS = {
    "runs without the barrier before a tile": ("runs.cu", BARRIER + "        const Job", "        const Job"),
    "runs without the barrier after a tile": ("runs.cu", "        }\n" + BARRIER, "        }\n"),
    "tiles without the barrier before loading": ("tiles.cu", BARRIER + "        const Job", "        const Job"),
    "tiles without the barrier after loading": ("tiles.cu", BARRIER + "        store_tile", "        store_tile"),
    "tiles without the barrier after storing": ("tiles.cu", BARRIER + "    }\n}", "    }\n}"),
    "a stride of the wrong side": ("jobs.cuh", "row.dst += i * dim.dst", "row.dst += i * dim.src"),
    "a quotient shifted too far": ("words.cuh", ">> by.shift", ">> (by.shift + 1)"),
    "tiles longer than the destination": ("jobs.cuh", "clamp(dim.count - origin,", "clamp(dim.count,"),
    "tiles longer than the source": ("jobs.cuh", "clamp(dim.valid - origin,", "clamp(dim.valid,"),
    "whole words before the source": ("tiles.cu", "at >= src + table.src_begin && ", ""),
    "whole words beyond the source": ("tiles.cu", "at + load_word <= src", "at <= src"),
    "words that begin anywhere": ("tiles.cu", "align_down(start, sector)", "align_down(start, 1)"),
    "the last word of a row left out": (
        "tiles.cu",
        "offset >= row_bytes) continue",
        "offset + 4 >= row_bytes) continue",
    ),
    "padding of the wrong bytes": ("jobs.cuh", "of[at / 4 % 4]", "of[0] >> 8"),
    "elements that do not carry over": ("tiles.cu", "                ++outer;\n", ""),
    "a row's end ignored": ("tiles.cu", "(x >= 0 && x + elements <= length)", "(x >= 0)"),
    "places that two words share": ("jobs.cuh", "return at ^ (at >> by", "return at | (at >> by"),
    "scattering without the barrier before loading": ("scatter.cu", BARRIER + "        const Job", "        const Job"),
    "scattering without the barrier after loading": (
        "scatter.cu",
        BARRIER + "        store_rows",
        "        store_rows",
    ),
    "scattering without the barrier after storing": ("scatter.cu", BARRIER + "    }\n}", "    }\n}"),
    "scattered elements that do not carry over": ("scatter.cu", "                ++outer;\n", ""),
    "scattered rows that go on": ("scatter.cu", " || x >= nbytes", ""),
    "scattered to the other's stride": (
        "scatter.cu",
        "inner * in.shared + outer * out",
        "inner * out.shared + outer * in",
    ),
    "runs longer than the source": ("runs.cu", "at.word < valid", "at.word <= valid"),
    "rows whose pieces begin anew": ("jobs.cuh", "round * walk.near.divisor + number", "number"),
    "rows on top of each other": ("jobs.cuh", "row.shared += i * dim.shared", "row.shared += i * 4"),
}
QUICK = {"tiles without the barrier after loading", "a stride of the wrong side", "the last word of a row left out"}
CASES = (
    ((256, 300), "ND", "FRACTAL_NZ", "uint8"),
    ((160, 512), "ND", "FRACTAL_NZ", "float32"),
    ((33, 35), "ND", "FRACTAL_NZ", "float16"),
    ((1, 300), "ND", "FRACTAL_NZ", "float32"),
    ((2, 3, 40, 40), "NCHW", "NC1HWC0", "uint8"),
    ((2, 40, 11, 7), "NCHW", "NC1HWC0", "uint8"),
    ((2, 80, 16, 32), "NCHW", "NHWC", "float16"),
    ((33, 20, 3, 3), "NCHW", "FRACTAL_Z", "float16"),
)
UNALIGNED = (((33, 35), "ND", "FRACTAL_NZ", "float16"),)
SCATTERED = (
    ((80, 64, 3, 3), "NCHW", "FRACTAL_Z", "uint8"),
    ((1, 32, 28, 36), "NCHW", "NC1HWC0", "float16"),
)


def is_caught(folder: Path) -> bool:
    """Run the cases, there and back, by the kernels of `folder`; say whether anything was wrong."""
    if _is_caught(folder, CASES) or _is_caught(folder, UNALIGNED, after_a_sector):
        return True
    with alternative(-1):
        return _is_caught(folder, SCATTERED)


def _is_caught(folder: Path, cases: tuple, place: Callable[[np.ndarray], np.ndarray] = harness.aligned) -> bool:
    for shape, src, dst, dtype in cases:
        x = place(random_bits(shape, dtype))
        there = plan_of(x, src, dst, None)
        stored = numpy_result(there, x)
        for plan, source in ((there, x), (plan_of(stored, dst, src, shape), stored)):
            for descending in (False, True):
                out = harness.aligned_empty(plan.dst_shape, x.dtype)
                try:
                    harness.convert(plan, source, out, PAD[dtype], descending=descending, blocks=2, folder=folder)
                except harness.KernelError:
                    return True
                if out.tobytes() != numpy_result(plan, source).tobytes():
                    return True
    return False


def after_a_sector(x: np.ndarray) -> np.ndarray:
    """Return a copy that begins an element after a sector, so that whole words begin before it."""
    return harness.place(x, x.itemsize)


PAD = {dtype: np.full((), 3, dtype) for dtype in ("uint8", "float16", "float32")}


def plan_of(x: np.ndarray, src: str, dst: str, shape: tuple[int, ...] | None) -> Plan:
    return make_plan(as_format("src", src), as_format("dst", dst), x.shape, shape, x.itemsize * 8, None, 1)


def numpy_result(plan: Plan, x: np.ndarray) -> np.ndarray:
    out = harness.aligned_empty(plan.dst_shape, x.dtype)
    _numpy.run(plan, x, out, PAD[x.dtype.name])
    return out


def test_the_kernels_as_they_are_pass() -> None:
    harness.require_compiler()
    assert not is_caught(harness.KERNELS)


@each_mutation(MUTATIONS, QUICK)
def test_a_mutation_is_caught(name: str) -> None:
    harness.require_compiler()
    assert is_caught(make_mutant(name, *MUTATIONS[name]))


def test_what_the_harness_says() -> None:
    """The message names the line and what is wrong."""
    harness.require_compiler()
    x = harness.aligned(random_bits((33, 35), "float16"))
    plan = plan_of(x, "ND", "FRACTAL_NZ", None)
    out = harness.aligned_empty(plan.dst_shape, x.dtype)
    (first, *_) = harness.make_launches(plan, harness.memory_of(x), harness.memory_of(out))
    first.table["job"][0, 0]["dst"] += 1 << 20
    with pytest.raises(
        harness.KernelError, match=r"line \d+: a store to global memory lies out of bounds, at byte 10485"
    ):
        harness.launch(first, x, out, PAD["float16"], harness.Counts())
    first.table["job"][0, 0]["dst"] -= (1 << 20) - 2
    with pytest.raises(harness.KernelError, match=r"line \d+: a store to global memory of 16 bytes is misaligned"):
        harness.launch(first, x, out, PAD["float16"], harness.Counts())
    first.table["job"][0, 0]["dst"] -= 2
    first.table["job"][0, 0]["load"]["total"] -= 32
    with pytest.raises(harness.KernelError, match=r"line \d+: shared memory is read at byte \d+, which nobody wrote"):
        harness.launch(first, x, out, PAD["float16"], harness.Counts())
    harness.make_launches.cache_clear()

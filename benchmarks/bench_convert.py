"""Whole-tensor conversion under pytest-benchmark: family x dtype x direction, and in each group every contender.

Run with ``python -m pytest benchmarks/bench_convert.py``; ``-k "nz and float16"`` chooses. With ``--benchmark-disable``
everything runs once on small tensors, as a test. pytest-benchmark measures one contender after the other, so what else
the machine does meanwhile stands in the ratios; ``xascend bench`` takes turns, and its results are the ones on record.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from xascend._threads import get_num_threads
from xascend.bench._cases import FAMILIES, SIZES, Case, cases_for
from xascend.bench._contenders import Contender, contenders_for
from xascend.bench._devices import Host
from xascend.bench._problem import Problem, set_up
from xascend.bench._unavailable import UnavailableError

DTYPES = ("int8", "float16", "float32")
HOST = Host()
MIB = 1 << 20


def kinds() -> list[Case]:
    """Return every family, element type and direction, with small tensors."""
    names = [family.name for family in FAMILIES]
    return list(cases_for(names, DTYPES, [SIZES["tiny"]]))


def sized(case: Case, nbytes: int) -> Case:
    """Return the case at another size."""
    return dataclasses.replace(case, shape=case.family.shape(nbytes // np.dtype(case.dtype).itemsize))


PAIRS = [(case, contender) for case in kinds() for contender in contenders_for(case, HOST, get_num_threads())]


@functools.lru_cache(maxsize=1)
def problem_of(case: Case) -> Problem:
    return set_up(case, HOST)


@pytest.mark.parametrize(
    ("case", "contender"),
    PAIRS,
    ids=[f"{c.family.name}-{c.dtype}-{'back' if c.back else 'there'}-{who.name}-{who.threads}" for c, who in PAIRS],
)
def test_speed(benchmark: BenchmarkFixture, case: Case, contender: Contender) -> None:
    problem = problem_of(sized(case, SIZES["tiny" if benchmark.disabled else "dram"]))
    benchmark.group = f"{problem.case}: {case.family.why}"
    problem.out.fill(0)
    try:
        with contender.ready(problem, contender.threads) as call:
            result = benchmark.pedantic(call, rounds=9, warmup_rounds=1)
            peak = None if benchmark.disabled else HOST.peak_bytes(call)
    except UnavailableError as reason:
        pytest.skip(f"{contender.name}: {reason}")
    if contender.name in ("copy", "new copy"):
        assert (problem.copy if result is None else result).tobytes() == problem.copied.tobytes()
    else:
        assert problem.is_solved_by(result)
    if benchmark.stats is not None:
        benchmark.extra_info["GB/s"] = round(problem.nbytes / benchmark.stats.stats.median / 1e9, 2)
    if peak is not None:
        benchmark.extra_info["peak MiB"] = round(peak / MIB, 2)

"""Whole-tensor conversion under pytest-benchmark: family x dtype x size x direction, in each group every contender.

Run with ``python -m pytest benchmarks/bench_convert.py``; ``-k "nz and float16 and dram"`` chooses. Tensors of 512 MiB,
which take long, are measured only where ``-k`` says ``large``. With ``--benchmark-disable`` everything runs once on
tiny tensors, as a test, and on others where ``-k`` names their size. pytest-benchmark measures one contender after the
other, so what else the machine does meanwhile stands in the ratios; ``xascend bench`` takes turns, and its results are
the ones on record.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from xascend._threads import get_num_threads
from xascend.bench._cases import FAMILIES, SIZES, Case, cases_for
from xascend.bench._contenders import Contender, contenders_for
from xascend.bench._devices import Host
from xascend.bench._measure import calls_in_a_sample
from xascend.bench._problem import Problem, set_up
from xascend.bench._unavailable import UnavailableError

DTYPES = ("int8", "float16", "bfloat16", "float32")
HOST = Host()
MIB = 1 << 20


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for every contender in every case of the sizes that are wanted."""
    option = metafunc.config.option
    usual = ("tiny",) if option.benchmark_disable else ("tiny", "cache", "dram")
    chosen = [size for size in SIZES if size in usual or size in option.keyword]
    metafunc.parametrize(("case", "contender"), [param for size in chosen for param in params_of(size)])


def params_of(size: str) -> Iterator[object]:
    for case in cases_for([family.name for family in FAMILIES], DTYPES, [SIZES[size]]):
        group = f"{case.family.name}-{case.dtype}-{size}-{'back' if case.back else 'there'}"
        for who in contenders_for(case, HOST, get_num_threads()):
            yield pytest.param(case, who, id=f"{group}-{who.name}-{who.threads}")


@functools.lru_cache(maxsize=1)
def problem_of(case: Case) -> Problem:
    return set_up(case, HOST)


def test_speed(benchmark: BenchmarkFixture, case: Case, contender: Contender) -> None:
    problem = problem_of(case)
    benchmark.group = f"{case}: {case.family.why}"
    problem.out.fill(0)
    try:
        with contender.ready(problem, contender.threads) as call:
            calls = 1 if benchmark.disabled else calls_in_a_sample(HOST.seconds(call, 2))
            result = benchmark.pedantic(call, rounds=9, iterations=calls, warmup_rounds=1)
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

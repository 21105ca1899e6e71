"""Sectors and banks are used as well as the cases ask for."""

from __future__ import annotations

import pytest
from cuda import coalescing, fixpipe_coalescing, harness, instruction_coalescing


@pytest.mark.parametrize("dtype", coalescing.DTYPES)
@pytest.mark.parametrize("case", coalescing.CASES, ids=str)
def test_sectors_and_banks(case: coalescing.Case, dtype: str) -> None:
    harness.require_compiler()
    for measured in coalescing.measure(case, dtype):
        assert measured.loads >= min(case.efficiency, measured.loads_bound), measured
        assert measured.stores >= case.efficiency, measured
        assert measured.ways <= 1.15, measured


@pytest.mark.parametrize("case", instruction_coalescing.CASES, ids=str)
def test_instructions(case: instruction_coalescing.Case) -> None:
    harness.require_compiler()
    measured = instruction_coalescing.measure(case)
    assert measured.loads >= 0.95 * case.at_best, measured
    assert measured.stores >= 0.95 * case.at_best, measured
    assert measured.ways <= 1.15, measured


@pytest.mark.parametrize("kind", fixpipe_coalescing.KINDS, ids="-".join)
@pytest.mark.parametrize("case", fixpipe_coalescing.CASES, ids=str)
def test_fixpipe(case: fixpipe_coalescing.Case, kind: tuple[str, str, str]) -> None:
    harness.require_compiler()
    measured = fixpipe_coalescing.measure(case, kind)
    assert measured.loads >= case.efficiency, measured
    assert measured.stores >= case.efficiency, measured
    assert measured.ways <= 1.15, measured

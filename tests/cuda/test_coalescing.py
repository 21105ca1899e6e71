"""Sectors and banks are used as well as the cases ask for."""

from __future__ import annotations

import pytest
from cuda import coalescing, harness


@pytest.mark.parametrize("dtype", coalescing.DTYPES)
@pytest.mark.parametrize("case", coalescing.CASES, ids=str)
def test_sectors_and_banks(case: coalescing.Case, dtype: str) -> None:
    harness.require_compiler()
    for measured in coalescing.measure(case, dtype):
        assert measured.loads >= min(case.efficiency, measured.loads_bound), measured
        assert measured.stores >= case.efficiency, measured
        assert measured.ways <= case.ways[measured.back], measured

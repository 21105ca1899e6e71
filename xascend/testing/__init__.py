"""Judging a result against what was expected: NaN-aware, in the real element type, with storage coordinates."""

from xascend.testing._compare import compare
from xascend.testing._report import Difference, Report

__all__ = ["Difference", "Report", "compare"]

"""Golden data for operator tests: made in one call, and results judged against it."""

from xascend.golden._manifest import ArrayFile, Manifest, StoredAs
from xascend.golden.comparison import compare_files
from xascend.golden.make import make_golden

__all__ = ["ArrayFile", "Manifest", "StoredAs", "compare_files", "make_golden"]

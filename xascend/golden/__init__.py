"""Golden data for operator tests: made in one call, and results judged against it."""

from xascend.golden._manifest import ArrayFile, Manifest, StoredAs
from xascend.golden.comparison import compare_files
from xascend.golden.make import example_config, make_golden

__all__ = ["ArrayFile", "Manifest", "StoredAs", "compare_files", "example_config", "make_golden"]

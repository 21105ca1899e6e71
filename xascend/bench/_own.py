"""What users of this library call, on each of its executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from xascend import _native
from xascend._threads import get_num_threads, set_num_threads
from xascend.ascendc import requantize
from xascend.bench._problem import MODE, WORD, Problem
from xascend.bench._unavailable import UnavailableError
from xascend.convert import trans_data
from xascend.sizes import default_c0

__all__ = ["into_new", "into_out", "native", "numpy", "quantised"]

Call = Callable[[], Any]


@contextmanager
def into_out(problem: Problem, threads: int) -> Iterator[Call]:
    """Give the conversion into memory that is there."""
    with _threads(threads):
        yield _conversion(problem, problem.out)


@contextmanager
def into_new(problem: Problem, threads: int) -> Iterator[Call]:
    """Give the conversion without `out`."""
    with _threads(threads):
        yield _conversion(problem, None)


@contextmanager
def native(problem: Problem, threads: int) -> Iterator[Call]:
    """Give the conversion by the native library."""
    if _native.reason_unsupported() is not None:
        raise UnavailableError("the native library is not built, or switched off; `xa.build_info()` tells")
    with into_out(problem, threads) as call:
        yield call


@contextmanager
def numpy(problem: Problem, threads: int) -> Iterator[Call]:
    """Give the conversion by NumPy alone, as where no native library is; all else of a call stays as it is."""
    reason_unsupported = _native.reason_unsupported
    _native.reason_unsupported = lambda: "NumPy is measured"
    try:
        with into_out(problem, threads) as call:
            yield call
    finally:
        _native.reason_unsupported = reason_unsupported


@contextmanager
def quantised(problem: Problem, threads: int) -> Iterator[Call]:
    """Give the quantisation of a matrix into memory that is there."""
    with _threads(threads):
        yield lambda: requantize(problem.source, MODE, WORD, out=problem.out)


def _conversion(problem: Problem, out: Any) -> Call:
    case = problem.case
    shape = case.shape if case.back else None
    c0 = None if case.back else default_c0(case.dtype)  # said, since a CUDA device may hold words of another type
    return lambda: trans_data(problem.source, *case.formats, shape=shape, c0=c0, out=out)


@contextmanager
def _threads(threads: int) -> Iterator[None]:
    before = get_num_threads()
    set_num_threads(threads)
    try:
        yield
    finally:
        set_num_threads(before)

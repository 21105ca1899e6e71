"""What people do today: the idiom, loops over elements, PyTorch, oneDNN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from xascend.bench import _onednn
from xascend.bench._devices import Host
from xascend.bench._layouts import by_elements, by_idiom, by_torch
from xascend.bench._problem import Problem, quantised_by_idiom
from xascend.bench._unavailable import UnavailableError

__all__ = ["idiom", "loops", "onednn", "quantised_idiom", "torch"]

Call = Callable[[], Any]
MAX_LOOP_ELEMENTS = 1 << 16


@contextmanager
def idiom(problem: Problem, _threads: int) -> Iterator[Call]:
    """Give zeros, reshape, transpose and a contiguous copy."""
    yield by_idiom(problem.layout, problem.device.xp, problem.source, back=problem.case.back)


@contextmanager
def quantised_idiom(problem: Problem, _threads: int) -> Iterator[Call]:
    """Give the quantisation by functions of NumPy on the whole matrix."""
    yield lambda: quantised_by_idiom(problem.source)


@contextmanager
def loops(problem: Problem, _threads: int) -> Iterator[Call]:
    """Give one loop over all elements in Python; small tensors only."""
    if problem.expected.size > MAX_LOOP_ELEMENTS:
        raise UnavailableError(f"it is not run beyond {MAX_LOOP_ELEMENTS} elements")
    yield by_elements(problem.layout, problem.source, problem.out, back=problem.case.back)


@contextmanager
def torch(problem: Problem, threads: int) -> Iterator[Call]:
    """Give the idiom with PyTorch, in the same memory as that of NumPy or CuPy."""
    try:
        import torch as library
    except ImportError as error:
        raise UnavailableError(f"it cannot be imported ({error})") from None
    on_host = isinstance(problem.device, Host)
    if not on_host and not library.cuda.is_available():
        raise UnavailableError("this build of it has no CUDA")
    itemsize = problem.source.dtype.itemsize  # bytes are moved, so words of the same size stand for every type
    words = np.dtype("c16") if itemsize == 16 else np.dtype(f"i{itemsize}")
    source, out = (library.from_dlpack(x.view(words)) for x in (problem.source, problem.out))
    before = library.get_num_threads()
    library.set_num_threads(threads)
    try:
        yield by_torch(problem.layout, library, source, out, back=problem.case.back)
    finally:
        library.set_num_threads(before)


@contextmanager
def onednn(problem: Problem, threads: int) -> Iterator[Call]:
    """Give a reorder of oneDNN in the same memory."""
    source, target = (x.__array_interface__["data"][0] for x in (problem.source, problem.out))
    case = problem.case
    with _onednn.reorder(problem.layout, case.dtype, source, target, threads, back=case.back) as call:
        yield call

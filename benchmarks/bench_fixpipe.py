"""Quantisation and Fixpipe on NumPy against a plain copy of the bytes that they read and write.

Every case is one group of pytest-benchmark, whose table shows each contender as a multiple of the fastest. Two copies
stand in it: ``np.copyto`` into an array that is there already, and ``np.copy``, which asks for a new one as
`requantize` does without ``out``. Both move half of the bytes that are read and written, so that they read and write as
many; both use one thread. The library's own contenders are NumPy alone, and the native library with one thread and with
all. The aim is under 6 times ``np.copyto``, with no more than 64 MiB beside input and output; ``extra_info`` tells the
memory and the ratio to an ``np.copyto`` that is timed right before.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import xascend as xa
from xascend import ascendc
from xascend.ascendc import CFG_COLUMN_MAJOR, CFG_NZ, CFG_ROW_MAJOR, FixpipeParamsC310, FixpipeParamsV220, QuantMode
from xascend.quant import _native

M = N = 4096
LIMIT = 64 << 20
WORD = ascendc.pack_quant_param(0.37, 3)


@dataclass(frozen=True)
class Case:
    """One mode on a 4096 x 4096 matrix."""

    mode: QuantMode
    source: str
    result: str
    why: str

    @property
    def is_vector(self) -> bool:
        return self.mode.name.startswith("V")

    def matrix(self) -> np.ndarray:
        return (np.random.default_rng(0).standard_normal((M, N)) * 300).astype(self.source)

    def words(self) -> Any:
        if self.is_vector:
            scales = np.linspace(0.1, 1.0, N, dtype=np.float32)
            return ascendc.pack_quant_param(scales, np.arange(N) % 400 - 200)
        return WORD if self.mode not in (QuantMode.NoQuant, QuantMode.F322F16, QuantMode.F322BF16) else 0

    def expected(self, x: np.ndarray) -> np.ndarray:
        """Return the results by plain NumPy on a whole matrix, the idiom of the golden scripts."""
        if self.result == "float16" and self.source == "float32":
            return x.astype(np.float16)
        word = ascendc.unpack_quant_param(self.words())
        y = x.astype(np.float32) * np.asarray(word.scale, np.float32)
        if self.result == "float16":
            return np.clip(y, -65504, 65504).astype(np.float16)
        return np.clip(np.rint(np.clip(y, -256, 255)) + np.asarray(word.offset, np.float32), -128, 127).astype(np.int8)


CASES = (
    Case(QuantMode.F322F16, "float32", "float16", "one step, NumPy's own cast to half"),
    Case(QuantMode.DEQF16, "int32", "float16", "scaled and cast to half"),
    Case(QuantMode.QF322B8_PRE, "float32", "int8", "the most steps, with a look for NaN"),
    Case(QuantMode.REQ8, "int32", "int8", "the most steps, from integers"),
    Case(QuantMode.VREQ8, "int32", "int8", "a scale and an offset for each column"),
)
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.mode.name)
PATHS = ("NumPy", "native, one thread", "native, all threads")


@pytest.fixture
def contender(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Switch to the path that a contender names."""
    name: str = request.param
    if name.startswith("native") and (reason := xa.build_info().reason):
        pytest.skip(reason)
    if name == "NumPy":
        monkeypatch.setattr(_native, "host_memories", lambda *_: None)
    xa.set_num_threads(1 if name == "native, one thread" else None)
    yield name
    xa.set_num_threads(None)


def peak_beside(call: Callable[[], Any], result_bytes: int) -> int:
    """Return the most bytes that were allocated at one time beside the result."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] - result_bytes
    finally:
        tracemalloc.stop()


def copied(nbytes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays; copying one to the other reads and writes `nbytes` together."""
    return np.zeros(nbytes // 2, np.uint8), np.ones(nbytes // 2, np.uint8)


def time_copyto(nbytes: int, rounds: int = 9) -> float:
    """Return the median seconds of ``np.copyto``."""
    target, source = copied(nbytes)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        np.copyto(target, source)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def copy_contender(benchmark: Any, contender: str, nbytes: int) -> None:
    """Time a copy that reads and writes `nbytes` together."""
    target, source = copied(nbytes)
    if contender == "np.copyto":
        benchmark(np.copyto, target, source)
    else:
        target = benchmark(np.copy, source)
    assert target.all()


def measure(benchmark: Any, call: Callable[[], Any], nbytes: int) -> Any:
    """Time a contender, and note its ratio to a copy."""
    copyto = time_copyto(nbytes) if benchmark.enabled else 0.0
    made = benchmark(call)
    if benchmark.enabled:
        ratio = benchmark.stats.stats.median / copyto
        benchmark.extra_info.update(times_copyto=round(ratio, 2))
        print(f"{ratio:.2f} times np.copyto", end=" ")
    return made


@cases
@pytest.mark.parametrize("contender", ["np.copyto", "np.copy", "plain NumPy", *PATHS], indirect=True)
def test_requantize(benchmark: Any, case: Case, contender: str) -> None:
    benchmark.group = f"requantize {case.mode.name}, {M} x {N}, {case.source} to {case.result}"
    nbytes = M * N * (4 + np.dtype(case.result).itemsize)
    benchmark.extra_info.update(bytes_moved=nbytes, why=case.why)
    if contender.startswith("np."):
        copy_contender(benchmark, contender, nbytes)
        return
    x, words = case.matrix(), case.words()
    if contender == "plain NumPy":
        made = measure(benchmark, lambda: case.expected(x), nbytes)
    else:
        made = measure(benchmark, lambda: ascendc.requantize(x, case.mode, words), nbytes)
        beside = peak_beside(lambda: ascendc.requantize(x, case.mode, words), made.nbytes)
        benchmark.extra_info.update(bytes_beside=beside)
        assert beside <= LIMIT
    assert made.tobytes() == case.expected(x).tobytes()


@cases
@pytest.mark.parametrize("layout", ["ND", "NZ", "DN"])
@pytest.mark.parametrize("contender", ["np.copyto", *PATHS], indirect=True)
def test_fixpipe(benchmark: Any, case: Case, layout: str, contender: str) -> None:
    """Two instructions, since one moves at most 4095 columns."""
    benchmark.group = f"fixpipe {case.mode.name} to {layout}, {M} x {N}, {case.source} to {case.result}"
    itemsize = np.dtype(case.result).itemsize
    nbytes = M * N * (4 + itemsize)
    benchmark.extra_info.update(bytes_moved=nbytes, why=case.why)
    if contender == "np.copyto":
        copy_contender(benchmark, contender, nbytes)
        return
    x, words, half = case.matrix(), case.words(), N // 2
    src = np.ascontiguousarray(x.reshape(M, N // 16, 16).transpose(1, 0, 2)).reshape(-1)
    dst = np.zeros(M * N, case.result)
    width = 32 if itemsize == 1 else 16
    make, config, stride, offset = {
        "ND": (FixpipeParamsV220, CFG_ROW_MAJOR, N, half),
        "NZ": (FixpipeParamsV220, CFG_NZ, M * width * itemsize // 32, M * half),
        "DN": (FixpipeParamsC310, CFG_COLUMN_MAJOR, M, M * half),
    }[layout]
    params = make(half, M, M, stride, case.mode, words if not case.is_vector and words else 0)

    def two_instructions() -> None:
        for k in range(2):
            ascendc.fixpipe(
                dst[k * offset :],
                src[k * M * half :],
                params,
                config=config,
                quant_tensor=words[k * half :][:half] if case.is_vector else None,
            )

    measure(benchmark, two_instructions, nbytes)
    beside = peak_beside(two_instructions, 0)
    benchmark.extra_info.update(bytes_beside=beside)
    assert beside <= LIMIT
    wanted = case.expected(x)
    if layout == "NZ":
        wanted = wanted.reshape(M, N // width, width).transpose(1, 0, 2)
    assert dst.tobytes() == (wanted.T if layout == "DN" else wanted).tobytes()

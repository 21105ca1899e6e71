"""The kernels compiled for another processor and run in an emulator; results come from the NumPy executor."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import BinaryIO

import numpy as np
import oracle
import pytest
from libraries import random_bits
from native.moves import DTYPES, by_numpy, pad_of, plan_of
from native.processors import check_cases, each_compiler
from native.source_tree import in_a_source_tree, need
from native.test_equality import MEDIUM
from native.test_streamed import KINDS, LONG_RUNS, RUNS

from xascend._native_program import make_program

pytestmark = in_a_source_tree

PIXELS = ((4, 16), (9, 25))  # of planes whose rows are whole lines, and of others


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of conversions there and back, of every item size, with one and three threads."""
    path = tmp_path_factory.mktemp("cases") / "cases"
    counts = itertools.cycle((1, 3))
    offsets = itertools.cycle((0, 0, 3, 16))
    with path.open("wb") as file:
        for (src, dst, shape), dtype in itertools.product(MEDIUM, DTYPES):
            x = random_bits(shape, dtype)
            y = case(file, x, src, dst, None, next(counts), next(offsets))
            case(file, y, dst, src, shape, next(counts), next(offsets))
        for (dtype, c0), pixels in itertools.product(KINDS, PIXELS):  # a kernel for each kind
            x = random_bits((2, 2 * c0, *pixels), dtype)
            y = case(file, x, "NCHW", "NC1HWC0", None, 1, 0, c0)
            case(file, y, "NC1HWC0", "NCHW", x.shape, 3, 0)
        for dtype, c0 in RUNS:
            x = random_bits((100, 4100 // np.dtype(dtype).itemsize + 1), dtype)
            y = case(file, x, "ND", "FRACTAL_NZ", None, 1, 16, c0)
            case(file, y, "FRACTAL_NZ", "ND", x.shape, 3, 3)
        x = random_bits(LONG_RUNS, "uint8")
        y = case(file, x, "NHWC", "NC1HWC0", None, 1, 0, 30)
        case(file, y, "NC1HWC0", "NHWC", x.shape, 1, 0)
    return path


def case(
    file: BinaryIO,
    x: np.ndarray,
    src: str,
    dst: str,
    shape: tuple[int, ...] | None,
    threads: int,
    offset: int,
    c0: int | None = None,
) -> np.ndarray:
    plan = plan_of(x, src, dst, None if src in oracle.PLAIN else shape, c0)
    expected = by_numpy(plan, x)
    words = make_program(plan, x.dtype.itemsize, x.strides, expected.strides).words
    np.array([len(words), x.nbytes, expected.nbytes, threads, offset], np.int64).tofile(file)
    np.array(words, np.int64).tofile(file)
    file.write(pad_of(x).tobytes().ljust(16, b"\0"))
    x.tofile(file)
    expected.tofile(file)
    return expected


@pytest.mark.parametrize("small_limits", [0, 1])
@each_compiler
def test_cases(cases: Path, tmp_path: Path, compiler: str, emulator: str, small_limits: int) -> None:
    counted = (cases, 2 * (len(MEDIUM) * len(DTYPES) + len(KINDS) * len(PIXELS) + len(RUNS) + 1))
    limits = f"-DXASCEND_SMALL_LIMITS={small_limits}"
    check_cases(compiler, emulator, "xascend_cpu.cpp", "run_cases.cpp", counted, tmp_path, limits)


@pytest.mark.parametrize(("wanted", "outcome"), [("require", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_a_missing_tool_fails_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch, wanted: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("XASCEND_NATIVE", wanted)
    with pytest.raises(outcome, match="no-such-compiler is not installed"):
        need("g++", "no-such-compiler")

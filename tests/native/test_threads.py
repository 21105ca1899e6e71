"""Threads inside one conversion, conversions in several threads, and conversions after a fork."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from libraries import assert_same_bits, random_bits
from native.moves import by_native, by_numpy, plan_of

import xascend as xa
from xascend import _native

ROOT = Path(xa.__file__).parent.parent


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8, 16])
@pytest.mark.parametrize(
    ("src", "dst", "shape"),
    [
        ("ND", "FRACTAL_NZ", (1500, 2100)),
        ("NCHW", "NC1HWC0", (9, 70, 57, 59)),
        ("NCHW", "FRACTAL_Z", (500, 300, 3, 3)),
        ("NCHW", "C1HWNCoC0", (200, 60, 3, 3)),  # all is filled before anything is copied
    ],
)
def test_any_number_of_threads(src: str, dst: str, shape: tuple[int, ...], threads: int) -> None:
    x = random_bits(shape, "float16")
    xa.set_num_threads(threads)
    assert xa.get_num_threads() == threads
    there = plan_of(x, src, dst, None)
    stored = by_native(there, x)
    assert_same_bits(stored, by_numpy(there, x))
    assert_same_bits(by_native(plan_of(stored, dst, src, shape), stored), x)


def test_the_number_of_threads_reaches_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    library = _native.load()

    def spy(*arguments: object) -> int:
        seen.append(arguments[-1])
        return library.convert(*arguments)

    monkeypatch.setattr(_native, "load", lambda: dataclasses.replace(library, convert=spy))
    xa.set_num_threads(3)
    xa.nd_to_nz(np.zeros((20, 28), np.float16))
    assert seen == [3]


def test_calls_from_several_threads() -> None:
    shapes = [(300 + 7 * i, 1000 + i) for i in range(12)]
    inputs = [random_bits(shape, "float16", seed) for seed, shape in enumerate(shapes)]
    xa.set_num_threads(2)

    def there_and_back(x: np.ndarray) -> np.ndarray:
        for _ in range(5):
            x = xa.nz_to_nd(xa.nd_to_nz(x), x.shape)
        return x

    with ThreadPoolExecutor(4) as pool:
        for x, back in zip(inputs, pool.map(there_and_back, inputs), strict=True):
            assert_same_bits(back, x)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_after_a_fork() -> None:
    code = (
        "import os, numpy as np, xascend as xa\n"
        "xa.set_num_threads(4)\n"
        "x = np.arange(3 << 20, dtype=np.uint32).reshape(1024, -1)\n"
        "y = xa.nd_to_nz(x)\n"
        "child = os.fork()\n"
        "same = np.array_equal(xa.nd_to_nz(x), y)\n"
        "if not child:\n"
        "    os._exit(0 if same else 3)\n"
        "_, status = os.waitpid(child, 0)\n"
        "assert same and os.waitstatus_to_exitcode(status) == 0, status\n"
    )
    done = run_python(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_wrong_number(threads: object) -> None:
    with pytest.raises(ValueError, match="`threads` must be an integer of at least 1, got"):
        xa.set_num_threads(threads)


@pytest.mark.parametrize("threads", [1025, 2**31, 2**70])
def test_more_than_can_serve(threads: int) -> None:
    with pytest.raises(ValueError, match=f"`threads` must be an integer of at most 1024, got {threads}"):
        xa.set_num_threads(threads)


def test_the_environment_sets_the_number() -> None:
    done = run_python("import xascend as xa; print(xa.get_num_threads())", XASCEND_NUM_THREADS="7")
    assert done.stdout.strip() == "7", done.stderr


@pytest.mark.parametrize("text", ["0", "-2", "many", "1.5", "9" * 5000])
def test_a_wrong_number_in_the_environment(text: str) -> None:
    done = run_python("import xascend as xa; xa.get_num_threads()", XASCEND_NUM_THREADS=text)
    assert done.returncode != 0
    assert "ValueError: `XASCEND_NUM_THREADS` must be an integer of at least 1" in done.stderr


def run_python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
    )

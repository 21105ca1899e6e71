"""The executors agree bit for bit: the agnostic one, which is the definition, and the one for NumPy."""

from __future__ import annotations

import array_api_compat as compat
import numpy as np
import pairs
import pytest
from libraries import assert_same_bits, random_bits

import xascend as xa
from xascend import _agnostic, _execute, _numpy
from xascend._plan import make_plan
from xascend.formats import as_format

BITS = {"uint8": 8, "float16": 16, "bfloat16": 16, "float32": 32, "complex128": 128}


def both(x: np.ndarray, src: str, dst: str, shape: tuple | None, c0: int | None, groups: int = 1) -> np.ndarray:
    """Run both executors on one plan, compare, and return the result."""
    bits = BITS[x.dtype.name]
    plan = make_plan(as_format("src", src), as_format("dst", dst), x.shape, shape, bits, c0, groups)
    pad = np.asarray(3).astype(x.dtype)[()]
    written = _numpy.empty_output(plan, x)
    _numpy.run(plan, x, written, pad)
    defined = _agnostic.run(plan, x, compat.array_namespace(x), pad.item())
    assert_same_bits(written, np.ascontiguousarray(defined))
    return written


@pytest.mark.parametrize(("src", "dst"), pairs.PLAIN_TO_BLOCKED)
def test_there_and_back(src: str, dst: str) -> None:
    for shape, dtype in zip(pairs.shapes(src, dst), list(BITS) * 3, strict=False):
        x = random_bits(shape, dtype)
        stored = both(x, src, dst, None, None)
        assert_same_bits(both(stored, dst, src, shape, None), x)


@pytest.mark.parametrize(("src", "dst"), pairs.BLOCKED_TO_BLOCKED)
def test_blocked_to_blocked(src: str, dst: str) -> None:
    axes = pairs.logical_axes(src, dst)
    for shape in pairs.shapes(axes, src, dst):
        stored = xa.trans_data(random_bits(shape, "float16"), axes, src, pad_value=7)
        both(stored, src, dst, shape, None)


@pytest.mark.parametrize("plain", ["NCHW", "NHWC", "HWCN", "CHWN"])
@pytest.mark.parametrize(("groups", "c", "cout"), [(2, 4, 4), (5, 3, 2), (9, 2, 3), (33, 1, 1), (3, 17, 20)])
def test_groups(plain: str, groups: int, c: int, cout: int) -> None:
    shape = pairs.sizes_of(plain, "NCHW", (groups * cout, c, 2, 3))
    x = random_bits(shape, "float32")
    stored = both(x, plain, "FRACTAL_Z", None, None, groups)
    assert_same_bits(both(stored, "FRACTAL_Z", plain, shape, None, groups), x)
    for other in ("NC1HWC0", "FRACTAL_NZ"):
        both(stored, "FRACTAL_Z", other, pairs.sizes_of("NCHW", plain, shape), 8, groups)


def test_without_the_native_library_numpy_arrays_take_the_numpy_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def spy(plan, x, out, pad_value) -> None:
        ran.append(plan)
        _numpy_run(plan, x, out, pad_value)

    _numpy_run = _numpy.run
    monkeypatch.setattr(_execute._numpy, "run", spy)
    monkeypatch.setattr(_execute._native, "reason_unsupported", lambda: "switched off by a test")
    xa.nd_to_nz(np.zeros((20, 28), np.float16))
    assert len(ran) == 1

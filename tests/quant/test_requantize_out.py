"""`requantize` with `out`: written whole and returned, with its gaps untouched; what does not fit is refused first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from libraries import Library, assert_same_bits, numpy_dtype, torch_library
from quant.values import SHIFTED, WORDS, expect, quant_mode, values_for

from xascend.quant import QuantMode, _native, _requantize, requantize

RESULTS = {
    "NoQuant": ("float32", 0),
    "F322F16": ("float16", 0),
    "F322BF16": ("bfloat16", 0),
    "REQ8": ("int8", WORDS[0]),
}
modes = pytest.mark.parametrize("mode", RESULTS)


def matrix(mode: str) -> np.ndarray:
    """Return as many values as make rows of 7, in a cube."""
    values = values_for(mode)
    values = values[~np.isnan(values)] if mode == "NoQuant" else values
    return np.resize(values, (3, 9, 7))


@modes
@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("view", ["whole", "every other", "reversed", "transposed"])
def test_is_written_and_returned(xp: Library, monkeypatch: Any, mode: str, native: bool, view: str) -> None:
    if xp.name in ("dask", "numpy_readonly") or (view != "whole" and xp.name == "array_api_strict"):
        pytest.skip(f"{xp.name} has no such arrays to write into")
    if xp.name.startswith("torch") and view == "reversed":
        pytest.skip("torch has no negative strides")
    if not native:
        monkeypatch.setattr(_native, "host_memories", lambda src, dst: None)
    dtype, quant = RESULTS[mode]
    xp.require(dtype)
    x = matrix(mode)
    expected = expect(x, mode, [quant])
    step = {"every other": 2, "reversed": -1}.get(view, 1)
    size = [abs(step) * count for count in x.shape]
    big = xp.asarray(np.full(size[::-1] if view == "transposed" else size, 77, numpy_dtype(dtype)))
    out = big.transpose(2, 0) if xp.name.startswith("torch") and view == "transposed" else big
    if view == "transposed" and out is big:
        out = big.T
    if step != 1:
        out = out[(slice(None, None, step),) * 3]
    assert requantize(xp.asarray(x), quant_mode(mode), quant, out=out) is out
    assert_same_bits(np.ascontiguousarray(xp.to_numpy(out)), expected)
    if view == "every other":
        kept = xp.to_numpy(big)
        kept[::2, ::2, ::2] = 77
        assert (kept == 77).all()


@pytest.mark.parametrize("native", [True, False])
def test_words_of_columns_and_slabs(monkeypatch: Any, native: bool) -> None:
    monkeypatch.setattr(_native, "_SLAB", 20)
    if not native:
        monkeypatch.setattr(_native, "host_memories", lambda src, dst: None)
    x = np.resize(values_for("DEQF16"), (2, 5, 9))[:, ::-1]
    words = np.array((WORDS + SHIFTED)[3:12], np.uint64)
    big = np.full((2, 5, 18), 77, np.float16)
    requantize(x, QuantMode.VDEQF16, words, out=big[..., ::2])
    assert_same_bits(np.ascontiguousarray(big[..., ::2]), expect(x, "DEQF16", words.tolist()))
    assert (big[..., 1::2] == 77).all()


@pytest.mark.parametrize("mode", ["F322F16", "REQ8"])
def test_any_address(mode: str) -> None:
    x, (dtype, quant) = np.resize(matrix(mode), (64, 33)), RESULTS[mode]
    expected = expect(x, mode, [quant])
    for shift in (1, 2, 3, 8, 17, 63):
        memory = np.full(expected.nbytes + 128, 0xC3, np.uint8)
        out = memory[shift : shift + expected.nbytes].view(dtype).reshape(x.shape)
        requantize(x, quant_mode(mode), quant, out=out)
        assert_same_bits(out, expected)
        assert (memory[:shift] == 0xC3).all()
        assert (memory[shift + expected.nbytes :] == 0xC3).all()


def test_no_columns_of_a_matrix_without_rows() -> None:
    out = np.empty((0, 4), np.float16)
    assert requantize(np.empty((0, 4), np.float32), QuantMode.F322F16, 0, out=out) is out


def test_torch_notices_that_out_was_written() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    weight, out = torch.ones(4, requires_grad=True, dtype=torch.float16), torch.ones(4, dtype=torch.float16)
    product = (weight * out).sum()
    requantize(torch.zeros(4), QuantMode.F322F16, 0, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_torch_with_a_pending_sign() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    out = torch.zeros(4, dtype=torch.complex64).conj().imag
    assert out.is_neg()
    requantize(torch.tensor([1.0, -2.0, 3.0, -0.0]), QuantMode.NoQuant, 0, out=out)
    assert_same_bits(torch_library().to_numpy(out.resolve_neg()), np.array([1, -2, 3, -0.0], np.float32))


HALF = np.zeros((4, 4), np.float16)
BAD: dict[str, tuple[type[Exception], str]] = {
    "float32": (TypeError, r"`out` must have the dtype of the result, float16, got float32"),
    "big-endian": (TypeError, r"`out` must have the dtype of the result, float16, got >f2"),
    "shape": (ValueError, r"`out` must have the shape \(4, 4\), got \(4, 5\)"),
    "read-only": (ValueError, r"`out` must be writeable"),
    "broadcast": (ValueError, r"`out` must not overlap itself|`out` must be writeable"),
    "list": (TypeError, r"`out`"),
    "torch": (TypeError, r"`out` is torch on cpu but `x` is numpy on cpu"),
}


def bad_output(name: str) -> Any:
    if name == "torch":
        return pytest.importorskip("torch", reason="torch is not installed").zeros(4, 4)
    half = HALF.copy()
    if name == "read-only":
        half.flags.writeable = False
    return {
        "float32": half.astype(np.float32),
        "big-endian": half.astype(">f2"),
        "shape": np.zeros((4, 5), np.float16),
        "broadcast": np.lib.stride_tricks.as_strided(half, (4, 4), (2, 2)),
        "list": half.tolist(),
    }.get(name, half)


@pytest.mark.parametrize("name", BAD)
def test_refused(monkeypatch: Any, name: str) -> None:
    error, message = BAD[name]
    out = bad_output(name)
    monkeypatch.setattr(_requantize, "_run", lambda *_: pytest.fail("something was written"))
    with pytest.raises(error, match=message):
        requantize(np.ones((4, 4), np.float32), QuantMode.F322F16, 0, out=out)


def test_overlap_is_refused() -> None:
    x = np.ones((4, 4), np.float32)
    out = x.view(np.float16)[:, ::2]
    with pytest.raises(ValueError, match="`out` must not overlap `x`"):
        requantize(x, QuantMode.F322F16, 0, out=out)
    assert (x == 1).all()


def test_dask_is_refused() -> None:
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    x = da.ones((4, 4), dtype=np.float32, chunks=2)
    with pytest.raises(TypeError, match="`out` must be an array in memory, got a lazy or immutable Array"):
        requantize(x, QuantMode.F322F16, 0, out=x.astype(np.float16))

"""Fixpipe and requantize take the kernels on a GPU; on a stand-in for CuPy, what Python hands over drives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda import harness
from cuda.stand_in import DeviceArray, StandIn
from libraries import assert_same_bits, numpy_dtype, random_bits
from native.quantisers import rule_of

from xascend import ascendc
from xascend.ascendc import _fixpipe_moves
from xascend.ascendc._fixpipe_layouts import Layout, make_layout
from xascend.quant import QuantMode, _cuda, requantize
from xascend.quant._requantize import quantise_slabs

KIND = ("VREQ8", "int32", "int8")
LAYOUTS = {
    "direct": (ascendc.CO2Layout.ROW_MAJOR, 48),
    "rows": (ascendc.CO2Layout.ROW_MAJOR, 49),
    "columns_shifted": (ascendc.CO2Layout.COLUMN_MAJOR, 33),
    "columns_aligned": (ascendc.CO2Layout.COLUMN_MAJOR, 48),
}


def layout_of(name: str) -> Layout:
    layout, stride = LAYOUTS[name]
    return make_layout(ascendc.FixpipeParamsC310(48, 33, 33, stride), layout, 1)


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(cupy: StandIn, name: str) -> None:
    layout, rule = layout_of(name), rule_of(KIND, 48)
    src = cupy.array(harness.aligned(random_bits((3 * 33 * 16,), "int32")), device=2)
    dst = cupy.array(harness.aligned(random_bits((49 * 48,), "int8")), device=2)
    expected = dst.host.copy()
    _fixpipe_moves.run_boxes(expected, src.host, layout, rule)
    _fixpipe_moves.run_layout(dst, src, layout, rule)
    assert_same_bits(dst.host, expected)
    assert cupy.launches == [(2, f"fixpipe_{name}")]
    assert cupy.current == [0]


@pytest.mark.parametrize("vector", [True, False])
def test_rows(cupy: StandIn, vector: bool) -> None:
    rule = rule_of(KIND if vector else ("REQ8", *KIND[1:]), 40)
    whole = cupy.array(harness.aligned(random_bits((90, 40), "int32")))
    for host, copies in ((whole.host, 0), (whole.host[::2], 1), (whole.host[:0], 1)):
        x = cupy.array(host)
        expected = np.empty(host.shape, np.int8)
        quantise_slabs(host, expected, rule)
        cupy.arrays[:] = [whole.host]
        out = cupy.array(harness.aligned(np.zeros_like(expected)))
        assert _cuda.takes(x, out)
        _cuda.quantise_rows(x, out, rule)
        assert_same_bits(out.host, expected)
        assert cupy.copies == copies


def test_rows_into_a_view(cupy: StandIn) -> None:
    rule = rule_of(("F322F16", "float32", "float16"), 40)
    x = cupy.array(harness.aligned(random_bits((6, 40), "float32")))
    expected = np.empty((6, 40), np.float16)
    quantise_slabs(x.host, expected, rule)
    big = harness.aligned(np.full((6, 81), 77, np.float16))
    out = DeviceArray(big[:, :80:2], x.device.id)
    _cuda.quantise_rows(x, out, rule)
    assert_same_bits(np.ascontiguousarray(out.host), expected)
    assert (big[:, 1::2] == 77).all()


def test_kinds_are_compiled_one_by_one(cupy: StandIn) -> None:
    for kind in (("REQ8", "int32", "int8"), ("REQ8", "int32", "uint8"), ("F322F16", "float32", "float16")):
        x = cupy.array(harness.aligned(random_bits((4, 40), kind[1])))
        out = cupy.array(harness.aligned(np.zeros((4, 40), numpy_dtype(kind[2]))))
        _cuda.quantise_rows(x, out, rule_of(kind, 40))
    assert [options[1:] for _, options in cupy.sources] == [
        ("-DXASCEND_WORD=1", "-DXASCEND_SOURCE=FromInt", "-DXASCEND_RESULT=ToByte"),
        ("-DXASCEND_WORD=2", "-DXASCEND_SOURCE=FromFloat", "-DXASCEND_RESULT=ToHalf"),
    ]


def test_a_failure_to_compile_is_raised(cupy: StandIn) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("error: expected a ';'")

    cupy.RawModule = broken
    x, out = (cupy.array(harness.aligned(np.zeros((4, 4), dtype))) for dtype in (np.float32, np.float16))
    with pytest.raises(RuntimeError, match="expected a ';'"):
        _cuda.quantise_rows(x, out, rule_of(("F322F16", "float32", "float16"), 4))


def test_the_kernels_can_be_switched_off(cupy: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    x = DeviceArray(np.zeros(4, np.float32))
    assert _cuda.takes(x, x)
    assert not _cuda.takes(x.host, x.host)
    monkeypatch.setenv("XASCEND_DISABLE_CUDA_KERNELS", "1")
    assert not _cuda.takes(x, x)


def test_both_functions_ask_for_the_kernels_first(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(_cuda, "takes", lambda src, dst: True)
    monkeypatch.setattr(_cuda, "quantise_rows", lambda x, out, rule: calls.append((x, out)))
    monkeypatch.setattr(_cuda, "quantise_boxes", lambda src, dst, rule, boxes: calls.append((src, dst)))
    x, dst = np.zeros((16, 16), np.float32), np.zeros(256, np.float16)
    out = requantize(x, QuantMode.F322F16, 0)
    params = ascendc.FixpipeParamsV220(16, 16, 16, 16, QuantMode.F322F16)
    src = x.reshape(-1)
    ascendc.fixpipe(dst, src, params)
    assert [tuple(map(id, call)) for call in calls] == [(id(x), id(out)), (id(src), id(dst))]


def test_torch_counts_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(_cuda, "takes", lambda src, dst: True)
    monkeypatch.setattr(_cuda, "_quantise", lambda *_: None)
    dst = torch.ones(256)
    sum_of_products = (torch.ones(256, requires_grad=True) * dst).sum()
    ascendc.fixpipe(dst, torch.zeros(256), ascendc.FixpipeParamsV220(16, 16, 16, 16, QuantMode.NoQuant))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        sum_of_products.backward()

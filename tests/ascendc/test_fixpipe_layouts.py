"""Every layout of `fixpipe` against the loops of the oracle: sizes, strides, units, matrices, junk and gaps."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from ascendc.fixpipe_cases import KINDS, Case, quant_mode, scalar_word
from ascendc.forms import WRITING
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import numpy_dtype

from xascend import ascendc
from xascend.ascendc import _fixpipe_moves
from xascend.ascendc._fixpipe_layouts import Layout
from xascend.quant import _native, _slabs

V220, C310 = ascendc.FixpipeParamsV220, ascendc.FixpipeParamsC310
libraries = pytest.mark.parametrize("name", WRITING)
kinds = pytest.mark.parametrize("kind", KINDS, ids=["-".join(map(str, kind)) for kind in KINDS])


@libraries
@kinds
@pytest.mark.parametrize("relu", [False, True])
def test_nz2nd(name: str, kind: Any, relu: bool) -> None:
    @settings(max_examples=12)
    @given(
        n=st.sampled_from((1, 15, 16, 17, 20, 48)),
        m=st.integers(1, 9),
        junk=st.integers(0, 8),
        gap=st.integers(0, 7),
        nd_num=st.integers(1, 3),
        matrix_gap=st.integers(0, 5),
        seed=st.integers(0, 99),
        saturate=st.booleans(),
    )
    def check(n: int, m: int, junk: int, gap: int, nd_num: int, matrix_gap: int, seed: int, saturate: bool) -> None:
        fractals = (m + junk) * ((n + 15) // 16) // 16 + 1 if nd_num > 1 else 77  # ignored for one matrix
        dst_nd_stride = m * (n + gap) + matrix_gap if nd_num > 1 else 7
        params = V220(
            n, m, m + junk, n + gap, quant_mode(kind), scalar_word(kind), nd_num, fractals, dst_nd_stride, relu
        )
        Case(params, "ND", kind, seed, saturate=saturate).check(name)

    check()


@libraries
@kinds
def test_nz_to_nz(name: str, kind: Any) -> None:
    @settings(max_examples=12)
    @given(
        blocks=st.integers(1, 5),
        m=st.integers(1, 18),
        junk=st.integers(0, 8),
        gap=st.integers(0, 3),
        seed=st.integers(0, 99),
        split=st.booleans(),
        c310=st.booleans(),
    )
    def check(blocks: int, m: int, junk: int, gap: int, seed: int, split: bool, c310: bool) -> None:
        split = split and kind[3] == "float32"
        n = blocks * (8 if split else 16)
        width = 8 if split else 32 if kind[3] in ("int8", "uint8") else 16
        itemsize = {"int8": 1, "uint8": 1, "float16": 2, "bfloat16": 2}.get(kind[3], 4)
        stride = m * width + gap if c310 else -(-m * width * itemsize // 32) + gap
        make = C310 if c310 else V220
        params = make(n, m, m + junk, stride, quant_mode(kind), scalar_word(kind), is_channel_split=split, unit_flag=0)
        Case(params, "NZ", kind, seed).check(name)

    check()


@libraries
@kinds
def test_nz2dn(name: str, kind: Any) -> None:
    @settings(max_examples=12)
    @given(
        n=st.sampled_from((1, 16, 19, 33)),
        m=st.integers(1, 9),
        gap=st.integers(0, 5),
        c0_stride=st.integers(1, 3),
        dn_num=st.integers(1, 3),
        seed=st.integers(0, 99),
        relu=st.booleans(),
    )
    def check(n: int, m: int, gap: int, c0_stride: int, dn_num: int, seed: int, relu: bool) -> None:
        blocks = (n + 15) // 16
        params = C310(
            n,
            m,
            m * c0_stride + 2,
            m + gap,
            quant_mode(kind),
            scalar_word(kind),
            relu_en=relu,
            dn_num=dn_num,
            src_nz_matrix_stride=blocks * (m * c0_stride + 2) + 1,
            dst_dn_matrix_stride=n * (m + gap) + gap,
            src_nz_c0_stride=c0_stride,
        )
        Case(params, "DN", kind, seed).check(name)

    check()


@libraries
def test_nz2nd_of_the_950(name: str) -> None:
    params = C310(20, 5, 6, 23, nd_num=3, src_nd_stride=13, dst_nd_stride=5 * 23 + 70000)
    Case(params, "ND", KINDS[0]).check(name)


@libraries
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[3] != "int32"], ids=str)
@pytest.mark.parametrize("layout", ["ND", "NZ"])
def test_slopes_of_columns(name: str, kind: Any, layout: str) -> None:
    params = V220(48, 5, 7, 48, quant_mode(kind), scalar_word(kind), relu_en=True)
    for saturate in (False, True):
        Case(params, layout, kind, slopes=True, saturate=saturate).check(name)


@libraries
@pytest.mark.parametrize("seed", range(17))
def test_a_last_column_with_and_without_a_shift(name: str, seed: int) -> None:
    kind = ("DEQF16", True, "int32", "float16")
    Case(V220(17, 3, 3, 17, quant_mode(kind)), "ND", kind, seed).check(name)


@libraries
@pytest.mark.parametrize("m", [1, 16, 40])
@pytest.mark.parametrize("layout", ["ND", "NZ", "DN"])
def test_more_than_one_slab(monkeypatch: pytest.MonkeyPatch, name: str, m: int, layout: str) -> None:
    for limit in ("_CACHED", "_LARGE"):
        monkeypatch.setattr(_slabs, limit, 100)
    monkeypatch.setattr(_fixpipe_moves, "_COLUMNS", 40)
    monkeypatch.setattr(_native, "host_memories", lambda *_: None)
    kind = ("REQ8", True, "int32", "uint8")
    several = {"ND": {"nd_num": 3, "src_nd_stride": 300, "dst_nd_stride": 48 * 48}, "NZ": {}}
    several["DN"] = {"dn_num": 3, "src_nz_matrix_stride": 200, "dst_dn_matrix_stride": 48 * 48}
    stride = m * 32 if layout == "NZ" else 48
    Case(C310(48, m, m + 1, stride, quant_mode(kind), **several[layout]), layout, kind).check(name)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("layout", ["ND", "NZ", "DN"])
def test_few_columns_at_a_time(monkeypatch: pytest.MonkeyPatch, layout: str, kind: Any) -> None:
    monkeypatch.setattr(_fixpipe_moves, "_COLUMNS", 1)
    monkeypatch.setattr(_native, "host_memories", lambda *_: None)
    for n in (80, 112) if layout == "NZ" else (83,):
        stride = 3 * 32 if layout == "NZ" else n + 2
        Case(C310(n, 3, 5, stride, quant_mode(kind), scalar_word(kind)), layout, kind).check("numpy")


@pytest.mark.parametrize("layout", ["ND", "NZ"])
@pytest.mark.parametrize(
    ("mode", "source", "result"),
    [("NoQuant", ">f4", ">f4"), ("NoQuant", ">i4", "<i4"), ("F322F16", ">f4", ">f2"), ("DEQF16", "<i4", ">f2")],
)
@pytest.mark.parametrize("relu", [False, True])
def test_byte_order(layout: str, mode: str, source: str, result: str, relu: bool) -> None:
    src = np.random.default_rng(0).integers(-999, 999, 2 * 16 * 16)
    word = ascendc.pack_quant_param(1.0) if mode == "DEQF16" else 0
    params = V220(32, 16, 16, 32, ascendc.QuantMode[mode], word, relu_en=relu)
    config = ascendc.CFG_ROW_MAJOR if layout == "ND" else ascendc.CFG_NZ
    results = []
    for order in (str, lambda dtype: dtype[1:]):
        dst = np.full(32 * 16 * 4, 7, order(result))
        results.append(ascendc.fixpipe(dst, src.astype(order(source)), params, config=config).astype("f8"))
    assert results[0].tolist() == results[1].tolist()
    assert set(results[0].tolist()) >= set(np.maximum(src, 0 if relu else -999).tolist())


@pytest.mark.parametrize("kind", KINDS[3:7], ids=str)
@pytest.mark.parametrize("native", [True, False])
def test_memory(monkeypatch: pytest.MonkeyPatch, native: bool, kind: Any) -> None:
    if not native:
        monkeypatch.setattr(_native, "host_memories", lambda *_: None)
    n, m = 4080, 2048
    src = np.ones(n * m, kind[2])
    dst = np.zeros(n * m, numpy_dtype(kind[3]))
    words = np.full(n, scalar_word((kind[0], False, *kind[2:])), np.uint64) if kind[1] else None
    params = V220(n, m, m, n, quant_mode(kind), scalar_word(kind))
    tracemalloc.start()
    try:
        ascendc.fixpipe(dst, src, params, quant_tensor=words)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 64 << 20


def test_numpy_integers_as_parameters() -> None:
    sizes = (np.uint16(20), np.uint16(5), np.uint16(6), np.uint32(21))
    params = V220(*sizes, nd_num=np.uint16(2), src_nd_stride=np.uint16(9), dst_nd_stride=np.uint16(60000))
    Case(params, "ND", KINDS[0]).check("numpy")


@settings(max_examples=400)
@given(
    run=st.integers(1, 6),
    inner=st.tuples(st.integers(1, 5), st.integers(1, 14)),
    outer=st.tuples(st.integers(1, 5), st.integers(0, 40)),
)
def test_writes_twice(run: int, inner: tuple[int, int], outer: tuple[int, int]) -> None:
    starts = [a * inner[1] + b * outer[1] for a in range(inner[0]) for b in range(outer[0])]
    places = [start + place for start in starts for place in range(run)]
    assert Layout((), run, inner, outer).writes_twice() == (len(set(places)) < len(places))


def test_matrices_side_by_side() -> None:
    params = V220(16, 3, 3, 64, nd_num=4, src_nd_stride=1, dst_nd_stride=16)
    Case(params, "ND", KINDS[0]).check("numpy")

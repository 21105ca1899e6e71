"""`fixpipe` by the native library equals `fixpipe` by NumPy, bit for bit, in everything that it writes and leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ascendc.fixpipe_cases import CONFIGS, KINDS, Case, quant_mode, scalar_word
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import assert_same_bits, random_bits
from native.guards import guarded, guarded_copy
from native.quantisers import BELOW_ZERO, rule_of
from native.quantisers import KINDS as QUANTISER_KINDS

import xascend as xa
from xascend import ascendc
from xascend.ascendc import _fixpipe_moves
from xascend.ascendc._fixpipe_layouts import Box, Layout
from xascend.quant import _native
from xascend.quant._rules import Rule

V220, C310 = ascendc.FixpipeParamsV220, ascendc.FixpipeParamsC310
kinds = pytest.mark.parametrize("kind", KINDS, ids=["-".join(map(str, kind)) for kind in KINDS])


def check(monkeypatch: pytest.MonkeyPatch, case: Case, src_elements: int, dst_elements: int) -> None:
    """Run one case both ways, with junk in the source and old values in the destination."""
    _, vector, source, result = case.kind
    src = random_bits((src_elements,), source, case.seed)
    before = random_bits((dst_elements,), result, case.seed + 1)
    options: dict[str, Any] = {"config": CONFIGS[case.layout], "saturate": case.saturate}
    if vector:
        options["quant_tensor"] = np.array(case.words(), np.uint64)
    if case.slopes:
        options["relu_tensor"] = case.slope_values()
    calls: list[Rule] = []
    quantise = _native.quantise_boxes

    def spy(src: Any, dst: Any, rule: Rule, boxes: Any) -> None:
        calls.append(rule)
        quantise(src, dst, rule, boxes)

    by_native, by_numpy = before.copy(), before.copy()
    with monkeypatch.context() as patch:
        patch.setattr(_native, "quantise_boxes", spy)
        ascendc.fixpipe(by_native, src, case.params, **options)
        assert len(calls) == 1
        patch.setattr(_native, "host_memories", lambda *_: None)
        ascendc.fixpipe(by_numpy, src, case.params, **options)
        assert len(calls) == 1
    assert_same_bits(by_native, by_numpy)


@kinds
@pytest.mark.parametrize("relu", ["", "relu", "slopes"])
def test_nz2nd(monkeypatch: pytest.MonkeyPatch, kind: Any, relu: str) -> None:
    if relu == "slopes" and kind[3] == "int32":
        pytest.skip("no document says how they are rounded")
    for n, m, junk, gap, matrices in ((1, 3, 0, 0, 1), (83, 37, 5, 3, 3), (528, 70, 10, 0, 2), (1000, 16, 0, 24, 1)):
        blocks = -(-n // 16)
        far = -(-(m + junk) * blocks // 16)
        params = V220(
            n, m, m + junk, n + gap, quant_mode(kind), scalar_word(kind), matrices, far, m * (n + gap) + 5, bool(relu)
        )
        case = Case(params, "ND", kind, n, slopes=relu == "slopes", saturate=bool(n % 2))
        check(monkeypatch, case, matrices * far * 256 + 256, matrices * (m * (n + gap) + 5))


@kinds
@pytest.mark.parametrize("split", [False, True])
def test_nz_to_nz(monkeypatch: pytest.MonkeyPatch, kind: Any, split: bool) -> None:
    if split and kind[3] != "float32":
        pytest.skip("float32 only")
    width = 8 if split else 32 if kind[3] in ("int8", "uint8") else 16
    for blocks, m, junk, gap in ((1, 1, 0, 0), (5, 37, 3, 9), (8, 400, 0, 0), (33, 70, 6, 2)):
        params = C310(
            16 * blocks, m, m + junk, m * width + gap, quant_mode(kind), scalar_word(kind), is_channel_split=split
        )
        check(monkeypatch, Case(params, "NZ", kind, m), blocks * (m + junk) * 16, 2 * blocks * (m * width + gap))


@kinds
@pytest.mark.parametrize("apart", [1, 3])
def test_nz2dn(monkeypatch: pytest.MonkeyPatch, kind: Any, apart: int) -> None:
    for n, m, gap, matrices in ((1, 5, 0, 1), (16, 1, 0, 1), (83, 37, 3, 3), (48, 2500, 0, 1)):
        rows, blocks = m * apart + 2, -(-n // 16)
        params = C310(
            n,
            m,
            rows,
            m + gap,
            quant_mode(kind),
            scalar_word(kind),
            dn_num=matrices,
            src_nz_matrix_stride=rows * blocks,
            dst_dn_matrix_stride=n * (m + gap) + 7,
            src_nz_c0_stride=apart,
        )
        sizes = matrices * rows * blocks * 16, matrices * (n * (m + gap) + 7)
        check(monkeypatch, Case(params, "DN", kind, n), *sizes)


@kinds
@pytest.mark.parametrize("layout", ["ND", "NZ", "DN"])
def test_past_the_caches(monkeypatch: pytest.MonkeyPatch, kind: Any, layout: str) -> None:
    n, m = (1632, 1100) if layout == "NZ" else (1627, 1101)
    width = 32 if kind[3] in ("int8", "uint8") else 16
    apart = {"ND": n + 3, "NZ": m * width + 32, "DN": m + 1}[layout]
    params = C310(n, m, m + 1, apart, quant_mode(kind), scalar_word(kind))
    check(monkeypatch, Case(params, layout, kind, 1), (n + 15) // 16 * (m + 1) * 16, (n + 32) * (m + 40))


def strides_of(counts: tuple[int, ...], order: list[int], gaps: list[int]) -> Any:
    """Return strides with which nothing overlaps, for axes in `order`, the innermost last, with `gaps` between them."""
    strides = [0] * len(counts)
    size = 1
    for axis, gap in zip(reversed(order), gaps, strict=True):
        strides[axis] = size
        size = size * counts[axis] + gap
    return tuple(strides)


@settings(max_examples=200)
@given(
    counts=st.tuples(st.integers(1, 3), st.integers(1, 40), st.integers(1, 5), st.integers(1, 2), st.integers(1, 19)),
    source_order=st.permutations([0, 1, 2, 3]),
    order=st.permutations([0, 1, 2, 3, 4]).filter(lambda order: order[-1] in (1, 4)),
    gaps=st.tuples(*[st.sampled_from([0, 0, 0, 1, 5])] * 10),
    kind=st.sampled_from(QUANTISER_KINDS),
    below_zero=st.sampled_from(BELOW_ZERO),
    seed=st.integers(0, 99),
    offsets=st.sampled_from([(0, 0), (2, 3)]),
    end=st.sampled_from(["first", "last"]),
    threads=st.sampled_from([1, 3, 16]),
)
def test_any_box_and_nothing_past_its_ends(
    counts, source_order, order, gaps, kind, below_zero, seed, offsets, end, threads
) -> None:
    src = strides_of(counts, [*source_order, 4], gaps[:5])
    dst = strides_of(counts, order, gaps[5:])
    box = Box(0, counts, offsets[0], src, offsets[1], dst)
    rule = rule_of(kind, box.columns, below_zero=below_zero, seed=seed, shifts=bool(seed % 2))
    x = random_bits((box.src_reach,), kind[1], seed)
    by_numpy = random_bits((box.dst_reach,), kind[2], seed + 1)
    by_native = guarded(by_numpy.shape, by_numpy.dtype, end)
    by_native[...] = by_numpy
    xa.set_num_threads(threads)
    _native.quantise_boxes(guarded_copy(x, end), by_native, rule, [box])
    _fixpipe_moves.run_boxes(by_numpy, x, Layout((box,), 1, (1, 0), (1, 0)), rule)
    assert_same_bits(by_native, by_numpy)


def test_torch_counts_the_change() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    dst = torch.ones(256)
    sum_of_products = (torch.ones(256, requires_grad=True) * dst).sum()
    ascendc.fixpipe(dst, torch.zeros(256), V220(16, 16, 16, 16, ascendc.QuantMode.NoQuant))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        sum_of_products.backward()

"""The Fixpipe kernels equal NumPy bit for bit, in two thread orders on the host: every mode, layout, alignment."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda import harness, quantisers
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import assert_same_bits, random_bits
from native.quantisers import BELOW_ZERO, KINDS, bare_rule, every_rule, rule_of
from quant.values import FLOATS, INTS, word

from xascend import ascendc
from xascend.ascendc._fixpipe_layouts import Layout, make_layout
from xascend.quant import _cuda_launches
from xascend.quant._cuda_matrices import Matrices, cut_columns, make_box_matrices, make_row_matrices

V220, C310 = ascendc.FixpipeParamsV220, ascendc.FixpipeParamsC310
ND, NZ, DN = ascendc.CO2Layout.ROW_MAJOR, ascendc.CO2Layout.NZ, ascendc.CO2Layout.COLUMN_MAJOR
BYTES = {"int8": 1, "uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4, "int32": 4}
# One kind for each kernel that is compiled: both sources with every result.
COMPILED = [
    ("NoQuant", "float32", "float32"),
    ("NoQuant", "int32", "int32"),
    ("VQF322F16_PRE", "float32", "float16"),
    ("VDEQF16", "int32", "float16"),
    ("F322BF16", "float32", "bfloat16"),
    ("VQS322BF16_PRE", "int32", "bfloat16"),
    ("VQF322B8_PRE", "float32", "int8"),
    ("VREQ8", "int32", "uint8"),
]
FEW = COMPILED[::3]  # results of 4, 2 and 1 bytes
kinds = pytest.mark.parametrize("kind", KINDS, ids="-".join)
few = pytest.mark.parametrize("kind", FEW, ids="-".join)


@pytest.fixture(autouse=True)
def _compiler() -> None:
    harness.require_compiler()


# ---- arithmetic ----


@kinds
def test_values_where_implementations_go_wrong(kind: tuple[str, str, str]) -> None:
    values = FLOATS if kind[1] == "float32" else INTS
    x = harness.aligned(np.stack([np.roll(values, k) for k in range(9)]))
    for shifts in (False, True):
        for rule in every_rule(kind, x.shape[1], shifts=shifts):
            quantisers.check_rows(x, rule)


@kinds
def test_random_bits(kind: tuple[str, str, str]) -> None:
    x = harness.aligned(random_bits((31, 205), kind[1], seed=3))
    for rule in every_rule(kind, x.shape[1], seed=4, shifts=True):
        quantisers.check_rows(x, rule, descending=True)


@pytest.mark.parametrize("saturate", [False, True])
def test_every_boundary_between_two_float16(saturate: bool) -> None:
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middles = (halves + np.append(halves[1:], np.float32(65536))) / 2
    bits = middles.view(np.int32)[:, None] + np.arange(-1, 2, dtype=np.int32)
    x = np.maximum(bits, 0).view(np.float32)
    for signed in (x, -x):
        quantisers.check_rows(harness.aligned(signed), bare_rule("F322F16", "float32", saturate=saturate))


@pytest.mark.parametrize("saturate", [False, True])
def test_every_bfloat16_and_what_is_rounded_to_it(saturate: bool) -> None:
    high = np.arange(1 << 16, dtype=np.uint32)[:, None] << 16
    low = np.array([0, 0x7FFF, 0x8000, 0x8001], np.uint32)
    x = harness.aligned((high | low).view(np.float32))
    quantisers.check_rows(x, bare_rule("F322BF16", "float32", saturate=saturate))


@pytest.mark.parametrize("shift", [1, 7, 16])
def test_every_int16_that_a_shift_leaves(shift: int) -> None:
    shifted = np.arange(-(1 << 15), 1 << 15, dtype=np.int64) << shift
    x = harness.aligned(np.clip(shifted | (1 << shift) - 1, -(1 << 31), (1 << 31) - 1).astype(np.int32))
    for mode in ("REQ8", "DEQF16"):
        quantisers.check_rows(x, bare_rule(mode, "int32", word(0.37, 9, shift=shift)))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_ties_and_both_clips_at_every_offset(signed: bool, relu: bool) -> None:
    x = harness.aligned(np.repeat(np.arange(-1100, 1101, 5, dtype=np.float32)[:, None] / 4, 512, axis=1))
    words = [word(1.0, offset, signed) for offset in range(-256, 256)]
    quantisers.check_rows(x, bare_rule("VQF322B8_PRE", "float32", *words, relu=relu))


# ---- contiguous arrays ----


@few
@pytest.mark.parametrize("columns", [1, 2, 3, 7, 16, 100, 255, 1025, 4099])
def test_any_number_of_columns(kind: tuple[str, str, str], columns: int) -> None:
    for rows in (1, 2, 3, 9):
        x = harness.aligned(random_bits((rows, columns), kind[1]))
        rule = rule_of(kind, columns, shifts=True, below_zero="slopes" if rows % 2 else "kept")
        assert quantisers.check_rows(x, rule, descending=rows == 2)[0] == "fixpipe_direct"


@few
def test_rows_of_a_scalar_rule_are_cut_anew(kind: tuple[str, str, str]) -> None:
    for size in (1, 1023, 1024, 1029, 40_001):
        rule = rule_of(kind, 1)
        quantisers.check_rows(harness.aligned(random_bits((size, 1), kind[1])), rule)


@few
@pytest.mark.parametrize("offset", [4, 8, 12])
def test_sources_at_any_address(kind: tuple[str, str, str], offset: int) -> None:
    x = harness.place(random_bits((7, 301), kind[1]), offset)
    quantisers.check_rows(x, rule_of(kind, 301))


@few
def test_rows_of_several_launches(kind: tuple[str, str, str]) -> None:
    x = harness.aligned(random_bits((3, 1500), kind[1]))
    for most in (32, 512):
        quantisers.check_rows(x, rule_of(kind, 1500, below_zero="slopes"), most=most)


# ---- layouts ----


def check(
    kind: tuple[str, str, str], params: Any, layout: Any, *, src_offset: int = 0, seed: int = 0, **options: Any
) -> list[str]:
    """Run one Fixpipe over memory that ends with the last element on either side."""
    boxes = make_layout(params, layout, BYTES[kind[2]]).boxes
    rule = rule_of(kind, int(params.n_size), below_zero=BELOW_ZERO[seed % 3], saturate=bool(seed % 2), seed=seed)
    x = harness.place(random_bits((max(box.src_reach for box in boxes),), kind[1], seed), src_offset)
    before = random_bits((max(box.dst_reach for box in boxes),), kind[2], seed + 1)
    return quantisers.check_boxes(x, before, rule, boxes, **options)


def nd(n: int, m: int, junk: int, stride: int, matrices: int = 1, gap: int = 0) -> Any:
    rows = m + junk
    return C310(n, m, rows, stride, nd_num=matrices, src_nd_stride=rows * -(-n // 16), dst_nd_stride=m * stride + gap)


@pytest.mark.parametrize("kind", COMPILED, ids="-".join)
def test_nz2nd(kind: tuple[str, str, str]) -> None:
    assert check(kind, nd(64, 33, 2, 64, 3, 4), ND) == ["fixpipe_direct"]
    assert check(kind, nd(83, 37, 5, 84, 2, 4), ND, seed=1, descending=True) == ["fixpipe_direct"]
    assert check(kind, nd(83, 37, 5, 83), ND, seed=2) == ["fixpipe_rows"]
    assert check(kind, nd(528, 9, 0, 531, 2, 1), ND, seed=3, descending=True) == ["fixpipe_rows"]


@few
@pytest.mark.parametrize("n", [1, 3, 4, 15, 16, 17, 31, 33, 127, 128, 129, 511, 513])
@pytest.mark.parametrize("m", [1, 2, 7, 8, 9, 65])
def test_sizes_of_nz2nd(kind: tuple[str, str, str], n: int, m: int) -> None:
    for gap in (0, 5, -n % 4):
        check(kind, nd(n, m, n % 3, n + gap), ND, seed=n, descending=bool(m % 2))


@pytest.mark.parametrize("kind", COMPILED, ids="-".join)
def test_nz_to_nz(kind: tuple[str, str, str]) -> None:
    merges = BYTES[kind[2]] == 1
    for blocks, m, junk, gap in ((1, 1, 0, 0), (5, 37, 3, 32), (8, 130, 0, 0), (33, 7, 6, 64)):
        stride = m * (32 if merges else 16) + gap
        params = C310(16 * blocks, m, m + junk, stride)
        assert check(kind, params, NZ, seed=m, descending=bool(m % 2)) == ["fixpipe_direct"]
        odd = C310(16 * blocks, m, m + junk, stride + 1)
        assert check(kind, odd, NZ, seed=m)[-1] == ("fixpipe_direct" if blocks <= 1 else "fixpipe_rows")


@pytest.mark.parametrize("eights", [1, 2, 3, 8, 9])
def test_channel_split(eights: int) -> None:
    for m in (1, 5, 70):
        params = C310(8 * eights, m, m + 1, m * 8 + 8, is_channel_split=True)
        check(COMPILED[0], params, NZ, descending=bool(m % 2))


def dn(n: int, m: int, apart: int, stride: int, matrices: int = 1, gap: int = 0) -> Any:
    rows = m * apart + 2
    return C310(
        *(n, m, rows, stride),
        dn_num=matrices,
        src_nz_matrix_stride=rows * -(-n // 16),
        dst_dn_matrix_stride=n * stride + gap,
        src_nz_c0_stride=apart,
    )


@pytest.mark.parametrize("kind", COMPILED, ids="-".join)
def test_nz2dn(kind: tuple[str, str, str]) -> None:
    assert check(kind, dn(48, 300, 1, 304), DN) == ["fixpipe_columns_aligned"]
    assert check(kind, dn(83, 37, 3, 48, 2, 16), DN, seed=1, descending=True) == ["fixpipe_columns_aligned"]
    assert check(kind, dn(83, 37, 1, 37, 3, 5), DN, seed=2) == ["fixpipe_columns_shifted"]
    assert check(kind, dn(20, 270, 1, 271), DN, seed=3, descending=True) == ["fixpipe_columns_shifted"]


@few
@pytest.mark.parametrize("n", [1, 3, 15, 16, 17, 33, 130])
@pytest.mark.parametrize("m", [2, 3, 4, 5, 31, 32, 33, 64, 65, 255, 257])
def test_sizes_of_nz2dn(kind: tuple[str, str, str], n: int, m: int) -> None:
    for stride in (m, -(-m // 16) * 16):
        check(kind, dn(n, m, 1 + n % 2, stride), DN, seed=m, descending=bool(n % 2))


@few
@pytest.mark.parametrize("items", [1, 2, 3, 5, 8])
def test_destinations_at_any_address(kind: tuple[str, str, str], items: int) -> None:
    offset = items * BYTES[kind[2]]
    check(kind, nd(64, 20, 0, 64), ND, offset=offset, seed=items)
    check(kind, C310(96, 40, 40, 40 * 32), NZ, offset=offset, seed=items, descending=True)
    check(kind, dn(40, 48, 1, 64), DN, offset=offset, seed=items)


@few
@pytest.mark.parametrize("src_offset", [4, 8, 12])
def test_sources_of_layouts_at_any_address(kind: tuple[str, str, str], src_offset: int) -> None:
    check(kind, nd(70, 20, 0, 70), ND, src_offset=src_offset)
    check(kind, C310(48, 40, 40, 40 * 32), NZ, src_offset=src_offset)
    check(kind, dn(40, 48, 1, 64), DN, src_offset=src_offset, descending=True)


@few
def test_few_blocks_take_many_tiles(kind: tuple[str, str, str]) -> None:
    for blocks in (1, 2):
        check(kind, nd(700, 70, 0, 700), ND, blocks=blocks)
        check(kind, nd(1100, 40, 0, 1101), ND, blocks=blocks, descending=True)
        check(kind, dn(70, 600, 1, 608), DN, blocks=blocks)
        check(kind, dn(70, 600, 1, 601), DN, blocks=blocks, descending=True)


@pytest.fixture
def tall_tiles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tiles as high as those of large matrices."""
    monkeypatch.setattr(_cuda_launches, "_ENOUGH", 1)
    _cuda_launches.make_launch.cache_clear()
    yield
    _cuda_launches.make_launch.cache_clear()


@few
@pytest.mark.usefixtures("tall_tiles")
def test_tall_tiles(kind: tuple[str, str, str]) -> None:
    for m in (128, 255, 300):
        assert check(kind, nd(528, m, 1, 528), ND, blocks=3) == ["fixpipe_direct"]
        assert check(kind, C310(96, 3 * m, 3 * m, 3 * m * 32), NZ, descending=True) == ["fixpipe_direct"]
    assert check(kind, dn(83, 1500, 1, 1504), DN) == ["fixpipe_columns_aligned"]
    assert check(kind, dn(83, 1030, 2, 1040), DN, descending=True) == ["fixpipe_columns_aligned"]
    x = harness.aligned(random_bits((203, 1029), kind[1]))
    assert quantisers.check_rows(x, rule_of(kind, 1029)) == ["fixpipe_direct"]


@settings(max_examples=60)
@given(
    kind=st.sampled_from(FEW),
    layout=st.sampled_from((ND, NZ, DN)),
    n=st.integers(1, 200),
    m=st.integers(2, 90),
    junk=st.integers(0, 5),
    gap=st.integers(0, 20),
    matrices=st.integers(1, 3),
    offsets=st.tuples(st.sampled_from((0, 0, 4, 16)), st.integers(0, 7)),
    seed=st.integers(0, 99),
)
def test_anything(kind, layout, n, m, junk, gap, matrices, offsets, seed) -> None:
    if layout is NZ:
        params = C310(-(-n // 16) * 16, m, m + junk, m * 32 + gap)
    else:
        params = nd(n, m, junk, n + gap, matrices, gap) if layout is ND else dn(n, m, 1 + junk, m + gap, matrices, gap)
    src_offset, items = offsets
    options = {"src_offset": src_offset, "offset": items * BYTES[kind[2]], "descending": bool(seed % 2)}
    check(kind, params, layout, seed=seed, **options)


@pytest.mark.skipif(sys.platform != "linux", reason="needs memory that is only reserved")
@pytest.mark.parametrize("group", [16, 1])
def test_offsets_beyond_32_bits(group: int) -> None:
    """Rows of the source, and rows or columns of the result, 1.5 GiB apart; only the pages that are touched exist."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    apart = 3 << 29
    memory = np.frombuffer(mmap.mmap(-1, 3 * apart + 8192, flags=flags), np.float32)
    values = random_bits((4, 4), "float32")
    seen = np.lib.stride_tricks.as_strided(memory, (4, 4), (apart, 4))
    seen[...] = values
    far = apart // 4
    matrices = Matrices(0, 1, 4, 4, (0, 0, far, 16), (1024, 0, *((1, far) if group == 1 else (far, 16))), group)
    quantisers.run(memory, memory, rule_of(("NoQuant", "float32", "float32"), 1), [matrices])
    made = np.lib.stride_tricks.as_strided(memory[1024:], (4, 4), (apart, 4))
    assert_same_bits(made.copy(), values.T.copy() if group == 1 else values)


# ---- matrices ----


def places(matrices: Matrices) -> set[tuple[int, int, int]]:
    """Return column, source and destination of every element, by the definition."""
    found = set()
    for i in range(matrices.count):
        for j in range(matrices.rows):
            for c in range(matrices.columns):
                src = np.dot(matrices.src, (1, i, j, c // 16)) + c % 16
                dst = np.dot(matrices.dst, (1, i, j, c // matrices.group)) + c % matrices.group
                found.add((matrices.first + c, int(src), int(dst)))
    return found


def places_of_boxes(layout: Layout) -> set[tuple[int, int, int]]:
    found = set()
    for box in layout.boxes:
        for index in np.ndindex(*box.counts):
            column = box.first + (index[2] * box.counts[3] + index[3]) * box.counts[4] + index[4]
            src, dst = box.src_offset + np.dot(index, box.src), box.dst_offset + np.dot(index, box.dst)
            found.add((column, int(src), int(dst)))
    return found


@pytest.mark.parametrize("n", [1, 8, 15, 16, 17, 24, 32, 40, 48, 80])
@pytest.mark.parametrize("itemsize", [1, 2, 4])
def test_matrices_are_those_of_the_boxes(n: int, itemsize: int) -> None:
    cases = [(nd(n, 3, 1, n + 1, 2, 1), ND), (dn(n, 3, 2, 4, 2, 1), DN)]
    if n % 16 == 0:
        cases.append((C310(n, 3, 4, 100), NZ))
    if n % 8 == 0 and itemsize == 4:
        cases.append((C310(n, 3, 4, 30, is_channel_split=True), NZ))
    for params, layout in cases:
        boxes = make_layout(params, layout, itemsize)
        made = make_box_matrices(boxes.boxes)
        assert set().union(*map(places, made)) == places_of_boxes(boxes)
        assert len(made) == 1 or (itemsize == 1 and layout is NZ)


@pytest.mark.parametrize(("size", "columns"), [(1, 1), (5, 5), (4096, 1), (5000, 1), (21, 7), (4900, 7), (9000, 9)])
def test_long_rows_are_all_of_an_array(size: int, columns: int) -> None:
    together, made = make_row_matrices(size, columns)
    elements = sorted(element for matrices in made for element in places(matrices))
    assert [src for _, src, dst in sorted(elements, key=lambda e: e[1]) if src == dst] == list(range(size))
    assert all(column % columns == src % columns for column, src, _ in elements)
    assert all(column < together * columns for column, _, _ in elements)
    assert all(matrices.dst[2] % 4 == 0 or matrices.rows == 1 for matrices in made)


@pytest.mark.parametrize("size", [(1 << 31) + 1027, (1 << 36) + 5])
@pytest.mark.parametrize("columns", [1, 4096, 4099, 1 << 29])
def test_sizes_beyond_32_bits(size: int, columns: int) -> None:
    size = size // columns * columns
    _, found = make_row_matrices(size, columns)
    parts = [part for matrices in found for part in cut_columns(matrices)]
    assert sum(part.count * part.rows * part.columns for part in parts) == size
    for part in parts:
        launch = _cuda_launches.make_launch("int32", "int8", part, 32, 32)
        assert launch.kernel.entry == "fixpipe_direct"
        assert launch.blocks <= launch.table["tiles"][0] < 1 << 31


def test_a_launch_of_too_many_tiles_is_refused() -> None:
    matrices = Matrices(0, 1 << 31, 300, 16, (0, 9600, 16, 16), (0, 4800, 16, 16), 16)
    with pytest.raises(ValueError, match="fewer than 2147483648 tiles, got 2147483648"):
        _cuda_launches.make_launch("float32", "float32", matrices, 32, 32)

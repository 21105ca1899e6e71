"""Everything that `fixpipe` refuses: one exception type each, and nothing written."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xascend import ascendc
from xascend.ascendc import CFG_COLUMN_MAJOR, CFG_NZ, CFG_ROW_MAJOR, Product, QuantMode

V220, M300, M310 = ascendc.FixpipeParamsV220, ascendc.FixpipeParamsM300, ascendc.FixpipeParamsM310
C310 = ascendc.FixpipeParamsC310
SIZES = {"n_size": 16, "m_size": 16, "src_stride": 16, "dst_stride": 16}

RANGES = [
    ("n_size", 0, 4095),
    ("m_size", 0, 65535),
    ("src_stride", 0, 65535),
    ("dst_stride", 1, (1 << 32) - 1),
    ("deq_scalar", 0, (1 << 64) - 1),
    ("nd_num", 0, 65535),
    ("src_nd_stride", 0, 65535),
]
RANGES_V220 = [*RANGES, ("dst_nd_stride", 0, 65535)]
RANGES_C310 = [
    *RANGES,
    ("dst_nd_stride", 0, (1 << 32) - 1),
    ("dn_num", 0, 65535),
    ("src_nz_matrix_stride", 0, 65535),
    ("dst_dn_matrix_stride", 0, (1 << 32) - 1),
    ("src_nz_c0_stride", 0, 65535),
]
FIELDS = [(make, *row) for make in (V220, M300, M310) for row in RANGES_V220] + [(C310, *row) for row in RANGES_C310]


@pytest.mark.parametrize(("make", "field", "low", "high"), FIELDS)
def test_ranges(make: Any, field: str, low: int, high: int) -> None:
    others = {"src_nd_stride": 1, "dst_nd_stride": 1} if field == "nd_num" else {}
    for value in (low, high):
        assert getattr(make(**(SIZES | others | {field: value})), field) == value
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match=rf"`{field}` must lie in \[{low}, {high}\], got {value}"):
            make(**(SIZES | {field: value}))
    for value in (True, 1.0, "1", None):
        with pytest.raises(TypeError, match=f"`{field}` must be an int"):
            make(**(SIZES | {field: value}))


@pytest.mark.parametrize(("field", "high"), [("src_nd_stride", 512), ("dst_nd_stride", 65535)])
def test_ranges_with_several_matrices(field: str, high: int) -> None:
    good = SIZES | {"nd_num": 2, "src_nd_stride": 1, "dst_nd_stride": 1}
    for value in (1, high):
        V220(**(good | {field: value}))
    for value in (0, high + 1):
        with pytest.raises(ValueError, match=rf"`{field}` must lie in \[1, {high}\] where `nd_num` > 1, got {value}"):
            V220(**(good | {field: value}))
    C310(**(good | {field: 0}))
    C310(**(good | {"src_nd_stride": 65535}))


@pytest.mark.parametrize("make", [V220, C310])
@pytest.mark.parametrize(
    ("field", "value", "error", "match"),
    [
        ("unit_flag", 1, ValueError, r"`unit_flag` must be one of \(0, 2, 3\), got 1"),
        ("unit_flag", 4, ValueError, r"`unit_flag` must lie in \[0, 3\], got 4"),
        ("unit_flag", True, TypeError, "`unit_flag` must be an int"),
        ("relu_en", 1, TypeError, "`relu_en` must be a bool, got 1"),
        ("is_channel_split", 0, TypeError, "`is_channel_split` must be a bool, got 0"),
        ("quant_pre", 1, TypeError, "`quant_pre` must be a member of ascendc.QuantMode, got 1"),
    ],
)
def test_other_fields(make: Any, field: str, value: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make(**(SIZES | {field: value}))


@pytest.mark.parametrize("make", [V220, M300, M310, C310])
@pytest.mark.parametrize("unit_flag", [2, 3])
def test_channel_split_without_unit_flag(make: Any, unit_flag: int) -> None:
    make(**SIZES, unit_flag=unit_flag)
    with pytest.raises(ValueError, match=f"`unit_flag` must be 0 where `is_channel_split` is set, got {unit_flag}"):
        make(**SIZES, is_channel_split=True, unit_flag=unit_flag)


def test_layout_of_a_config() -> None:
    with pytest.raises(TypeError, match=r"`format` must be a member of ascendc\.CO2Layout, got 1"):
        ascendc.FixpipeConfig(1)
    assert [layout.value for layout in ascendc.CO2Layout] == [0, 1, 2]
    assert [layout.name for layout in ascendc.CO2Layout] == ["NZ", "ROW_MAJOR", "COLUMN_MAJOR"]


def word(scale: float = 1.0, signed: bool = True) -> int:
    return ascendc.pack_quant_param(scale, signed=signed)


SRC = np.zeros(512, np.float32)
INTS = np.zeros(512, np.int32)
ONES = np.ones(16, np.float32)
WORDS = np.full(16, 0x400000000000 | 0x3F800000, np.uint64)
N16 = {"n_size": 16, "m_size": 16, "src_stride": 16, "dst_stride": 16}


def p(make: Any = V220, **fields: Any) -> Any:
    return make(**(N16 | fields))


def m(mode: str, **fields: Any) -> Any:
    return p(quant_pre=QuantMode[mode], **fields)


ONLY_NZ = [
    (p(n_size=8), "`n_size` must be a multiple of 16 in this NZ layout, got 8"),
    (p(n_size=17), "`n_size` must be a multiple of 16 in this NZ layout, got 17"),
    (p(n_size=12, is_channel_split=True), "`n_size` must be a multiple of 8 in this NZ layout, got 12"),
    (
        p(nd_num=2, src_nd_stride=1, dst_nd_stride=1),
        "`nd_num` counts the matrices of NZ2ND, with NZ it must be 1, got 2",
    ),
    (p(C310, dn_num=2), "`dn_num` counts the matrices of NZ2DN, with NZ it must be 1, got 2"),
    (p(nd_num=0), "`nd_num` counts the matrices of NZ2ND, with NZ it must be 1, got 0"),
    (p(C310, dn_num=0), "`dn_num` counts the matrices of NZ2DN, with NZ it must be 1, got 0"),
    (p(C310, dn_num=0, m_size=0), "`dn_num` counts the matrices of NZ2DN, with NZ it must be 1, got 0"),
]


@pytest.mark.parametrize(("params", "match"), ONLY_NZ)
def test_nz_layout(params: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        ascendc.fixpipe(np.zeros(512, np.float32), SRC, params, config=CFG_NZ)


@pytest.mark.parametrize(
    ("params", "config", "error", "match"),
    [
        (p(m_size=8193), CFG_ROW_MAJOR, ValueError, r"`m_size` must lie in \[0, 8192\] with NZ2ND, got 8193"),
        (p(is_channel_split=True), CFG_ROW_MAJOR, ValueError, "`is_channel_split` goes with the NZ layout only"),
        (p(C310, is_channel_split=True), CFG_COLUMN_MAJOR, ValueError, "`is_channel_split` goes with the NZ layout"),
        (p(), CFG_COLUMN_MAJOR, TypeError, "`params` must be a FixpipeParamsC310 with `config` COLUMN_MAJOR, got Fix"),
        (p(C310, nd_num=2), CFG_COLUMN_MAJOR, ValueError, "`nd_num` counts the matrices of NZ2ND, with COLUMN_MAJOR"),
        (p(C310, dn_num=2), CFG_ROW_MAJOR, ValueError, "`dn_num` counts the matrices of NZ2DN, with ROW_MAJOR it must"),
        (p(C310, dn_num=0), CFG_ROW_MAJOR, ValueError, "`dn_num` counts the matrices of NZ2DN, with ROW_MAJOR it must"),
        (p(C310, nd_num=0), CFG_COLUMN_MAJOR, ValueError, "`nd_num` counts the matrices of NZ2ND, with COLUMN_MAJOR"),
        (p(C310, src_nz_c0_stride=0), CFG_COLUMN_MAJOR, ValueError, r"`src_nz_c0_stride` must lie in \[1, 65535\]"),
        (p(C310, src_nz_c0_stride=2, unit_flag=2), CFG_COLUMN_MAJOR, ValueError, "`unit_flag` must be 0 where `src_"),
        (p(), "NZ", TypeError, "`config` must be a FixpipeConfig, for instance ascendc.CFG_NZ, got 'NZ'"),
        ({"n_size": 16}, CFG_NZ, TypeError, "`params` must be a FixpipeParamsV220, .* got dict"),
        (m("QF322F16_PRE"), CFG_NZ, TypeError, "`params` must be a FixpipeParamsC310 with `quant_pre` QF322F16_PRE"),
    ],
)  # fmt: skip
def test_combinations(params: Any, config: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.fixpipe(np.zeros(512, np.float32), SRC, params, config=config)


DTYPES = [
    ("float32", "int8", ("QF322B8_PRE", "VQF322B8_PRE")),
    ("float32", "uint8", ("QF322B8_PRE", "VQF322B8_PRE")),
    ("float32", "float16", ("F322F16",)),
    ("float32", "bfloat16", ("F322BF16",)),
    ("float32", "float32", ("NoQuant",)),
    ("float32", "int32", ()),
    ("int32", "int8", ("REQ8", "VREQ8")),
    ("int32", "uint8", ("REQ8", "VREQ8")),
    ("int32", "float16", ("DEQF16", "VDEQF16")),
    ("int32", "bfloat16", ()),
    ("int32", "int32", ("NoQuant",)),
    ("int32", "float32", ()),
]
MODES_V220 = ("NoQuant", "F322F16", "F322BF16", "DEQF16", "VDEQF16", "REQ8", "VREQ8", "QF322B8_PRE", "VQF322B8_PRE")


@pytest.mark.parametrize("mode", MODES_V220)
@pytest.mark.parametrize(("source", "result", "modes"), DTYPES)
def test_every_combination_of_dtypes(source: str, result: str, modes: tuple[str, ...], mode: str) -> None:
    dst = np.full(256, 1, getattr(ml_dtypes, result, result))
    word_ = word(signed=result != "uint8")
    takes = QuantMode[mode] not in (QuantMode.NoQuant, QuantMode.F322F16, QuantMode.F322BF16)
    vector = mode.startswith("V")
    params = m(mode, deq_scalar=word_ if takes and not vector else 0)
    options = {"quant_tensor": np.full(16, word_, np.uint64)} if vector else {}
    if mode in modes:
        ascendc.fixpipe(dst, np.zeros(256, source), params, **options)
        assert not dst.any()
        return
    with pytest.raises(TypeError, match=f"`(src|dst)` must be .* for `quant_pre` {mode}"):
        ascendc.fixpipe(dst, np.zeros(256, source), params, **options)
    assert (dst == 1).all()


READ_ONLY = np.zeros(256, np.float32)
READ_ONLY.flags.writeable = False
SHARED = np.zeros(2048, np.float32)
MIXED = WORDS * (np.arange(16) > 3).astype(np.uint64)
INFINITE = WORDS | np.uint64(0x7F800000)
VALUE, TYPE, GAP = ValueError, TypeError, NotImplementedError


@pytest.mark.parametrize(
    ("dst", "src", "params", "options", "error", "match"),
    [
        # words
        ("int8", SRC, m("QF322B8_PRE", deq_scalar=word(signed=False)), {}, TYPE, "`dst` must be uint8, .*got int8"),
        ("uint8", SRC, m("VQF322B8_PRE"), {"quant_tensor": WORDS}, TYPE, "`dst` must be int8, .*got uint8"),
        ("int8", SRC, m("VQF322B8_PRE"), {"quant_tensor": MIXED}, VALUE, r"one sign bit .*word 4 differs"),
        ("int8", SRC, m("VQF322B8_PRE"), {}, VALUE, "`quant_tensor` is required with VQF322B8_PRE: .* 16 columns"),
        ("int8", SRC, m("VQF322B8_PRE"), {"quant_tensor": WORDS[:15]}, VALUE, r"`quant_tensor` must have shape \(16"),
        ("int8", SRC, m("VQF322B8_PRE"), {"quant_tensor": np.tile(WORDS, 2)}, VALUE, r"shape \(16,\).*got \(32,\)"),
        ("int8", SRC, m("VQF322B8_PRE"), {"quant_tensor": WORDS.view(np.int64)}, TYPE, "an array of uint64, got int"),
        ("int8", SRC, m("VQF322B8_PRE"), {"quant_tensor": word()}, TYPE, "a uint64 array with a word for each of 16"),
        ("int8", SRC, m("VQF322B8_PRE"), {"quant_tensor": list(WORDS)}, TYPE, "`quant_tensor` must be an array"),
        ("int8", SRC, m("VQF322B8_PRE", deq_scalar=5), {"quant_tensor": WORDS}, VALUE, "`deq_scalar` goes with the sc"),
        ("int8", SRC, m("QF322B8_PRE"), {"quant_tensor": WORDS}, VALUE, "`quant_tensor` goes with the vector"),
        ("float32", SRC, p(), {"quant_tensor": WORDS}, VALUE, "`quant_tensor` goes with the vector"),
        ("float32", SRC, p(deq_scalar=1), {}, VALUE, "`deq_scalar` goes with the scalar .*with NoQuant it must be 0"),
        ("int8", SRC, m("QF322B8_PRE", deq_scalar=0x7F800000), {}, VALUE, "`deq_scalar` must hold multipliers"),
        ("int8", SRC, m("VQF322B8_PRE"), {"quant_tensor": INFINITE}, VALUE, "`quant_tensor` must hold multipliers"),
        # slopes
        ("float32", SRC, p(), {"relu_tensor": ONES}, VALUE, "`relu_tensor` goes with `relu_en`, which is False"),
        ("float32", SRC, p(relu_en=True), {"relu_tensor": ONES[:8]}, VALUE, r"`relu_tensor` must have shape \(16,\)"),
        ("float32", SRC, p(relu_en=True), {"relu_tensor": ONES.astype(np.float16)}, TYPE, "`relu_tensor` must be flo"),
        ("float32", SRC, p(relu_en=True), {"relu_tensor": ONES * np.nan}, VALUE, "`relu_tensor` must hold multipl"),
        ("float32", SRC, p(relu_en=True), {"relu_tensor": [1.0] * 16}, TYPE, "`relu_tensor` must be an array"),
        ("int32", INTS, p(relu_en=True), {"relu_tensor": ONES}, GAP, "`relu_tensor` with int32 results"),
        # dtypes
        ("float32", SRC.astype(np.float64), p(), {}, TYPE, "`src` must be float32 or int32, the cube unit's"),
        ("int32", INTS, p(is_channel_split=True), {"config": CFG_NZ}, TYPE, "`is_channel_split` takes float32 to fl"),
        ("float16", SRC, m("F322F16", is_channel_split=True), {"config": CFG_NZ}, TYPE, "takes float32 to float32"),
        (ml_dtypes.int4, SRC, p(), {}, GAP, "`dst` of int4: the documents tell that 4-bit .*, but name no mode"),
        ("float32", SRC, m("QF322FP8_PRE"), {}, GAP, "`quant_pre` QF322FP8_PRE is not implemented"),
        ("int16", INTS, m("SHIFTS322S16"), {}, GAP, "`quant_pre` SHIFTS322S16 is not implemented"),
        # buffers
        (np.zeros((16, 16), np.float32), SRC, p(), {}, VALUE, "`dst` must be 1-D"),
        (np.zeros(512, np.float32)[::2], SRC, p(), {}, VALUE, "`dst` must be contiguous"),
        (READ_ONLY, SRC, p(), {}, VALUE, "`dst` is read-only"),
        ([0.0] * 256, SRC, p(), {}, TYPE, "`dst` must be an array"),
        ("float32", SRC.reshape(2, 256), p(), {}, VALUE, "`src` must be 1-D"),
        (np.zeros(255, np.float32), SRC, p(), {}, VALUE, "`dst` must reach to the last .* 256 elements, got 255"),
        ("float32", SRC[:255], p(), {}, VALUE, "`src` must reach to the last .* 256 elements, got 255"),
        (np.zeros(275, np.float32), SRC, p(n_size=20, dst_stride=17, m_size=1, src_stride=40), {}, VALUE, "644 elem"),
        ("float32", SRC[8:], p(), {}, VALUE, "`src` must start at a multiple of 64 bytes, got byte 32 "),
        (np.zeros(512, np.float32)[4:], SRC, p(), {"config": CFG_NZ}, VALUE, "`dst` must start at a multiple of 32"),
        (np.zeros(512, np.float32)[4:], SRC, p(C310), {"config": CFG_COLUMN_MAJOR}, VALUE, "multiple of 32 bytes"),
        (SHARED[256:], SHARED[:512], p(), {}, VALUE, "`dst` and `src` must not share memory"),
        # overlapping writes
        ("float32", SRC, p(dst_stride=15), {}, VALUE, "keep what is written apart"),
        ("float32", SRC, p(n_size=20, dst_stride=18), {}, VALUE, "keep what is written apart"),
        ("float32", np.zeros(1024, np.float32), p(nd_num=2, src_nd_stride=1, dst_nd_stride=8), {}, VALUE, "apart"),
        ("float32", SRC, p(n_size=32, dst_stride=31), {"config": CFG_NZ}, VALUE, "keep what is written apart"),
        ("float32", SRC, p(C310, dst_stride=15), {"config": CFG_COLUMN_MAJOR}, VALUE, "keep what is written apart"),
        ("float32", SRC, p(), {"saturate": 1}, TYPE, "`saturate` must be a bool, got 1"),
    ],
)  # fmt: skip
def test_refusals(dst: Any, src: Any, params: Any, options: dict[str, Any], error: type[Exception], match: str) -> None:
    if isinstance(dst, str) or dst is ml_dtypes.int4:
        dst = np.ones(1024, dst)
    before = dst.tobytes() if isinstance(dst, np.ndarray) else None
    with pytest.raises(error, match=match):
        ascendc.fixpipe(dst, src, params, **options)
    assert before is None or dst.tobytes() == before


def test_arrays_of_two_libraries() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match="`src` is numpy on cpu but `dst` is torch on cpu"):
        ascendc.fixpipe(torch.zeros(256), SRC, p())
    with pytest.raises(TypeError, match="`quant_tensor` is numpy on cpu but `dst` is torch on cpu"):
        ascendc.fixpipe(torch.zeros(256, dtype=torch.int8), torch.zeros(256), m("VQF322B8_PRE"), quant_tensor=WORDS)
    with pytest.raises(TypeError, match="`relu_tensor` is numpy on cpu but `dst` is torch on cpu"):
        ascendc.fixpipe(torch.zeros(256), torch.zeros(256), p(relu_en=True), relu_tensor=ONES)
    with pytest.raises(ValueError, match="`dst` requires grad"):
        ascendc.fixpipe(torch.zeros(256, requires_grad=True), torch.zeros(256), p())


ACCEPTED = {
    Product.ASCEND_950: (V220, C310),
    Product.ATLAS_A3: (V220,),
    Product.ATLAS_A2: (V220,),
    Product.ATLAS_200I_500_A2: (M300,),
    Product.KIRIN_X90: (V220, M300, M310, C310),
    Product.KIRIN_9030: (V220, M300, M310, C310),
}


@pytest.mark.parametrize("make", [V220, M300, M310, C310])
@pytest.mark.parametrize("product", ACCEPTED)
def test_products_take_their_structure(product: Product, make: Any) -> None:
    dst = np.ones(256, np.float16)
    params = p(make, quant_pre=QuantMode.F322F16)
    if make in ACCEPTED[product]:
        assert not ascendc.fixpipe(dst, SRC, params, product=product).any()
        return
    with pytest.raises(TypeError, match=f"`params` must be a FixpipeParams.* on {product.name}, got {make.__name__}"):
        ascendc.fixpipe(dst, SRC, params, product=product)
    assert dst.all()


@pytest.mark.parametrize(
    ("product", "supported"),
    [
        (Product.KIRIN_9030, False),
        (Product.KIRIN_X90, True),
        (Product.ATLAS_TRAINING, False),
        (Product.ATLAS_INFERENCE_AICORE, False),
        (Product.ATLAS_A2, True),
    ],
)
def test_products_and_dtypes(product: Product, supported: bool) -> None:
    dst, params = np.ones(256, np.int32), p()
    if supported:
        assert not ascendc.fixpipe(dst, INTS, params, product=product).any()
        return
    with pytest.raises(TypeError, match=f"fixpipe does not support int32 on {product.name}"):
        ascendc.fixpipe(dst, INTS, params, product=product)


def test_product_of_another_kind() -> None:
    for params in (p(), p(n_size=0)):
        with pytest.raises(TypeError, match=r"`product` must be a member of ascendc\.Product, got 'A2'"):
            ascendc.fixpipe(np.zeros(256, np.float32), SRC, params, product="A2")


@pytest.mark.parametrize(
    ("product", "mode", "source", "result", "match"),
    [
        (Product.KIRIN_X90, "F322F16", "float32", "float16", None),
        (Product.KIRIN_X90, "QF322B8_PRE", "float32", "int8", None),
        (Product.KIRIN_X90, "NoQuant", "int32", "int32", None),
        (Product.KIRIN_X90, "REQ8", "int32", "int8", "`src` must be float32 for `dst` of int8 on KIRIN_X90, got int32"),
        (Product.KIRIN_X90, "DEQF16", "int32", "float16", "`src` must be float32 for `dst` of float16 on KIRIN_X90"),
        (Product.KIRIN_X90, "F322BF16", "float32", "bfloat16", "fixpipe does not support bfloat16 on KIRIN_X90"),
        (Product.KIRIN_X90, "QF322F16_PRE", "float32", "float16", "`quant_pre` QF322F16_PRE is of the 950 alone"),
        (Product.KIRIN_9030, "F322F16", "float32", "float16", None),
        (Product.KIRIN_9030, "DEQF16", "int32", "float16", "`src` must be float32 for `dst` of float16 on KIRIN_9030"),
        (Product.KIRIN_9030, "QF322F16_PRE", "float32", "float16", "QF322F16_PRE is of the 950 alone, .* KIRIN_9030"),
        (Product.ASCEND_950, "QF322F16_PRE", "float32", "float16", None),
        (Product.ASCEND_950, "REQ8", "int32", "int8", None),
    ],
)
def test_products_and_modes(product: Product, mode: str, source: str, result: str, match: str | None) -> None:
    dst, src = np.ones(256, getattr(ml_dtypes, result, result)), np.zeros(256, source)
    takes = mode not in ("NoQuant", "F322F16", "F322BF16")
    params = p(C310, quant_pre=QuantMode[mode], deq_scalar=word() if takes else 0)
    if match is None:
        assert not ascendc.fixpipe(dst, src, params, product=product).any()
        return
    with pytest.raises(TypeError, match=match):
        ascendc.fixpipe(dst, src, params, product=product)
    assert dst.all()


def test_columns_of_other_products() -> None:
    dst = np.ones(256, np.float16)
    params = p(C310, quant_pre=QuantMode.F322F16)
    assert not ascendc.fixpipe(dst, SRC, params, config=CFG_COLUMN_MAJOR, product=Product.ASCEND_950).any()
    with pytest.raises(TypeError, match="`config` COLUMN_MAJOR is of the 950 alone, got `product` KIRIN_X90"):
        ascendc.fixpipe(dst, SRC, params, config=CFG_COLUMN_MAJOR, product=Product.KIRIN_X90)


def test_row_major_results_may_begin_anywhere() -> None:
    dst = np.full(300, -1, np.int8)
    ascendc.fixpipe(dst[3:], SRC, m("QF322B8_PRE", deq_scalar=word()))
    assert dst[:3].tolist() == [-1] * 3
    assert not dst[3:259].any()
    assert (dst[259:] == -1).all()

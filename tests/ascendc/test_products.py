"""The support tables, against what the documents' rows say in their own words."""

from __future__ import annotations

import pytest

from xascend import ascendc
from xascend.ascendc import Product

EVERY = {"int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32"}


def test_members() -> None:
    assert {product.name for product in Product} == {
        "ASCEND_950",
        "ATLAS_A2",
        "ATLAS_A3",
        "ATLAS_200I_500_A2",
        "ATLAS_INFERENCE_AICORE",
        "ATLAS_INFERENCE_VECTORCORE",
        "ATLAS_TRAINING",
        "KIRIN_X90",
        "KIRIN_9030",
    }
    assert Product.ATLAS_350 is Product.ASCEND_950


@pytest.mark.parametrize(
    ("product", "types"),
    [
        (Product.ASCEND_950, EVERY | {"bfloat16"}),
        (Product.ATLAS_A3, EVERY),
        (Product.ATLAS_A2, EVERY),
        (Product.ATLAS_200I_500_A2, EVERY),
        (Product.ATLAS_INFERENCE_AICORE, EVERY),
        (Product.ATLAS_INFERENCE_VECTORCORE, set()),
        (Product.ATLAS_TRAINING, EVERY - {"int32", "uint32", "float32"}),
        (Product.KIRIN_X90, EVERY),
        (Product.KIRIN_9030, EVERY),
    ],
)
def test_trans_data_to_5hd(product: Product, types: set[str]) -> None:
    assert set(ascendc.support_table("trans_data_to_5hd")[product]) == types


@pytest.mark.parametrize(
    ("product", "types"),
    [
        (Product.ASCEND_950, EVERY | {"bfloat16", "int64", "uint64"}),
        (Product.ATLAS_A3, EVERY - {"int8", "uint8"} | {"bfloat16"}),
        (Product.ATLAS_A2, EVERY - {"int8", "uint8"} | {"bfloat16"}),
        (Product.ATLAS_200I_500_A2, set()),
        (Product.ATLAS_INFERENCE_AICORE, EVERY - {"int8", "uint8"}),
        (Product.ATLAS_INFERENCE_VECTORCORE, set()),
        (Product.ATLAS_TRAINING, set()),
        (Product.KIRIN_X90, {"uint16", "float16", "uint32", "float32"}),
        (Product.KIRIN_9030, {"uint16", "float16", "uint32", "float32"}),
    ],
)
def test_brcb(product: Product, types: set[str]) -> None:
    assert set(ascendc.support_table("brcb")[product]) == types


CUBE = {"int8", "uint8", "float16", "bfloat16", "int32", "float32"}


@pytest.mark.parametrize(
    ("product", "types"),
    [
        (Product.ASCEND_950, CUBE | {"float8_e4m3fn"}),
        (Product.ATLAS_A3, CUBE),
        (Product.ATLAS_A2, CUBE),
        (Product.ATLAS_200I_500_A2, CUBE),
        (Product.ATLAS_INFERENCE_AICORE, set()),
        (Product.ATLAS_INFERENCE_VECTORCORE, set()),
        (Product.ATLAS_TRAINING, set()),
        (Product.KIRIN_X90, {"int8", "float16", "int32"}),
        (Product.KIRIN_9030, {"float16"}),
    ],
)
def test_fixpipe_results(product: Product, types: set[str]) -> None:
    assert set(ascendc.support_table("fixpipe")[product]) == types


@pytest.mark.parametrize("op", ["brcb", "fixpipe", "trans_data_to_5hd"])
def test_supports_reads_the_table(op: str) -> None:
    table = ascendc.support_table(op)
    assert list(table) == list(Product)
    for product, types in table.items():
        for dtype in (*EVERY, "bfloat16", "int64", "uint64", "float64", "bool", "float8_e4m3fn"):
            assert ascendc.supports(op, product, dtype) == (dtype in types)


def test_a_changed_copy_changes_nothing() -> None:
    ascendc.support_table("brcb")[Product.ATLAS_TRAINING] = ("int8",)
    assert ascendc.support_table("brcb")[Product.ATLAS_TRAINING] == ()


def test_dtypes_in_other_spellings() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for dtype in ("half", "float16", torch.float16):
        assert ascendc.supports("trans_data_to_5hd", Product.ATLAS_TRAINING, dtype)


@pytest.mark.parametrize(
    ("op", "product", "dtype", "error", "match"),
    [
        ("transpose", Product.ATLAS_A2, "int8", ValueError, "`op` must be one of 'brcb', 'fixpipe', 'trans_"),
        ("brcb", "ATLAS_A2", "int8", TypeError, "`product` must be a member of ascendc.Product, got 'ATLAS_A2'"),
        ("brcb", Product.ATLAS_A2, "object", TypeError, "`dtype` object is not supported"),
    ],
)  # fmt: skip
def test_refusals(op: str, product: Product, dtype: str, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ascendc.supports(op, product, dtype)

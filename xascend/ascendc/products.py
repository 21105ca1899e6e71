"""Which product runs which instruction on which element types: the vendor's support tables as literal data."""

from __future__ import annotations

from enum import Enum
from typing import Any

from xascend._dtypes import resolve_dtype

__all__ = ["Product", "require_product", "require_support", "support_table", "supports"]


class Product(Enum):
    """The products of the vendor's support tables, one member for each row.

    The value is the vendor's name for the row in English. The older edition of the TransDataTo5HD page
    calls the 950 series by its first card, Atlas 350; ``ATLAS_350`` is the same member.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.Product.ATLAS_350 is ascendc.Product.ASCEND_950
    True
    """

    ASCEND_950 = "Ascend 950PR / Ascend 950DT"
    ATLAS_A3 = "Atlas A3 training series / Atlas A3 inference series"
    ATLAS_A2 = "Atlas A2 training series / Atlas A2 inference series"
    ATLAS_200I_500_A2 = "Atlas 200I/500 A2 inference product"
    ATLAS_INFERENCE_AICORE = "Atlas inference series, AI Core"
    ATLAS_INFERENCE_VECTORCORE = "Atlas inference series, Vector Core"
    ATLAS_TRAINING = "Atlas training series"
    KIRIN_X90 = "Kirin X90"
    KIRIN_9030 = "Kirin 9030"
    ATLAS_350 = ASCEND_950


# TransDataTo5HD, Ascend C API. The 950, and it alone, has bfloat16; the training series has no 32-bit types.
_TRANS_DATA_TO_5HD = {
    Product.ASCEND_950: "int8 uint8 int16 uint16 float16 bfloat16 int32 uint32 float32",
    Product.ATLAS_A3: "int8 uint8 int16 uint16 float16 int32 uint32 float32",
    Product.ATLAS_A2: "int8 uint8 int16 uint16 float16 int32 uint32 float32",
    Product.ATLAS_200I_500_A2: "int8 uint8 int16 uint16 float16 int32 uint32 float32",
    Product.ATLAS_INFERENCE_AICORE: "int8 uint8 int16 uint16 float16 int32 uint32 float32",
    Product.ATLAS_INFERENCE_VECTORCORE: "",
    Product.ATLAS_TRAINING: "int8 uint8 int16 uint16 float16",
    Product.KIRIN_X90: "int8 uint8 int16 uint16 float16 int32 uint32 float32",
    Product.KIRIN_9030: "int8 uint8 int16 uint16 float16 int32 uint32 float32",
}

# Brcb, Ascend C API.
_BRCB = {
    Product.ASCEND_950: "int8 uint8 int16 uint16 float16 bfloat16 int32 uint32 float32 int64 uint64",
    Product.ATLAS_A3: "int16 uint16 float16 bfloat16 int32 uint32 float32",
    Product.ATLAS_A2: "int16 uint16 float16 bfloat16 int32 uint32 float32",
    Product.ATLAS_200I_500_A2: "",
    Product.ATLAS_INFERENCE_AICORE: "int16 uint16 float16 int32 uint32 float32",
    Product.ATLAS_INFERENCE_VECTORCORE: "",
    Product.ATLAS_TRAINING: "",
    Product.KIRIN_X90: "uint16 float16 uint32 float32",
    Product.KIRIN_9030: "uint16 float16 uint32 float32",
}

# Fixpipe (L0C to GM), Ascend C API: types of `dst`. The older edition lists A3, A2 and 200I/500 A2 only; the
# 950 and the Kirins come from the newer one, whose hifloat8 for the 950 no array library can name.
_FIXPIPE = {
    Product.ASCEND_950: "int8 uint8 float8_e4m3fn float16 bfloat16 int32 float32",
    Product.ATLAS_A3: "int8 uint8 float16 bfloat16 int32 float32",
    Product.ATLAS_A2: "int8 uint8 float16 bfloat16 int32 float32",
    Product.ATLAS_200I_500_A2: "int8 uint8 float16 bfloat16 int32 float32",
    Product.ATLAS_INFERENCE_AICORE: "",
    Product.ATLAS_INFERENCE_VECTORCORE: "",
    Product.ATLAS_TRAINING: "",
    Product.KIRIN_X90: "int8 float16 int32",
    Product.KIRIN_9030: "float16",
}

_TABLES = {"brcb": _BRCB, "fixpipe": _FIXPIPE, "trans_data_to_5hd": _TRANS_DATA_TO_5HD}


def support_table(op: str, /) -> dict[Product, tuple[str, ...]]:
    """Return the element types that each product supports in one instruction.

    Parameters
    ----------
    op : str
        Name of the instruction's function: ``"trans_data_to_5hd"``, ``"brcb"`` or ``"fixpipe"``.

    Returns
    -------
    dict of Product to tuple of str
        A row for every product, in the order of the vendor's table; names of element types, the empty
        tuple where the product lacks the instruction. For ``"fixpipe"`` the types are those of `dst`.

    Raises
    ------
    ValueError
        If `op` has no table.

    Notes
    -----
    Sources: the sections on supported products and data types of "TransDataTo5HD", "Brcb" and "Fixpipe"
    (Ascend C API). The two editions of the TransDataTo5HD page agree wherever both have a row; the newer
    one adds the two Kirin rows.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.support_table("brcb")[ascendc.Product.KIRIN_X90]
    ('uint16', 'float16', 'uint32', 'float32')
    """
    if not isinstance(op, str) or op not in _TABLES:
        raise ValueError(f"`op` must be one of {', '.join(map(repr, sorted(_TABLES)))}, got {op!r}")
    return {product: tuple(_TABLES[op][product].split()) for product in Product}


def supports(op: str, product: Product, dtype: Any) -> bool:
    """Say whether a product supports an instruction on an element type.

    Parameters
    ----------
    op : str
        Name of the instruction's function, as in `support_table`.
    product : Product
        The product.
    dtype : dtype or str
        Element type, of any array library or by name. For ``"fixpipe"`` that of `dst`.

    Returns
    -------
    bool
        True where the vendor's table lists the type.

    Raises
    ------
    TypeError
        If `product` is not a `Product`, or `dtype` is no element type that the library knows.
    ValueError
        If `op` has no table.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.supports("trans_data_to_5hd", ascendc.Product.ATLAS_TRAINING, "float32")
    False
    """
    require_product(product)
    return resolve_dtype(dtype).name in support_table(op)[product]


def require_product(product: Any) -> None:
    """Raise TypeError unless this is a product."""
    if not isinstance(product, Product):
        raise TypeError(f"`product` must be a member of ascendc.Product, got {product!r}")


def require_support(op: str, product: Product | None, dtype_name: str) -> None:
    """Raise TypeError where a product is given that does not support the element type."""
    if product is None or supports(op, product, dtype_name):
        return
    listed = ", ".join(support_table(op)[product]) or "no type at all"
    raise TypeError(f"{op} does not support {dtype_name} on {product.name} ({product.value}), which has {listed}")

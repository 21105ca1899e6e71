"""Everything that can be wrong with the arguments of `fixpipe`, found before anything is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from xascend._dispatch import array_dtype, overlaps, require_same_place
from xascend.ascendc._fixpipe_layouts import BLOCK, C0, Layout, make_layout
from xascend.ascendc._fixpipe_params import (
    CO2Layout,
    FixpipeParams,
    FixpipeParamsC310,
    FixpipeParamsM300,
    FixpipeParamsV220,
)
from xascend.ascendc._memory import locate, require_buffer, require_writable
from xascend.ascendc.products import Product, require_support
from xascend.quant._modes import Mode, mode_of
from xascend.quant._requantize import read_column_words
from xascend.quant._rules import Rule, make_rule, on_host

__all__ = ["empty_count", "plan_fixpipe"]

_SRC_ALIGNMENT = 64  # of the L0C buffer, in bytes
_ROWS_NZ2ND = 8192  # of V220; the 950 has no limit of its own

# "Fixpipe", Ascend C API, newer edition. It supports the Kirins without saying which structure they take.
_PARAMS = {
    Product.ASCEND_950: (FixpipeParamsC310, FixpipeParamsV220),
    Product.ATLAS_A3: (FixpipeParamsV220,),
    Product.ATLAS_A2: (FixpipeParamsV220,),
    Product.ATLAS_200I_500_A2: (FixpipeParamsM300,),
}


# Types of `src` for those of `dst` where a product has not all that the modes allow. The page on Fixpipe gives the
# Kirins float32 results as 8-bit integers and halves alone; int32 comes with the list of types of `dst`.
_SOURCES = {
    Product.KIRIN_X90: {"int8": "float32", "float16": "float32", "int32": "int32"},
    Product.KIRIN_9030: {"float16": "float32"},
}


def empty_count(params: FixpipeParams, layout: CO2Layout) -> str | None:
    """Return the count that is 0, so that nothing is moved, or None; ValueError where another layout's is not 1."""
    counts = {"nd_num": (params.nd_num, "NZ2ND", CO2Layout.ROW_MAJOR)}
    if isinstance(params, FixpipeParamsC310):
        counts["dn_num"] = (params.dn_num, "NZ2DN", CO2Layout.COLUMN_MAJOR)
    for name, (count, move, own) in counts.items():
        if layout is not own and count != 1:
            raise ValueError(f"`{name}` counts the matrices of {move}, with {layout.name} it must be 1, got {count}")
    return next((name for name in ("n_size", "m_size", *counts) if getattr(params, name) == 0), None)


def plan_fixpipe(
    dst: Any,
    src: Any,
    params: FixpipeParams,
    layout: CO2Layout,
    quant_tensor: Any,
    relu_tensor: Any,
    saturate: bool,
    product: Product | None,
) -> tuple[Layout, Rule]:
    """Return where everything goes and what happens to it; raise for any argument that is wrong."""
    row = mode_of("quant_pre", params.quant_pre)
    _require_combination(params, layout, row)
    for name, x in (("dst", dst), ("src", src)):
        require_buffer(name, x)
    require_same_place("dst", dst, "src", src)
    require_writable("dst", dst)
    source, result = array_dtype(src, "src").name, array_dtype(dst, "dst").name
    _require_dtypes(params, row, source, result)
    _require_product(params, layout, row, product, source, result)
    rule = make_rule(
        params.quant_pre,
        source,
        _read_words(dst, params, row, quant_tensor),
        "deq_scalar" if row.words == 0 else "quant_tensor",
        slopes=_read_slopes(dst, params, relu_tensor),
        relu=bool(params.relu_en),
        saturate=saturate,
        has_shift=not (isinstance(params, FixpipeParamsC310) or product is Product.ASCEND_950),
    )
    if rule.result != result:
        raise TypeError(
            f"`dst` must be {rule.result}, which the sign bit (46) of the quantisation words asks for, got {result}"
        )
    places = make_layout(params, layout, dst.itemsize)
    _require_places(dst, src, places, layout)
    return places, rule


def _require_combination(params: FixpipeParams, layout: CO2Layout, row: Mode) -> None:
    is_v220 = isinstance(params, FixpipeParamsV220)
    if layout is CO2Layout.COLUMN_MAJOR and is_v220:
        raise TypeError(
            f"`params` must be a FixpipeParamsC310 with `config` COLUMN_MAJOR, got {type(params).__name__}: "
            "NZ2DN is of the 950 alone"
        )
    if row.only_950 and is_v220:
        raise TypeError(
            f"`params` must be a FixpipeParamsC310 with `quant_pre` {params.quant_pre.name}, "
            f"got {type(params).__name__}: the mode is of the 950 alone"
        )
    if params.is_channel_split and layout is not CO2Layout.NZ:
        raise ValueError(f"`is_channel_split` goes with the NZ layout only, got `config` {layout.name}")
    unit = 1 if layout is not CO2Layout.NZ else 8 if params.is_channel_split else C0
    if params.n_size % unit:
        raise ValueError(f"`n_size` must be a multiple of {unit} in this NZ layout, got {params.n_size}")
    if layout is CO2Layout.ROW_MAJOR and is_v220 and params.m_size > _ROWS_NZ2ND:
        raise ValueError(f"`m_size` must lie in [0, {_ROWS_NZ2ND}] with NZ2ND, got {params.m_size}")
    if layout is CO2Layout.COLUMN_MAJOR and isinstance(params, FixpipeParamsC310):
        _require_rows_apart(params)


def _require_rows_apart(params: FixpipeParamsC310) -> None:
    if params.src_nz_c0_stride == 0:
        raise ValueError("`src_nz_c0_stride` must lie in [1, 65535] with NZ2DN, got 0")
    if params.unit_flag and params.src_nz_c0_stride != 1:
        raise ValueError(f"`unit_flag` must be 0 where `src_nz_c0_stride` is not 1, got {params.unit_flag}")


def _require_dtypes(params: FixpipeParams, row: Mode, source: str, result: str) -> None:
    if result in ("int4", "uint4", "float4_e2m1fn"):
        raise NotImplementedError(
            f"`dst` of {result}: the documents tell that 4-bit results go to blocks of 64 columns, but name no mode of "
            "Fixpipe that makes them, and describe no arithmetic for it"
        )
    if source not in ("float32", "int32"):
        raise TypeError(f"`src` must be float32 or int32, the cube unit's results, got {source}")
    if source not in row.results:
        raise TypeError(
            f"`src` must be {' or '.join(row.results)} for `quant_pre` {params.quant_pre.name}, got {source}"
        )
    if result not in row.results[source]:
        raise TypeError(
            f"`dst` must be {' or '.join(row.results[source])} for `quant_pre` {params.quant_pre.name} "
            f"and `src` of {source}, got {result}"
        )
    if params.is_channel_split and (source, result) != ("float32", "float32"):
        raise TypeError(
            f"`is_channel_split` takes float32 to float32 only, got `src` of {source} and `dst` of {result}"
        )


def _require_product(
    params: FixpipeParams, layout: CO2Layout, row: Mode, product: Product | None, source: str, result: str
) -> None:
    if product is None:
        return
    require_support("fixpipe", product, result)
    if product in _PARAMS and type(params) not in _PARAMS[product]:
        names = " or ".join(accepted.__name__ for accepted in _PARAMS[product])
        raise TypeError(f"`params` must be a {names} on {product.name}, got {type(params).__name__}")
    if product is not Product.ASCEND_950 and (row.only_950 or layout is CO2Layout.COLUMN_MAJOR):
        what = f"`quant_pre` {params.quant_pre.name}" if row.only_950 else f"`config` {layout.name}"
        raise TypeError(f"{what} is of the 950 alone, got `product` {product.name}")
    accepted_source = _SOURCES.get(product, {}).get(result, source)
    if source != accepted_source:
        raise TypeError(f"`src` must be {accepted_source} for `dst` of {result} on {product.name}, got {source}")


def _read_words(dst: Any, params: FixpipeParams, row: Mode, quant_tensor: Any) -> Any:
    mode = params.quant_pre.name
    if row.words != 0 and params.deq_scalar:
        raise ValueError(f"`deq_scalar` goes with the scalar quantisation modes, with {mode} it must be 0")
    if row.words == 1:
        if quant_tensor is None:
            raise ValueError(f"`quant_tensor` is required with {mode}: a word for each of {params.n_size} columns")
        return read_column_words("dst", dst, "quant_tensor", quant_tensor, int(params.n_size))
    if quant_tensor is not None:
        raise ValueError(f"`quant_tensor` goes with the vector quantisation modes, with {mode} it must be None")
    return np.array([params.deq_scalar], np.uint64)


def _read_slopes(dst: Any, params: FixpipeParams, relu_tensor: Any) -> Any:
    if relu_tensor is None:
        return None
    if not params.relu_en:
        raise ValueError("`relu_tensor` goes with `relu_en`, which is False")
    require_same_place("dst", dst, "relu_tensor", relu_tensor)
    if array_dtype(relu_tensor, "relu_tensor").name != "float32":
        raise TypeError(f"`relu_tensor` must be float32, got {relu_tensor.dtype}")
    if tuple(relu_tensor.shape) != (params.n_size,):
        raise ValueError(
            f"`relu_tensor` must have shape ({params.n_size},), a slope for each column, got {tuple(relu_tensor.shape)}"
        )
    return on_host(relu_tensor)


def _require_places(dst: Any, src: Any, places: Layout, layout: CO2Layout) -> None:
    reach = max(box.src_reach for box in places.boxes)
    if src.shape[0] < reach:
        raise ValueError(f"`src` must reach to the last element that is read, {reach} elements, got {src.shape[0]}")
    reach = max(box.dst_reach for box in places.boxes)
    if dst.shape[0] < reach:
        raise ValueError(f"`dst` must reach to the last element that is written, {reach} elements, got {dst.shape[0]}")
    alignments = {"src": _SRC_ALIGNMENT, "dst": 1 if layout is CO2Layout.ROW_MAJOR else BLOCK}
    for (name, alignment), start in zip(alignments.items(), locate([src, dst]).starts, strict=True):
        if start % alignment:
            raise ValueError(
                f"`{name}` must start at a multiple of {alignment} bytes, got byte {start} "
                "(counted from the start of the array that owns the memory)"
            )
    if overlaps(dst, src):
        raise ValueError("`dst` and `src` must not share memory: they stand for different memories of the processor")
    if places.writes_twice():
        raise ValueError(
            "`dst_stride` and the stride of several matrices must keep what is written apart: the document does not "
            "promise which of overlapping writes stays"
        )

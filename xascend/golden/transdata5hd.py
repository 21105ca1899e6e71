"""Golden data for TransDataTo5HD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xascend._plan import as_shape
from xascend.ascendc import TransDataTo5HDParams, trans_data_to_5hd
from xascend.golden._operator import NumpyArray, Operator, Result, product_of
from xascend.golden._tables import make_params, shown_params

__all__ = ["OPERATOR"]


def _run(settings: Mapping[str, Any], arrays: Mapping[str, NumpyArray]) -> Result:
    params = make_params(TransDataTo5HDParams, settings.get("params", {}))
    dst = arrays["dst"]
    starts = {name: as_shape(name, settings[name]) for name in ("dst_list", "src_list")}
    trans_data_to_5hd(
        _views("dst_list", dst, starts["dst_list"]),
        _views("src_list", arrays["src"], starts["src_list"]),
        params,
        product=product_of(settings),
    )
    return Result(dst, {**starts, "params": shown_params(params), "product": settings.get("product")})


def _views(name: str, array: NumpyArray, starts: tuple[int, ...]) -> list[NumpyArray]:
    """Return ``buffer[start:]`` for each start, in elements, as kernels write ``srcLocal[start]``."""
    buffer = array.reshape(-1)
    for i, start in enumerate(starts):
        if start >= buffer.size:
            raise ValueError(f"`{name}[{i}]` must lie in the {buffer.size} elements of its buffer, got {start}")
    return [buffer[start:] for start in starts]


OPERATOR = Operator("TransDataTo5HD", ("src", "dst"), _run, ("src_list", "dst_list"), ("params", "product"))

"""Golden data for Brcb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xascend.ascendc import BrcbRepeatParams, brcb
from xascend.golden._operator import NumpyArray, Operator, Result, product_of
from xascend.golden._tables import make_params, shown_params

__all__ = ["OPERATOR"]


def _run(settings: Mapping[str, Any], arrays: Mapping[str, NumpyArray]) -> Result:
    params = make_params(BrcbRepeatParams, settings.get("params", {}))
    dst = arrays["dst"]
    brcb(
        dst.reshape(-1),
        arrays["src"].reshape(-1),
        settings["repeat_times"],
        params,
        product=product_of(settings),
    )
    parameters = {key: settings.get(key) for key in ("repeat_times", "product")}
    return Result(dst, {**parameters, "params": shown_params(params)})


OPERATOR = Operator("Brcb", ("src", "dst"), _run, ("repeat_times",), ("params", "product"))

"""Golden data for Fixpipe."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from xascend.ascendc import (
    CO2Layout,
    FixpipeConfig,
    FixpipeParamsC310,
    FixpipeParamsM300,
    FixpipeParamsM310,
    FixpipeParamsV220,
    QuantMode,
    fixpipe,
)
from xascend.golden._operator import NumpyArray, Operator, Result, product_of
from xascend.golden._tables import as_member, make_params, shown_params
from xascend.golden._words import make_words

__all__ = ["OPERATOR"]

_KINDS = {kind.__name__: kind for kind in (FixpipeParamsV220, FixpipeParamsM300, FixpipeParamsM310, FixpipeParamsC310)}


def _run(settings: Mapping[str, Any], arrays: Mapping[str, NumpyArray]) -> Result:
    params = make_params(
        _kind(settings.get("params_type", "FixpipeParamsV220")),
        settings["params"],
        {"quant_pre": functools.partial(as_member, "quant_pre", QuantMode), "deq_scalar": _word},
    )
    config = as_member("config", CO2Layout, _without_prefix(settings.get("config", CO2Layout.ROW_MAJOR.name)))
    saturate = settings.get("saturate", False)
    dst = arrays["dst"]
    fixpipe(
        dst.reshape(-1),
        arrays["src"].reshape(-1),
        params,
        config=FixpipeConfig(config),
        quant_tensor=arrays.get("quant_tensor"),
        relu_tensor=arrays.get("relu_tensor"),
        saturate=saturate,
        product=product_of(settings),
    )
    parameters = {
        "params_type": type(params).__name__,
        "params": shown_params(params),
        "config": config.name,
        "saturate": saturate,
        "product": settings.get("product"),
    }
    return Result(dst, parameters)


def _kind(name: Any) -> type[FixpipeParamsV220 | FixpipeParamsC310]:
    if not isinstance(name, str) or name not in _KINDS:
        raise ValueError(f"`params_type` must be one of {', '.join(_KINDS)}; got {name!r}")
    return _KINDS[name]


def _without_prefix(config: Any) -> Any:
    return config.removeprefix("CFG_") if isinstance(config, str) else config


def _word(value: Any) -> Any:
    """Return the quantisation word of a table with a scale; whatever else stays as it is."""
    return int(make_words("[params] deq_scalar", value, ())) if isinstance(value, Mapping) else value


OPERATOR = Operator(
    "Fixpipe",
    ("src", "dst"),
    _run,
    settings=("params",),
    optional_settings=("params_type", "config", "saturate", "product"),
    optional_arrays=("quant_tensor", "relu_tensor"),
)

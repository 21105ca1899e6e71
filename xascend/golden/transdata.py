"""Golden data for ATB's TransdataOperation."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from xascend.atb import TransdataParam, TransdataType, transdata
from xascend.golden._manifest import StoredAs
from xascend.golden._operator import NumpyArray, Operator, Result
from xascend.golden._tables import as_member, make_params, shown_params

__all__ = ["OPERATOR"]


def _run(settings: Mapping[str, Any], arrays: Mapping[str, NumpyArray]) -> Result:
    direction = functools.partial(as_member, "transdata_type", TransdataType)
    param = make_params(TransdataParam, settings["params"], {"transdata_type": direction})
    x = arrays["x"]
    y = transdata(x, param)
    storage = None
    if param.transdata_type is TransdataType.ND_TO_FRACTAL_NZ:
        storage = StoredAs("FRACTAL_NZ", "ND", (y.shape[0], *x.shape[-2:]), y.shape[-1])
    return Result(y, {"params": shown_params(param)}, storage)


OPERATOR = Operator("Transdata", ("x",), _run, ("params",))

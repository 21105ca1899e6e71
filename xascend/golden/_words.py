"""Quantisation words that a configuration describes by their scales and offsets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend.golden._tables import read_table
from xascend.quant import pack_quant_param

__all__ = ["make_words"]


def make_words(where: str, table: Any, shape: tuple[int, ...], /) -> npt.NDArray[np.uint64]:
    """Return the words of a table: ``scale`` and ``offset`` numbers or lists, the rest as in `pack_quant_param`."""
    said = read_table(where, table, ("scale",), ("offset", "signed", "rounding", "shift"))
    scale, offset = said.pop("scale"), said.pop("offset", 0)
    count = math.prod(shape)
    for key, value in (("scale", scale), ("offset", offset)):
        if isinstance(value, list) and len(value) != count:
            raise ValueError(f"{where} `{key}` must be a number, or a list of {count}; got a list of {len(value)}")
    try:
        if not isinstance(scale, list) and not isinstance(offset, list):
            return np.full(shape, pack_quant_param(scale, offset, **said), np.uint64)
        pairs = zip(*(value if isinstance(value, list) else [value] * count for value in (scale, offset)), strict=True)
        return np.array([pack_quant_param(*pair, **said) for pair in pairs], np.uint64).reshape(shape)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where}: {error}") from error

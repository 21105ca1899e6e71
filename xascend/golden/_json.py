"""Values as JSON holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["as_json_value"]


def as_json_value(value: Any, /) -> Any:
    """Return a value with what JSON has not, infinities, NaN and complex numbers, as text."""
    if isinstance(value, Mapping):
        return {key: as_json_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json_value(entry) for entry in value]
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value

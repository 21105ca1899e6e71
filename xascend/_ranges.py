"""Checks of single parameters: a flag, and a number in a closed interval."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["require_flag", "require_in_range"]


def require_flag(name: str, value: Any) -> None:
    """Raise TypeError unless `value` is a bool."""
    if not isinstance(value, bool | np.bool):
        raise TypeError(f"`{name}` must be a bool, got {value!r}")


def require_in_range(name: str, value: Any, low: int, high: int, when: str = "") -> None:
    """Raise unless `value` is an int (TypeError) in [low, high] (ValueError); `when` says where that is the range."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"`{name}` must be an int in [{low}, {high}], got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"`{name}` must lie in [{low}, {high}]{when}, got {value}")

"""What an operator needs to make golden data: its arrays, its settings, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from xascend.ascendc import Product
from xascend.golden._manifest import StoredAs
from xascend.golden._tables import as_member

__all__ = ["NumpyArray", "Operator", "Result", "product_of"]

NumpyArray = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of an operator: the array, all parameters, and the tensor that the array stores, if known."""

    output: NumpyArray
    parameters: Mapping[str, Any]
    storage: StoredAs | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that golden data can be made for.

    Attributes
    ----------
    name
        The vendor's name.
    arrays, optional_arrays
        Tables of the configuration that describe arrays.
    settings, optional_settings
        Its other keys.
    run
        Carry it out: settings and arrays in, result out. Arrays are its own to write into.
    """

    name: str
    arrays: tuple[str, ...]
    run: Callable[[Mapping[str, Any], Mapping[str, NumpyArray]], Result]
    settings: tuple[str, ...] = ()
    optional_settings: tuple[str, ...] = ()
    optional_arrays: tuple[str, ...] = ()


def product_of(settings: Mapping[str, Any], /) -> Product | None:
    """Return the product that the settings name, or None where they name none."""
    return as_member("product", Product, settings["product"]) if "product" in settings else None

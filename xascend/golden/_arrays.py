"""Arrays that a configuration describes: counting, random, constant or listed values of any element type."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xascend._dtypes import as_element, numpy_dtype
from xascend._plan import as_shape
from xascend.golden._tables import read_table
from xascend.golden._words import make_words

__all__ = ["ARRAY_KEYS", "described_values", "make_array"]

ARRAY_KEYS = ("dtype", "shape", "values")
_RANGE_KEYS = ("low", "high")
_KINDS = "'arange', 'random' (with low and high), a number, a list of numbers, or a table of quantisation words"
_MOST_AXES = 64  # of NumPy
_MOST_ELEMENTS = sys.maxsize // 16  # that memory can be addressed for, whatever their type

NumpyArray = npt.NDArray[Any]


def make_array(name: str, table: Any, seed: int, /) -> NumpyArray:
    """Return the array that a table describes; its random values depend on the seed and its name alone.

    ``values`` is one of

    - ``"arange"``: 0, 1, 2, ... in C order, and from 0 again after the largest integer of an integer type, or after
      ``2**p - 1`` in a floating-point type of p significant bits (2047 in float16), below which it has all integers;
    - ``"random"``: evenly from ``low`` to ``high``, of which an integer can reach both;
    - a number, which every element gets;
    - a list with a number for each element, in C order;
    - a table with ``scale`` and, optionally, ``offset``, ``signed``, ``rounding`` and ``shift``: quantisation words.

    Random values come from the 64-bit words w of NumPy's PCG64, seeded with the seed and the bytes of the name; NumPy
    promises not to change that stream. For floats they are ``low + (high - low) * ((w >> 11) / 2**53)`` in float64,
    rounded to the type, for integers ``low + w % (high - low + 1)``.

    Raises TypeError or ValueError, and MemoryError where there is no memory for the array; all name the array.
    """
    where = f"[{name}]"
    fields = read_table(where, table, ARRAY_KEYS, _RANGE_KEYS)
    if not isinstance(fields["dtype"], str):
        raise ValueError(f"{where} `dtype` must be a name such as 'float16', got {fields['dtype']!r}")  # noqa: TRY004
    dtype, shape = numpy_dtype(fields["dtype"]), _addressable_shape(where, fields["shape"])
    try:
        return _make(name, dtype, shape, fields, seed)
    except MemoryError as error:
        raise MemoryError(f"{where} `shape` {shape} takes more memory than there is") from error


def _addressable_shape(where: str, value: Any) -> tuple[int, ...]:
    shape = as_shape(f"{where} shape", value)
    if len(shape) > _MOST_AXES:
        raise ValueError(f"{where} `shape` must have at most {_MOST_AXES} sizes, got {len(shape)}")
    if math.prod(max(size, 1) for size in shape) > _MOST_ELEMENTS:  # NumPy counts a size of 0 as 1 here
        raise ValueError(f"{where} `shape` must have at most {_MOST_ELEMENTS} elements, got {shape}")
    return shape


def _make(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], fields: Mapping[str, Any], seed: int) -> NumpyArray:
    where, values = f"[{name}]", fields["values"]
    has_range = [key for key in _RANGE_KEYS if key in fields]
    if values == "random":
        if len(has_range) < len(_RANGE_KEYS):
            raise ValueError(f"{where} must have `low` and `high` for random values, got {has_range or 'neither'}")
        return _random(name, dtype, math.prod(shape), fields["low"], fields["high"], seed).reshape(shape)
    if has_range:
        raise ValueError(f"{where} `{has_range[0]}` goes with random values only, got values = {values!r}")
    if values == "arange":
        count = np.arange(math.prod(shape), dtype=np.uint64)
        return (count % np.uint64(_period(name, dtype))).astype(dtype).reshape(shape)
    if isinstance(values, list):
        if len(values) != math.prod(shape):
            raise ValueError(f"{where} `values` must list {math.prod(shape)} numbers for {shape}, got {len(values)}")
        elements = [as_element(f"{name}.values[{i}]", value, dtype) for i, value in enumerate(values)]
        return np.array(elements, dtype).reshape(shape)
    if isinstance(values, bool | int | float | complex):
        return np.full(shape, as_element(f"{name}.values", values, dtype))
    if isinstance(values, Mapping):
        if dtype.name != "uint64":
            raise ValueError(f"{where} `dtype` must be uint64 for quantisation words, got {dtype.name}")
        return make_words(f"{where} values", values, shape)
    raise ValueError(f"{where} `values` must be {_KINDS}; got {values!r}")


def described_values(table: Mapping[str, Any], /) -> dict[str, Any]:
    """Return what an array's table says of its values; with type, shape and seed it makes the array again."""
    return {key: value for key, value in table.items() if key in ("values", *_RANGE_KEYS)}


def _period(name: str, dtype: np.dtype[Any]) -> int:
    """Return after how many numbers counting begins again: at a power of two where the type goes further."""
    if dtype.name == "bool":
        return 2
    if "int" in dtype.name:
        return min(int(ml_dtypes.iinfo(dtype).max) + 1, 1 << 63)
    if dtype.name == "float8_e8m0fnu":
        raise ValueError(f"[{name}] `values` cannot be 'arange': float8_e8m0fnu has powers of two only, not even 0")
    info = ml_dtypes.finfo(dtype)
    return int(min(2 ** (info.nmant + 1), float(info.max) + 1))


def _random(name: str, dtype: np.dtype[Any], count: int, low: Any, high: Any, seed: int) -> NumpyArray:
    first, last = (_limit(f"{name}.{key}", value, dtype) for key, value in zip(_RANGE_KEYS, (low, high), strict=True))
    is_integer = "float" not in dtype.name and "complex" not in dtype.name
    if not (low <= high and (is_integer or math.isfinite(last - first))):
        raise ValueError(f"[{name}] `low` must be at most `high`, with a finite distance, got {low} and {high}")
    words = np.random.PCG64([seed, *name.encode()]).random_raw(count)
    if not is_integer:
        share = (words >> np.uint64(11)) * 2.0**-53
        return np.asarray(first + (last - first) * share).astype(dtype)
    span = int(last) - int(first) + 1
    steps = words if span == 1 << 64 else words % np.uint64(span)
    return np.asarray(steps + np.uint64(int(first) % (1 << 64))).view(np.int64).astype(dtype)


def _limit(name: str, value: Any, dtype: np.dtype[Any]) -> int | float:
    """Return a limit of random values: a float for those types, which is what it is computed with."""
    as_element(name, value, dtype)
    if isinstance(value, complex):
        raise TypeError(f"`{name}` must be a real number, got {value!r}")
    return int(value) if "int" in dtype.name or dtype.name == "bool" else float(value)

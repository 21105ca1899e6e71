"""Element types: the one table of what the library moves, under every spelling users bring."""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = ["DType", "as_element", "numpy_dtype", "resolve_dtype"]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: its NumPy or ml_dtypes name, its bytes in an array, its bits of information."""

    name: str
    itemsize: int
    bits: int


_FLOAT8 = (
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
_FOUR_BIT = ("int4", "uint4", "float4_e2m1fn")

_TABLE = {
    name: DType(name, bits // 8, bits)
    for bits, names in {
        8: ("bool", "int8", "uint8", *_FLOAT8),
        16: ("int16", "uint16", "float16", "bfloat16"),
        32: ("int32", "uint32", "float32"),
        64: ("int64", "uint64", "float64", "complex64"),
        128: ("complex128",),
    }.items()
    for name in names
} | {name: DType(name, 1, 4) for name in _FOUR_BIT}  # ml_dtypes stores one 4-bit value per byte

# Names from C++ sources, scripts and safetensors headers. Left out on purpose, because they name two types:
# "float" (float32 in C++, float64 in NumPy) and "i8" (int8 in Rust, int64 in NumPy; "I8" is safetensors').
_ALIASES = (
    {f"{name}_t": name for name in _TABLE if name.startswith(("int", "uint", "bfloat"))}
    | {"half": "float16", "double": "float64", "bf16": "bfloat16", "BF16": "bfloat16", "BOOL": "bool"}
    | {f"{prefix}{bits}": f"float{bits}" for prefix in ("f", "F", "fp") for bits in (16, 32, 64)}
    | {f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}
    | {f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)}
    | {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "C64": "complex64"}
)


_AMBIGUOUS = {
    "float": "float32 or float64",
    "int": "int32 or int64",
    "uint": "uint32 or uint64",
    "i8": "int8 or int64",
    "u8": "uint8 or uint64",
    "f8": "float64 or one of float8_*",
    "i4": "int4 or int32",
    "u4": "uint4 or uint32",
    "f4": "float32 or float4_e2m1fn",
}


def _refusal(shown: str, name: str) -> str:
    subject = f"`dtype` {shown}" if name == "dtype" else f"`{name}` has dtype {shown}, which"
    if shown in _AMBIGUOUS:
        return f"{subject} means different types to different libraries; say {_AMBIGUOUS[shown]}"
    if shown.startswith("void") and shown[4:].isdigit():
        size = int(shown[4:]) // 8
        subject = subject.replace(shown, f"V{size}")
        view = {1: "ml_dtypes.float8_e4m3fn", 2: "ml_dtypes.bfloat16"}.get(size, "np.dtype(...)")
        return f"{subject} is raw bytes without a type; say what they hold by a view, for instance `x.view({view})`"
    return (
        f"{subject} is not supported; accepted are bool, signed and unsigned integers of 8 to 64 bits, "
        "float16/32/64, complex64/128, bfloat16, float8_* and int4/uint4/float4_e2m1fn"
    )


def _spelling(dtype: Any) -> str:
    if isinstance(dtype, str) and not dtype.startswith(tuple("<>=|")):
        return dtype.removeprefix("torch.")
    text = str(dtype)
    if "." in text and not isinstance(dtype, np.dtype | type):  # torch.float16, array_api_strict.float16
        return text.rpartition(".")[2]
    if dtype is None or isinstance(dtype, np.ndarray | dict):
        return type(dtype).__name__
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        return text
    return text if resolved.names is not None or resolved.subdtype else resolved.name


def resolve_dtype(dtype: Any, /, name: str = "dtype") -> DType:
    """Return the table's entry for a dtype of any array library, or for a name; TypeError where it has none.

    `name` is the argument that is, or has, the dtype.
    """
    found = _of_numpy(dtype) if isinstance(dtype, np.dtype) else _of_spelling(_spelling(dtype))
    if found is None:
        raise TypeError(_refusal(_spelling(dtype), name))
    return found


@functools.lru_cache(maxsize=256)
def _of_numpy(dtype: np.dtype[Any]) -> DType | None:
    return _of_spelling(_spelling(dtype))


def _of_spelling(spelling: str) -> DType | None:
    return _TABLE.get(spelling) or _TABLE.get(_ALIASES.get(spelling, ""))


def numpy_dtype(dtype: Any, /) -> np.dtype[Any]:
    """Return the NumPy (or ml_dtypes) dtype of a supported element type; byte order is kept."""
    name = resolve_dtype(dtype).name
    return dtype if isinstance(dtype, np.dtype) else np.dtype(getattr(ml_dtypes, name, name))


def as_element(name: str, value: Any, dtype: np.dtype[Any], /) -> npt.NDArray[Any]:
    """Return a scalar as an array of `dtype` without axes; a fraction may be rounded, any other loss is a ValueError.

    0 means all bits zero, also in float8_e8m0fnu, which has no zero of its own.
    """
    if type(value) is int or (type(value) is float and (value < 0 or value > 0)):
        element = _cast_known(value, dtype)
    elif isinstance(value, bool | int | float | complex) or (
        isinstance(value, np.generic) and _of_numpy(value.dtype) is not None
    ):
        element = _cast(value, dtype)
    else:
        raise TypeError(f"`{name}` must be a number, got {type(value).__name__} {value!r}")
    if element is None:
        raise ValueError(f"`{name}` must be a number that {dtype.name} can hold, got {value!r}")
    return element


def _cast(value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """Return a number as an element, or None where `dtype` cannot hold it."""
    if value == 0 and not np.signbit(np.real(value)):
        return np.zeros((), dtype)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a complex number loses its imaginary part: seen below
            element = np.asarray(value).astype(dtype)
        return element if _survives(element, value, dtype) else None
    except (OverflowError, ValueError, TypeError):
        return None


# for numbers that are equal only where all their bits are: zeros have a sign, and NaN is not equal to itself
_cast_known = functools.lru_cache(maxsize=256, typed=True)(_cast)


def _survives(element: Any, value: Any, dtype: np.dtype[Any]) -> bool:
    if "float" not in dtype.name and "complex" not in dtype.name:
        return bool(int(element) == value)
    new, old = complex(element), complex(value)
    if old.imag and "complex" not in dtype.name:
        return False
    largest = float(ml_dtypes.finfo(dtype).max)
    return all(
        math.copysign(1, kept) == math.copysign(1, given)
        and math.isnan(kept) == math.isnan(given)
        and (kept == given or abs(given) <= largest or math.isnan(given))
        for kept, given in ((new.real, old.real), (new.imag, old.imag))
        if kept != 0 or given != 0
    )

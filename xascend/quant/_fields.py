"""The fields of a quantisation word, made from numbers and from arrays: every refusal of `pack_quant_param`."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import array_api_compat.numpy
import numpy as np

from xascend._dispatch import array_dtype, array_shape, require_same_place
from xascend.quant._bits import EXPONENT, MULTIPLIER, float32_bits

__all__ = [
    "is_array",
    "offset_field",
    "offset_fields",
    "require_arrays",
    "scale_bits",
    "scales_bits",
    "shift_field",
]

_OFFSETS = (-256, 255)
_SHIFTS = (1, 16)
_M1_UNIT = 13  # bits of a float32 below those that the hardware keeps
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_SCALE_RULE = "`scale` must be a number or an array of floating-point numbers"
_OFFSET_RULE = f"`offset` must be an int in [{_OFFSETS[0]}, {_OFFSETS[1]}] or an array of integers"


def is_array(value: Any) -> bool:
    """Say whether a value is an array of any library."""
    return bool(compat.is_array_api_obj(value))


def require_arrays(arrays: dict[str, Any]) -> None:
    """Raise unless the arrays are of one library and one device, have data, and broadcast with each other."""
    (name, like), *_ = arrays.items()
    for other_name, other in arrays.items():
        if not is_array(other):
            raise TypeError(f"{_SCALE_RULE if other_name == 'scale' else _OFFSET_RULE}, got {other!r}")
        require_same_place(name, like, other_name, other)
        if compat.is_torch_array(other) and other.device.type == "meta":
            raise ValueError(f"`{other_name}` is on the device meta and has no data")
    if len(arrays) == 1:
        return
    shapes = {other_name: array_shape(other_name, other) for other_name, other in arrays.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise ValueError(f"`offset` {shapes['offset']} must broadcast with `scale` {shapes['scale']}") from None


def shift_field(shift: Any) -> int:
    """Return the five bits of a shift: its amount less 1, and above it the bit that says that it counts."""
    if isinstance(shift, bool) or not isinstance(shift, int | np.integer):
        raise TypeError(f"`shift` must be None or an int in [{_SHIFTS[0]}, {_SHIFTS[1]}], got {shift!r}")
    if not _SHIFTS[0] <= shift <= _SHIFTS[1]:
        raise ValueError(f"`shift` must lie in [{_SHIFTS[0]}, {_SHIFTS[1]}], got {shift}")
    return 1 << 4 | int(shift) - 1


def offset_field(offset: Any) -> int:
    """Return the field of an offset, 9 bits in two's complement."""
    if isinstance(offset, bool) or not isinstance(offset, int | np.integer):
        raise TypeError(f"{_OFFSET_RULE}, got {offset!r}")
    if not _OFFSETS[0] <= offset <= _OFFSETS[1]:
        raise ValueError(f"`offset` must lie in [{_OFFSETS[0]}, {_OFFSETS[1]}], got {offset}")
    return int(offset) & 0x1FF


def offset_fields(xp: Any, offset: Any) -> Any:
    """Return the fields of an array of offsets, as int64."""
    if not xp.isdtype(offset.dtype, "integral"):
        raise TypeError(f"{_OFFSET_RULE}, got an array of {offset.dtype}")
    wide = xp.astype(offset, xp.int64)
    wrong = (wide < _OFFSETS[0]) | (wide > _OFFSETS[1])
    if bool(xp.any(wrong)):
        raise ValueError(f"`offset` must lie in [{_OFFSETS[0]}, {_OFFSETS[1]}], got {int(offset[wrong][0])}")
    return wide & 0x1FF


def scale_bits(scale: Any, rounding: str) -> int:
    """Return the float32 bits of a scale, of which 19 are kept."""
    if isinstance(scale, bool):
        raise TypeError(f"{_SCALE_RULE}, got {scale!r}")
    try:
        number = float(scale)
    except OverflowError:
        raise ValueError(_scale_refusal(scale)) from None
    return int(scales_bits(compat.numpy, np.array([number]), rounding)[0])


def scales_bits(xp: Any, scale: Any, rounding: str) -> Any:
    """Return the float32 bits of an array of scales, as int64."""
    if array_dtype(scale, "scale").name not in _FLOATS:
        raise TypeError(f"{_SCALE_RULE} ({', '.join(_FLOATS)}), got an array of {scale.dtype}")
    with np.errstate(over="ignore", under="ignore"):
        bits = float32_bits(xp.astype(scale, xp.float32))
    packed = _to_19_bits(bits, rounding)
    exponent = bits & EXPONENT
    wrong = (exponent == EXPONENT) | (packed & EXPONENT == EXPONENT) | ((exponent == 0) & (scale != 0))
    if bool(xp.any(wrong)):
        raise ValueError(_scale_refusal(float(scale[wrong][0])))
    return packed


def _to_19_bits(bits: Any, rounding: str) -> Any:
    if rounding == "nearest":
        bits = bits + (1 << _M1_UNIT - 1) - 1 + (bits >> _M1_UNIT & 1)
    return bits & MULTIPLIER


def _scale_refusal(scale: Any) -> str:
    return (
        "`scale` must be 0 or a number whose float32 is normal and finite, also in 19 bits: the hardware takes neither "
        f"NaN nor infinities nor subnormals; got {scale!r}"
    )

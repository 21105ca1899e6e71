"""The 64-bit quantisation parameter: packing a scale and an offset into it, and reading it back.

===== ====== ==============================================================================================
bits  field  meaning
===== ====== ==============================================================================================
0-12  -      low bits of the float32 scale, ignored
13-31 M1     scale: 1 sign, 8 exponent and 10 mantissa bits of a float32
32-35 N      shift - 1, counts only with MCB (not on the 950)
36    MCB    1: shift the int32 right and saturate it to int16 before it becomes float32 (not on the 950)
37-45 offset 9-bit two's complement, added to 8-bit results
46    sign   1: the 8-bit result is int8, 0: uint8
47-63 -      ignored
===== ====== ==============================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import array_api_compat as compat
import array_api_compat.numpy
import numpy as np

from xascend._dispatch import array_dtype, array_namespace, array_shape, require_same_place
from xascend._ranges import require_flag
from xascend.quant._bits import float32_bits, float32_from_bits

__all__ = ["QuantParam", "pack_quant_param", "require_word", "unpack_quant_param"]

_OFFSETS = (-256, 255)
_SHIFTS = (1, 16)
_M1 = 0xFFFFE000
_M1_UNIT = 13  # bits of a float32 below those that the hardware keeps
_EXPONENT = 0x7F800000
_N, _MCB, _OFFSET, _SIGN = 32, 36, 37, 46
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_WORD_RULE = "`word` must be an int, a 64-bit quantisation word, or an array of uint64"
_SCALE_RULE = "`scale` must be a number or an array of floating-point numbers"
_OFFSET_RULE = f"`offset` must be an int in [{_OFFSETS[0]}, {_OFFSETS[1]}] or an array of integers"


@dataclass(frozen=True, slots=True)
class QuantParam:
    """What a quantisation word says, as `unpack_quant_param` reads it.

    Parameters
    ----------
    scale : float, or float32 array
        Multiplier, as the hardware sees it: with 10 bits of mantissa.
    offset : int, or int32 array
        Added to 8-bit results, -256 to 255.
    signed : bool, or bool array
        Whether an 8-bit result is int8 (True) or uint8 (False).
    shift : int or None, or int32 array
        Bits by which an int32 is first shifted right, 1 to 16; None, or 0 in an array, where it is not.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.unpack_quant_param(0x7FE03F000000)
    QuantParam(scale=0.5, offset=-1, signed=True, shift=None)
    """

    scale: Any
    offset: Any
    signed: Any
    shift: Any


def pack_quant_param(
    scale: Any, offset: Any = 0, signed: bool = True, *, rounding: str = "truncate", shift: int | None = None
) -> Any:
    """Pack a scale and an offset into the 64-bit word that Fixpipe takes as quantisation parameter.

    Parameters
    ----------
    scale : float, or array of floating-point numbers
        Multiplier. It is first rounded to float32, then cut to 19 bits (sign, exponent, 10 bits of mantissa),
        which is all that the hardware reads; `unpack_quant_param` of the word tells what is left of it. Zero is
        allowed; NaN, infinities and subnormals are refused.
    offset : int, or array of integers, default 0
        Added to 8-bit results, -256 to 255; other modes ignore it. An array must broadcast with `scale`.
    signed : bool, default True
        True for int8 results, False for uint8.
    rounding : {"truncate", "nearest"}, default "truncate"
        How the scale gets its 19 bits: drop the others, as the hardware itself does, or round half to even.
    shift : int, optional
        Also set the mode bit by which (V)REQ8 and (V)DEQF16 first shift the int32 right by so many bits, 1 to 16.
        The field in the word holds ``shift - 1``. The 950 has neither field.

    Returns
    -------
    int, or uint64 array
        The word; with an array among `scale` and `offset` an array of its library and device.

    Raises
    ------
    TypeError
        If an argument has a wrong type or dtype, or the two arrays are of different libraries or devices.
    ValueError
        If the scale is NaN, infinite or subnormal, in float32 or after rounding, a number is out of range, or two
        arrays do not broadcast.

    Notes
    -----
    Source: the table of QUANT_PRE's bits in the page on quantisation during the move out, Ascend C API.

    - The vendor's host encoders differ: aclnnTransQuantParam keeps all 32 bits of the scale and clips the offset;
      its second version truncates or rounds to 19 bits and always sets the sign bit. Here nothing is clipped.
    - That the offset is a signed number is said by the pages on SetQuantVector and SetQuantScalar; a golden
      script of the vendor reads it as unsigned, so that -1 becomes 511.
    - The table gives the shift as 1 to 16, the vendor's golden script as 0 to 15 with the same bits; no public
      golden data exercise it.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.pack_quant_param(2.0, signed=False)
    1073741824
    >>> hex(ascendc.pack_quant_param(0.5, -1))
    '0x7fe03f000000'
    >>> import numpy as np
    >>> ascendc.pack_quant_param(np.array([1.0, 2.0], np.float32), signed=False)
    array([1065353216, 1073741824], dtype=uint64)
    """
    require_flag("signed", signed)
    if not isinstance(rounding, str) or rounding not in ("truncate", "nearest"):
        raise ValueError(f"`rounding` must be 'truncate' or 'nearest', got {rounding!r}")
    flags = (int(signed) << _SIGN) | (0 if shift is None else _shift_field(shift))
    arrays = {name: value for name, value in (("scale", scale), ("offset", offset)) if not _is_number(value)}
    if not arrays:
        return _scale_bits(scale, rounding) | flags | (_offset_field(offset) << _OFFSET)
    _require_arrays(arrays)
    (name, like), *_ = arrays.items()
    xp = array_namespace(name, like)
    bits = _array_scale_bits(xp, scale, rounding) if "scale" in arrays else _scale_bits(scale, rounding)
    field = _array_offset_field(xp, offset) if "offset" in arrays else _offset_field(offset)
    return xp.astype(bits | flags | (field << _OFFSET), xp.uint64)


def unpack_quant_param(word: Any) -> QuantParam:
    """Return what a 64-bit quantisation word says, as the hardware reads it.

    Parameters
    ----------
    word : int, or uint64 array
        Word or words; bits without a meaning are ignored.

    Returns
    -------
    QuantParam
        Its fields `scale`, `offset`, `signed` and `shift`: numbers, or arrays of the shape of `word`. The scale may
        be infinite, NaN or subnormal, which `pack_quant_param`, `requantize` and `ascendc.fixpipe` refuse.

    Raises
    ------
    TypeError
        If `word` is neither an int nor a uint64 array.
    ValueError
        If an int is not in [0, 2**64).

    Notes
    -----
    Source: the table of QUANT_PRE's bits in the page on quantisation during the move out, Ascend C API.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.unpack_quant_param(ascendc.pack_quant_param(0.1, 3)).scale
    0.0999755859375
    """
    if isinstance(word, int | np.integer):
        word = require_word("word", word)
        scale = float(np.uint32(word & _M1).view(np.float32))
        offset = _sign_extended(word >> _OFFSET & 0x1FF)
        shift = (word >> _N & 0xF) + 1 if word >> _MCB & 1 else None
        return QuantParam(scale, offset, bool(word >> _SIGN & 1), shift)
    if not _is_array(word):
        raise TypeError(f"{_WORD_RULE}, got {word!r}")
    xp = array_namespace("word", word)
    if array_dtype(word, "word").name != "uint64":
        raise TypeError(f"{_WORD_RULE}, got an array of {word.dtype}")
    # Not every library computes with uint64; as int64 the bits are the same, and those from 47 on are not needed.
    word = word.view(xp.int64) if compat.is_torch_array(word) else xp.astype(word & 0x7FFFFFFFFFFF, xp.int64)
    shift = xp.astype((word >> _MCB & 1) * ((word >> _N & 0xF) + 1), xp.int32)
    offset = xp.astype(_sign_extended(word >> _OFFSET & 0x1FF), xp.int32)
    return QuantParam(float32_from_bits(word & _M1), offset, xp.astype(word >> _SIGN & 1, xp.bool), shift)


def require_word(name: str, value: Any) -> int:
    """Return one word as an int; TypeError or ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"`{name}` must be an int, a 64-bit quantisation word, got {value!r}")
    if not 0 <= value < 1 << 64:
        raise ValueError(f"`{name}` must lie in [0, 2**64), got {value}")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _is_array(value: Any) -> bool:
    return bool(compat.is_array_api_obj(value))


def _require_arrays(arrays: dict[str, Any]) -> None:
    """Raise unless the arrays are of one library and one device, have data, and broadcast with each other."""
    (name, like), *_ = arrays.items()
    for other_name, other in arrays.items():
        if not _is_array(other):
            raise TypeError(f"{_SCALE_RULE if other_name == 'scale' else _OFFSET_RULE}, got {other!r}")
        require_same_place(name, like, other_name, other)
        if compat.is_torch_array(other) and other.device.type == "meta":
            raise ValueError(f"`{other_name}` is on the device meta and has no data")
    shapes = {other_name: array_shape(other_name, other) for other_name, other in arrays.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise ValueError(f"`offset` {shapes['offset']} must broadcast with `scale` {shapes['scale']}") from None


def _sign_extended(field: Any) -> Any:
    return (field ^ 0x100) - 0x100


def _shift_field(shift: Any) -> int:
    if isinstance(shift, bool) or not isinstance(shift, int | np.integer):
        raise TypeError(f"`shift` must be None or an int in [{_SHIFTS[0]}, {_SHIFTS[1]}], got {shift!r}")
    if not _SHIFTS[0] <= shift <= _SHIFTS[1]:
        raise ValueError(f"`shift` must lie in [{_SHIFTS[0]}, {_SHIFTS[1]}], got {shift}")
    return (1 << _MCB) | (int(shift) - 1) << _N


def _offset_field(offset: Any) -> int:
    if isinstance(offset, bool) or not isinstance(offset, int | np.integer):
        raise TypeError(f"{_OFFSET_RULE}, got {offset!r}")
    if not _OFFSETS[0] <= offset <= _OFFSETS[1]:
        raise ValueError(f"`offset` must lie in [{_OFFSETS[0]}, {_OFFSETS[1]}], got {offset}")
    return int(offset) & 0x1FF


def _array_offset_field(xp: Any, offset: Any) -> Any:
    if not xp.isdtype(offset.dtype, "integral"):
        raise TypeError(f"{_OFFSET_RULE}, got an array of {offset.dtype}")
    wide = xp.astype(offset, xp.int64)
    wrong = (wide < _OFFSETS[0]) | (wide > _OFFSETS[1])
    if bool(xp.any(wrong)):
        raise ValueError(f"`offset` must lie in [{_OFFSETS[0]}, {_OFFSETS[1]}], got {int(offset[wrong][0])}")
    return wide & 0x1FF


def _scale_bits(scale: Any, rounding: str) -> int:
    if isinstance(scale, bool):
        raise TypeError(f"{_SCALE_RULE}, got {scale!r}")
    try:
        number = float(scale)
    except OverflowError:
        raise ValueError(_scale_refusal(scale)) from None
    return int(_array_scale_bits(compat.numpy, np.array([number]), rounding)[0])


def _array_scale_bits(xp: Any, scale: Any, rounding: str) -> Any:
    if array_dtype(scale, "scale").name not in _FLOATS:
        raise TypeError(f"{_SCALE_RULE} ({', '.join(_FLOATS)}), got an array of {scale.dtype}")
    with np.errstate(over="ignore", under="ignore"):
        bits = float32_bits(xp.astype(scale, xp.float32))
    packed = _to_19_bits(bits, rounding)
    exponent = bits & _EXPONENT
    wrong = (exponent == _EXPONENT) | (packed & _EXPONENT == _EXPONENT) | ((exponent == 0) & (scale != 0))
    if bool(xp.any(wrong)):
        raise ValueError(_scale_refusal(float(scale[wrong][0])))
    return packed


def _to_19_bits(bits: Any, rounding: str) -> Any:
    if rounding == "nearest":
        bits = bits + (1 << _M1_UNIT - 1) - 1 + (bits >> _M1_UNIT & 1)
    return bits & _M1


def _scale_refusal(scale: Any) -> str:
    return (
        "`scale` must be 0 or a number whose float32 is normal and finite, also in 19 bits: the hardware takes neither "
        f"NaN nor infinities nor subnormals; got {scale!r}"
    )

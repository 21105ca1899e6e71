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
import numpy as np

from xascend._dispatch import array_dtype, array_namespace
from xascend._ranges import require_flag
from xascend.quant._bits import MULTIPLIER, float32_from_bits
from xascend.quant._fields import (
    is_array,
    offset_field,
    offset_fields,
    require_arrays,
    scale_bits,
    scales_bits,
    shift_field,
)

__all__ = ["QuantParam", "pack_quant_param", "require_word", "unpack_quant_param"]

_N, _MCB, _OFFSET, _SIGN = 32, 36, 37, 46
_WORD_RULE = "`word` must be an int, a 64-bit quantisation word, or an array of uint64"


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
    flags = (int(signed) << _SIGN) | (0 if shift is None else shift_field(shift) << _N)
    arrays = {name: value for name, value in (("scale", scale), ("offset", offset)) if not _is_number(value)}
    if not arrays:
        return scale_bits(scale, rounding) | flags | (offset_field(offset) << _OFFSET)
    require_arrays(arrays)
    (name, like), *_ = arrays.items()
    xp = array_namespace(name, like)
    bits = scales_bits(xp, scale, rounding) if "scale" in arrays else scale_bits(scale, rounding)
    field = offset_fields(xp, offset) if "offset" in arrays else offset_field(offset)
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
        scale = float(np.uint32(word & MULTIPLIER).view(np.float32))
        offset = _sign_extended(word >> _OFFSET & 0x1FF)
        shift = (word >> _N & 0xF) + 1 if word >> _MCB & 1 else None
        return QuantParam(scale, offset, bool(word >> _SIGN & 1), shift)
    if not is_array(word):
        raise TypeError(f"{_WORD_RULE}, got {word!r}")
    xp = array_namespace("word", word)
    if array_dtype(word, "word").name != "uint64":
        raise TypeError(f"{_WORD_RULE}, got an array of {word.dtype}")
    # Not every library computes with uint64; as int64 the bits are the same, and those from 47 on are not needed.
    word = word.view(xp.int64) if compat.is_torch_array(word) else xp.astype(word & 0x7FFFFFFFFFFF, xp.int64)
    shift = xp.astype((word >> _MCB & 1) * ((word >> _N & 0xF) + 1), xp.int32)
    offset = xp.astype(_sign_extended(word >> _OFFSET & 0x1FF), xp.int32)
    return QuantParam(float32_from_bits(word & MULTIPLIER), offset, xp.astype(word >> _SIGN & 1, xp.bool), shift)


def require_word(name: str, value: Any) -> int:
    """Return one word as an int; TypeError or ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"`{name}` must be an int, a 64-bit quantisation word, got {value!r}")
    if not 0 <= value < 1 << 64:
        raise ValueError(f"`{name}` must lie in [0, 2**64), got {value}")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _sign_extended(field: Any) -> Any:
    return (field ^ 0x100) - 0x100

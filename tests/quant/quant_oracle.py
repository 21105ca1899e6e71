"""The arithmetic of Fixpipe one element at a time, with Python's own numbers: slow, obvious, nothing shared.

A product of a float32 and a multiplier with 11 significant bits is exact in a Python float, so `struct` rounds once.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

NAN = float("nan")

# name: (result, takes a word, has the shift). "b8" is int8 or uint8, by the word's sign bit.
MODES = {
    "NoQuant": ("same", False, False),
    "F322F16": ("float16", False, False),
    "F322BF16": ("bfloat16", False, False),
    "DEQF16": ("float16", True, True),
    "REQ8": ("b8", True, True),
    "QF322B8_PRE": ("b8", True, False),
    "QF322F16_PRE": ("float16", True, False),
    "QF322BF16_PRE": ("bfloat16", True, False),
    "QS322BF16_PRE": ("bfloat16", True, False),
}
INT_SOURCES = ("DEQF16", "REQ8", "QS322BF16_PRE")
ALWAYS_SATURATE = ("DEQF16",)


def float_of(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def float32(value: float) -> float:
    """Round to float32, half to even."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def multiplier(value: float) -> float:
    """Cut a float32 to 1 sign, 8 exponent and 10 mantissa bits."""
    return float_of(struct.unpack("<I", struct.pack("<f", value))[0] & 0xFFFFE000)


def float16_bits(value: float, saturate: bool) -> int:
    if math.isnan(value):
        return 0 if saturate else 0x7E00
    sign = 0x8000 if math.copysign(1, value) < 0 else 0
    try:
        bits = struct.unpack("<H", struct.pack("<e", abs(value)))[0]
    except OverflowError:
        bits = 0x7C00
    return sign | (0x7BFF if saturate and bits == 0x7C00 else bits)


def bfloat16_bits(value: float, saturate: bool) -> int:
    if math.isnan(value):
        return 0 if saturate else 0x7FC0
    sign = 0x8000 if math.copysign(1, value) < 0 else 0
    if math.isinf(value):
        bits = 0x7F80
    else:
        exponent = max(math.frexp(value)[1] - 1, -126) if value else -126
        steps = round(Fraction(abs(value)) / Fraction(2) ** (exponent - 7))  # Fractions round half to even
        bits = (exponent + 126) * 128 + steps  # a carry out of the mantissa raises the exponent by itself
    return sign | (0x7F7F if saturate and bits >= 0x7F80 else bits)


def eight_bits(product: float, offset: int, signed: bool) -> int:
    if math.isnan(product):
        product = 0.0
    nine_bits = round(Fraction(max(-256.0, min(255.0, product))))
    low, high = (-128, 127) if signed else (0, 255)
    return max(low, min(high, nine_bits + offset))


def element(
    x: int | float,
    mode: str,
    word: int = 0,
    *,
    relu: bool = False,
    slope: float | None = None,
    saturate: bool = False,
    has_shift: bool = True,
) -> int | float:
    """Return one result: the bits of 16-bit floats, else the number itself. `x` is an int for int32 sources."""
    result, takes_word, shifts = MODES[mode]
    if isinstance(x, int) and mode == "NoQuant":
        return max(x, 0) if relu else x
    if isinstance(x, int) and shifts and has_shift and (word >> 36) & 1:
        x = max(-32768, min(32767, x >> ((word >> 32) & 15) + 1))
    value = float32(x)
    scale = float_of(word & 0xFFFFE000) if takes_word else 1.0
    if not (relu and value < 0):
        product = float32(value * scale)
    elif slope is None:
        product = 0.0
    else:
        product = float32(value * multiplier(slope))
    if relu and product == 0:
        product = 0.0
    if result == "b8":
        offset = (word >> 37) & 511
        return eight_bits(product, offset - 512 if offset > 255 else offset, bool((word >> 46) & 1))
    if result == "same":
        return product
    bits_of = float16_bits if result == "float16" else bfloat16_bits
    bits = bits_of(product, saturate or mode in ALWAYS_SATURATE)
    return 0 if relu and bits == 0x8000 else bits  # a product that was too small for the result


def result_dtype(mode: str, x_dtype: str, word: int) -> str:
    result = MODES[mode][0]
    if result == "same":
        return x_dtype
    return ("int8" if (word >> 46) & 1 else "uint8") if result == "b8" else result

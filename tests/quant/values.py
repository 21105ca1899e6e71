"""Values that show where an implementation goes wrong, and comparing results element by element."""

from __future__ import annotations

import struct

import numpy as np
import quant.quant_oracle as oracle
from libraries import numpy_dtype

from xascend.quant import QuantMode

TIES = [k + 0.5 for k in range(-6, 6)]
FLOATS = np.array(
    [
        *TIES,
        *[0.0, -0.0, 1.0, -1.0, 0.3, -0.3, 35, 45, 125, 126.5, 127.5, 128.5, -127.5, -128.5, -129.5, 254.5, 255.5],
        *[255.49998, 256.5, -255.5, -256.5, -257.0, 300, -300, 1e5, -1e5, 1e20, -1e20, 3.4e38, -3.4e38],
        *[65503.9, 65504.0, 65519.996, 65520.0, 65536.0, -65519.996, -65520.0],
        *[6.0e-8, 2.98e-8, 2.9802322387695312e-08, 2.980232594040899e-08, 8.9e-8, 6.1e-5, 6.097e-5, 1e-40, -1e-45],
        *[np.inf, -np.inf, np.nan],
    ],
    np.float32,
)
FLOATS = np.concatenate(
    [
        FLOATS,
        np.array([0x3F818000, 0x3F808000, 0xBF818000, 0x7F7F7FFF, 0x7F7F8000, 0x00808000], np.uint32).view(np.float32),
        np.array([0x7FC00001, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32),  # NaNs
    ]
)
SMALL_INTS = [0, 1, -1, 2, 3, -3, 5, -5, 7, 35, 45, 100, -100, 125, 255, 256, 300, -300, 511, 32767, 32768, -32768]
LARGE_INTS = [-32769, 65519, 65520, 65535, 65536, -65536, 70000, -70000, 1 << 20, 2147483520, 2147483583, 2147483584]
ROUNDED_INTS = [16777217, 16777219, -16777217, -16777219, 33554433, 33554435]  # no float32 holds them
ENDS = [2147483647, -2147483647, -2147483648]
INTS = np.array([*SMALL_INTS, *LARGE_INTS, *ROUNDED_INTS, *ENDS], np.int32)


def word(scale: float, offset: int = 0, signed: bool = True, shift: int = 0) -> int:
    """Pack a word from its definition, without the library."""
    bits = struct.unpack("<I", struct.pack("<f", scale))[0] & 0xFFFFE000
    field = (1 << 36) | (shift - 1) << 32 if shift else 0
    return bits | field | (offset % 512) << 37 | int(signed) << 46


WORDS = [word(1.0), word(1.0, signed=False), word(0.1, 3), word(0.5, -1), word(-2.0, 255, False), word(-0.37, -256)]
WORDS += [word(1.0, -256, False), word(1.0, 255), word(3.0e38, 7), word(1.2e-38, -7, False), word(0.0, 5), word(-0.0)]
WORDS += [word(-1e-10), word(-1.5e-39 * 2**3)]  # products below half the smallest float16, and bfloat16
SHIFTED = [word(1.0, 0, True, shift) for shift in range(1, 17)] + [word(0.3, -9, False, 4)]


def values_for(mode: str) -> np.ndarray:
    return INTS if mode in oracle.INT_SOURCES else FLOATS


def expect(x: np.ndarray, mode: str, words: list[int], **options: object) -> np.ndarray:
    """Return the oracle's results for a matrix; `words` has one word, or one for each column."""
    flat = x.reshape(-1, x.shape[-1])
    slopes = options.pop("slopes", None)
    columns = [words[n % len(words)] for n in range(x.shape[-1])]
    rows = [
        [
            oracle.element(value, mode, columns[n], slope=None if slopes is None else float(slopes[n]), **options)
            for n, value in enumerate(row)
        ]
        for row in flat.tolist()
    ]
    name = oracle.result_dtype(mode, x.dtype.name, words[0])
    if name in ("float16", "bfloat16"):
        return np.array(rows, np.uint16).view(numpy_dtype(name)).reshape(x.shape)
    return np.array(rows, name).reshape(x.shape)


def quant_mode(mode: str, vector: bool = False) -> QuantMode:
    return QuantMode["V" + mode if vector else mode]

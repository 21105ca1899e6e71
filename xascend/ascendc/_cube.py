"""Checks that the instructions of the cube path share: parameters, element types, alignment, room, separate memory.

Sizes are counted in elements, so that 4-bit types count right although their arrays hold one value in a byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xascend._dispatch import array_dtype, overlaps
from xascend._dtypes import DType
from xascend.ascendc._memory import locate, require_buffer, require_like, require_writable

__all__ = [
    "ALIGN_L0AB",
    "ALIGN_L0C",
    "ALIGN_L1",
    "elements_in",
    "require_addr_mode",
    "require_aligned",
    "require_bits",
    "require_pair",
    "require_params",
    "require_room",
    "require_separate",
]

# Bytes that an address in each buffer must be a multiple of.
ALIGN_L1 = 32
ALIGN_L0AB = 512
ALIGN_L0C = 1024


def elements_in(nbytes: int, dtype: DType) -> int:
    """Return how many elements `nbytes` of the hardware's memory hold."""
    return 8 * nbytes // dtype.bits


def require_params(params: Any, kind: type) -> None:
    """Raise TypeError unless `params` is of the instruction's own class."""
    if not isinstance(params, kind):
        raise TypeError(f"`params` must be a {kind.__name__}, got {type(params).__name__}")


def require_addr_mode(value: Any) -> None:
    """Raise unless `value` is 0 or 1; a flag is refused, as in every other field that is a number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"`addr_mode` must be 0 (upwards) or 1 (downwards), got {value!r}")
    if value not in (0, 1):
        raise ValueError(f"`addr_mode` must be 0 (upwards) or 1 (downwards), got {value}")


def require_pair(dst: Any, src: Any) -> DType:
    """Return the element type of two buffers that data can be moved between, or raise."""
    require_buffer("dst", dst)
    require_buffer("src", src)
    require_like("dst", dst, "src", src)
    require_writable("dst", dst)
    return array_dtype(dst, "dst")


def require_bits(op: str, dtype: DType, accepted: tuple[int, ...]) -> None:
    """Raise TypeError unless the elements have one of the sizes that the instruction moves."""
    if dtype.bits not in accepted:
        sizes = ", ".join(map(str, accepted[:-1]))
        raise TypeError(f"{op} moves elements of {sizes} or {accepted[-1]} bits, got {dtype.name}")


def require_aligned(name: str, x: Any, nbytes: int) -> None:
    """Raise ValueError unless `x` starts at a multiple of `nbytes` of the hardware's memory."""
    start = locate([x]).starts[0] * array_dtype(x).bits // x.itemsize  # in bits
    if start % (8 * nbytes):
        raise ValueError(
            f"`{name}` must start at a multiple of {nbytes} bytes, got byte {start // 8} "
            "(counted from the start of the array that owns the memory)"
        )


def require_room(name: str, x: Any, elements: int) -> None:
    """Raise ValueError unless `x` has the elements that the instruction goes through."""
    if x.shape[0] < elements:
        raise ValueError(f"`{name}` must have at least {elements} elements for these parameters, got {x.shape[0]}")


def require_separate(dst: Any, name: str, src: Any) -> None:
    """Raise ValueError where a source shares memory with what is written: they are different buffers."""
    if overlaps(dst, src):
        raise ValueError(f"`{name}` must not share memory with the part of `dst` that the instruction goes through")

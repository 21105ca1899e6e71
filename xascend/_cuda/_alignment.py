"""Arrays on a CUDA device whose elements lie across the places that a GPU loads from, and aligned copies of them.

A view of bytes is such an array: of CuPy, ``x[1:-1].view(cupy.float16)``. Bytes can be copied from anywhere.
"""

from __future__ import annotations

import math
from typing import Any

import array_api_compat as compat

from xascend._cuda._arrays import current_stream, empty_output, memory_of

__all__ = ["as_aligned", "copy_bytes", "copy_into", "is_aligned"]

Array = Any


def is_aligned(x: Array, /) -> bool:
    """Say whether every element lies at a multiple of its size."""
    _, memory = memory_of(x)
    return math.gcd(memory.alignment, *memory.strides) % memory.itemsize == 0


def as_aligned(x: Array, /) -> Array:
    """Return `x`, or a C-contiguous copy of it where elements do not lie at multiples of their size."""
    if is_aligned(x):
        return x
    copy = empty_output(x, tuple(x.shape))
    copy_bytes(x, copy)
    return copy


def copy_into(src: Array, dst: Array, /) -> None:
    """Copy `src` to `dst`, of the same library, device, shape and dtype, at any address and of any strides."""
    if is_aligned(dst):
        with current_stream(src):
            dst[...] = src
    else:
        copy_bytes(src, dst)


def copy_bytes(src: Array, dst: Array, /) -> None:
    """Copy `src` to `dst`, of the same library, device, shape and dtype, on the current stream."""
    with current_stream(src):
        _bytes_of(dst)[...] = _bytes_of(src)


def _bytes_of(x: Array) -> Array:
    """Return the same memory with a last axis for the bytes of an element."""
    return x[..., None].view(compat.array_namespace(x).uint8)

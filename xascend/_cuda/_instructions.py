"""Launches of the kernels of `trans_data_to_5hd` and `brcb`: one for all repeats of a call."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np

from xascend._cuda._jobs import Kernel
from xascend._cuda._launches import THREADS, Launch

__all__ = ["BROADCAST", "TRANSPOSITION", "make_broadcast", "make_transposition"]

_HALF = 16  # bytes of half a data block, which a thread moves
_ENTRIES = 8  # of one repeat of brcb

# As `Transposition` in ``transdata5hd.cu`` and `Broadcast` in ``brcb.cu`` have them.
TRANSPOSITION = np.dtype(
    [
        ("src", "u8", 16),
        ("dst", "u8", 16),
        ("src_stride", "i8"),
        ("dst_stride", "i8"),
        ("first", "i4", 16),
        ("repeats", "i4"),
        ("unused", "i4"),
    ]
)
BROADCAST = np.dtype(
    [
        ("src", "u8"),
        ("dst", "u8"),
        ("block_stride", "i8"),
        ("repeat_stride", "i8"),
        ("first", "i4", _ENTRIES),
        ("repeats", "i4"),
        ("unused", "i4"),
    ]
)


def make_transposition(
    addresses: tuple[Sequence[int], Sequence[int]],
    strides: tuple[int, int],
    repeats: int,
    first: Sequence[int],
    itemsize: int,
    *,
    in_order: bool,
) -> Launch:
    """Return the launch of one TransDataTo5HD.

    `addresses` and `strides` are of (dst, src), in bytes, of the half blocks that are moved; `first` is for each
    destination the repeat from which on it stays, and `in_order` asks for one repeat after the other.
    """
    dst, src = addresses
    table = np.array([(src, dst, strides[1], strides[0], first, repeats, 0)], TRANSPOSITION)
    per_block = THREADS // (16 if itemsize == 1 else 32)
    kernel = Kernel("transdata5hd.cu", _entry("trans_data_to_5hd", *dst, *src), itemsize)
    return Launch(kernel, 1 if in_order else -(-repeats // per_block), THREADS * _HALF, table)


def make_broadcast(
    dst: int, src: int, strides: tuple[int, int], repeats: int, first: Sequence[int], itemsize: int
) -> Launch:
    """Return the launch of one Brcb; `strides` are those of the blocks of a repeat and of the repeats, in bytes."""
    table = np.array([(src, dst, *strides, first, repeats, 0)], BROADCAST)
    per_block = THREADS // (2 * _ENTRIES)
    kernel = Kernel("brcb.cu", _entry("brcb", dst, src), itemsize)
    return Launch(kernel, -(-repeats // per_block), per_block * _ENTRIES * itemsize, table)


def _entry(name: str, *addresses: int) -> str:
    bits = functools.reduce(operator.or_, addresses)
    return f"{name}_unaligned" if bits % _HALF else f"{name}_aligned"

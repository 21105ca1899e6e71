"""How well the kernels of instructions use sectors and banks, counted on the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from cuda.instructions import Device, place, taking_numpy
from libraries import random_bits

from xascend import ascendc
from xascend._cuda._jobs import SECTOR

N = 4096


@dataclass(frozen=True)
class Case:
    """Instructions of one kind: what they do, which part is run, and what share of a sector each moves of it."""

    what: str
    part: str
    dtype: str
    run: Callable[[str], Device]
    at_best: float = 1.0

    def __str__(self) -> str:
        return f"{self.what} {self.dtype}"


@dataclass(frozen=True)
class Measured:
    """Bytes asked for per byte of the sectors touched, and passes per access to shared memory."""

    case: Case
    loads: float
    stores: float
    ways: float
    launches: int
    kernels: tuple[str, ...]


def transpose_a_strip(dtype: str) -> Device:
    """Transpose the rows of an N x N matrix that fill a data block, repeats walking along them."""
    itemsize = np.dtype(dtype).itemsize
    per_block = SECTOR // itemsize  # columns of a source block
    rows = max(16, per_block)
    source, result = place(random_bits((rows * N,), dtype)), place(np.zeros((N * N,), dtype))
    with taking_numpy(Device([source, result])) as device:
        for row in range(0, rows, 16):
            for column in range(0, per_block, 16):
                for first in range(0, N, 128 * per_block):
                    src = [source[(row + j) * N + first :] for j in range(16)]
                    # 32-bit types: a column of 16 rows fills two blocks, of 8 rows each
                    places = [(i, 0) for i in range(16)] if itemsize < 4 else [(i // 2, i % 2 * 8) for i in range(16)]
                    down = row // per_block * per_block
                    dst = [result[(first + column + i) * N + down + right :] for i, right in places]
                    walk = ascendc.TransDataTo5HDParams(
                        dst_high_half=itemsize == 1 and row > 0,
                        src_high_half=column > 0,
                        repeat_times=128,
                        dst_rep_stride=N,  # `per_block` rows of N / `per_block` blocks
                        src_rep_stride=1,
                    )
                    ascendc.trans_data_to_5hd(dst, src, walk)
    assert (result.reshape(N, N)[:, :rows] == source.reshape(rows, N).T).all()
    return device


def fill_blocks(dtype: str) -> Device:
    """Fill the data blocks of 255 repeats."""
    itemsize = np.dtype(dtype).itemsize
    src = place(random_bits((8 * 255,), dtype))
    dst = place(np.zeros((src.size * SECTOR // itemsize,), dtype))
    with taking_numpy(Device([src, dst])) as device:
        ascendc.brcb(dst, src, 255)
    assert dst.tobytes() == np.repeat(src, SECTOR // itemsize).tobytes()
    return device


TRANSPOSED, FILLED = f"{N} x {N} transposed by trans_data_to_5hd", "brcb of 255 repeats"
CASES = (
    Case(TRANSPOSED, f"32 x {N}, 4 instructions", "uint8", transpose_a_strip, at_best=0.5),
    Case(TRANSPOSED, f"16 x {N}, 2 instructions", "uint16", transpose_a_strip),
    Case(TRANSPOSED, f"16 x {N}, 4 instructions", "uint32", transpose_a_strip),
    *(Case(FILLED, "1 instruction", dtype, fill_blocks) for dtype in ("uint8", "uint16", "uint32", "uint64")),
)


def measure(case: Case) -> Measured:
    """Run a case, check the bytes, and return what was counted."""
    device = case.run(case.dtype)
    counts = device.counts
    loads, stores = (
        counts.bytes(space) / (SECTOR * counts.sectors(space)) for space in ("global load", "global store")
    )
    return Measured(case, loads, stores, counts.ways(), len(device.launches), tuple(sorted(counts.kernels)))

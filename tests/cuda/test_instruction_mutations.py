"""A broken kernel of an instruction is caught, as those of the conversions are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cuda import harness
from cuda.instructions import Device, place, taking_numpy
from cuda.mutants import BARRIER, each_mutation, make_mutant
from libraries import random_bits

from xascend import ascendc

MUTATIONS = {
    "transposition without the barrier after loading": (
        "transdata5hd.cu",
        BARRIER + "        if (repeat < call.repeats && repeat >=",
        "        if (repeat < call.repeats && repeat >=",
    ),
    "transposition without the barrier after storing": ("transdata5hd.cu", "        }\n" + BARRIER + "    }", "}}"),
    "rows for columns": (
        "transdata5hd.cu",
        "row = number % entries, column = number / entries",
        "column = number % entries % per_half, row = number / entries",
    ),
    "places that two half blocks share": ("transdata5hd.cu", "(unit ^ (unit", "(unit | (unit"),
    "repeats beyond the last": ("transdata5hd.cu", "if (repeat < call.repeats) {", "if (true) {"),
    "overwritten destinations written": ("transdata5hd.cu", " && repeat >= call.first[entry]", ""),
    "a repeat too many left out": ("transdata5hd.cu", "repeat >= call.first", "repeat > call.first"),
    "a stride of the sources for the destinations": (
        "transdata5hd.cu",
        "repeat * call.dst_stride",
        "repeat * call.src_stride",
    ),
    "the second half on the first": ("transdata5hd.cu", "to + part * half_bytes", "to"),
    "the first of all words": ("halves.cuh", "extract<Bytes>(value, i)", "extract<Bytes>(value, 0)"),
    "elements without the barrier after loading": ("brcb.cu", BARRIER + "        const", "        const"),
    "elements without the barrier after storing": ("brcb.cu", "        }\n" + BARRIER + "    }", "}}"),
    "elements beyond the last": ("brcb.cu", " && begin < call.repeats * static_cast<int64>(repeat_bytes)", ""),
    "an element of the neighbour": ("brcb.cu", "thread / 2 * element", "thread / 4 * 2 * element"),
    "strides exchanged": ("brcb.cu", "repeat * call.repeat_stride + entry *", "entry * call.repeat_stride + repeat *"),
    "overwritten blocks filled": ("brcb.cu", " && repeat >= call.first[entry]", ""),
}
QUICK = {"rows for columns", "overwritten destinations written", "elements without the barrier after loading"}


def transpose(memories: list[np.ndarray], dst_stride: int, src_stride: int) -> Any:
    walk = ascendc.TransDataTo5HDParams(repeat_times=19, dst_rep_stride=dst_stride, src_rep_stride=src_stride)
    size = 32 // memories[0].itemsize
    views = [[memory[size * (3 * i % 16) :] for i in range(16)] for memory in memories]
    return ascendc.trans_data_to_5hd(*views, walk)


def broadcast(memories: list[np.ndarray], block_stride: int, repeat_stride: int) -> Any:
    return ascendc.brcb(memories[0], memories[1], 35, ascendc.BrcbRepeatParams(block_stride, repeat_stride))


# A call, its strides, the type, the bytes of both memories, and where these begin.
CASES: tuple[tuple[Callable[..., Any], tuple[int, int], str, tuple[int, int], int], ...] = (
    (transpose, (16, 1), "float16", (32 * 16 * 19, 32 * 34), 0),
    (transpose, (1, 16), "uint8", (32 * 34, 32 * 16 * 19), 0),
    (transpose, (16, 0), "float16", (32 * 16 * 19, 32 * 16), 1),
    (broadcast, (1, 8), "float16", (32 * 8 * 35, 16 * 35), 0),
    (broadcast, (3, 1), "float16", (32 * 56, 16 * 35), 0),
)


def is_caught(folder: Path) -> bool:
    """Run the cases by the kernels of `folder`, in few blocks; say whether anything was wrong."""
    for call, strides, dtype, sizes, offset in CASES:
        contents = [random_bits((size // np.dtype(dtype).itemsize,), dtype) for size in sizes]
        expected = [content.copy() for content in contents]
        call(expected, *strides)
        for descending in (False, True):
            memories = [place(content, offset) for content in contents]
            try:
                with taking_numpy(Device(memories, descending, blocks=2, folder=folder)):
                    call(memories, *strides)
            except harness.KernelError:
                return True
            if any(a.tobytes() != b.tobytes() for a, b in zip(memories, expected, strict=True)):
                return True
    return False


def test_the_kernels_as_they_are_pass() -> None:
    harness.require_compiler()
    assert not is_caught(harness.KERNELS)


@each_mutation(MUTATIONS, QUICK)
def test_a_mutation_is_caught(name: str) -> None:
    harness.require_compiler()
    assert is_caught(make_mutant(name, *MUTATIONS[name]))

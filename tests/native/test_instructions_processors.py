"""Instructions compiled by other compilers and for another processor, run in an emulator; results are the oracle's."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from ascendc import instruction_oracle as oracle
from libraries import random_bits
from native.processors import check_cases, each_compiler
from native.source_tree import in_a_source_tree

pytestmark = in_a_source_tree


def transdata5hd_case(itemsize: int, dst_half: int, src_half: int, in_place: bool, seed: int) -> bytes:
    """Return a call of 3 repeats on shuffled blocks; in place, one repeat's sources are its destinations."""
    rng = np.random.default_rng(seed)
    src = 32 * rng.permutation(16)
    dst = rng.permutation(src) + (0 if in_place else 1600)
    strides = (16, 16) if in_place else (3, 17)
    before = random_bits((3200,), "uint8", seed)
    after = bytearray(before.tobytes())
    oracle.trans_data_to_5hd(
        [after],
        [(0, int(address)) for address in dst],
        [(0, int(address)) for address in src],
        itemsize,
        dst_high_half=bool(dst_half),
        src_high_half=bool(src_half),
        repeat_times=3,
        dst_rep_stride=strides[0],
        src_rep_stride=strides[1],
    )
    words = np.array([0, 6, 32, 3200, itemsize, 3, *strides, 16 * dst_half, 16 * src_half, *dst, *src], np.int64)
    return words.tobytes() + before.tobytes() + bytes(after)


def brcb_case(itemsize: int, strides: tuple[int, int], seed: int) -> bytes:
    before = random_bits((2000,), "uint8", seed)
    after = bytearray(before.tobytes())
    filled = after[:1800]
    oracle.brcb(filled, bytes(after[1800:]), itemsize, 3, *strides)
    after[:1800] = filled
    words = np.array([1, 4, 2, 2000, itemsize, 3, *strides, 0, 1800], np.int64)
    return words.tobytes() + before.tobytes() + bytes(after)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    path = tmp_path_factory.mktemp("cases") / "cases"
    halves = {1: tuple(itertools.product((0, 1), repeat=2)), 2: ((0, 0),), 4: ((0, 0),)}
    written = [
        transdata5hd_case(itemsize, *pair, in_place, seed)
        for seed, (itemsize, in_place) in enumerate(itertools.product(halves, (False, True)))
        for pair in halves[itemsize]
    ]
    written += [brcb_case(itemsize, strides, itemsize) for itemsize in (1, 2, 4, 8) for strides in ((1, 8), (3, 1))]
    path.write_bytes(b"".join(written))
    return path, len(written)


@each_compiler
def test_cases(cases: tuple[Path, int], tmp_path: Path, compiler: str, emulator: str) -> None:
    check_cases(compiler, emulator, "instructions.cpp", "run_instructions.cpp", cases, tmp_path)

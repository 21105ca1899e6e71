"""Quantisation compiled by other compilers and for another processor, run in an emulator; results come from NumPy."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from libraries import random_bits
from native.processors import check_cases, each_compiler
from native.quantisers import BELOW_ZERO, KINDS, rule_of
from native.source_tree import in_a_source_tree
from quant.values import FLOATS, INTS

from xascend.ascendc import _fixpipe_moves
from xascend.ascendc._fixpipe_layouts import Box, Layout
from xascend.quant import _native
from xascend.quant._rules import Rule

pytestmark = in_a_source_tree

# Rows of a matrix, blocks of 16 columns that become rows, pairs of them that are merged, and columns.
BOXES = (
    Box(0, (2, 9, 1, 1, 83), 0, (800, 85, 0, 0, 1), 0, (760, 84, 0, 0, 1)),
    Box(0, (1, 70, 5, 1, 16), 0, (0, 16, 1136, 0, 1), 3, (0, 81, 16, 0, 1)),
    Box(0, (1, 40, 2, 2, 16), 0, (0, 16, 1312, 656, 1), 0, (0, 32, 1288, 16, 1)),
    Box(0, (1, 75, 3, 1, 16), 0, (0, 16, 1200, 0, 1), 0, (0, 1, 1232, 0, 77)),
)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Return a file of quantisations of every kind, with one and three threads, and their number."""
    path = tmp_path_factory.mktemp("cases") / "cases"
    count = 0
    with path.open("wb") as file:
        for kind, below_zero, saturate in itertools.product(KINDS, BELOW_ZERO, (False, True)):
            if below_zero == "slopes" and kind[2] == "float32":
                continue  # processors make different NaNs of infinity times 0
            box = BOXES[count % len(BOXES)]
            rule = rule_of(kind, box.columns, below_zero=below_zero, saturate=saturate, shifts=True, seed=count)
            write_case(file, box, rule, kind, count)
            count += 1
    return path, count


def write_case(file: BinaryIO, box: Box, rule: Rule, kind: tuple[str, str, str], seed: int) -> None:
    x = random_bits((box.src_reach,), kind[1], seed)
    values = FLOATS if kind[1] == "float32" else INTS
    x[::2] = np.resize(values, x[::2].size)
    before = random_bits((box.dst_reach + 5,), kind[2], seed + 1)
    after = before.copy()
    _fixpipe_moves.run_boxes(after, x, Layout((box,), 1, (1, 0), (1, 0)), rule)
    tables = _native._make_tables(rule)
    program = _native._make_program(rule, tables.shape[1], [box], before.itemsize)
    np.array([len(program), tables.nbytes, x.nbytes, before.nbytes, 1 + seed % 2 * 2], np.int64).tofile(file)
    program.tofile(file)
    for array in (tables, x, before.view(np.uint8), after.view(np.uint8)):
        array.tofile(file)


@pytest.mark.parametrize("small_limits", [0, 1])
@each_compiler
def test_cases(cases: tuple[Path, int], tmp_path: Path, compiler: str, emulator: str, small_limits: int) -> None:
    limits = f"-DXASCEND_SMALL_LIMITS={small_limits}"
    check_cases(compiler, emulator, "quantise.cpp", "run_quantisations.cpp", cases, tmp_path, limits)

"""Quantising by the CUDA kernels on the host, and comparing with what NumPy writes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from cuda import harness
from libraries import assert_same_bits, numpy_dtype

from xascend.ascendc import _fixpipe_moves
from xascend.ascendc._fixpipe_layouts import Box, Layout
from xascend.quant import _cuda_launches
from xascend.quant._cuda_matrices import Matrices, cut_columns, make_box_matrices, make_row_matrices
from xascend.quant._requantize import quantise_slabs
from xascend.quant._rules import Rule

MOST = 1 << 28


def run(
    src: np.ndarray,
    dst: np.ndarray,
    rule: Rule,
    matrices: Iterable[Matrices],
    together: int = 1,
    *,
    most: int = MOST,
    descending: bool = False,
    blocks: int | None = None,
    folder: Path = harness.KERNELS,
) -> harness.Counts:
    """Carry out the launches of a GPU on arrays of NumPy."""
    counts = harness.Counts()
    numbers = _cuda_launches.make_numbers(rule, together)
    tables = numbers.tables
    if tables is not None:
        tables = harness.aligned(tables)
    for some in matrices:
        for part in cut_columns(some, most):
            alignments = harness.memory_of(src).alignment, harness.memory_of(dst).alignment
            launch = _cuda_launches.make_launch(rule.source, rule.result, part, *alignments)
            table = 0 if tables is None else harness.address(tables) + 4 * part.first
            harness.run_kernel(
                launch.kernel,
                (harness.address(src), harness.address(dst), table, numbers.packed, launch.table),
                [src] if tables is None else [src, tables],
                [dst],
                counts,
                blocks=blocks or launch.blocks,
                shared=launch.shared,
                descending=descending,
                folder=folder,
            )
    return counts


def check_boxes(
    src: np.ndarray, before: np.ndarray, rule: Rule, boxes: tuple[Box, ...], *, offset: int = 0, **options: Any
) -> list[str]:
    """Run boxes over old values, which stay where nothing is written, and compare; return the kernels."""
    expected = before.copy()
    _fixpipe_moves.run_boxes(expected, src, Layout(boxes, 1, (1, 0), (1, 0)), rule)
    made = harness.place(before, offset)
    counts = run(src, made, rule, make_box_matrices(boxes), **options)
    assert_same_bits(made, expected)
    return sorted(counts.kernels)


def check_rows(x: np.ndarray, rule: Rule, **options: Any) -> list[str]:
    """Quantise a contiguous array and compare; return the kernels that took part."""
    expected = np.empty(x.shape, numpy_dtype(rule.result))
    quantise_slabs(x, expected, rule)
    made = harness.aligned_empty(x.shape, expected.dtype)
    made.reshape(-1).view(np.uint8)[...] = 0xA5
    columns = x.shape[-1] if rule.has_columns else 1
    together, matrices = make_row_matrices(x.size, columns)
    counts = run(x, made, rule, matrices, together, **options)
    assert_same_bits(made, expected)
    return sorted(counts.kernels)

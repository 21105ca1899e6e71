"""Carrying a Fixpipe out: gather a slab of rows, apply the arithmetic, scatter the results."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np

from xascend.ascendc._fixpipe_layouts import Box, Layout, Strides
from xascend.quant._arithmetic import apply_rule
from xascend.quant._rules import Rule
from xascend.quant._slabs import for_each_part
from xascend.quant._steps import Steps

__all__ = ["run_layout"]


def run_layout(dst: Any, src: Any, layout: Layout, rule: Rule) -> None:
    """Write the results into `dst`; everything has been checked."""
    for box in layout.boxes:
        _run_box(dst, src, box, rule.columns(box.first, box.first + box.columns))


def _run_box(dst: Any, src: Any, box: Box, rule: Rule) -> None:
    source = _strided(src, box.src_offset, box.counts, box.src)
    target = _strided(dst, box.dst_offset, box.counts, box.dst)

    def work(part: Any, steps: Steps) -> None:
        elements = source[part]
        # The words are one for each column, so the slab becomes rows of all columns.
        rows = elements.reshape(-1, box.columns)
        target[part] = apply_rule(rows, rule, steps).reshape(elements.shape)

    for_each_part(src, box.counts[:2], box.columns, work)


def _strided(x: Any, offset: int, counts: Strides, strides: Strides) -> Any:
    if compat.is_torch_array(x):
        return x.as_strided(counts, strides, x.storage_offset() + offset)
    steps = tuple(stride * x.itemsize for stride in strides)
    if isinstance(x, np.ndarray):
        return np.lib.stride_tricks.as_strided(x[offset:], counts, steps)
    import cupy

    return cupy.lib.stride_tricks.as_strided(x[offset:], counts, steps)

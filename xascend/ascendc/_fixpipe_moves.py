"""Carrying a Fixpipe out: gather a slab of rows, apply the arithmetic, scatter the results."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np

from xascend import _torch
from xascend.ascendc._fixpipe_layouts import Box, Layout, Strides
from xascend.quant import _cuda, _native
from xascend.quant._arithmetic import apply_rule
from xascend.quant._rules import Rule
from xascend.quant._slabs import for_each_part
from xascend.quant._steps import Steps

__all__ = ["run_boxes", "run_layout"]

_COLUMNS = 1024  # read side by side; the more column blocks at a time, the less of each lies in the cache


def run_layout(dst: Any, src: Any, layout: Layout, rule: Rule) -> None:
    """Write the results into `dst`; everything has been checked."""
    if _cuda.takes(src, dst):
        _cuda.quantise_boxes(src, dst, rule, layout.boxes)
        return
    memories = _native.host_memories(src, dst)
    if memories is None:
        run_boxes(dst, src, layout, rule)
    else:
        _native.quantise_boxes(*memories, rule, layout.boxes)
        if not isinstance(dst, np.ndarray):
            _torch.count_change(dst)


def run_boxes(dst: Any, src: Any, layout: Layout, rule: Rule) -> None:
    """Write the results into `dst` by the functions of its library."""
    for box in layout.boxes:
        if not isinstance(dst, np.ndarray):
            _run_box(dst, src, box, rule.columns(box.first, box.first + box.columns))
            continue
        for narrow in box.narrowed(_COLUMNS):
            _run_box_numpy(dst, src, narrow, rule.columns(narrow.first, narrow.first + narrow.columns))


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
    import cupy

    return cupy.lib.stride_tricks.as_strided(x[offset:], counts, tuple(stride * x.itemsize for stride in strides))


def _run_box_numpy(dst: Any, src: Any, box: Box, rule: Rule) -> None:
    source = _runs(src, box.src_offset, box.counts, box.src)
    target = _runs(dst, box.dst_offset, box.counts, box.dst)

    def work(part: Any, steps: Any) -> None:
        rows = steps.gather(source[part], src.dtype).reshape(-1, box.columns)
        made = apply_rule(rows, rule, steps).astype(dst.dtype, copy=False)  # into its byte order
        runs = target[part]
        runs[...] = made.view(target.dtype).reshape(runs.shape)

    for_each_part(src, box.counts[:2], box.columns, work)


def _runs(x: Any, offset: int, counts: Strides, strides: Strides) -> Any:
    """Return a view of the elements of a box: matrices, rows, then runs that NumPy moves as one item each."""
    run, axes = 1, len(counts)
    while axes > 2 and (counts[axes - 1] == 1 or strides[axes - 1] == run):
        axes -= 1
        run *= counts[axes]
    steps = tuple(stride * x.itemsize for stride in strides[:axes])
    return np.ndarray(counts[:axes], f"V{run * x.itemsize}", x.view(np.uint8), offset * x.itemsize, steps)

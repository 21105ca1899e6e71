"""Quantisation on a CUDA device by kernels of our own: each element is read once and written once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import array_api_compat as compat

from xascend import _torch
from xascend._cuda import takes
from xascend._cuda._alignment import as_aligned, copy_bytes, copy_into, is_aligned
from xascend._cuda._arrays import address_of, as_contiguous, as_device_array, current_stream, empty_output, memory_of
from xascend._cuda._launches import THREADS
from xascend._cuda._loader import get_function
from xascend.quant._cuda_launches import make_launch, make_numbers
from xascend.quant._cuda_matrices import Matrices, cut_columns, make_box_matrices, make_row_matrices
from xascend.quant._native import Box
from xascend.quant._rules import Rule

__all__ = ["quantise_boxes", "quantise_rows", "takes"]

Array = Any
_ENTRY_BYTES = 4  # of a table


def quantise_boxes(src: Array, dst: Array, rule: Rule, boxes: Iterable[Box], /) -> None:
    """Quantise the elements of the boxes of one Fixpipe from `src` into `dst`, 1-D and contiguous.

    What lies between the boxes of `dst` keeps its values, also where `dst` is filled by way of an aligned copy.
    """
    target = as_aligned(dst)
    _quantise(as_aligned(src), target, rule, 1, make_box_matrices(boxes))
    if target is not dst:
        copy_bytes(target, dst)
    if compat.is_torch_array(dst):
        _torch.count_change(dst)


def quantise_rows(x: Array, out: Array, rule: Rule, /) -> None:
    """Quantise `x`, whose last axis counts columns, into `out` of the same shape."""
    size = math.prod(x.shape)
    if not size:
        return
    columns = x.shape[-1] if rule.has_columns else 1
    is_direct = memory_of(out)[1].is_contiguous and is_aligned(out)
    target = out if is_direct else empty_output(out, tuple(out.shape))
    _quantise(as_contiguous(as_aligned(x)), target, rule, *make_row_matrices(size, columns))
    if not is_direct:
        copy_into(target, out)
    if compat.is_torch_array(out):
        _torch.count_change(out)


def _quantise(src: Array, dst: Array, rule: Rule, together: int, matrices: Iterable[Matrices]) -> None:
    """Launch for aligned arrays on the current stream; nothing is waited for."""
    numbers = make_numbers(rule, together)
    with current_stream(src) as device:
        (source, source_memory), (target, target_memory) = memory_of(src), memory_of(dst)
        tables = None if numbers.tables is None else as_device_array(numbers.tables, src)
        for some in matrices:
            for part in cut_columns(some):
                launch = make_launch(rule.source, rule.result, part, source_memory.alignment, target_memory.alignment)
                table = 0 if tables is None else address_of(tables) + _ENTRY_BYTES * part.first
                arguments = (source, target, table, numbers.packed, launch.table)
                function = get_function(launch.kernel, device)
                function((launch.blocks,), (THREADS,), arguments, shared_mem=launch.shared)

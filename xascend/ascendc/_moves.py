"""Gather half blocks from the sources of an instruction, scatter them to its destinations."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np
from numpy.typing import NDArray

from xascend._dispatch import array_namespace
from xascend.ascendc._blocks import BlockMap
from xascend.ascendc._memory import half_block_window, integer_dtype
from xascend.ascendc._plan import Plan, dst_groups, src_groups

__all__ = ["gather", "scatter", "write_half_blocks"]


def gather(plan: Plan, anchors: dict[int, tuple[int, Any]]) -> Any:
    """Return what the sources hold, as integers: one row for each entry, repeat after repeat."""
    rows, groups = [], src_groups(plan)
    for group in groups:
        start, array = anchors[group.owner]
        window = half_block_window(array, group.low - start, group.length)
        taken = _pick(window, group.map.where).reshape(len(group.entries), -1)
        rows.append(taken.view(integer_dtype(array)))
    if len(rows) == 1:
        return rows[0]
    order = np.argsort(np.concatenate([group.entries for group in groups]))
    return _pick(array_namespace("src_list", rows[0]).concat(rows), order)


def scatter(plan: Plan, anchors: dict[int, tuple[int, Any]], values: Any) -> None:
    """Write integers that come in the order (repeat, entry)."""
    groups = dst_groups(plan)
    for group in groups:
        start, array = anchors[group.owner]
        part = values
        if len(groups) > 1:
            entries = _place_index(np.array(group.entries), values)
            part = values.reshape(plan.repeats, sum(len(other.entries) for other in groups), -1)[:, entries]
        write_half_blocks(half_block_window(array, group.low - start, group.length), group.map, part.reshape(-1))


def write_half_blocks(window: Any, target: BlockMap, values: Any) -> None:
    """Write integers, in the order of the half blocks of the map."""
    halves = values.view(window.dtype).reshape(-1, *window.shape[1:])
    if target.order is not None:
        halves = _pick(halves, target.order)
    window[_place_index(target.where, window)] = halves


def _pick(x: Any, index: NDArray[np.intp] | slice) -> Any:
    return x[_place_index(index, x)]


def _place_index(index: NDArray[np.intp] | slice, beside: Any) -> Any:
    """Return an index map as an array of the library and device of `beside`."""
    if isinstance(beside, np.ndarray) or isinstance(index, slice):
        return index
    return array_namespace("beside", beside).asarray(index, device=compat.device(beside))

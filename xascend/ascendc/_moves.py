"""Gather half blocks from the sources of an instruction, scatter them to its destinations."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np
from numpy.typing import NDArray

from xascend._dispatch import array_namespace
from xascend.ascendc._blocks import BlockMap
from xascend.ascendc._memory import half_block_window
from xascend.ascendc._plan import Plan

__all__ = ["gather", "scatter", "write_half_blocks"]


def gather(plan: Plan, anchors: dict[int, tuple[int, Any]]) -> Any:
    """Return what the sources hold: 16-byte words of shape (entries, repeats * halves)."""
    parts = []
    for group in plan.src:
        start, array = anchors[group.owner]
        window = half_block_window(array, group.low - start, group.length)
        parts.append(_pick(window, group.map.where).reshape(len(group.entries), -1))
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([group.entries for group in plan.src]))
    return _pick(array_namespace("src_list", parts[0]).concat(parts), order)


def scatter(plan: Plan, anchors: dict[int, tuple[int, Any]], words: Any) -> None:
    """Write 16-byte words that come in the order (repeat, entry, half)."""
    for group in plan.dst:
        start, array = anchors[group.owner]
        part = words
        if len(plan.dst) > 1:
            entries = _place_index(np.array(group.entries), words)
            part = words.reshape(plan.repeats, sum(len(other.entries) for other in plan.dst), -1)[:, entries]
        write_half_blocks(half_block_window(array, group.low - start, group.length), group.map, part.reshape(-1))


def write_half_blocks(window: Any, target: BlockMap, words: Any) -> None:
    """Write one word into each half block of the map."""
    if target.order is not None:
        words = _pick(words, target.order)
    window[_place_index(target.where, window)] = words


def _pick(x: Any, index: NDArray[np.intp] | slice) -> Any:
    return x[_place_index(index, x)]


def _place_index(index: NDArray[np.intp] | slice, beside: Any) -> Any:
    """Return an index map as an array of the library and device of `beside`."""
    if isinstance(beside, np.ndarray) or isinstance(index, slice):
        return index
    return array_namespace("beside", beside).asarray(index, device=compat.device(beside))

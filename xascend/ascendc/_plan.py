"""The plan of one TransDataTo5HD: every check of addresses, and the maps of what is read and written.

Integers only, no arrays: plans are cached, and a call that repeats one pays for its moves alone. The maps are made for
the executors that index arrays; the others take the addresses as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from xascend.ascendc._blocks import BlockMap, gather_map, overlap_fault, scatter_map
from xascend.ascendc._memory import BLOCK, HALF, Places, require_apart

__all__ = ["Group", "Plan", "Side", "dst_groups", "make_plan", "number_blocks", "src_groups"]

_PLANS_KEPT = 128

_MakeMap: TypeAlias = Callable[[tuple[int, ...], int, int, tuple[int, ...]], BlockMap]


class Side(NamedTuple):
    """One of the two lists: where entries effectively start, the stride of the repeats in blocks, and the halves."""

    owners: tuple[int, ...]
    starts: tuple[int, ...]
    stride: int
    halves: tuple[int, ...]


class Plan(NamedTuple):
    """What one instruction reads and writes, and that it may."""

    repeats: int
    dst: Side
    src: Side


class Group(NamedTuple):
    """The entries of one side that lie in one memory, and the half blocks that they touch there."""

    entries: tuple[int, ...]
    owner: int
    low: int  # bytes from the owner's start to the window that the map counts in
    length: int  # half blocks in the window
    map: BlockMap


@functools.lru_cache(maxsize=_PLANS_KEPT)
def make_plan(
    places: Places,
    repeats: int,
    strides: tuple[int, int],
    halves: tuple[tuple[int, ...], tuple[int, ...]],
) -> Plan:
    """Return the plan, or raise ValueError for addresses that the instruction must not be given.

    `places` has the destinations first, then as many sources; `strides` and `halves` are (dst, src).
    """
    entries = len(places.starts) // 2
    require_apart(places)
    dst = _make_side("dst_list", Places(*(field[:entries] for field in places)), repeats, strides[0], halves[0])
    src = _make_side("src_list", Places(*(field[entries:] for field in places)), repeats, strides[1], halves[1])
    _require_overlap_rule(dst, src, repeats)
    return Plan(repeats, dst, src)


def _make_side(name: str, places: Places, repeats: int, stride: int, halves: tuple[int, ...]) -> Side:
    # The documents: with one repeat the effective start is the given address plus one stride.
    lead, stride = (stride, 0) if repeats == 1 else (0, stride)
    end = BLOCK * (lead + stride * (repeats - 1) + 1)
    for entry, (_, start, stop) in enumerate(zip(*places, strict=True)):
        if start % BLOCK:
            raise ValueError(
                f"`{name}[{entry}]` must start at a multiple of {BLOCK} bytes, got byte {start} "
                "(counted from the start of the array that owns the memory, or of `ub`)"
            )
        if start < 0 or start + end > stop:
            raise ValueError(
                f"`{name}[{entry}]` must hold a block in every repeat: from byte {start}, the last one is bytes "
                f"[{start + end - BLOCK}, {start + end}), and the view or `ub` ends at byte {stop}"
            )
    return Side(places.owners, tuple(start + BLOCK * lead for start in places.starts), stride, halves)


@functools.lru_cache(maxsize=_PLANS_KEPT)
def number_blocks(dst: Side, src: Side) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return numbers of the first repeat's blocks, from the lowest of each memory on.

    The sources have none where the two sides share no memory.
    """
    starts = list(zip(dst.owners, dst.starts, strict=True))
    if not set(dst.owners).isdisjoint(src.owners):
        starts += zip(src.owners, src.starts, strict=True)
    origin: dict[int, int] = {}
    for owner, start in starts:
        origin[owner] = min(start, origin.get(owner, start))
    # Blocks of different memories get numbers too far apart to meet.
    offset = {owner: rank << 40 for rank, owner in enumerate(origin)}
    numbers = tuple((start - origin[owner]) // BLOCK + offset[owner] for owner, start in starts)
    return numbers[: len(dst.starts)], numbers[len(dst.starts) :]


def _require_overlap_rule(dst: Side, src: Side, repeats: int) -> None:
    fault = overlap_fault(*number_blocks(dst, src), repeats, dst.stride, src.stride)
    if fault is not None:
        raise ValueError(f"`dst_list` and `src_list` overlap against the rule of the Unified Buffer: {fault}")


@functools.lru_cache(maxsize=_PLANS_KEPT)
def dst_groups(plan: Plan) -> tuple[Group, ...]:
    """Return the destinations, memory by memory."""
    return _make_groups(plan.dst, plan.repeats, scatter_map)


@functools.lru_cache(maxsize=_PLANS_KEPT)
def src_groups(plan: Plan) -> tuple[Group, ...]:
    """Return the sources, memory by memory."""
    return _make_groups(plan.src, plan.repeats, gather_map)


def _make_groups(side: Side, repeats: int, make_map: _MakeMap) -> tuple[Group, ...]:
    groups = []
    for owner in dict.fromkeys(side.owners):
        entries = tuple(entry for entry, other in enumerate(side.owners) if other == owner)
        starts = [side.starts[entry] for entry in entries]
        low = min(starts)
        blocks = tuple((start - low) // BLOCK for start in starts)
        length = (max(starts) - low + BLOCK * (side.stride * (repeats - 1) + 1)) // HALF
        groups.append(Group(entries, owner, low, length, make_map(blocks, repeats, side.stride, side.halves)))
    return tuple(groups)

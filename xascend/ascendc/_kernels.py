"""Instructions on a GPU: where their blocks lie in its memory, and one launch that moves them."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat

from xascend import _cuda, _torch
from xascend.ascendc._blocks import first_kept, must_keep_order
from xascend.ascendc._memory import BLOCK, HALF
from xascend.ascendc._operands import Operands
from xascend.ascendc._plan import Plan, Side, number_blocks

__all__ = ["broadcast_on_device", "transpose_on_device"]


def transpose_on_device(plan: Plan, operands: Operands, itemsize: int) -> None:
    """Carry out a TransDataTo5HD."""
    dst_blocks, src_blocks = number_blocks(plan.dst, plan.src)
    launch = _cuda.make_transposition(
        (_addresses(plan.dst, operands.dst_anchors), _addresses(plan.src, operands.src_anchors)),
        (BLOCK * plan.dst.stride, BLOCK * plan.src.stride),
        plan.repeats,
        first_kept(dst_blocks, plan.repeats, plan.dst.stride),
        itemsize,
        in_order=must_keep_order(dst_blocks, src_blocks, plan.repeats, plan.dst.stride, plan.src.stride),
    )
    _launch(launch, [array for _, array in operands.dst_anchors.values()])


def broadcast_on_device(dst: Any, src: Any, blocks: tuple[int, ...], repeats: int, stride: int) -> None:
    """Carry out a Brcb, whose first repeat fills `blocks` of `dst`."""
    launch = _cuda.make_broadcast(
        _cuda.address_of(dst),
        _cuda.address_of(src),
        (BLOCK * blocks[1], BLOCK * stride),
        repeats,
        first_kept(blocks, repeats, stride),
        src.itemsize,
    )
    _launch(launch, [dst])


def _addresses(side: Side, anchors: dict[int, tuple[int, Any]]) -> list[int]:
    """Return where the entries' first moved half blocks lie."""
    begins = {owner: _cuda.address_of(array) - start for owner, (start, array) in anchors.items()}
    skip = HALF * side.halves[0]
    return [begins[owner] + start + skip for owner, start in zip(side.owners, side.starts, strict=True)]


def _launch(launch: _cuda.Launch, written: list[Any]) -> None:
    _cuda.run_instruction(launch, written[0])
    for array in written:
        if compat.is_torch_array(array):
            _torch.count_change(array)

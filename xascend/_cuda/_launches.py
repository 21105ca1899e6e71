"""The launches of a plan: which kernel takes each copy, and how copies share a launch."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._cuda._jobs import MAX_DIMS, MAX_JOBS, PADDING, SECTOR, Job, Kernel, pack_table
from xascend._cuda._moves import Move, make_phases
from xascend._cuda._runs import make_run_job, run_word
from xascend._cuda._tiles import make_tile_job
from xascend._plan import Plan
from xascend._sides import Vector

__all__ = ["MAX_BLOCKS", "THREADS", "Launch", "Memory", "make_launches", "make_padding", "reason_not_direct"]

THREADS = 256
MAX_BLOCKS = 1 << 16  # blocks then take several tiles each
_TILE_STATE = 96  # bytes of shared memory that describe a tile: `tile_at` of ``jobs.cuh``
_LONG_RUN = 512  # bytes from which on a run is copied directly, whatever its alignment to sectors


@dataclass(frozen=True, slots=True)
class Memory:
    """How an array lies in memory: strides in bytes, and the power of two, at most 32, that divides its address."""

    shape: Vector
    strides: Vector
    itemsize: int
    alignment: int

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements follow each other in C order."""
        step = self.itemsize
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """One launch; `table` goes to the kernel by value, as its last parameter."""

    kernel: Kernel
    blocks: int
    shared: int
    table: npt.NDArray[Any]


def make_padding(element: npt.NDArray[Any], /) -> npt.NDArray[Any]:
    """Return an element of padding as the kernels take it: repeated to 16 bytes."""
    raw = element.tobytes()
    return np.frombuffer(raw * (PADDING.itemsize // len(raw)), PADDING)


@functools.lru_cache(maxsize=256)
def make_launches(plan: Plan, src: Memory, dst: Memory, /) -> tuple[Launch, ...]:
    """Return the launches that carry out `plan`, in this order; none where nothing is to be written."""
    if 0 in plan.dst_shape:
        return ()
    begin, end = _span(src)
    launches = []
    for phase in _moves(plan, src, dst):
        by_kernel: dict[Kernel, list[Job]] = {}
        for move, element in phase:
            for piece in move.split(MAX_DIMS - 1):
                job = _make_job(piece, element, src.alignment, dst.alignment)
                by_kernel.setdefault(job.kernel, []).append(job)
        for kernel, jobs in by_kernel.items():
            for first in range(0, len(jobs), MAX_JOBS):
                some = jobs[first : first + MAX_JOBS]
                shared = _TILE_STATE + max(job.shared for job in some)
                blocks = min(sum(job.tiles for job in some), MAX_BLOCKS)
                launches.append(Launch(kernel, blocks, shared, pack_table(some, begin, end)))
    return tuple(launches)


@functools.lru_cache(maxsize=256)
def reason_not_direct(plan: Plan, src: Memory, dst: Memory, /) -> str | None:
    """Return why a contiguous copy should come between, or None.

    Copies along too many axes are split. Strides of arrays may leave so many axes that there were thousands of pieces;
    the formats alone leave one or two too many, and the shortest of so many are short.
    """
    if src.is_contiguous and dst.is_contiguous:
        return None
    most = max((len(move.axes) for phase in _moves(plan, src, dst) for move, _ in phase), default=0)
    if most >= MAX_DIMS:
        return f"the strides of `x` leave {most} separate axes, the kernels take {MAX_DIMS - 1}"
    return None


def _moves(plan: Plan, src: Memory, dst: Memory) -> Iterator[list[tuple[Move, int]]]:
    """Yield the copies of each phase, with the size of their elements: what divides every address, at most an item."""
    for phase in make_phases(plan, src.strides, dst.strides):
        sized = []
        for move in phase:
            strides = (stride for axis in move.axes for stride in (axis.src, axis.dst))
            element = math.gcd(src.itemsize, src.alignment, dst.alignment, move.src, move.dst, *strides)
            sized.append((move.of_words(element, src.itemsize), element))
        yield sized


def _make_job(move: Move, element: int, src_align: int, dst_align: int) -> Job:
    nbytes, word = run_word(move, element, src_align, dst_align)
    if _is_run(move, nbytes, word, element, src_align, dst_align):
        return make_run_job(move, element, word)
    return make_tile_job(move, element, src_align, dst_align)


def _is_run(move: Move, nbytes: int, word: int, element: int, src_align: int, dst_align: int) -> bool:
    """Say whether a copy is as good without shared memory."""
    read = [axis for axis in move.axes if axis.valid]
    if len(read) < len(move.axes) or not read:
        return True  # nothing is read
    if nbytes > element or move.axes[-1].dst == move.axes[-1].src:
        offsets = (src_align, dst_align, move.src, move.dst, nbytes)
        strides = (s for axis in move.axes[:-1] for s in (axis.src, axis.dst))
        in_sectors = math.gcd(SECTOR, *offsets, *strides) == SECTOR
        return word == 16 and (in_sectors or nbytes >= _LONG_RUN)
    # elements apart: those that follow each other in the destination are also nearest to each other in the source
    return abs(move.axes[-1].src) == min(abs(axis.src) for axis in move.axes)


def _span(memory: Memory) -> tuple[int, int]:
    """Return the first byte of an array and the one after its last, from its first element."""
    reaches = [(size - 1) * stride for size, stride in zip(memory.shape, memory.strides, strict=True)]
    return sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0) + memory.itemsize

"""Jobs for the runs kernel: words that stay together on both sides."""

from __future__ import annotations

import math

from xascend._cuda._jobs import SECTOR, Dim, Job, Kernel, Walk
from xascend._cuda._moves import Axis, Move

__all__ = ["make_run_job", "run_word"]

_SLOTS = 1024  # words of a tile: four for each thread
_LINE = 128  # bytes of neighbouring runs of the source that one tile takes


def run_word(move: Move, element: int, src_align: int, dst_align: int, /) -> tuple[int, int]:
    """Return the bytes of a run and of the widest words that it can be moved in."""
    run, others = _split(move, element)
    nbytes = run.count * element
    strides = (stride for axis in others for stride in (axis.src, axis.dst))
    word = math.gcd(16, nbytes, run.valid * element, src_align, dst_align, move.src, move.dst, *strides)
    return nbytes, word


def make_run_job(move: Move, element: int, word: int, /) -> Job:
    """Return the job that carries out `move` in words of `word` bytes; a run is at least one element."""
    run, others = _split(move, element)
    words = run.count * element // word
    extents = [min(words, _SLOTS)]
    budget = _SLOTS // extents[0]
    near = _neighbour(others, run.count * element)
    for axis in others:
        wanted = budget
        if near is not None and axis is not near:
            wanted = max(1, budget // min(near.count, max(1, _LINE // (run.count * element))))
        extent = min(axis.count, wanted)
        extent = -(-axis.count // -(-axis.count // extent))  # tiles of equal size
        extents.append(extent)
        budget = max(1, budget // extent)
    dims = [Dim(word, word, words, run.valid * element // word, extents[0])]
    dims += [Dim(a.src, a.dst, a.count, a.valid, extent) for a, extent in zip(others, extents[1:], strict=True)]
    order = tuple(d for d in range(1, len(dims)) if dims[d].extent > 1)
    rows = math.prod(dims[d].extent for d in order)
    walk = Walk(extents[0], rows, extents[0], order)
    return Job(Kernel("runs.cu", "runs", word), move.src, move.dst, tuple(dims), walk, walk)


def _split(move: Move, element: int) -> tuple[Axis, list[Axis]]:
    """Return the run of elements that lie together on both sides, and the other axes, innermost first."""
    inner = list(reversed(move.axes))
    is_run = inner and inner[0].dst == element and (inner[0].src == element or not inner[0].valid)
    run = inner.pop(0) if is_run else Axis(1, 1, element, element)
    return run, inner


def _neighbour(axes: list[Axis], nbytes: int) -> Axis | None:
    """Return the axis along which runs follow each other in the source, unless it does so in the destination too."""
    return next((axis for axis in axes[1:] if axis.src == nbytes < SECTOR * 4), None)

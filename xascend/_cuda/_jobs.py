"""What the kernels read: jobs, as `kernels_cuda/jobs.cuh` declares them, and their packing into tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "DIVISOR",
    "MAX_DIMS",
    "MAX_JOBS",
    "MAX_TILES",
    "PADDING",
    "SECTOR",
    "TABLE",
    "Dim",
    "Job",
    "Kernel",
    "Swizzle",
    "Walk",
    "make_divisor",
    "pack_table",
]

MAX_DIMS = 8
MAX_JOBS = 6
SECTOR = 32  # bytes that global memory moves at least
MAX_TILES = 2**31  # what a `Divisor` divides

DIVISOR = np.dtype([("divisor", "u4"), ("multiplier", "u4"), ("shift", "u4")])
_WALK = np.dtype(
    [
        ("near", DIVISOR),
        ("rows", DIVISOR),
        ("total", "u4"),
        ("inner", "i4"),
        ("outer", "i4"),
        ("unit", "u4"),
        ("dims", "i4"),
        ("order", "u1", MAX_DIMS),
    ]
)
_DIM = np.dtype(
    [
        ("src", "i8"),
        ("dst", "i8"),
        ("count", "i8"),
        ("valid", "i8"),
        ("tiles", DIVISOR),
        ("extent", DIVISOR),
        ("shared", "i4"),
        ("unused", "i4"),
    ]
)
_JOB = np.dtype(
    [
        ("src", "i8"),
        ("dst", "i8"),
        ("first_tile", "u4"),
        ("dims", "i4"),
        ("swizzle", "i2", 2),
        ("in_words", "i4"),
        ("load", _WALK),
        ("store", _WALK),
        ("dim", _DIM, MAX_DIMS),
    ]
)
TABLE = np.dtype(
    [("src_begin", "i8"), ("src_end", "i8"), ("tiles", "u4"), ("jobs", "i4"), ("job", _JOB, MAX_JOBS)],
)
PADDING = np.dtype([("of", "u4", 4)])


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry of a source file, compiled for words of `word` bytes and with macros of its own."""

    file: str
    entry: str
    word: int
    macros: tuple[tuple[str, str], ...] = ()

    @property
    def definitions(self) -> tuple[str, ...]:
        """What a compiler is told of it."""
        return (f"-DXASCEND_WORD={self.word}", *(f"-DXASCEND_{name}={value}" for name, value in self.macros))


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension; strides in bytes, `extent` indices in a tile."""

    src: int
    dst: int
    count: int
    valid: int
    extent: int
    shared: int = 0

    @property
    def tiles(self) -> int:
        """Number of tiles along it."""
        return -(-self.count // self.extent)


@dataclass(frozen=True, slots=True)
class Walk:
    """How threads walk over a tile: `rows` rows of `slots` words, `near` of them before the next row's.

    Dimensions are given by number: a row runs along `inner` and `outer`, the rows are counted along `order`.
    """

    slots: int
    rows: int
    near: int
    order: tuple[int, ...]
    inner: int = 0
    outer: int = 0
    unit: int = 1

    @property
    def total(self) -> int:
        """Number of words, in whole pieces of `near`."""
        return -(-self.slots // self.near) * self.near * self.rows


class Swizzle(NamedTuple):
    """How places in shared memory are exchanged: see `swizzled` in ``jobs.cuh``."""

    shift: int = 0
    mask: int = 0


_PLAIN = Swizzle()


@dataclass(frozen=True, slots=True)
class Job:
    """One strided copy for one kernel; `shared` bytes of shared memory hold the elements of a tile."""

    kernel: Kernel
    src: int
    dst: int
    dims: tuple[Dim, ...]
    load: Walk
    store: Walk
    shared: int = 0
    swizzle: Swizzle = _PLAIN
    in_words: bool = True

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return math.prod(dim.tiles for dim in self.dims)


def pack_table(jobs: Sequence[Job], src_begin: int, src_end: int, /) -> npt.NDArray[Any]:
    """Return the table of one launch, an array of one record."""
    tiles = sum(job.tiles for job in jobs)
    if tiles >= MAX_TILES:
        raise ValueError(f"a launch must have fewer than {MAX_TILES} tiles, got {tiles}")
    table = np.zeros(1, TABLE)
    record = table[0]
    record["src_begin"], record["src_end"] = src_begin, src_end
    record["tiles"], record["jobs"] = tiles, len(jobs)
    first = 0
    for packed, job in zip(record["job"], jobs, strict=False):
        packed["src"], packed["dst"] = job.src, job.dst
        packed["first_tile"], packed["dims"] = first, len(job.dims)
        packed["swizzle"], packed["in_words"] = job.swizzle, job.in_words
        packed["load"], packed["store"] = _pack_walk(job.load), _pack_walk(job.store)
        for slot, dim in enumerate(job.dims):
            packed["dim"][slot] = (
                dim.src,
                dim.dst,
                dim.count,
                dim.valid,
                make_divisor(dim.tiles),
                make_divisor(dim.extent),
                dim.shared,
                0,
            )
        first += job.tiles
    return table


def _pack_walk(walk: Walk) -> tuple[Any, ...]:
    order = walk.order + (0,) * (MAX_DIMS - len(walk.order))
    return (
        make_divisor(walk.near),
        make_divisor(walk.rows),
        walk.total,
        walk.inner,
        walk.outer,
        walk.unit,
        len(walk.order),
        order,
    )


def make_divisor(value: int) -> tuple[int, int, int]:
    """Return what divides any number below 2^31 by `value`: see `quotient` in ``words.cuh``."""
    if value == 1:
        return 1, 0, 0
    log = (value - 1).bit_length()
    return value, -(-(1 << (31 + log)) // value), log - 1

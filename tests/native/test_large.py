"""Tensors of more than 2**32 bytes there and back: no offset of the library fits in 32 bits."""

from __future__ import annotations

import math
import os

import numpy as np
import oracle
import pytest
from native.moves import plan_of

from xascend import _native

GIB = 1 << 30
PAD = np.uint8(3)


def write_values(part: np.ndarray, start: int) -> None:
    """Let the elements of a part of the first axis tell, as well as a byte can, where they are."""
    sums = np.zeros((), np.uint8)
    for axis, size in enumerate(part.shape):
        index = np.arange(size) + (0 if axis else start)
        term = ((2 * axis + 3) * index + (5 - axis) * (index >> 8)).astype(np.uint8)
        sums = np.add(sums[..., None], term, out=part if axis == part.ndim - 1 else None)


def array_in(memory: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    part = memory[: math.prod(shape)]
    part.fill(0xA5)
    return part.reshape(shape)


def convert(x: np.ndarray, src: str, dst: str, shape: tuple[int, ...] | None, memory: np.ndarray) -> np.ndarray:
    plan = plan_of(x, src, dst, shape)
    out = array_in(memory, plan.dst_shape)
    _native.run(plan, x, out, np.asarray(PAD))
    return out


@pytest.fixture(scope="module")
def memories() -> tuple[np.ndarray, np.ndarray]:
    """Return two buffers for all conversions; fresh memory would take most of the time."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free < 10 * GIB:
        pytest.skip(f"needs 10 GiB of free memory, {free / GIB:.1f} GiB are free")
    return np.empty(4200 << 20, np.uint8), np.empty(4200 << 20, np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("src", "dst", "shape"),
    [("ND", "FRACTAL_NZ", (65537, 65551)), ("NCHW", "NC1HWC0", (62, 63, 1049, 1049))],
    ids=["runs", "tiles"],
)
def test_there_and_back(src: str, dst: str, shape: tuple[int, ...], memories: tuple[np.ndarray, np.ndarray]) -> None:
    assert math.prod(shape) > 2**32
    step = max(1, shape[0] * (64 << 20) // math.prod(shape))
    x = array_in(memories[0], shape)
    for start in range(0, shape[0], step):
        write_values(x[start : start + step], start)
    stored = convert(x, src, dst, None, memories[1])

    assert stored[(-1,) * stored.ndim] == PAD
    rng = np.random.default_rng(0)
    first, last = (0,) * len(shape), tuple(size - 1 for size in shape)
    for index in [first, last, *zip(*(rng.integers(size, size=1000) for size in shape), strict=True)]:
        assert stored[oracle.place(tuple(map(int, index)), shape, dst, c0=32)] == x[index]
    back = convert(stored, dst, src, shape, memories[0])
    expected = np.empty((step, *shape[1:]), np.uint8)
    for start in range(0, shape[0], step):
        part = back[start : start + step]
        write_values(expected[: len(part)], start)
        assert np.array_equal(part, expected[: len(part)])

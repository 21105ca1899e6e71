"""What Python hands to the kernels: copies, padding, tables, divisors and their limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pairs
import pytest

from xascend._cuda import _jobs, _launches, _moves
from xascend._plan import make_plan
from xascend.formats import as_format


def memory(shape: tuple[int, ...], itemsize: int = 2, alignment: int = 32) -> _launches.Memory:
    return _launches.Memory(shape, np.empty(shape, f"V{itemsize}").strides, itemsize, alignment)


def plan_of(src: str, dst: str, src_shape: tuple[int, ...], shape=None, c0=None, groups=1):
    return make_plan(as_format("src", src), as_format("dst", dst), src_shape, shape, 16, c0, groups)


def launches_of(plan, itemsize: int = 2):
    return _launches.make_launches(plan, memory(plan.src_shape, itemsize), memory(plan.dst_shape, itemsize))


@pytest.mark.parametrize("divisor", [1, 2, 3, 5, 7, 9, 10, 16, 255, 641, 3136, 65537, 2**30 - 1, 2**30, 2**31 - 1])
def test_divisors_divide_every_31_bit_number(divisor: int) -> None:
    _, multiplier, shift = _jobs.make_divisor(divisor)
    numbers = {0, 1, divisor - 1, divisor, divisor + 1, 2**31 - 1, 2**31 - 2, (2**31 - 1) // divisor * divisor}
    numbers |= {(2**31 - 1) // divisor * divisor - 1, *range(0, 2**31, 99_999_989)}
    for n in numbers:
        if 0 <= n < 2**31:
            quotient = n if divisor == 1 else (n * multiplier >> 32) >> shift
            assert quotient == n // divisor, n
    assert multiplier < 2**32


def test_arguments_fit_into_the_parameters_of_a_kernel() -> None:
    assert _jobs.TABLE.itemsize + _jobs.PADDING.itemsize + 2 * 8 <= 4096


@pytest.mark.parametrize(("src", "dst"), [*pairs.PLAIN_TO_BLOCKED, *pairs.BLOCKED_TO_PLAIN, *pairs.BLOCKED_TO_BLOCKED])
def test_every_element_of_the_destination_is_written_once(src: str, dst: str) -> None:
    plain = src in ("ND", *pairs.oracle.PLAIN_4D, *pairs.oracle.PLAIN_5D)
    axes = src if plain else dst if dst in pairs.oracle.PLAIN else pairs.logical_axes(src, dst)
    for shape in pairs.shapes(axes, src, dst):
        stored = (
            shape if plain else make_plan(as_format("a", axes), as_format("b", src), shape, None, 16, None, 1).dst_shape
        )
        plan = plan_of(src, dst, stored, None if plain else shape)
        strides = [np.empty(s, np.uint8).strides for s in (plan.src_shape, plan.dst_shape)]
        phases = _moves.make_phases(plan, *strides)
        written = sum(math.prod(axis.count for axis in move.axes) for move in phases[-1])
        if plan.padding is None:
            assert len(phases) == 2
            written = math.prod(axis.count for axis in phases[0][0].axes)
        if len(phases[-1]) == len(plan.boxes):
            assert written == math.prod(plan.dst_shape)
        else:  # regions of padding meet in corners
            assert written >= math.prod(plan.dst_shape)
            assert axes not in (src, dst)
        assert max((len(m.axes) for p in phases for m in p), default=0) < _jobs.MAX_DIMS


def test_padding_and_tails_share_launches() -> None:
    """4095 x 4083 has a tail on both axes, and all of its padding, in one launch."""
    (launch,) = launches_of(plan_of("ND", "FRACTAL_NZ", (4095, 4083)))
    assert launch.table["jobs"][0] == 4
    (launch,) = launches_of(plan_of("NCHW", "NC1HWC0", (8, 100, 35, 35)))
    assert launch.table["jobs"][0] == 2


def test_more_jobs_than_a_table_holds_take_several_launches() -> None:
    plan = plan_of("NCHW", "FRACTAL_Z", (33, 1, 2, 3), groups=33)
    launches = launches_of(plan)
    assert len(plan.boxes) > _jobs.MAX_JOBS
    assert all(1 <= launch.table["jobs"][0] <= _jobs.MAX_JOBS for launch in launches)
    assert sum(launch.table["jobs"][0] for launch in launches) == len(plan.boxes) + 1


@pytest.mark.parametrize("shape", [(1 << 20, 1 << 17), (3, (1 << 31) + 5), ((1 << 31) + 5, 3), (1, 1 << 38)])
def test_sizes_beyond_32_bits(shape: tuple[int, int]) -> None:
    for src, dst, given in (("ND", "FRACTAL_NZ", None), ("ND", "FRACTAL_ZZ", None)):
        plan = plan_of(src, dst, shape, given)
        launches = _launches.make_launches(plan, _contiguous(plan.src_shape), _contiguous(plan.dst_shape))
        assert all(launch.blocks < 2**31 for launch in launches)
        assert all(int(launch.table["tiles"][0]) < 2**31 for launch in launches)


def _contiguous(shape: tuple[int, ...], itemsize: int = 2) -> _launches.Memory:
    strides = [itemsize]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return _launches.Memory(shape, tuple(strides), itemsize, 32)


def test_shared_memory_of_a_launch_is_what_every_device_has() -> None:
    for dtype in (1, 2, 4, 8, 16):
        for shape in ((2, 100, 35, 35), (2, 3, 224, 224), (64, 64, 3, 3), (5, 7, 1, 1)):
            for dst in ("NC1HWC0", "FRACTAL_Z", "NHWC"):
                for alignment in (1, 2, 32):
                    plan = plan_of("NCHW", dst, shape)
                    src, out = (memory(s, dtype, alignment) for s in (plan.src_shape, plan.dst_shape))
                    assert all(x.shared <= 48 << 10 for x in _launches.make_launches(plan, src, out))


def test_axes_that_are_too_many_are_told() -> None:
    """Ten batch axes of which no two can be merged."""
    shape = (2,) * 10
    plan = plan_of("ND", "FRACTAL_NZ", shape)
    strides = tuple(2 * 3**power for power in range(11, 1, -1))
    apart = _launches.Memory(shape, strides, 2, 2)
    reason = _launches.reason_not_direct(plan, apart, memory(plan.dst_shape))
    assert reason == "the strides of `x` leave 10 separate axes, the kernels take 7"
    assert _launches.reason_not_direct(plan, memory(shape), memory(plan.dst_shape)) is None


@pytest.mark.parametrize("most", [2, 3, 4, 5])
def test_copies_are_split_by_their_shortest_axes(most: int) -> None:
    """The same elements from the same places, whether the source has all indices of the shortest axis or not."""
    for valid in (3, 2, 0):
        axes = [(4, 4, 3, 600), (3, valid, 500 if valid else 0, 200), (5, 3, 90, 20), (2, 2, 13, 10), (6, 6, 1, 1)]
        move = _moves.Move(7, 11, tuple(_moves.Axis(*axis) for axis in axes))
        pieces = list(move.split(most))
        assert max(len(piece.axes) for piece in pieces) <= most
        moved = sorted(place for piece in pieces for place in _places(piece))
        assert moved == sorted(_places(move))


def _places(move: _moves.Move) -> list[tuple[int, int | None]]:
    """Return the place of every element in the destination and in the source, None for padding."""
    places: list[tuple[int, int | None]] = []
    for at in itertools.product(*(range(axis.count) for axis in move.axes)):
        steps = list(zip(at, move.axes, strict=True))
        src = move.src + sum(index * axis.src for index, axis in steps)
        is_read = all(index < axis.valid for index, axis in steps)
        places.append((move.dst + sum(index * axis.dst for index, axis in steps), src if is_read else None))
    return places


def test_what_lies_without_gaps_is_never_copied_first() -> None:
    """Sizes of 1 may have any stride."""
    assert memory((3, 4, 5)).is_contiguous
    assert _launches.Memory((3, 1, 5), (10, 77, 2), 2, 2).is_contiguous
    assert not _launches.Memory((3, 2, 5), (20, 77, 2), 2, 2).is_contiguous
    assert not _launches.Memory((3, 5), (10, 4), 2, 2).is_contiguous


def test_a_launch_of_too_many_tiles_is_refused() -> None:
    dims = (_jobs.Dim(1, 1, 2**31, 2**31, 1),)
    walk = _jobs.Walk(1, 1, 1, ())
    job = _jobs.Job(_jobs.Kernel("runs.cu", "runs", 1), 0, 0, dims, walk, walk)
    with pytest.raises(ValueError, match="fewer than 2147483648 tiles, got 2147483648"):
        _jobs.pack_table([job], 0, 1)

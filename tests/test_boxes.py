"""Boxes as strided copies: few of them, and together they move every element once."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pairs
import pytest

from xascend import _boxes
from xascend._boxes import Copy, strided_copies
from xascend._plan import make_plan
from xascend.formats import as_format


def moves(copies: list[Copy]) -> Iterator[tuple[int, int]]:
    """Yield source and destination of every element."""
    for src, dst, dims in copies:
        for index in itertools.product(*(range(count) for count, _, _ in dims)):
            yield (
                src + sum(i * step for i, (_, step, _) in zip(index, dims, strict=True)),
                dst + sum(i * step for i, (_, _, step) in zip(index, dims, strict=True)),
            )


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return np.empty(shape, np.int8).strides


def copies_of(src: str, dst: str, src_shape: tuple, shape: tuple | None = None, c0: int | None = 4) -> list[Copy]:
    plan = make_plan(as_format("src", src), as_format("dst", dst), src_shape, shape, 8, c0, 1)
    return strided_copies(plan.boxes, strides(plan.src_shape), strides(plan.dst_shape))


@pytest.mark.parametrize(
    ("src", "dst", "shape", "count"),
    [
        ("ND", "FRACTAL_NZ", (63, 13), 2),  # whole blocks of columns and the rest, rows all at once
        ("ND", "FRACTAL_NZ", (17, 12), 1),  # one row follows a block
        ("ND", "FRACTAL_NZ", (2, 35, 9), 2),
        ("ND", "FRACTAL_ZZ", (7, 9), 4),  # blocks of rows lie apart
        ("NCHW", "NC1HWC0", (2, 9, 3, 2), 2),
        ("NCHW", "FRACTAL_Z", (33, 5, 2, 3), 2),
    ],
)
def test_rows_that_follow_each_other_are_one_copy(src: str, dst: str, shape: tuple, count: int) -> None:
    assert len(copies_of(src, dst, shape)) == count


def test_rows_of_a_destination_that_lie_apart_are_not() -> None:
    plan = make_plan(as_format("src", "ND"), as_format("dst", "NZ"), (17, 4), None, 8, 4, 1)
    assert len(strided_copies(plan.boxes, (4, 1), (128, 64, 4, 1))) == 1
    assert len(strided_copies(plan.boxes, (4, 1), (200, 100, 4, 1))) == 2


@pytest.mark.parametrize(("src", "dst"), pairs.PLAIN_TO_BLOCKED)
def test_every_element_is_moved_once(src: str, dst: str) -> None:
    for shape in pairs.shapes(src, dst):
        plan = make_plan(as_format("src", src), as_format("dst", dst), shape, None, 8, None, 1)
        src_strides, dst_strides = strides(plan.src_shape), strides(plan.dst_shape)
        apart = [box.strided(src_strides, dst_strides) for box in plan.boxes]
        together = strided_copies(plan.boxes, src_strides, dst_strides)
        assert len(together) <= len(apart)
        assert Counter(moves(together)) == Counter(moves(apart))


def test_boxes_are_not_tried_against_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []
    joined = _boxes._joined
    monkeypatch.setattr(_boxes, "_joined", lambda *pair: tries.append(pair) or joined(*pair))
    copies_of("FRACTAL_ZZ", "FRACTAL_ZZ", (17, 17, 31, 31), (500, 500), 32)
    plan = make_plan(as_format("src", "ZZ"), as_format("dst", "ZZ"), (17, 17, 31, 31), (500, 500), 8, 32, 1)
    assert len(tries) < 2 * len(plan.boxes)

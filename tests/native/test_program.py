"""Which boxes of a plan the native library puts together before it writes."""

from __future__ import annotations

import numpy as np
import pytest
from native.moves import plan_of

from xascend._native_program import make_program


def groups(src: str, dst: str, shape: tuple[int, ...], step: int = 1) -> list[tuple[int, int]]:
    """Return for each group how many boxes it has, and how many of their dimensions are shared."""
    x = np.zeros(shape, np.float16)
    plan = plan_of(x, src, dst, None)
    strides = np.empty(plan.dst_shape, np.float16).strides
    words = list(make_program(plan, 2, x.strides, tuple(step * stride for stride in strides)).words)
    assert words[:2] == [2, 1]
    found, at = [], 3
    for _ in range(words[2]):
        boxes, shared = words[at : at + 2]
        found.append((boxes, shared))
        at += 2
        for _ in range(boxes):
            at += 4 + 3 * words[at + 3]
    assert at == len(words)
    return found


@pytest.mark.parametrize(
    ("src", "dst", "shape", "expected"),
    [
        ("NCHW", "NC1HWC0", (2, 32, 5, 7), [(1, 3)]),
        ("NCHW", "NC1HWC0", (2, 3, 5, 7), [(2, 2)]),  # channels and their padding, for each image and pixel
        ("NCHW", "NC1HWC0", (1, 3, 5, 7), [(2, 1)]),
        ("NCHW", "NC1HWC0", (2, 1, 5, 7), [(2, 1)]),  # pixels of all images follow each other on both sides
        ("NCHW", "NC1HWC0_C04", (2, 3, 5, 7), [(2, 2)]),
        ("NHWC", "NC1HWC0", (2, 5, 7, 35), [(1, 4), (2, 2)]),  # whole data blocks go elsewhere than the last one
        ("NC1HWC0", "NHWC", (2, 3, 5, 7, 16), [(1, 4)]),
        ("ND", "FRACTAL_NZ", (16, 35), [(1, 3), (2, 1)]),
        ("ND", "FRACTAL_NZ", (15, 16), [(1, 1), (1, 1)]),  # rows of padding lie apart
    ],
)
def test_what_lies_side_by_side_is_one_group(
    src: str, dst: str, shape: tuple[int, ...], expected: list[tuple[int, int]]
) -> None:
    assert groups(src, dst, shape) == expected


@pytest.mark.parametrize("step", [2, -1])
def test_gaps_and_reversed_destinations_make_no_group(step: int) -> None:
    assert [boxes for boxes, _ in groups("NCHW", "NC1HWC0", (2, 3, 5, 7), step)] == [1, 1]

"""Which element of a tensor lies at a place of its storage, for many places at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xascend._boxes import Box
from xascend._dtypes import DType
from xascend._plan import Plan, as_shape, as_size, make_plan
from xascend.formats import DEFAULT_C0, Format, as_format

__all__ = ["Storage", "make_storage"]

Integers = npt.NDArray[np.int64]
FormatLike = Format | str | int
_PADDING = -1


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage of one tensor: `plan` leads from there to the tensor."""

    plan: Plan

    def elements(self, places: npt.NDArray[np.intp], /) -> npt.NDArray[np.intp]:
        """Return the element, counted in C order, at each place of the storage, counted likewise; -1 in padding."""
        found = np.full(places.shape, _PADDING, np.intp)
        index = np.stack(np.unravel_index(places, self.plan.src_shape))
        left = np.arange(len(places))
        for box in self.plan.boxes:
            inside, targets = _find(box, index[:, left])
            found[left[inside]] = np.ravel_multi_index(tuple(targets[:, inside]), self.plan.dst_shape)
            left = left[~inside]
        return found

    def index(self, element: int, /) -> tuple[int, ...] | None:
        """Return the index of an element in the tensor, None for padding."""
        return None if element < 0 else tuple(map(int, np.unravel_index(element, self.plan.dst_shape)))


def _find(box: Box, index: Integers) -> tuple[npt.NDArray[np.bool], Integers]:
    """Return which source indices a box holds, and where it takes them: `Box.find` for columns of indices."""
    rest = index - np.array(box.src)[:, np.newaxis]
    target = np.repeat(np.array(box.dst)[:, np.newaxis], index.shape[1], axis=1)
    for dim in sorted(box.dims, key=lambda dim: -max(dim.src)):
        axis = int(np.argmax(dim.src))
        steps = np.clip(rest[axis] // dim.src[axis], 0, dim.count - 1)
        rest -= np.multiply.outer(dim.src, steps)
        target += np.multiply.outer(dim.dst, steps)
    return ~rest.any(axis=0), target


def make_storage(
    arrays_shape: tuple[int, ...],
    dtype: DType,
    fmt: FormatLike,
    plain_format: FormatLike | None,
    shape: Sequence[int] | None,
    c0: int | None,
    groups: int,
) -> Storage:
    """Return the storage that arrays of a shape are; ValueError where they cannot be."""
    stored = as_format("format", fmt)
    plain = stored.plain if plain_format is None else as_format("plain_format", plain_format)
    if plain.is_blocked:
        raise ValueError(f"`plain_format` must be a plain format, got {plain.value}")
    groups = as_size("groups", groups)
    c0 = None if c0 is None else as_size("c0", c0)
    if shape is None:
        return Storage(make_plan(stored, plain, arrays_shape, None, dtype.bits, c0, groups, "actual"))
    sizes = as_shape("shape", shape)
    if stored.is_blocked:
        c0 = c0 or (arrays_shape[-1] if len(arrays_shape) > 1 else DEFAULT_C0[dtype.bits])
    there = make_plan(plain, stored, sizes, None, dtype.bits, c0, groups, "shape")
    if math.prod(there.dst_shape) != math.prod(arrays_shape):
        raise ValueError(
            f"`shape` {sizes} in {stored.value} takes {there.dst_shape}, {math.prod(there.dst_shape)} elements; "
            f"the arrays have the shape {arrays_shape}, {math.prod(arrays_shape)} elements"
        )
    back = sizes if stored.is_blocked else None
    return Storage(make_plan(stored, plain, there.dst_shape, back, dtype.bits, None, groups))

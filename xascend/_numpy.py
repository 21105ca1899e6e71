"""The NumPy executor: the plan's copies, written straight into the output."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._plan import Plan

__all__ = ["empty_output", "run"]

_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)} | {16: np.dtype("c16")}  # moved, never computed with


class _Memory:
    """Lends a strided view of another array's memory through the array interface; the view keeps the array alive."""

    def __init__(self, base: npt.NDArray[Any], interface: dict[str, Any]) -> None:
        self.base = base
        self.__array_interface__ = interface


def _view(
    base: npt.NDArray[Any], word: np.dtype[Any], offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> npt.NDArray[Any]:
    address, read_only = base.__array_interface__["data"]
    interface = {
        "version": 3,
        "typestr": word.str,
        "shape": shape,
        "strides": strides,
        "data": (address + offset, read_only),
    }
    return np.asarray(_Memory(base, interface))


def empty_output(plan: Plan, x: npt.NDArray[Any], /) -> npt.NDArray[Any]:
    """Return an uninitialised output array for `x`, of the same dtype and byte order."""
    return np.empty(plan.dst_shape, x.dtype)


def run(plan: Plan, x: npt.NDArray[Any], out: npt.NDArray[Any], pad_value: np.generic, /) -> None:
    """Carry out `plan` from `x` into `out`, which must not overlap; nothing else is allocated."""
    word = _WORDS[x.dtype.itemsize]
    fill = np.asarray(pad_value, x.dtype).view(word)
    if plan.padding is None:
        _view(out, word, 0, out.shape, out.strides)[...] = fill
    else:
        for box in plan.padding:
            offset, dims = box.placed(out.strides)
            _view(out, word, offset, *_shape_strides(dims))[...] = fill
    for box in plan.boxes:
        src_offset, dst_offset, strided = box.strided(x.strides, out.strides)
        unit = word
        if strided and strided[-1][1] == strided[-1][2] == word.itemsize and len(strided) > 1:
            unit = np.dtype((np.void, strided.pop()[0] * word.itemsize))
        shape = tuple(count for count, _, _ in strided)
        source = _view(x, unit, src_offset, shape, tuple(src for _, src, _ in strided))
        target = _view(out, unit, dst_offset, shape, tuple(dst for _, _, dst in strided))
        target[...] = source


def _shape_strides(dims: list[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(count for count, _ in dims), tuple(stride for _, stride in dims)

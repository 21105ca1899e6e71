"""The elementary steps of the arithmetic, in two forms that give the same bits.

`Steps` makes a new array each time, with array-API functions alone. `ScratchSteps` is for NumPy: a new array for each
step would pay for the pages of its memory again and again, so every step writes to one scratch buffer, whether its
argument is that buffer or the caller's array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xascend._dispatch import array_namespace
from xascend.quant._half import round_to_half

__all__ = ["ScratchSteps", "Steps", "steps_for"]


class Steps:
    """Steps on arrays of any library."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def cast(self, y: Any, dtype: Any, out: Any = None) -> Any:
        """Return `y` in another dtype; it may lie in `out`, an array of that shape and dtype."""
        return self.xp.astype(y, dtype)

    def clip(self, y: Any, low: float, high: float | None = None) -> Any:
        """Return `y` within limits; NaN stays."""
        return self.xp.clip(y, low, high)

    def round(self, y: Any) -> Any:
        """Return `y` rounded half to even."""
        return self.xp.round(y)

    def multiply(self, y: Any, factor: Any) -> Any:
        """Return the products."""
        return y * factor

    def add(self, y: Any, summand: Any) -> Any:
        """Return the sums."""
        return y + summand


class ScratchSteps(Steps):
    """Steps on NumPy arrays; a result holds until the next one of the same dtype."""

    def __init__(self, xp: Any) -> None:
        super().__init__(xp)
        self._buffers: dict[Any, Any] = {}

    def _room(self, size: int, dtype: Any, number: int = 0) -> Any:
        buffer = self._buffers.get((dtype, number))
        if buffer is None or buffer.size < size:
            buffer = self._buffers[dtype, number] = np.empty(size, dtype)
        return buffer[:size]

    def _same(self, y: Any) -> Any:
        return self._room(y.size, y.dtype).reshape(y.shape)

    def gather(self, runs: Any, dtype: Any) -> Any:
        """Return numbers of `dtype`, of which the items of a strided array are raw runs, as a 1-D array."""
        numbers = self._room(runs.nbytes // dtype.itemsize, dtype)
        numbers.view(runs.dtype).reshape(runs.shape)[...] = runs
        return numbers

    def cast(self, y: Any, dtype: Any, out: Any = None) -> Any:
        """Return `y` in another dtype; in `out` where it is given."""
        room = self._room(y.size, np.dtype(dtype)).reshape(y.shape) if out is None else out
        if y.dtype == np.float32 and y.dtype.isnative and room.dtype == np.float16:
            round_to_half(y, room, *(self._room(y.size, np.dtype(np.uint32), i).reshape(y.shape) for i in range(2)))
        else:
            np.copyto(room, y, casting="unsafe")
        return room

    def clip(self, y: Any, low: float, high: float | None = None) -> Any:
        """Return `y` within limits; NaN stays."""
        return y.clip(low, high, out=self._same(y))

    def round(self, y: Any) -> Any:
        """Return `y` rounded half to even."""
        return np.rint(y, out=self._same(y))

    def multiply(self, y: Any, factor: Any) -> Any:
        """Return the products."""
        return np.multiply(y, factor, out=self._same(y))

    def add(self, y: Any, summand: Any) -> Any:
        """Return the sums."""
        return np.add(y, summand, out=self._same(y))


def steps_for(x: Any) -> Steps:
    """Return the steps for arrays like `x`."""
    xp = array_namespace("x", x)
    return ScratchSteps(xp) if isinstance(x, np.ndarray) else Steps(xp)

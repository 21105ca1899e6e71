"""Counting differences slab by slab, so that memory stays bounded whatever the size of the arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend.testing._judge import Distances, Tolerance, measure
from xascend.testing._places import Storage
from xascend.testing._report import Difference

__all__ = ["Tally", "slabs"]

_SLAB = 1 << 16  # elements: what is computed on them takes a few MiB

NumpyArray = npt.NDArray[Any]


def slabs(a: NumpyArray, e: NumpyArray, /) -> Iterator[tuple[int, NumpyArray, NumpyArray]]:
    """Yield two arrays in C order as 1-D slabs in the byte order of this machine, with where each begins."""
    dtype = e.dtype.newbyteorder("=")
    carrier = np.dtype(f"u{dtype.itemsize}") if dtype.isbuiltin == 2 else dtype  # NumPy moves its own types only
    contiguous: Any = ("readonly", "contig")  # which NumPy's stubs misspell
    pairs = np.nditer(
        (a, e) if carrier is dtype else (a.view(carrier), e.view(carrier)),
        ("buffered", "external_loop", "zerosize_ok"),
        [contiguous, contiguous],
        [carrier, carrier],
        order="C",
        casting="equiv",
        buffersize=_SLAB,
    )
    start = 0
    for a_slab, e_slab in pairs:
        yield start, a_slab.view(dtype), e_slab.view(dtype)
        start += len(e_slab)


@dataclass(slots=True)
class Tally:
    """The counts of a report, while slabs come in."""

    tolerance: Tolerance
    storage: Storage | None
    shape: tuple[int, ...]
    max_shown: int
    counts: dict[str, int] = field(default_factory=dict)
    largest: dict[str, int | float] = field(default_factory=dict)
    first: list[Difference] = field(default_factory=list)

    def found(self) -> dict[str, Any]:
        """Return the fields of a report that are known by now."""
        return {**self.counts, **self.largest, "first": tuple(self.first)}

    def add(self, start: int, a: NumpyArray, e: NumpyArray, /) -> None:
        """Count a slab that begins `start` elements into the arrays."""
        a_parts, e_parts = _parts(a), _parts(e)
        bits = f"u{a_parts.dtype.itemsize}"
        at = np.flatnonzero((a_parts.view(bits) != e_parts.view(bits)).any(axis=1))
        if not at.size:
            return
        d = measure(a_parts[at], e_parts[at])
        passes = np.all(d.equal | self.tolerance.allows(d), axis=1)
        equal = np.all(d.equal, axis=1)
        self._count("other_bits", equal)
        self._count("within_tolerance", passes & ~equal)
        self._count("different", ~passes)
        self._count("unpaired_nans", np.any(d.unpaired, axis=1))
        self._enlarge(d)
        self._place(start, at[~passes], a, e)

    def _count(self, name: str, mask: npt.NDArray[np.bool]) -> None:
        self.counts[name] = self.counts.get(name, 0) + int(np.count_nonzero(mask))

    def _enlarge(self, d: Distances) -> None:
        ratio = (d.reference > 0) & np.isfinite(d.reference) & ~d.unpaired
        with np.errstate(over="ignore"):
            relative = d.absolute[ratio].astype(np.float64) / d.reference[ratio]
        for name, values in {
            "largest_absolute": d.absolute[~np.isnan(d.absolute)],
            "largest_relative": relative[~np.isnan(relative)],
            "largest_ulp": d.steps[d.finite],
        }.items():
            self.largest[name] = max(self.largest.get(name, 0), values.max(initial=0).item())

    def _place(self, start: int, at: npt.NDArray[np.intp], a: NumpyArray, e: NumpyArray) -> None:
        storage = self.storage
        elements = np.zeros(len(at), np.intp) if storage is None else storage.elements(start + at)
        self._count("different_in_padding", elements < 0)
        left = self.max_shown - len(self.first)
        for place, element in zip(at[:left].tolist(), elements[:left].tolist(), strict=True):
            index = tuple(map(int, np.unravel_index(start + place, self.shape)))
            logical = None if storage is None else storage.index(element)
            self.first.append(Difference(index, logical, element < 0, a[place].item(), e[place].item()))


def _parts(x: NumpyArray) -> NumpyArray:
    """Return the real numbers that elements consist of, one row per element."""
    parts = 2 if x.dtype.kind == "c" else 1
    return x.view(f"f{x.dtype.itemsize // parts}" if parts == 2 else x.dtype).reshape(-1, parts)

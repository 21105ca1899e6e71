"""What a comparison found."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Difference", "Report"]

Number = bool | int | float | complex


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two arrays differ.

    Attributes
    ----------
    index
        Index in the arrays as they were given.
    logical
        Index in the tensor that the arrays store, where a format is known; None in padding.
    in_padding
        Whether no element of the tensor lies there.
    actual, expected
        Both values.
    """

    index: tuple[int, ...]
    logical: tuple[int, ...] | None
    in_padding: bool
    actual: Number
    expected: Number

    def __str__(self) -> str:
        place = "padding" if self.in_padding else f"element {list(self.logical)}" if self.logical is not None else ""
        where = f"{list(self.index)} ({place})" if place else f"{list(self.index)}"
        return f"{where}: {self.actual}, expected {self.expected}"


@dataclass(frozen=True, slots=True)
class Report:
    """What `compare` found; true where the arrays are equal, so that ``assert compare(x, y)`` is a test.

    Attributes
    ----------
    reason
        Why the arrays cannot be compared element by element (their dtypes or shapes differ), otherwise empty. All
        counts and differences are 0 then.
    dtype, shape
        Element type and shape of the expected array.
    size
        Number of elements compared.
    different, different_in_padding
        Number of elements that differ by more than the tolerances allow, and how many of them are padding.
    within_tolerance
        Number of elements that differ, but no more than the tolerances allow.
    other_bits
        Number of elements that are equal as numbers and not as bits: zeros of the other sign, NaN payloads.
    unpaired_nans
        Number of elements of which one is NaN and the other is not; they are among `different`.
    largest_absolute
        Largest ``|actual - expected|``: exact for integers, otherwise a float64, which is infinite where an infinity
        meets another number, and where two float64 are further apart than a float64 can tell.
    largest_relative
        Largest ``|actual - expected| / |expected|``; expected zeros and infinities do not count.
    largest_ulp
        Most values that the element type has between two elements, one of them counted; infinities do not count.
    first
        The first differences in the order of memory.

    Notes
    -----
    NaN counts for no largest difference. Each of these is 0 where nothing counts.
    """

    reason: str
    dtype: str
    shape: tuple[int, ...]
    size: int = 0
    different: int = 0
    different_in_padding: int = 0
    within_tolerance: int = 0
    other_bits: int = 0
    unpaired_nans: int = 0
    largest_absolute: int | float = 0
    largest_relative: float = 0.0
    largest_ulp: int = 0
    first: tuple[Difference, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether dtypes and shapes are the same and no element differs by more than the tolerances allow."""
        return not self.reason and not self.different

    def __bool__(self) -> bool:
        # An object without this is always true, and an assertion on it a test that cannot fail.
        return self.equal

    def __str__(self) -> str:
        if self.reason:
            return f"different: {self.reason}"
        lines = [self._verdict()]
        if self.largest_absolute or self.unpaired_nans:
            is_exact = isinstance(self.largest_absolute, int)
            absolute = str(self.largest_absolute) if is_exact else f"{self.largest_absolute:.15g}"
            lines.append(
                f"largest difference: {absolute} absolute, {self.largest_relative:.3g} relative, {self.largest_ulp} ulp"
            )
        lines += [str(difference) for difference in self.first]
        if self.first and len(self.first) < self.different:
            lines.append(f"and {self.different - len(self.first)} more")
        return "\n".join(lines)

    def _verdict(self) -> str:
        what = f"{self.size} elements of {self.dtype}"
        notes = {
            "in padding": self.different_in_padding,
            "NaN on one side": self.unpaired_nans,
            "within tolerance": self.within_tolerance,
            "equal with other bits": self.other_bits,
        }
        told = "".join(f", {count} {note}" for note, count in notes.items() if count)
        if self.equal:
            return f"equal: {what}{told}"
        return f"different: {self.different} of {what} ({self.different / self.size:.2%}){told}"

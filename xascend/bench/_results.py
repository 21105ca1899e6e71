"""Results as values, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["CaseResult", "Measurement", "Report"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One contender in one case.

    Attributes
    ----------
    contender, threads
        Who, with how many threads of the host.
    seconds
        Of one call: the median of all rounds.
    gb_per_s
        Bytes read and written per second, in units of 10**9.
    baseline
        The copy that the ratio is to; it has the same threads where it has several.
    ratio
        Speed as a multiple of that copy of as many bytes, taken within each round: the median of all rounds.
    ratio_low, ratio_high
        The quartiles of that: half of all rounds lie between.
    first_call_seconds
        The first call, with all that is prepared, loaded or compiled in it.
    peak_bytes
        Most memory that a call holds at a time beside input and, where it takes one, ``out``; None: not known.
    """

    contender: str
    threads: int
    seconds: float
    gb_per_s: float
    baseline: str
    ratio: float
    ratio_low: float
    ratio_high: float
    first_call_seconds: float
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All contenders in one case.

    Attributes
    ----------
    family, why
        What is converted and what that shows.
    src, dst
        Formats, or element types of a quantisation.
    shape
        The tensor's own sizes, in the axes of the plain format.
    dtype
        Element type of the source.
    nbytes
        Bytes read and written.
    measurements
        In the order of the report.
    skipped
        Why a contender did not take part, by name.
    cache
        The smallest cache that holds source and result together; None: none does, or their sizes are not known.
    """

    family: str
    why: str
    src: str
    dst: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    measurements: tuple[Measurement, ...]
    skipped: Mapping[str, str]
    cache: str | None = None

    @property
    def title(self) -> str:
        """The case in a line."""
        return f"{self.family}: {self.src} -> {self.dst}, {self.dtype}, {' x '.join(map(str, self.shape))}"

    @property
    def in_cache(self) -> str:
        """What follows the case where a cache holds it, for instance `` (in L3)``."""
        return f" (in {self.cache})" if self.cache else ""

    def find(self, contender: str, threads: int, /) -> Measurement | None:
        """Return a contender's measurement, or None where it did not take part."""
        return next((m for m in self.measurements if (m.contender, m.threads) == (contender, threads)), None)


@dataclass(frozen=True, slots=True)
class Report:
    """One run.

    Attributes
    ----------
    date
        Of the run, in UTC, as YYYY-MM-DD.
    device
        ``cpu``, or the name of the CUDA device.
    threads
        What "all threads" are.
    rounds
        How often every contender was measured.
    machine
        Processor, memory, versions; no name of a host and no path.
    cases
        The results.
    """

    date: str
    device: str
    threads: int
    rounds: int
    machine: Mapping[str, str]
    cases: tuple[CaseResult, ...]

    @property
    def in_caches(self) -> str:
        """What follows some of the cases, for instance ``(in L2), (in L3)``; nothing where no cache holds one."""
        return ",".join(sorted({case.in_cache for case in self.cases if case.cache})).strip()

    def to_json(self) -> str:
        """Return the report as JSON, one measurement a line, with 4 digits of what was measured."""
        cases = []
        for case in self.cases:
            fields = {name: value for name, value in asdict(case).items() if value is not None}
            lines = ",\n    ".join(json.dumps(_rounded(each)) for each in fields.pop("measurements"))
            cases.append(f'{json.dumps(fields)[:-1]}, "measurements": [\n    {lines}]}}')
        head = {name: value for name, value in asdict(self).items() if name != "cases"}
        lines = ",\n  ".join(cases)
        return f'{json.dumps(head)[:-1]}, "cases": [\n  {lines}]}}\n'

    @classmethod
    def from_json(cls, text: str, /) -> Report:
        """Return the report that `to_json` wrote."""
        fields = json.loads(text)
        cases = tuple(
            CaseResult(
                **case | {"shape": tuple(case["shape"]), "measurements": tuple(Measurement(**m) for m in measurements)}
            )
            for case in fields.pop("cases")
            for measurements in (case.pop("measurements"),)
        )
        return cls(**fields, cases=cases)


def _rounded(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: float(f"{value:.4g}") if isinstance(value, float) else value for name, value in fields.items()}

"""Measuring one case: every contender in turn, round after round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from xascend.bench._caches import smallest_holding
from xascend.bench._cases import Case
from xascend.bench._contenders import Contender, contenders_for
from xascend.bench._devices import Device
from xascend.bench._problem import Problem, set_up
from xascend.bench._results import CaseResult, Measurement
from xascend.bench._unavailable import UnavailableError

__all__ = ["calls_in_a_sample", "measure"]

_SAMPLE_SECONDS = 2e-3  # short calls are repeated until one sample takes as long
_MAX_CALLS = 10_000


@dataclass(slots=True)
class _Entry:
    """A contender that takes part, and what was seen of it."""

    contender: Contender
    first_call_seconds: float
    peak_bytes: int | None
    number: int
    seconds: list[float] = field(default_factory=list)


def measure(case: Case, device: Device, threads: int, rounds: int, /) -> CaseResult:
    """Measure all contenders of `case`; RuntimeError where one returns a wrong result.

    In a round every contender is measured once, and each round begins with another one, so that what else the
    machine does meanwhile meets all alike. Ratios are taken within a round.
    """
    problem = set_up(case, device)
    entries: dict[tuple[str, int], _Entry] = {}
    skipped = {}
    for contender in contenders_for(case, device, threads):
        try:
            entries[contender.key] = _enter(contender, problem)
        except UnavailableError as error:
            skipped[contender.name] = str(error)
    order = list(entries.values())
    for number in range(rounds):
        start = number % len(order)
        for entry in order[start:] + order[:start]:
            with entry.contender.ready(problem, entry.contender.threads) as call:
                call()  # finds the caches as its own calls leave them, whoever was before
                entry.seconds.append(device.seconds(call, entry.number))
    source, target = case.formats
    return CaseResult(
        case.family.name,
        case.family.why,
        source,
        target,
        case.shape,
        case.dtype,
        problem.nbytes,
        tuple(_summary(entry, entries, problem.nbytes) for entry in order),
        skipped,
        smallest_holding(device.caches(), problem.nbytes),
    )


def _enter(contender: Contender, problem: Problem) -> _Entry:
    """Call a contender for the first times: check its result, and find how often to call it in a round."""
    device = problem.device
    ready: AbstractContextManager[Any] = contender.ready(problem, contender.threads)
    with ready as call:
        first = device.first_seconds(call)
        problem.out.fill(1)  # nobody shall pass with what another one left there
        if contender.name not in ("copy", "new copy") and not problem.is_solved_by(call()):
            raise RuntimeError(f"{contender.name} returned a wrong result for {problem.case}")
        peak = device.peak_bytes(call)
        seconds = device.seconds(call, 1)
    return _Entry(contender, first, peak, calls_in_a_sample(seconds))


def calls_in_a_sample(seconds: float, /) -> int:
    """Return how often a call that takes `seconds` is repeated, so that the clock can tell how long it takes."""
    return min(_MAX_CALLS, max(1, math.ceil(_SAMPLE_SECONDS / max(seconds, 1e-9))))


def _summary(entry: _Entry, entries: dict[tuple[str, int], _Entry], nbytes: int) -> Measurement:
    contender = entry.contender
    baseline = entries.get((contender.baseline, contender.threads)) or entries[contender.baseline, 1]
    ratios = [theirs / ours for theirs, ours in zip(baseline.seconds, entry.seconds, strict=True)]
    low, middle, high = _quartiles(ratios)
    seconds = statistics.median(entry.seconds)
    return Measurement(
        contender.name,
        contender.threads,
        seconds,
        nbytes / seconds / 1e9,
        contender.baseline,
        middle,
        low,
        high,
        entry.first_call_seconds,
        entry.peak_bytes,
    )


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high

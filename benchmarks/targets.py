"""What conversions aim at, and how far the results on record come: tables for documents, and each miss in a line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from xascend import bench
from xascend._dtypes import numpy_dtype

Passes = tuple[bench.CaseResult, ...]  # one case, as often as it is on record
Figure = Callable[[bench.Measurement, bench.Measurement], float]  # of ours and of whom it is held against
ANY = float("inf")
FIRST = "-first"  # ends the name of the file with the first of two passes


def ratio(ours: bench.Measurement, _: bench.Measurement) -> float:
    """Return the speed as a multiple of the copy's, as it is on record: taken within each round."""
    return ours.ratio


def speed(ours: bench.Measurement, theirs: bench.Measurement) -> float:
    """Return the speed as a multiple of another one's: of medians, since rounds hold ratios to copies only."""
    return theirs.seconds / ours.seconds


def duration(ours: bench.Measurement, theirs: bench.Measurement) -> float:
    """Return the time as a multiple of another one's."""
    return ours.seconds / theirs.seconds


def microseconds_more(ours: bench.Measurement, theirs: bench.Measurement) -> float:
    """Return how many microseconds a call takes more than another one's."""
    return (ours.seconds - theirs.seconds) * 1e6


class Aim(NamedTuple):
    """What is wanted of some cases.

    `least` or `most` bounds the figure of the one of `ours` that is measured, and `unit` says in words what the figure
    is. `against` is whom it is held against, with as many threads where that has several. `source` is the format that
    the cases convert from, where that matters.
    """

    what: str
    families: tuple[str, ...]
    least: float = 0
    most: float = ANY
    unit: str = "times a copy"
    figure: Figure = ratio
    against: str = "copy"
    ours: tuple[str, ...] = ("xascend native", "xascend")
    sizes: tuple[str, ...] = ("dram", "large")
    source: str = ""
    itemsizes: tuple[int, ...] = (1, 2, 4)

    @property
    def wanted(self) -> str:
        """The bound in words."""
        return f"at least {self.least:g} {self.unit}" if self.least else f"at most {self.most:g} {self.unit}"

    def is_met_by(self, figure: float) -> bool:
        """Whether a figure lies within the bounds, before it is rounded to be shown."""
        return self.least <= figure <= self.most

    def is_about(self, case: bench.CaseResult) -> bool:
        """Whether the aim says something of a case."""
        return (
            case.family in self.families
            and case.src.startswith(self.source)
            and numpy_dtype(case.dtype).itemsize in self.itemsizes
        )

    def figures(self, passes: Passes, threads: int) -> list[float]:
        """Return the figure of each pass in which both took part; none where the aim says nothing of the case."""
        found = []
        for case in filter(self.is_about, passes):
            ours = next(filter(None, (case.find(name, threads) for name in self.ours)), None)
            theirs = case.find(self.against, threads) or case.find(self.against, 1)
            if ours and theirs:
                found.append(self.figure(ours, theirs))
        return found


IMAGES = "5hd", "5hd-ragged"
MOVED = "nz", "nz-ragged", *IMAGES, "5hd-nhwc", "fz"
EVERY = *MOVED, "requantize"
NEW, NUMPY = ("xascend without out",), ("xascend numpy",)
SEEN = "cache", "dram", "large"  # where a conversion takes much longer than a call

AIMS = (
    Aim("FRACTAL_NZ, whole blocks", ("nz",), 1.1),
    Aim("ND -> FRACTAL_NZ, padded", ("nz-ragged",), 0.9, source="ND"),
    Aim("FRACTAL_NZ -> ND, padded", ("nz-ragged",), 0.75, source="FRACTAL_NZ"),
    Aim("NC1HWC0 and NCHW, 2 and 4 bytes", IMAGES, 0.95, itemsizes=(2, 4)),
    Aim("NC1HWC0 and NCHW, 1 byte", IMAGES, 0.8, itemsizes=(1,)),
    Aim("NC1HWC0 and NHWC", ("5hd-nhwc",), 0.85),
    Aim("FRACTAL_Z and NCHW", ("fz",), 0.6),
    Aim("`requantize` to int8", ("requantize",), 0.7),
    Aim("without `out=`", MOVED, 0.9, unit="times a new copy", ours=NEW),
    Aim("every conversion", EVERY, 3, ANY, "times the idiom", speed, "idiom"),
    Aim("NumPy executor", MOVED, 0, 1.05, "times as long as the idiom", duration, "idiom", NUMPY, SEEN),
    Aim("NumPy executor", MOVED, 0, 10, "us more than the idiom", microseconds_more, "idiom", NUMPY, ("tiny",)),
)
AHEAD = tuple(
    Aim(name, EVERY, 1, ANY, f"times {name}", speed, name, sizes=tuple(bench.SIZES))
    for name in ("idiom", "torch", "oneDNN")
)


class Results(NamedTuple):
    """What is on record of one machine: cases by the name of their size."""

    dates: list[str]
    threads: list[int]
    cases: dict[str, list[Passes]]

    @classmethod
    def read(cls, folder: Path, name: str) -> Results:
        """Return what ``NAME-SIZE*.json`` hold; FileNotFoundError where there is none."""
        dates, threads = set(), {1}
        found: dict[str, dict[str, Passes]] = {size: {} for size in bench.SIZES}
        for path in sorted(folder.glob(f"{name}-*.json")):
            report = bench.Report.from_json(path.read_text(encoding="utf-8"))
            size = path.stem.removeprefix(f"{name}-").removesuffix(FIRST)
            if size not in found:
                continue  # of another machine, whose name begins like this one's
            dates.add(report.date)
            threads.add(report.threads)
            for case in report.cases:
                found[size][case.title] = (*found[size].get(case.title, ()), case)
        if not dates:
            raise FileNotFoundError(2, "No results", str(folder / f"{name}-*.json"))
        cases = {size: list(passes.values()) for size, passes in found.items() if passes}
        return cls(sorted(dates), sorted(threads), cases)


class Reached(NamedTuple):
    """How far cases come."""

    figures: list[float]
    missing: list[float]  # those of the figures that miss the aim
    cases: int
    missed: int  # cases that miss it in every pass
    missed_once: int  # cases that miss it in one pass and meet it in the other

    @classmethod
    def by(cls, aim: Aim, cases: Iterable[Passes], threads: int) -> Reached:
        measured = [figures for passes in cases if (figures := aim.figures(passes, threads))]
        met = [[aim.is_met_by(figure) for figure in figures] for figures in measured]
        figures = list(itertools.chain(*measured))
        missing = [figure for figure in figures if not aim.is_met_by(figure)]
        missed = sum(not any(each) for each in met)
        return cls(figures, missing, len(met), missed, sum(not all(each) for each in met) - missed)

    @property
    def count(self) -> str:
        """How many cases miss the aim."""
        return f"{self.missed} of {self.cases}" + (f", in one pass {self.missed_once}" if self.missed_once else "")


def aims_table(results: Results) -> str:
    """Return a row for every aim and size: what is wanted, and what is reached with each number of threads."""

    def cell(reached: Reached) -> str:
        if not reached.cases:
            return "-"
        bounds = dict.fromkeys(f"{figure:.2f}" for figure in (min(reached.figures), max(reached.figures)))
        return f"{f'missed by {reached.count}' if reached.missing else 'met'}: {' to '.join(bounds)}"

    rows = [
        [aim.what, size, aim.wanted, *(cell(Reached.by(aim, results.cases[size], n)) for n in results.threads)]
        for aim in AIMS
        for size in aim.sizes
        if size in results.cases
    ]
    return table(results, ["aim", "size", "wanted"], rows)


def ahead_table(results: Results) -> str:
    """Return a row for every contender and size where it is faster than ours with as many threads."""

    def cell(reached: Reached) -> str:
        if not reached.cases:
            return "not measured"
        return f"{reached.count}: up to {1 / min(reached.missing):.2f} times as fast" if reached.missing else "-"

    rows = [
        [aim.what, size, *map(cell, reached)]
        for aim in AHEAD
        for size, cases in results.cases.items()
        for reached in [[Reached.by(aim, cases, threads) for threads in results.threads]]
        if any(each.missing for each in reached)
    ]
    return table(results, ["contender", "size"], rows)


def table(results: Results, heads: list[str], rows: list[list[str]]) -> str:
    heads = [*heads, *(f"{threads} thread{'s' if threads > 1 else ''}" for threads in results.threads)]
    lines = "\n".join(f"| {' | '.join(line)} |" for line in [heads, ["---"] * len(heads), *rows])
    return f"Measured on {' and '.join(results.dates)}.\n\n{lines}"


def misses(results: Results) -> Iterator[str]:
    """Yield a line for every case that misses an aim in some pass, or in which a contender is ahead."""
    for aim in (*AIMS, *AHEAD):
        cases = [(size, passes) for size in aim.sizes for passes in results.cases.get(size, ())]
        for (size, passes), threads in itertools.product(cases, results.threads):
            figures = aim.figures(passes, threads)
            if not all(map(aim.is_met_by, figures)):
                reached = ", ".join(f"{figure:.2f}" for figure in figures)
                yield f"{size}: {passes[0].title}: threads {threads}: {aim.what}: {reached}, wanted {aim.wanted}"

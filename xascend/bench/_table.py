"""A report as text for the terminal, and as a Markdown table for documents."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import TYPE_CHECKING

from xascend.bench._results import CaseResult, Measurement, Report

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["markdown_table", "terminal_tables"]

_COLUMNS = (
    ("contender", 20),
    ("threads", 7),
    ("GB/s", 7),
    ("ratio to copy", 22),
    ("half of rounds", 16),
    ("memory", 11),
    ("first call", 11),
)
_IN_DOCUMENTS = ("idiom", "torch", "oneDNN", "xascend numpy", "xascend native", "xascend", "xascend without out")

Key = tuple[str, int]


def terminal_tables(report: Report, /) -> list[Table]:
    """Return one table of rich for each case.

    Parameters
    ----------
    report
        What was measured.

    Returns
    -------
    list of rich.table.Table
        With columns of the same widths.
    """
    return [_terminal_table(case) for case in report.cases]


def _terminal_table(case: CaseResult) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=case.title + case.in_cache, title_style="bold", title_justify="left")
    for heading, width in _COLUMNS:
        table.add_column(heading, justify="left" if heading == "contender" else "right", min_width=width)
    for each in case.measurements:
        table.add_row(*_cells(each))
    return table


def _cells(each: Measurement) -> tuple[str, ...]:
    memory = "" if each.peak_bytes is None else f"{each.peak_bytes / 2**20:.1f} MiB"
    ratio = _ratio(each.ratio) + ("" if each.baseline == "copy" else f" of {each.baseline}")
    spread = f"{_ratio(each.ratio_low)} to {_ratio(each.ratio_high)}"
    return (
        each.contender,
        str(each.threads),
        f"{each.gb_per_s:.2f}",
        ratio,
        spread,
        memory,
        f"{each.first_call_seconds * 1e3:.2f} ms",
    )


def markdown_table(report: Report, /, dtypes: Collection[str] = ()) -> str:
    """Return the ratios as a table with a row for each case and a column for each contender, and where they are from.

    Parameters
    ----------
    report
        What was measured.
    dtypes
        Element types of the source to show; all by default.

    Returns
    -------
    str
        Markdown, without a newline at the end.
    """
    cases = [case for case in report.cases if not dtypes or case.dtype in dtypes]
    parts = [_origin(report)]
    parts += [_markdown(list(alike)) for _, alike in itertools.groupby(cases, _contenders)]
    return "\n\n".join(parts)


def _contenders(case: CaseResult) -> set[str]:
    return {*case.skipped, *(each.contender for each in case.measurements)}


def _markdown(cases: list[CaseResult]) -> str:
    keys = {(each.contender, each.threads) for case in cases for each in case.measurements}
    columns = sorted(
        (key for key in keys if key[0] in _IN_DOCUMENTS), key=lambda key: (_IN_DOCUMENTS.index(key[0]), key)
    )
    rows = [["conversion", "type", "shape", "copy, GB/s", *(_heading(key) for key in columns)]]
    rows.append(["---"] * 3 + ["--:"] * (1 + len(columns)))
    rows += [_row(case, columns) for case in cases]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _heading(key: Key) -> str:
    name, threads = key
    return name if threads == 1 else f"{name}, {threads} threads"


def _row(case: CaseResult, columns: list[Key]) -> list[str]:
    copy = case.find("copy", 1)
    found = [case.find(*column) for column in columns]
    return [
        f"{case.src} -> {case.dst}",
        case.dtype,
        " x ".join(map(str, case.shape)),
        "" if copy is None else f"{copy.gb_per_s:.1f}{case.in_cache}",
        *("-" if each is None else _ratio(each.ratio) for each in found),
    ]


def _origin(report: Report) -> str:
    machine = report.machine
    place = f"{machine['processor']}, {machine['cores']} cores, {machine.get('memory', 'memory not known')}"
    if report.device != "cpu":
        place = f"{report.device} ({place})"
    versions = ", ".join(f"{name} {machine[name]}" for name in ("numpy", "torch", "oneDNN") if name in machine)
    told = f" {report.in_caches}: source and result fit into that cache together." if report.in_caches else ""
    return (
        f"Measured on {report.date}: {place}; {versions}. Speed as a multiple of a plain copy of as many bytes with as "
        f"many threads, taken within each of {report.rounds} rounds, median; without `out`, of a copy into new memory "
        f"by one thread.{told}"
    )


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"

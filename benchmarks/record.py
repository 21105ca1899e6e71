"""Results of this machine on record, and the tables of README and documentation that come from them.

``python benchmarks/record.py measure cpu`` measures every size, or those that ``--size`` names, writes
``results/cpu-*.json`` and then the tables. Run it from the top of the repository on a machine that does nothing else,
with PyTorch and, where it is to be had, oneDNN (``libdnnl`` where the dynamic loader finds it). All but the largest
size, which takes about 20 minutes, are measured twice. The second pass counts; the first stays on record beside it
(``results/cpu-*-first.json``), so that a reader sees what both agree on. Ratios of ours that differ by more than a
fifth between the passes are told, and the exit status is then 1, because such results are better measured again.

``python benchmarks/record.py tables`` only writes the tables; with ``--check`` it only tells which differ. A document
says where a table belongs and what it comes from: one file, optionally with the element types of the source that are
shown, or all files of a machine. What stands between the two comments is replaced:

    <!-- bench: cpu-dram.json float16 int32 -->
    <!-- /bench -->
    <!-- aims: cpu -->
    <!-- /aims -->
    <!-- ahead: cpu -->
    <!-- /ahead -->

``aims`` holds the results against what is aimed at (`targets.py`), ``ahead`` tells which contenders are faster than
ours, and ``python benchmarks/record.py misses cpu`` prints each such case in a line.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from targets import FIRST, Results, ahead_table, aims_table, misses

from xascend import bench

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
DTYPES = ("int8", "float16", "bfloat16", "float32")
MAX_DIFFERENCE = 1.2


class Recorded(NamedTuple):
    """How a size is measured."""

    dtypes: tuple[str, ...] = DTYPES
    rounds: int = 9
    passes: int = 2


SIZES = {
    "tiny": Recorded(),
    "cache": Recorded(),
    "dram": Recorded(),
    "large": Recorded(("int8", "float16", "float32"), 4, 1),
}
_TABLE = re.compile(r"^<!-- (bench|aims|ahead): (\S+)((?: \w+)*) -->\n(.*?)^<!-- /\1 -->$", re.MULTILINE | re.DOTALL)
_BEGIN = re.compile(r"<!-- (?:bench|aims|ahead):")


def measure(name: str, device: str, sizes: Iterable[str] = SIZES) -> int:
    """Measure these sizes, write ``results/NAME-SIZE*.json`` and the tables; 1 where two passes do not agree."""
    status = 0
    for size in sizes:
        dtypes, rounds, passes = SIZES[size]
        reports = [
            bench.run(dtypes=dtypes, sizes=[bench.SIZES[size]], rounds=rounds, device=device, progress=tell)
            for _ in range(passes)
        ]
        for line in differences(reports[0], reports[-1]):
            print(line)
            status = 1
        RESULTS.mkdir(exist_ok=True)
        for suffix, report in zip(("", FIRST), reversed(reports), strict=False):
            (RESULTS / f"{name}-{size}{suffix}.json").write_text(report.to_json(), encoding="utf-8")
    write_tables(check=False)
    return status


def tell(done: int, total: int, case: str) -> None:
    """Say on the terminal what is measured now."""
    print(f"{done + 1} of {total}: {case}", file=sys.stderr)


def differences(first: bench.Report, second: bench.Report) -> Iterator[str]:
    """Yield a line for each ratio of ours that two passes do not agree on."""
    for one, two in zip(first.cases, second.cases, strict=True):
        for a, b in zip(one.measurements, two.measurements, strict=True):
            if a.contender.startswith("xascend") and not 1 / MAX_DIFFERENCE < a.ratio / b.ratio < MAX_DIFFERENCE:
                yield f"{one.title}: {a.contender}, threads {a.threads}: {a.ratio:.2f}, then {b.ratio:.2f}"


def documents() -> list[Path]:
    """Return the documents that may have tables."""
    return sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *RESULTS.glob("*.md")})


def sources(text: str) -> list[str]:
    """Return the files, or the first words of their names, that the tables of a document come from."""
    return [match[2] for match in _TABLE.finditer(text)]


def rewritten(text: str, results: Path) -> str:
    """Return a document with every table made anew; FileNotFoundError where a result is missing."""

    def table(match: re.Match[str]) -> str:
        kind, name, types = match.group(1, 2, 3)
        if kind == "bench":
            report = bench.Report.from_json((results / name).read_text(encoding="utf-8"))
            made = bench.markdown_table(report, types.split())
        else:
            made = {"aims": aims_table, "ahead": ahead_table}[kind](Results.read(results, name))
        return f"<!-- {kind}: {name}{types} -->\n\n{made}\n\n<!-- /{kind} -->"

    if len(_BEGIN.findall(text)) != len(sources(text)):
        raise ValueError("a line such as `<!-- bench: FILE.json TYPES -->` is not closed by a line `<!-- /bench -->`")
    return _TABLE.sub(table, text)


def write_tables(*, check: bool) -> int:
    """Write all documents, or only say which differ; 1 where `check` finds one."""
    differing = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        made = rewritten(text, RESULTS)
        if made != text:
            differing.append(path.name)
            if not check:
                path.write_text(made, encoding="utf-8")
    for name in differing:
        print(f"{name} {'differs from the results' if check else 'is written anew'}")
    return int(check and bool(differing))


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say, by default those of the command line."""
    parser = argparse.ArgumentParser(description="Results on record, and the tables that come from them.")
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="measure this machine and write the tables")
    measuring.add_argument("name", help="what the files begin with, for instance cpu; no name of a host")
    measuring.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    measuring.add_argument("--size", action="append", choices=SIZES, help="measure only this; may be repeated")
    tables = commands.add_parser("tables", help="write the tables from the results")
    tables.add_argument("--check", action="store_true", help="write nothing, tell what differs")
    missing = commands.add_parser("misses", help="print each case that misses an aim, or is behind a contender")
    missing.add_argument("name", help="what the files begin with, for instance cpu")
    chosen = parser.parse_args(arguments)
    if chosen.command == "tables":
        return write_tables(check=chosen.check)
    if chosen.command == "misses":
        print(*misses(Results.read(RESULTS, chosen.name)), sep="\n")
        return 0
    return measure(chosen.name, chosen.device, chosen.size or SIZES)


if __name__ == "__main__":
    sys.exit(main())

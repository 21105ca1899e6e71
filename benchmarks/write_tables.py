"""Write the tables of README and documentation from the results on record.

A document says where a table belongs, from which file of ``benchmarks/results`` it comes and, optionally, which element
types of the source it shows. What stands between the two comments is replaced:

    <!-- bench: cpu-dram.json float16 int32 -->
    <!-- /bench -->

``python benchmarks/write_tables.py`` writes; with ``--check`` it only says which tables differ, with exit status 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from xascend.bench import Report, markdown_table

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
_TABLE = re.compile(r"^<!-- bench: (\S+\.json)((?: \w+)*) -->\n(.*?)^<!-- /bench -->$", re.MULTILINE | re.DOTALL)


def documents() -> list[Path]:
    """Return the documents that may have tables."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def sources(text: str) -> list[str]:
    """Return the files that the tables of a document come from."""
    return [match[1] for match in _TABLE.finditer(text)]


def rewritten(text: str, results: Path) -> str:
    """Return a document with every table made anew; FileNotFoundError where a result is missing."""

    def table(match: re.Match[str]) -> str:
        report = Report.from_json((results / match[1]).read_text(encoding="utf-8"))
        made = markdown_table(report, match[2].split())
        return f"<!-- bench: {match[1]}{match[2]} -->\n\n{made}\n\n<!-- /bench -->"

    made = _TABLE.sub(table, text)
    if text.count("<!-- bench:") != len(sources(text)):
        raise ValueError("a comment `<!-- bench: FILE.json TYPES -->` is not closed by a line `<!-- /bench -->`")
    return made


def write(*, check: bool) -> int:
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the tables of the documents from the results on record.")
    parser.add_argument("--check", action="store_true", help="write nothing, tell what differs")
    sys.exit(write(check=parser.parse_args().check))

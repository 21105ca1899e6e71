"""Counts sectors and bank conflicts of the CUDA kernels on the host and writes ``benchmarks/results/coalescing.md``.

No GPU takes part: `tests/cuda/harness.cpp` executes the kernels and counts every warp's accesses. It needs g++.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from cuda import coalescing, fixpipe_coalescing, instruction_coalescing  # noqa: E402 - from the tests' folder, put on the path above

HEAD = """\
Coalescing of the CUDA kernels
==============================

Counted on the host, not timed on a GPU: written by `python benchmarks/coalescing.py`.

Loads and stores: useful bytes / bytes of the 32-byte sectors that each instruction of a warp touches. Useful bytes of
loads are the tensor's elements, so padding that shares their sectors counts against them; *at best* is what that
leaves: the last 4 of 100 8-bit channels have a whole sector for each pixel, as any 32 have, which leaves 100 / 128.
Ways: passes over the banks of shared memory per access, 1 being without conflicts. The shapes that are run are the
whole ones cut down along axes that only repeat, with the same alignments, tails and tiles.

| tensor | run as | conversion | type | kernels | loads | at best | stores | ways |
|---|---|---|---|---|---|---|---|---|
"""

INSTRUCTIONS = """
Instructions: all repeats of one are one launch. Loads and stores: bytes asked for / bytes of the sectors; an 8-bit
transposition moves half of each data block, so that half of each sector is the best.

| instructions | run as | type | kernels | launches | loads | stores | at best | ways |
|---|---|---|---|---|---|---|---|---|
"""

FIXPIPE = """
Fixpipe, with scalar modes; vector modes read the numbers of a tile's columns besides.

| matrix | run as | layout | from | to | kernels | loads | stores | ways |
|---|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    """Print the tables and write them."""
    text = HEAD + conversions() + INSTRUCTIONS + instructions() + FIXPIPE + fixpipes()
    target = ROOT / "benchmarks" / "results" / "coalescing.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(text, encoding="utf-8")


def conversions() -> str:
    """Count the conversions; return rows of their table."""
    rows = []
    for case in coalescing.CASES:
        for dtype in coalescing.DTYPES:
            for m in coalescing.measure(case, dtype):
                src, dst = (case.dst, case.src) if m.back else (case.src, case.dst)
                shape = " x ".join(map(str, case.shape))
                numbers = " | ".join(f"{n:.3f}" for n in (m.loads, m.loads_bound, m.stores, m.ways))
                rows.append(
                    f"| {case.whole} | {shape} | {src} to {dst} | {dtype} | {', '.join(m.kernels)} | {numbers} |"
                )
                print(rows[-1], flush=True)
    return "\n".join(rows) + "\n"


def instructions() -> str:
    """Count the instructions; return rows of their table."""
    rows = []
    for case in instruction_coalescing.CASES:
        m = instruction_coalescing.measure(case)
        numbers = " | ".join(f"{n:.3f}" for n in (m.loads, m.stores, case.at_best, m.ways))
        rows.append(f"| {case.what} | {case.part} | {case.dtype} | {', '.join(m.kernels)} | {m.launches} | {numbers} |")
        print(rows[-1], flush=True)
    return "\n".join(rows) + "\n"


def fixpipes() -> str:
    """Count Fixpipe; return rows of its table."""
    rows = []
    for case in fixpipe_coalescing.CASES:
        for kind in fixpipe_coalescing.KINDS:
            m = fixpipe_coalescing.measure(case, kind)
            cells = (case.whole, f"{case.rows} x {case.columns}", case.name, *kind[1:], ", ".join(m.kernels))
            numbers = (f"{n:.3f}" for n in (m.loads, m.stores, m.ways))
            rows.append(f"| {' | '.join((*cells, *numbers))} |")
            print(rows[-1], flush=True)
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()

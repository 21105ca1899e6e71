"""Counts sectors and bank conflicts of the CUDA kernels on the host and writes ``benchmarks/results/coalescing.md``.

No GPU takes part: `tests/cuda/harness.cpp` executes the kernels and counts every warp's accesses. It needs g++.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from cuda import coalescing  # noqa: E402 - from the tests' folder, put on the path above

HEAD = """\
Coalescing of the CUDA kernels
==============================

Counted on the host, not timed on a GPU: written by `python benchmarks/coalescing.py`.

Loads and stores: useful bytes / bytes of the 32-byte sectors that each instruction of a warp touches. Useful bytes of
loads are the tensor's elements, so padding that shares their sectors counts against them; *at best* is what that
leaves. Ways: passes over the banks of shared memory per access, 1 being without conflicts. The shapes that are run are
the whole ones cut down along axes that only repeat, with the same alignments, tails and tiles.

| tensor | run as | conversion | type | kernels | loads | at best | stores | ways |
|---|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    """Print the table and write it."""
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
    target = ROOT / "benchmarks" / "results" / "coalescing.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

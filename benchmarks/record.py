"""Put results of this machine on record, and write the tables that come from them.

Run from the top of the repository on a machine that does nothing else, with PyTorch and, where it is to be had, oneDNN
(``libdnnl`` where the dynamic loader finds it): ``python benchmarks/record.py cpu``. Every size is measured twice and
the second pass is kept. Ratios of ours that differ by more than a fifth between the passes are told, and the exit
status is then 1, because such results are better measured again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import write_tables

from xascend import bench

SIZES = ("tiny", "cache", "dram")
DTYPES = ("int8", "float16", "bfloat16", "float32")
MAX_DIFFERENCE = 1.2


def differences(first: bench.Report, second: bench.Report) -> Iterator[str]:
    """Yield a line for each ratio of ours that two passes do not agree on."""
    for one, two in zip(first.cases, second.cases, strict=True):
        for a, b in zip(one.measurements, two.measurements, strict=True):
            if a.contender.startswith("xascend") and not 1 / MAX_DIFFERENCE < a.ratio / b.ratio < MAX_DIFFERENCE:
                yield f"{one.title}: {a.contender}, threads {a.threads}: {a.ratio:.2f}, then {b.ratio:.2f}"


def record(name: str, device: str) -> int:
    """Measure all sizes, write ``results/NAME-SIZE.json`` and the tables; 1 where two passes do not agree."""
    status = 0
    for size in SIZES:
        first, second = (
            bench.run(dtypes=DTYPES, sizes=[bench.SIZES[size]], device=device, progress=tell) for _ in range(2)
        )
        for line in differences(first, second):
            print(line)
            status = 1
        write_tables.RESULTS.mkdir(exist_ok=True)
        (write_tables.RESULTS / f"{name}-{size}.json").write_text(second.to_json(), encoding="utf-8")
    write_tables.write(check=False)
    return status


def tell(done: int, total: int, case: str) -> None:
    """Say on the terminal what is measured now."""
    print(f"{done + 1} of {total}: {case}", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure this machine and write the tables of the documents.")
    parser.add_argument("name", help="what the files begin with, for instance cpu; no name of a host")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    chosen = parser.parse_args()
    sys.exit(record(chosen.name, chosen.device))

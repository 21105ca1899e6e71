"""Checks every kernel on a GPU against NumPy, times conversions, and writes ``benchmarks/results/gpu/CARD.json``.

``python benchmarks/gpu_report.py`` takes under 6 minutes. Each speed stands beside its target: a multiple of a copy
of as many bytes on the device, of CuPy's and of PyTorch's way to do the same; of streaming from host memory, of copies
of pinned memory alone. The exit status is 1 where a check fails, and 2 where there is no GPU.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from gpu_checks import Check, checks, entries_of_sources, recorded_entries  # noqa: E402 - from the path above
from gpu_timings import Row, Step, steps  # noqa: E402

from xascend.bench._devices import Cuda, open_device  # noqa: E402
from xascend.bench._machine import describe, device_name  # noqa: E402
from xascend.files import device as files_device  # noqa: E402

SECONDS = 330  # until which something new is begun
_COLUMNS = ("copy", "idiom", "torch", "pinned copy")
_HEADINGS = ("of a copy", "of CuPy", "of PyTorch", "of pinned copies")


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a run."""

    facts: Mapping[str, str]
    faults: Mapping[str, str]  # by check
    checked: int
    rows: tuple[Row, ...]
    left_out: tuple[str, ...]  # for lack of time

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(asdict(self), indent=1) + "\n"


class Budget:
    """Seconds that are left, and an estimate of what a step takes, from those before it."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._per_byte = 0.0

    def allows(self, step: Step) -> bool:
        """Say whether a step is likely to end in time."""
        return self._clock() + self._per_byte * step.nbytes < self._end

    def run(self, step: Step) -> list[Row]:
        """Carry a step out."""
        start = self._clock()
        rows = list(step.run())
        if step.nbytes:
            self._per_byte = max(self._per_byte, (self._clock() - start) / step.nbytes)
        return rows


def find_faults(all_checks: Iterable[Check]) -> tuple[int, dict[str, str]]:
    """Return how many checks there were, and what is wrong, by check; an exception is a fault like another."""
    faults, count = {}, 0
    for check in all_checks:
        count += 1
        try:
            fault = check.find_fault()
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        if fault is not None:
            faults[check.name] = fault
            print(f"FAULT {check.name}: {fault}", flush=True)
    return count, faults


def time_steps(all_steps: Iterable[Step], budget: Budget) -> tuple[list[Row], list[str], dict[str, str]]:
    """Return the rows, what there was no time for, and steps that went wrong."""
    rows, left_out, faults = [], [], {}
    for step in all_steps:
        if not budget.allows(step):
            left_out.append(step.name)
            continue
        try:
            made = budget.run(step)
        except Exception as error:
            faults[step.name] = f"{type(error).__name__}: {error}"
            print(f"FAULT {step.name}: {error}", flush=True)
            continue
        rows += made
        for row in made:
            print(line_of(row), flush=True)
    return rows, left_out, faults


def line_of(row: Row) -> str:
    """Return a row of the table."""
    size = f"{row.nbytes / 2**20:.0f} MiB" if row.nbytes >= 1 << 20 else f"{row.nbytes / 2**10:.1f} KiB"
    cells = [
        f"{row.what:<32}",
        f"{row.dtype:<8}",
        f"{'x'.join(map(str, row.shape)):<18}",
        f"{size:>9}",
        f"{row.seconds * 1e6:>11.1f}",
        f"{row.nbytes / row.seconds / 1e9:>7.0f}",
        *(f"{row.ratios[column]!s:<16}" if column in row.ratios else " " * 16 for column in _COLUMNS),
        "" if row.overhead_seconds is None else f"{row.overhead_seconds * 1e6:.1f} us of a call beside it",
    ]
    return "  ".join(cells).rstrip()


def heading() -> str:
    """Return the head of the table."""
    names = (f"{'':<32}", f"{'type':<8}", f"{'shape':<18}", f"{'moved':>9}", f"{'device, us':>11}", f"{'GB/s':>7}")
    return "  ".join((*names, *(f"{name:<16}" for name in _HEADINGS))).rstrip()


def facts_of(device: Cuda) -> dict[str, str]:
    """Return card, driver, CUDA version, date, and the machine."""
    runtime = device.xp.cuda.runtime
    version = runtime.runtimeGetVersion()
    return {
        "card": device_name(device),
        "driver": _driver(),
        "cuda": f"{version // 1000}.{version % 1000 // 10}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        **describe(),
    }


def _driver() -> str:
    """Return the version that the driver's own tool tells."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "not told"
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return told[0] if told else "not told"


def run(device: Cuda) -> Report:
    """Check and measure a device."""
    budget, facts = Budget(SECONDS), facts_of(device)
    print(", ".join(f"{name} {facts[name]}" for name in ("card", "driver", "cuda", "date")), flush=True)
    with device.current():
        with recorded_entries(device.xp) as seen:
            count, faults = find_faults(checks(device, "cuda"))
        faults |= {f"kernel {name}": "no check reaches it" for name in sorted(entries_of_sources() - set(seen))}
        facts["compilation"] = f"{len(seen)} kernels in {sum(seen.values()):.1f} s, before anything is timed"
        print(f"{count} checks, {len(faults)} faults; compiled {facts['compilation']}", heading(), sep="\n", flush=True)
        streamer, free = files_device.Cuda(device.number), files_device.free_bytes(device.number)
        rows, left_out, wrong = time_steps(steps(device.number, streamer, free), budget)
    return Report(facts, faults | wrong, count, tuple(rows), tuple(left_out))


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Checks and times the CUDA kernels on a GPU.")
    parser.add_argument("--device", default="cuda", help="cuda or cuda:N")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    chosen = parser.parse_args()
    try:
        device = open_device(chosen.device)
    except ValueError as error:
        print(f"gpu_report: {error}", file=sys.stderr)
        return 2
    if not isinstance(device, Cuda):
        print(f"gpu_report: `--device` must be cuda or cuda:N, got {chosen.device}", file=sys.stderr)
        return 2
    report = run(device)
    slug = re.sub(r"[^a-z0-9]+", "-", report.facts["card"].lower()).strip("-")
    out = chosen.out or ROOT / "benchmarks" / "results" / "gpu" / f"{slug}.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(report.to_json(), encoding="utf-8")
    for name in report.left_out:
        print(f"not measured, for lack of time: {name}")
    missed = sum(str(ratio).count("BELOW") for row in report.rows for ratio in row.ratios.values())
    print(f"{len(report.faults)} faults, {missed} targets missed, written to {out}")
    return int(bool(report.faults))


if __name__ == "__main__":
    sys.exit(main())

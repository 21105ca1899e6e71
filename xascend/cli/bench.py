"""``xascend bench``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xascend.cli._values import as_bytes, require_path

if TYPE_CHECKING:
    from xascend.bench import Report

__all__ = ["bench"]

_NOTE = (
    "GB/s: bytes read and written. Ratio: speed as a multiple of a copy that reads and writes as many bytes, with as "
    "many threads, taken within each round; the median, and the quartiles between which half of the rounds lie. "
    "Memory: the most that a call holds beside input and `out`. First call: with all that is made in it once."
)

Progress = Callable[[int, int, str], None]


def bench(
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu",
    dtype: Annotated[list[str] | None, typer.Option(help="Element type; may be repeated. [default: float16]")] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZE",
            help="Size of the tensor: tiny (1K), cache (512K), dram (32M), large (512M) or bytes; may be repeated. "
            "[default: dram]",
        ),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option(
            help="nz, nz-ragged, 5hd, 5hd-ragged, 5hd-nhwc, fz or requantize; may be repeated. [default: all]"
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(help='What "all threads" are; by default all processors.')] = None,
    rounds: Annotated[int, typer.Option(help="How often everything is measured.")] = 9,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", callback=require_path, help="Draw a bar chart to a .png or .svg file.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", callback=require_path, help="Write the JSON object to a file, too.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files if they exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Measure conversions on this machine, beside what people use today and a plain copy of as many bytes."""
    from xascend import bench as suite
    from xascend._atomic import require_free, write_file

    for file in filter(None, (out, plot)):
        require_free(Path(file), overwrite)
        if Path(file).is_dir():
            raise typer.BadParameter(f"the output must be a file, got the folder {file}")
    if out and plot and os.path.realpath(out) == os.path.realpath(plot):
        raise typer.BadParameter(f"--out and --plot must be two files, got {out} and {plot}")
    if plot is not None:
        try:
            suite.check_chart(plot)
        except ImportError as error:
            raise typer.BadParameter(str(error)) from error
    if out is not None and not Path(out).parent.is_dir():
        raise typer.BadParameter(f"the folder of --out {out} is not there")
    sizes = [as_bytes("--size", text, suite.SIZES) for text in size or ["dram"]]
    with _progress(shown=sys.stderr.isatty()) as progress:
        report = suite.run(
            families=family or (),
            dtypes=dtype or ("float16",),
            sizes=sizes,
            device=device,
            threads=threads,
            rounds=rounds,
            progress=progress,
        )
    if as_json:
        print(report.to_json(), end="")
    else:
        _print(report)
    if out is not None:
        write_file(Path(out), report.to_json().encode(), overwrite)
    if plot is not None:
        suite.save_chart(report, plot, overwrite=overwrite)
    return 0


def _print(report: Report) -> None:
    from rich.console import Console

    from xascend.bench import terminal_tables

    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    for name, value in report.machine.items():
        console.print(f"{name}: {value}", markup=False)
    console.print(*terminal_tables(report))
    console.print(_NOTE, markup=False)
    if report.in_caches:
        told = "that cache holds source and result together, so that its speed is measured rather than that of memory."
        console.print(f"{report.in_caches}: {told}", markup=False)
    skipped = {f"without {name}: {reason}": None for case in report.cases for name, reason in case.skipped.items()}
    for line in skipped:
        console.print(line, markup=False)


@contextmanager
def _progress(shown: bool) -> Iterator[Progress | None]:
    if not shown:
        yield None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TextColumn("{task.description}")
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, case: bar.update(task, completed=done, total=total, description=case)

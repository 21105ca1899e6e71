"""``xascend convert``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xascend.cli._output import print_line
from xascend.cli._values import (
    as_bytes,
    as_format_or_number,
    as_sizes,
    require_path,
    shown_bytes,
    shown_shape,
    shown_text,
)

if TYPE_CHECKING:
    from xascend.files import Report, TensorReport

__all__ = ["convert"]

Progress = Callable[[int, int], None]


def convert(
    src: Annotated[
        str, typer.Argument(metavar="IN", callback=require_path, help="File, .safetensors.index.json or folder.")
    ],
    dst: Annotated[
        str, typer.Argument(metavar="OUT", callback=require_path, help="File or folder; the ending chooses the type.")
    ],
    src_format: Annotated[
        str | None, typer.Option("--from", help="Format of the input; by default the recorded one, or ND.")
    ] = None,
    dst_format: Annotated[
        str | None, typer.Option("--to", help="Format of the output; by default the recorded plain one.")
    ] = None,
    shape: Annotated[str | None, typer.Option(help="The tensor's own sizes: 1,3,224,224 or 1x3x224x224.")] = None,
    c0: Annotated[int | None, typer.Option("--c0", help="Block of the channel or column axis of the output.")] = None,
    groups: Annotated[int, typer.Option(help="Convolution groups of FRACTAL_Z.")] = 1,
    dtype: Annotated[
        str | None, typer.Option(help="Element type to see raw data as: bfloat16, float8_e4m3fn, ...")
    ] = None,
    include: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Convert only these tensors.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Do not convert these tensors.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Threads.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Skip outputs made from this input with these options.")
    ] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Read back, convert back, compare.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace outputs that exist.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done with each tensor, and why.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="As --dry-run, and say which executor takes each tensor, and why none before."),
    ] = False,
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler: tcp://host:port.")] = None,
    max_memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory of all slabs in flight.")] = "256M",
    device_memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory of the CUDA device that all slabs in flight take at most.")
    ] = "1GiB",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Convert a file, a checkpoint or a folder, streaming; the way back needs no options.

    Exit status: 0 done, 1 some tensors failed, 2 wrong usage or unusable files, 3 done but not printed.
    """
    from xascend import files

    dry_run |= explain
    with _progress(shown=not (quiet or as_json or dry_run) and sys.stderr.isatty()) as progress:
        report = files.convert(
            src,
            dst,
            src_format=None if src_format is None else as_format_or_number(src_format),
            dst_format=None if dst_format is None else as_format_or_number(dst_format),
            shape=None if shape is None else as_sizes("--shape", shape),
            c0=c0,
            groups=groups,
            dtype=dtype,
            include=include or (),
            exclude=exclude or (),
            device=device,
            jobs=jobs,
            resume=resume,
            verify=verify,
            overwrite=overwrite,
            dry_run=dry_run,
            scheduler=scheduler,
            max_bytes=as_bytes("--max-memory", max_memory),
            device_memory=as_bytes("--device-memory", device_memory),
            progress=progress,
        )
    status = 1 if report.failed else 0
    if as_json:
        fields = {"status": status, **asdict(report), "failed": [tensor.name for tensor in report.failed]}
        print(json.dumps(fields))
    elif not quiet:
        _print(report, explain)
    for tensor in report.failed:
        print_line("error", f"{tensor.name} in {tensor.file}: {tensor.reason}")
    return status


def _print(report: Report, explain: bool) -> None:
    for path in report.skipped:
        print(shown_text(f"skipped {path}: complete"))
    if report.dry_run:
        for tensor in report.tensors:
            print(shown_text(_line(tensor, explain)))
        for path in report.verified:
            print(shown_text(f"verify {path}"))
        return
    for path in report.written:
        print(shown_text(f"wrote {path}"))
    counts = {action: sum(t.action == action for t in report.tensors) for action in ("convert", "copy")}
    rate = report.bytes_moved / max(report.seconds, 1e-9) / 1e9
    print(
        f"{counts['convert']} converted, {counts['copy']} copied, {shown_bytes(report.bytes_moved)} read and written "
        f"in {report.seconds:.2f} s, {rate:.2f} GB/s"
        + (f"; files verified: {len(report.verified)}" if report.verified else "")
    )


def _line(tensor: TensorReport, explain: bool) -> str:
    start = f"{tensor.action} {tensor.name} {tensor.dtype} {shown_shape(tensor.src_shape)}"
    if tensor.action != "convert":
        return f"{start}: {tensor.reason}"
    shape = shown_shape(tensor.dst_shape)
    line = f"{start} {tensor.src_format} -> {tensor.dst_format} {shape}, {tensor.nbytes} bytes"
    if not explain:
        return line
    from xascend.runtime import Explanation

    return f"{line}, by {Explanation(tensor.executor, tensor.refused)}"


@contextmanager
def _progress(shown: bool) -> Iterator[Progress | None]:
    if not shown:
        yield None
        return
    from rich import progress as bars
    from rich.console import Console

    columns: tuple[Any, ...] = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TextColumn("{task.fields[rate]}"),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("converting", total=None, rate="")

        def advance(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, total=total, rate=f"{(speed or 0) / 1e9:.2f} GB/s")

        yield advance

"""``xascend golden`` and ``xascend compare``."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from typing import Annotated

import typer

from xascend.cli._output import print_line
from xascend.cli._values import as_format_or_number, as_sizes, require_path

__all__ = ["compare_command", "golden_command"]


def golden_command(
    op: Annotated[str, typer.Argument(metavar="OP", help="TransDataTo5HD, Brcb, Transdata or Fixpipe.")],
    config: Annotated[
        str | None,
        typer.Option(metavar="FILE", callback=require_path, help="TOML file with parameters, types, shapes, values."),
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", callback=require_path, help="Folder to make.")] = None,
    example: Annotated[bool, typer.Option("--example", help="Print a configuration of OP to start from.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a folder of golden data.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest.")] = False,
) -> int:
    """Write input/*.bin, output/golden.bin and manifest.json for an operator test.

    Start from an example: xascend golden Brcb --example > brcb.toml,
    then: xascend golden Brcb --config brcb.toml --out case1.
    All keys and kinds of values are told by help(xascend.golden.make_golden) in Python.

    Exit status: 0 done, 2 wrong usage or unusable files.
    """
    from xascend.cli._values import shown_shape, shown_text
    from xascend.golden import example_config, make_golden

    if example:
        if config is not None or out is not None:
            raise typer.BadParameter("`--example` goes without `--config` and `--out`")
        print(example_config(op), end="")
        return 0
    if config is None or out is None:
        raise typer.BadParameter("`--config` and `--out` are needed; `--example` shows a configuration")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            manifest = make_golden(op, config, out, overwrite=overwrite)
        except NotImplementedError as error:  # a wrong use of the command like any other
            raise ValueError(str(error)) from error
    for warning in caught:
        print_line("warning", str(warning.message))
    if as_json:
        print(manifest.to_json(), end="")
        return 0
    for entry in (*manifest.inputs, manifest.output):
        print(shown_text(f"wrote {out}/{entry.file} {entry.dtype} {shown_shape(entry.shape)}, {entry.nbytes} bytes"))
    return 0


def compare_command(
    actual: Annotated[
        str, typer.Argument(metavar="ACTUAL", callback=require_path, help="Result: .npy, .npz, .safetensors or raw.")
    ],
    golden: Annotated[str, typer.Argument(metavar="GOLDEN", callback=require_path, help="What it should be.")],
    dtype: Annotated[str | None, typer.Option(help="Element type of raw data, where no manifest tells.")] = None,
    shape: Annotated[
        str | None, typer.Option(help="Sizes of raw data, else 1-D; with --format the tensor's own: 20,28 or 20x28.")
    ] = None,
    storage_format: Annotated[
        str | None, typer.Option("--format", help="Storage format: differences are told in the tensor's indices too.")
    ] = None,
    plain_format: Annotated[
        str | None, typer.Option("--plain-format", help="Plain format that --shape and indices are in.")
    ] = None,
    c0: Annotated[int | None, typer.Option("--c0", help="C0 of --format.")] = None,
    groups: Annotated[int | None, typer.Option(help="Convolution groups of FRACTAL_Z.")] = None,
    rtol: Annotated[float, typer.Option(help="Relative tolerance.")] = 0.0,
    atol: Annotated[float, typer.Option(help="Absolute tolerance.")] = 0.0,
    ulp: Annotated[int | None, typer.Option(help="Tolerance in steps of the element type.")] = None,
    max_shown: Annotated[int, typer.Option("--show", metavar="N", help="Differences to list.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Hold a result against a golden file, in its own element type; NaN equals NaN.

    Exit status: 0 same, 1 different, 2 unreadable or wrong usage.
    """
    from xascend.golden import compare_files
    from xascend.golden._json import as_json_value

    report = compare_files(
        actual,
        golden,
        dtype=dtype,
        shape=None if shape is None else as_sizes("--shape", shape),
        format=None if storage_format is None else as_format_or_number(storage_format),
        plain_format=None if plain_format is None else as_format_or_number(plain_format),
        c0=c0,
        groups=groups,
        rtol=rtol,
        atol=atol,
        ulp=ulp,
        max_shown=max_shown,
    )
    status = 0 if report.equal else 1
    if as_json:
        print(json.dumps({"status": status, "equal": report.equal, **as_json_value(asdict(report))}, allow_nan=False))
    else:
        print(report)
    return status

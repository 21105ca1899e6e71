"""``xascend locate``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from xascend.cli._values import as_format_or_number, as_sizes

__all__ = ["locate"]


def locate(
    index: Annotated[str, typer.Argument(metavar="INDEX", help="Index in the source: 19,27 or 19x27.")],
    shape: Annotated[str, typer.Option(help="The tensor's own sizes.")],
    dst_format: Annotated[str, typer.Option("--to", help="Format of the destination.")],
    src_format: Annotated[str | None, typer.Option("--from", help="Format of the source; by default plain.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Element type, which chooses C0.")] = None,
    c0: Annotated[int | None, typer.Option("--c0", help="C0 of the blocked side.")] = None,
    groups: Annotated[int, typer.Option(help="Convolution groups of FRACTAL_Z.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Say where one element goes."""
    from xascend.sizes import locate as locate_element

    source = None if src_format is None else as_format_or_number(src_format)
    found = locate_element(
        as_sizes("INDEX", index),
        as_sizes("--shape", shape),
        source,
        as_format_or_number(dst_format),
        dtype=dtype,
        c0=c0,
        groups=groups,
    )
    print(json.dumps({"index": found}) if as_json else ",".join(map(str, found)))
    return 0

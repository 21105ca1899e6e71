"""``xascend show``."""

from __future__ import annotations

from typing import Annotated

import typer

from xascend.cli._values import as_format_or_number, as_sizes, require_path, shown_text

__all__ = ["show"]


def show(
    shape: Annotated[str, typer.Argument(metavar="SHAPE", help="The tensor's own sizes: 20,28 or 20x28.")],
    dst_format: Annotated[str, typer.Option("--to", help="Format to draw.")],
    src_format: Annotated[
        str | None, typer.Option("--from", help="Format whose axes SHAPE is in; by default plain.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="Element type, which chooses C0.")] = "float16",
    c0: Annotated[int | None, typer.Option("--c0", help="C0 of the format.")] = None,
    groups: Annotated[int, typer.Option(help="Convolution groups of FRACTAL_Z.")] = 1,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", callback=require_path, help="Draw to an .svg or .png file instead.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> int:
    """Draw which element lies where: text in the terminal, or a picture."""
    from xascend import pictures

    source = None if src_format is None else as_format_or_number(src_format)
    target = as_format_or_number(dst_format)
    drawn = pictures.show(
        as_sizes("SHAPE", shape),
        target,
        src_format=source,
        dtype=dtype,
        c0=c0,
        groups=groups,
        out=out,
        overwrite=overwrite,
    )
    print(drawn if out is None else shown_text(drawn))
    return 0

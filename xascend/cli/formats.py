"""``xascend formats``."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from xascend.formats import DEFAULT_C0, Format

__all__ = ["formats"]

_HEADINGS = ("name", "spellings", "aclFormat", "axes", "storage axes", "C0")
_BY_ITEM_SIZE = "by item size"
_NOTE = f"C0 {_BY_ITEM_SIZE}: {DEFAULT_C0[4]} for 4 bits, {DEFAULT_C0[8]} for 1 byte, {DEFAULT_C0[16]} for wider items"


def formats(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> int:
    """List the formats: names, aclFormat numbers, axes, storage axes and C0."""
    rows = [_row(fmt) for fmt in Format]
    if as_json:
        print(json.dumps({"formats": [dict(zip(_HEADINGS, row, strict=True)) for row in rows]}))
        return 0
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*_HEADINGS, box=box.SIMPLE)
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else 120).print(table, _NOTE)
    return 0


def _row(fmt: Format) -> tuple[Any, ...]:
    layout = fmt.layout
    stored = ", ".join("*".join(_shown(piece.axis) + piece.part for piece in pieces) for pieces in layout.stored)
    axes = ", ".join(_shown(axis) for axis in layout.axes)
    c0 = (layout.fixed_c0 or _BY_ITEM_SIZE) if fmt.is_blocked else None
    return fmt.value, ", ".join(fmt.short_names), fmt.acl_format, axes, stored, c0


def _shown(axis: str) -> str:
    return "*batch" if axis == "*" else axis

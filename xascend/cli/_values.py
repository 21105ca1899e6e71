"""Values as they are written on a command line, and as they are shown."""

from __future__ import annotations

import re

import typer

__all__ = ["as_bytes", "as_format_or_number", "as_sizes", "shown_bytes", "shown_shape"]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def as_sizes(text: str, /) -> tuple[int, ...]:
    """Return the integers of ``1,3,224,224`` or ``1x3x224x224``."""
    try:
        return tuple(int(size) for size in re.split(r"\s*[,x]\s*", text.strip())) if text.strip() else ()
    except ValueError as error:
        raise typer.BadParameter(f"must be a list such as 1,3,224,224 or 1x3x224x224, got {text!r}") from error


def as_bytes(text: str, /) -> int:
    """Return the bytes of ``256M``, ``256MiB``, ``2G`` or a plain number; units are powers of 1024."""
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:I?B)?", text.strip().upper())
    if match is None:
        raise typer.BadParameter(f"must be a size such as 256M or 2G, got {text!r}")
    return int(match[1]) * _UNITS[match[2]]


def as_format_or_number(text: str, /) -> str | int:
    """Return an aclFormat number as such, and names as they are."""
    return int(text) if text.isdecimal() else text


def shown_bytes(count: int, /) -> str:
    """Return a byte count as people read it, in powers of 1000."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def shown_shape(shape: tuple[int, ...], /) -> str:
    """Return a shape as it may be passed to ``--shape``."""
    return "x".join(map(str, shape)) or "scalar"

"""Values as they are written on a command line, and as they are shown."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from types import MappingProxyType

import typer

__all__ = ["as_bytes", "as_format_or_number", "as_sizes", "require_path", "shown_bytes", "shown_shape", "shown_text"]

_LONGEST_LINE = 2000
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def require_path(value: str | None) -> str | None:
    """Refuse an empty path, which an unset variable of a shell gives and which would mean the current folder."""
    if value == "":
        raise typer.BadParameter("must be a path, got an empty text")
    return value


def as_sizes(option: str, text: str, /) -> tuple[int, ...]:
    """Return the integers of ``1,3,224,224`` or ``1x3x224x224``, as which an option or argument was given."""
    try:
        return tuple(int(size) for size in re.split(r"\s*[,x]\s*", text.strip())) if text.strip() else ()
    except ValueError as error:
        message = f"must be a list such as 1,3,224,224 or 1x3x224x224, got {text!r}"
        raise typer.BadParameter(message, param_hint=option) from error


def as_bytes(option: str, text: str, /, names: Mapping[str, int] = MappingProxyType({})) -> int:
    """Return the bytes of a name, of ``256M``, ``256MiB``, ``2G`` or a plain number; units are powers of 1024."""
    if text in names:
        return names[text]
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:I?B)?", text.strip().upper())
    if match is None or len(match[1]) > len(str(sys.maxsize)):
        raise typer.BadParameter(
            f"must be {''.join(f'{name}, ' for name in names)}a size such as 256M or 2G, got {text!r}",
            param_hint=option,
        )
    return int(match[1]) * _UNITS[match[2]]


def as_format_or_number(text: str, /) -> str | int:
    """Return an aclFormat number as such, and names as they are."""
    return int(text) if text.isdecimal() and len(text) < 10 else text


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


def shown_text(text: str, /) -> str:
    """Return a text in one line that a terminal only shows: names in files may hold anything, and have any length."""
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    line = re.sub(r"\d{50,}", lambda digits: f"{digits[0][:20]}… ({len(digits[0])} digits)", line)
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[: _LONGEST_LINE // 2]} … {line[-_LONGEST_LINE // 2 :]}"

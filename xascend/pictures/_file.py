"""A file that appears complete, and in the place of another one only where that was asked for."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

__all__ = ["require_free", "write_file"]


def require_free(path: Path, overwrite: bool, /) -> None:
    """Refuse a file that exists, a broken link included, unless it may be overwritten."""
    if not overwrite and os.path.lexists(path):
        message = "the file exists; choose another name, or overwrite it (--overwrite)"
        raise FileExistsError(errno.EEXIST, message, str(path))


def write_file(path: Path, data: bytes, overwrite: bool, /) -> None:
    """Write a file beside its place and rename it when it is complete."""
    require_free(path, overwrite)
    path = path.resolve()  # a link is written through, not replaced
    temporary = path.with_name(f".xascend-{secrets.token_hex(8)}.part")
    taken = False
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if not overwrite:
            path.touch(exist_ok=False)  # of two that write at once, one fails here
            taken = True
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        if taken:
            path.unlink(missing_ok=True)
        raise

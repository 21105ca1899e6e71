"""An output folder that appears complete or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xascend.files.atomic import TEMPORARY_PREFIX
from xascend.golden._manifest import MANIFEST, read_manifest

__all__ = ["new_folder", "require_free"]


def require_free(out: Path, overwrite: bool, /) -> None:
    """Refuse a path that is taken; what may be overwritten is an empty folder or one of golden data."""
    if not out.exists() and not out.is_symlink():
        return
    if not overwrite:
        raise ValueError(f"`out` {out} exists; choose another folder, or overwrite it (--overwrite)")
    if not out.is_dir() or (read_manifest(out) is None and any(out.iterdir())):
        raise ValueError(f"`out` {out} holds no golden data ({MANIFEST}) and is not overwritten; choose another folder")


@contextmanager
def new_folder(out: Path, /) -> Iterator[Path]:
    """Give a temporary folder beside `out`, and put it in the place of `out` when all went well."""
    out = out.resolve()  # a link is written through, not replaced
    out.parent.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    temporary, replaced = (out.with_name(f"{TEMPORARY_PREFIX}{token}-{end}") for end in ("new", "old"))
    try:
        temporary.mkdir()
        yield temporary
        if out.exists():
            out.rename(replaced)
        temporary.rename(out)
    except BaseException:
        if replaced.exists() and not out.exists():
            replaced.rename(out)
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(replaced, ignore_errors=True)

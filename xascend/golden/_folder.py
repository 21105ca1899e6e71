"""An output folder that appears complete or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xascend._atomic import TEMPORARY_PREFIX
from xascend.golden._manifest import MANIFEST, read_manifest

__all__ = ["new_folder", "require_free", "require_outside"]


def require_free(out: Path, overwrite: bool, /) -> None:
    """Refuse a path that is taken; what may be overwritten is an empty folder, or one of golden data and no more."""
    if not out.exists() and not out.is_symlink():
        return
    if not overwrite:
        raise ValueError(f"`out` {out} exists; choose another folder, or overwrite it (--overwrite)")
    manifest = read_manifest(out)
    if not out.is_dir() or (manifest is None and any(out.iterdir())):
        raise ValueError(f"`out` {out} holds no golden data ({MANIFEST}) and is not overwritten; choose another folder")
    made = {Path(MANIFEST)}
    for entry in () if manifest is None else (*manifest.inputs, manifest.output):
        made |= {Path(entry.file), *Path(entry.file).parents}
    for path in sorted(out.rglob("*")):
        if path.relative_to(out) not in made:
            raise ValueError(
                f"`out` {out} holds {path.relative_to(out)}, which its {MANIFEST} does not list and overwriting would "
                "delete; move it away or choose another folder"
            )


def require_outside(config: Path, out: Path, /) -> None:
    """Refuse a configuration inside the folder that is to be replaced."""
    if out.resolve() in config.resolve().parents:
        raise ValueError(f"`config` {config} must not lie inside `out` {out}, which is replaced; move it away")


@contextmanager
def new_folder(out: Path, overwrite: bool, /) -> Iterator[Path]:
    """Give a temporary folder beside `out`, and put it in the place of `out` when all went well."""
    out = out.resolve()  # a link is written through, not replaced
    out.parent.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    temporary, replaced = (out.with_name(f"{TEMPORARY_PREFIX}{token}-{end}") for end in ("new", "old"))
    try:
        temporary.mkdir()
        yield temporary
        require_free(out, overwrite)  # again: something may have come while the data were made
        if out.exists():
            out.rename(replaced)
        temporary.rename(out)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(out)  # a full disk is told without a name
        if replaced.exists() and not out.exists():
            replaced.rename(out)
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(replaced, ignore_errors=True)

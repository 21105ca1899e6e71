"""What may be written: never an input, never what exists unless that was asked for."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from pathlib import Path

from xascend.files.choice import Request
from xascend.files.index import is_index_of
from xascend.files.record import Stamp, is_sidecar, read_sidecar, sidecar_path
from xascend.files.safetensors import read_metadata
from xascend.files.sources import Layout

__all__ = ["Pending", "check_outputs"]


@dataclass(frozen=True, slots=True)
class Pending:
    """What is still to be done, which data files are complete, and which outputs may be replaced."""

    layout: Layout
    complete: tuple[tuple[Path, Path], ...]
    replaceable: frozenset[Path]


def check_outputs(layout: Layout, request: Request, resume: bool, overwrite: bool, /) -> Pending:
    """Return what is to be done; refuse to overwrite anything that is neither asked for nor left by an interruption."""
    inputs = {_identity(path) for path, _ in (*layout.data, *layout.copies, *layout.indexes)}
    data, copies, complete = [], [], []
    replaceable: set[Path] = set()
    if not layout.is_folder:
        _require_folder(layout.data[0][1])
    for source, out in layout.data:
        if resume and out.is_file() and _is_complete(source, out, request):
            complete.append((source, out))
            continue
        if not _is_free(out, inputs, overwrite):
            raise _exists(out, resume)
        if out.suffix != ".safetensors":
            sidecar = sidecar_path(out)
            _require_own(sidecar, out)
            # Without its data it is worth nothing, and may go when resuming.
            if not _is_free(sidecar, inputs, overwrite or resume):
                raise _exists(sidecar, resume)
            if sidecar.exists():
                replaceable.add(sidecar)
        data.append((source, out))
    for source, out in layout.copies:
        if resume and out.is_file() and _age(source) == _age(out):
            continue
        if not _is_free(out, inputs, overwrite):
            raise _exists(out, resume)
        copies.append((source, out))
    for index, out in layout.indexes:
        ours = resume and out.is_file() and is_index_of(out, index)
        if not _is_free(out, inputs, overwrite or ours):
            raise _exists(out, resume)
        if ours:
            replaceable.add(out)
    if overwrite:
        replaceable.update(out for _, out in (*data, *copies, *layout.indexes))
    _require_apart(data, copies)
    return Pending(replace(layout, data=tuple(data), copies=tuple(copies)), tuple(complete), frozenset(replaceable))


def _require_folder(out: Path) -> None:
    if not out.parent.is_dir():
        kind, number = (NotADirectoryError, errno.ENOTDIR) if out.parent.exists() else (FileNotFoundError, errno.ENOENT)
        raise kind(number, f"cannot write: {os.strerror(number)}", str(out))


def _require_own(sidecar: Path, out: Path) -> None:
    """Refuse a place for the record that another file has, which nobody named and so nobody asked to replace."""
    if sidecar.is_file() and not is_sidecar(sidecar):
        raise FileExistsError(
            errno.EEXIST, f"the record of {out.name} needs this name, but it is no record; move it away", str(sidecar)
        )


def _require_apart(data: list[tuple[Path, Path]], copies: list[tuple[Path, Path]]) -> None:
    records = {sidecar_path(out): out for _, out in data if out.suffix != ".safetensors"}
    for source, out in copies:
        if out in records:
            raise ValueError(f"{source} is no record, but {records[out]} needs its name for one; move it away")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _age(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _is_free(out: Path, inputs: set[tuple[int, int]], overwrite: bool) -> bool:
    """Say whether an output may be written; never over an input or a folder."""
    if not out.exists():
        return True
    if out.is_dir():
        raise IsADirectoryError(errno.EISDIR, "the output is a folder", str(out))
    if not out.is_file():
        raise ValueError(f"the output must be a regular file, got {out}, which is none")
    if _identity(out) in inputs:
        raise ValueError(f"the output must be another file than the input, got {out} for both")
    return overwrite


def _exists(out: Path, resume: bool) -> FileExistsError:
    other = " and was not made from this input with these options" if resume else ""
    return FileExistsError(
        errno.EEXIST, f"the output exists{other}; `overwrite` (--overwrite) would replace it", str(out)
    )


def _is_complete(source: Path, out: Path, request: Request) -> bool:
    try:
        record = read_metadata(out)[1] if out.suffix == ".safetensors" else read_sidecar(out)
    except (ValueError, TypeError):
        return False
    made = record is not None and record.source == Stamp.of(source)
    return made and record is not None and dict(record.options) == request.to_json()

"""What may be written: never an input, never what exists unless that was asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from xascend.files.choice import Request
from xascend.files.record import Stamp, read_sidecar, sidecar_path
from xascend.files.safetensors import read_metadata
from xascend.files.sources import Layout

__all__ = ["check_outputs"]


def check_outputs(layout: Layout, request: Request, resume: bool, overwrite: bool, /) -> tuple[Layout, list[str]]:
    """Return the layout without what is complete, and the outputs that are; refuse to overwrite anything else."""
    inputs = {_identity(path) for path, _ in (*layout.data, *layout.copies, *layout.indexes)}
    data, copies, skipped = [], [], []
    for source, out in layout.data:
        if resume and out.is_file() and _is_complete(source, out, request):
            skipped.append(str(out))
            continue
        if not _is_free(out, inputs, overwrite):
            raise _exists(out, resume)
        sidecar = sidecar_path(out)  # without its data it is what an interruption left, and may go when resuming
        if out.suffix != ".safetensors" and not _is_free(sidecar, inputs, overwrite or resume):
            raise _exists(sidecar, resume)
        data.append((source, out))
    for source, out in layout.copies:
        if resume and out.is_file() and _age(source) == _age(out):
            continue
        if not _is_free(out, inputs, overwrite):
            raise _exists(out, resume)
        copies.append((source, out))
    for _, out in layout.indexes:
        if not _is_free(out, inputs, overwrite or resume):
            raise _exists(out, resume)
    return replace(layout, data=tuple(data), copies=tuple(copies)), skipped


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
        raise IsADirectoryError(21, "the output is a folder", str(out))
    if _identity(out) in inputs:
        raise ValueError(f"the output must be another file than the input, got {out} for both")
    return overwrite


def _exists(out: Path, resume: bool) -> FileExistsError:
    other = " and was not made from this input with these options" if resume else ""
    return FileExistsError(17, f"the output exists{other}; `overwrite` (--overwrite) would replace it", str(out))


def _is_complete(source: Path, out: Path, request: Request) -> bool:
    try:
        record = read_metadata(out)[1] if out.suffix == ".safetensors" else read_sidecar(out)
    except ValueError:
        return False
    made = record is not None and record.source == Stamp.of(source)
    return made and record is not None and dict(record.options) == request.to_json()

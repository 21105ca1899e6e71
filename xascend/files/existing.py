"""What may be written: never an input, never what exists unless that was asked for."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from pathlib import Path

from xascend.files.choice import Request
from xascend.files.index import is_index_of
from xascend.files.record import Fingerprint, Stamp, is_sidecar, read_claim, sidecar_path
from xascend.files.safetensors import read_metadata
from xascend.files.sources import Layout

__all__ = ["Pending", "check_outputs"]


@dataclass(frozen=True, slots=True)
class Pending:
    """What is still to be done, which data files are complete, which are damaged, and which outputs may be replaced.

    A damaged one comes with what is wrong with it; there are none unless they are to be verified.
    """

    layout: Layout
    complete: tuple[tuple[Path, Path], ...]
    damaged: tuple[tuple[Path, Path, str], ...]
    replaceable: frozenset[Path]


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why an output that exists is not complete; a damaged one has changed since it was made, or cannot be read."""

    why: str
    is_damaged: bool = False


def check_outputs(layout: Layout, request: Request, resume: bool, verify: bool, overwrite: bool, /) -> Pending:
    """Return what is to be done; refuse to overwrite anything that is neither asked for nor left by an interruption."""
    inputs = {_identity(path) for path, _ in (*layout.data, *layout.copies, *layout.indexes)}
    data, copies, complete, damaged = [], [], [], []
    replaceable: set[Path] = set()
    if not layout.is_folder:
        _require_folder(layout.data[0][1])
    for source, out in layout.data:
        fault = _fault(source, out, request) if resume and out.is_file() else _Fault("exists")
        if fault is None:
            complete.append((source, out))
            continue
        if fault.is_damaged and verify and not overwrite:
            damaged.append((source, out, f"the output {fault.why}"))
            continue
        if not _is_free(out, inputs, overwrite):
            raise _refused(out, fault.why)
        if out.suffix != ".safetensors":
            sidecar = sidecar_path(out)
            _require_own(sidecar, out)
            # Without its data it is worth nothing, and may go when resuming.
            if not _is_free(sidecar, inputs, overwrite or resume):
                raise _refused(sidecar, "exists")
            if sidecar.exists():
                replaceable.add(sidecar)
        data.append((source, out))
    for source, out in layout.copies:
        if resume and out.is_file() and _age(source) == _age(out):
            continue
        if not _is_free(out, inputs, overwrite):
            raise _refused(out, "exists and is no copy of the input as it is now" if resume else "exists")
        copies.append((source, out))
    for index, out in layout.indexes:
        ours = resume and out.is_file() and is_index_of(out, index)
        if not _is_free(out, inputs, overwrite or ours):
            raise _refused(out, "exists and is no index of these shards" if resume else "exists")
        if ours:
            replaceable.add(out)
    if overwrite:
        replaceable.update(out for _, out in (*data, *copies, *layout.indexes))
    _require_apart(data, copies)
    left = replace(layout, data=tuple(data), copies=tuple(copies))
    return Pending(left, tuple(complete), tuple(damaged), frozenset(replaceable))


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


def _refused(out: Path, why: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"the output {why}; `overwrite` (--overwrite) would replace it", str(out))


def _fault(source: Path, out: Path, request: Request) -> _Fault | None:
    """Return why an output is not what the request makes of the source, or None where it is."""
    try:
        record = read_metadata(out)[1] if out.suffix == ".safetensors" else read_claim(out)
    except (ValueError, TypeError) as error:
        return _Fault(f"exists and cannot be read: {error}", is_damaged=True)
    if record is None:
        return _Fault("exists and has no record of a conversion")
    if record.source != Stamp.of(source):
        difference = _difference(record.source, Stamp.of(source))
        return _Fault(f"exists and was not made from this input as it is now: {difference}")
    options = request.to_json()
    if dict(record.options) != options:
        names = sorted({*options, *record.options})
        was, now = ({name: each.get(name) for name in names} for each in (record.options, options))
        shown = [f"{name} was {was[name]!r}, now it is {now[name]!r}" for name in names if was[name] != now[name]]
        return _Fault(f"exists and was made with other options: {'; '.join(shown)}")
    if out.suffix == ".safetensors":  # which has no fingerprint: what is in it shows only when it is verified
        return None
    change = _change(record.data, Fingerprint.of(out))
    return None if change is None else _Fault(change, is_damaged=True)


def _difference(was: Stamp | None, now: Stamp) -> str:
    if was is None:
        return "nothing tells what it was made from"
    if was.name != now.name:
        return f"that was called {was.name}"
    if was.size != now.size:
        return f"that had {was.size} bytes, now it has {now.size}"
    return "it was changed since"


def _change(was: Fingerprint | None, now: Fingerprint) -> str | None:
    """Return how data differ from those that the record beside them was written for, or None where they do not."""
    if was is None:
        return "exists, but its record does not tell which data it is for"
    if was.size != now.size:
        return f"has changed since it was made: it had {was.size} bytes, now it has {now.size}"
    return None if was == now else "has changed since it was made: it has as many bytes, but others"

"""Writing one output file: header, data at known offsets, and the record of what was done."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Container, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from xascend._atomic import atomic_outputs
from xascend._dtypes import resolve_dtype
from xascend.files.choice import Choice
from xascend.files.device import Share
from xascend.files.npy import npy_header
from xascend.files.npz import damaged_members, member_info
from xascend.files.record import FileRecord, Fingerprint, Record, Stamp, sidecar_path
from xascend.files.report import told
from xascend.files.safetensors import METADATA_KEY, safetensors_header, type_name
from xascend.files.tasks import Target, Task, produce, tasks_of
from xascend.files.verify import mismatch, written_tensors
from xascend.files.workers import Run

__all__ = ["Job", "Settings", "TensorError", "make_job", "nbytes_of", "verify_job", "write_job"]

_LITTLE_ENDIAN_KINDS = (".safetensors", ".bin")


class TensorError(Exception):
    """Some tensors of an output file went wrong, so that it was given up; `failures` tells why, by tensor."""

    def __init__(self, failures: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {why}" for name, why in failures.items()))
        self.failures = failures


@dataclass(frozen=True, slots=True)
class Settings:
    """How an output file is written."""

    run: Run
    device: Share | None
    max_bytes: int
    verify: bool
    replaceable: Container[Path]
    on_bytes: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Job:
    """One output file: what goes in, in the order of its data, its header and its record."""

    source: Path
    out: Path
    choices: tuple[Choice, ...]
    header: bytes
    record: FileRecord

    @property
    def kind(self) -> str:
        """File type of the output."""
        return self.out.suffix


def nbytes_of(choice: Choice, /) -> int:
    """Return the bytes of a tensor in the output."""
    return math.prod(choice.shape) * choice.tensor.dtype.itemsize if choice.plan else choice.tensor.nbytes


def make_job(source: Path, out: Path, choices: tuple[Choice, ...], record: FileRecord, metadata: dict[str, str]) -> Job:
    """Return the job for one output file; what its type cannot hold is an error that names it."""
    kind = out.suffix
    if kind in (".npy", ".bin") and len(choices) != 1:
        raise ValueError(
            f"{out} can hold one tensor, but {source} gives {len(choices)}: choose one with `include` (--include), "
            "or write .npz or .safetensors"
        )
    if kind in (".npz", ".safetensors"):
        _require_text(source, out, choices)
    if kind != ".safetensors":
        raw = next((choice.tensor for choice in choices if choice.tensor.raw), None)
        if raw is not None:
            raise TypeError(f"{raw.name} is of type {raw.raw}, which only safetensors can hold")
        records = {choice.tensor.name: choice.record or _plain_record(choice) for choice in choices}
        record = replace(record, tensors={name: kept for name, kept in records.items() if kept is not None})
        header = npy_header(choices[0].tensor.dtype, choices[0].shape) if kind == ".npy" else b""
        return Job(source, out, choices, header, record)
    record = replace(record, tensors={c.tensor.name: c.record for c in choices if c.record is not None})
    choices = tuple(sorted(choices, key=lambda choice: -choice.tensor.dtype.itemsize))  # keeps all data aligned
    entries = [
        (c.tensor.name, type_name(c.tensor.name, c.tensor.dtype, c.tensor.raw), c.shape, nbytes_of(c)) for c in choices
    ]
    return Job(source, out, choices, safetensors_header(entries, metadata | {METADATA_KEY: record.to_json()}), record)


def _require_text(source: Path, out: Path, choices: tuple[Choice, ...]) -> None:
    """Raise ValueError where the name of a tensor, which may be that of a file, is none that a header can hold."""
    for choice in choices:
        try:
            choice.tensor.name.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{out} can hold no tensor called {choice.tensor.name}, as {source} has it: the name is not UTF-8; "
                "rename the input, or write .npy or .bin"
            ) from error


def _plain_record(choice: Choice) -> Record | None:
    """Return a record of nothing but type and sizes, which .npy cannot name and .bin not at all."""
    try:
        return Record("ND", "ND", choice.shape, resolve_dtype(choice.tensor.dtype).name)
    except TypeError:  # raw bytes, structures, texts: .npy names them, or nobody can
        return None


def write_job(job: Job, settings: Settings, /) -> None:
    """Write an output file and its sidecar, or neither. TensorError tells which tensors went wrong."""
    size = len(job.header) + sum(nbytes_of(choice) for choice in job.choices)
    if job.kind == ".safetensors":
        with atomic_outputs((job.out, size), replaceable=settings.replaceable) as (temporary,):
            _fill(job, temporary, settings)
        return
    text = replace(job.record, data=Fingerprint(size, "0" * 64)).to_json() + "\n"
    outputs = (job.out, size), (sidecar_path(job.out), len(text))
    with atomic_outputs(*outputs, replaceable=settings.replaceable) as (temporary, side):
        _fill(job, temporary, settings)
        record = replace(job.record, data=Fingerprint.of(temporary))
        side.write_text(record.to_json() + "\n", encoding="utf-8")


def _fill(job: Job, temporary: Path, settings: Settings) -> None:
    target = Target(str(temporary), job.kind in _LITTLE_ENDIAN_KINDS, settings.device)
    damaged = damaged_members(job.source) if job.source.suffix == ".npz" else {}
    if damaged:
        raise TensorError(damaged)
    if job.kind == ".npz":
        _write_archive(job, temporary, target, settings)
    else:
        with temporary.open("r+b") as stream:
            stream.write(job.header)
        with closing(settings.run(_tasks(job, target, settings.max_bytes))) as outcomes:
            for task, outcome in outcomes:
                if isinstance(outcome, Exception):
                    raise TensorError({task.tensor.name: told(outcome)}) from outcome
                settings.on_bytes(outcome)
    if Stamp.of(job.source) != job.record.source:
        raise TensorError({c.tensor.name: "the input changed while it was read" for c in job.choices})
    if settings.verify:
        verify_job(job, temporary, settings.max_bytes)


def verify_job(job: Job, path: Path, max_bytes: int, /) -> None:
    """Compare a file with the source of a job; TensorError tells which tensors differ."""
    pairs = zip(job.choices, written_tensors(job.kind, path, job.choices), strict=True)
    differing = {c.tensor.name: mismatch(c, written, max_bytes) for c, written in pairs}
    failures = {name: why for name, why in differing.items() if why is not None}
    if failures:
        raise TensorError(failures)


def _tasks(job: Job, target: Target, max_bytes: int) -> Iterator[Task]:
    offset = len(job.header)
    for choice in job.choices:
        yield from tasks_of(choice, offset, target, max_bytes)
        offset += nbytes_of(choice)


def _write_archive(job: Job, temporary: Path, target: Target, settings: Settings) -> None:
    name = ""
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for choice in job.choices:
                name = choice.tensor.name
                with archive.open(member_info(name), "w", force_zip64=True) as stream:
                    stream.write(npy_header(choice.tensor.dtype, choice.shape))
                    for task in tasks_of(choice, 0, target, settings.max_bytes):
                        with closing(produce(task)) as produced:
                            for data in produced:
                                stream.write(data)
                                settings.on_bytes(data.nbytes)
    except OSError as error:
        raise type(error)(error.errno, f"cannot write: {error.strerror}", str(job.out)) from error
    except Exception as error:
        raise TensorError({name: told(error)}) from error

"""`convert`: from an input to its outputs, whole files at a time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from xascend._atomic import atomic_outputs
from xascend._plan import as_shape, as_size
from xascend.files.choice import NOT_CHOSEN, Choice, Request, choose
from xascend.files.device import Share, as_device, executor_of_slabs, free_bytes
from xascend.files.existing import Pending, check_outputs
from xascend.files.index import index_text, require_covered
from xascend.files.outputs import Job, Settings, TensorError, make_job, nbytes_of, verify_job, write_job
from xascend.files.record import FileRecord, Stamp
from xascend.files.report import Report, TensorReport, told
from xascend.files.safetensors import list_safetensors, read_metadata
from xascend.files.sources import Layout, find_files, list_tensors
from xascend.files.streaming import cut, device_bytes
from xascend.files.tasks import CACHED_BYTES, release_memory
from xascend.files.tensor import StoredTensor, as_dtype, has_order
from xascend.files.workers import workers
from xascend.formats import as_format

__all__ = ["DEFAULT_DEVICE_MEMORY", "DEFAULT_MAX_BYTES", "convert"]

DEFAULT_MAX_BYTES = 256 << 20
DEFAULT_DEVICE_MEMORY = 1 << 30

Listed = Mapping[Path, tuple[Stamp, tuple[StoredTensor, ...]]]  # what each input file is and holds
Taken = tuple[str, Mapping[str, str]]  # executor, and why not those before it


def convert(
    src: str | Path,
    dst: str | Path,
    *,
    src_format: Any = None,
    dst_format: Any = None,
    shape: Sequence[int] | None = None,
    c0: int | None = None,
    groups: int = 1,
    dtype: Any = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    device: str = "auto",
    jobs: int = 1,
    resume: bool = False,
    verify: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    scheduler: str | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
    device_memory: int = DEFAULT_DEVICE_MEMORY,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Convert the tensors of a file, a checkpoint in shards or a folder from one storage format to another.

    Data are memory-mapped and streamed in slabs. Every output appears under its name only when it is complete, with a
    record of formats and sizes, so that the way back needs no options and a second conversion is refused.

    Parameters
    ----------
    src
        A ``.npy``, ``.npz``, ``.bin`` or ``.safetensors`` file, the ``.safetensors.index.json`` of a checkpoint in
        shards, or a folder of such files; other files of a folder are copied.
    dst
        Output file, of any of the types, or output folder.
    src_format, dst_format
        Formats as `trans_data` takes them. Left out, they are the recorded format and the plain format it came from;
        for a matrix format as destination the source is ND where nothing is recorded.
    shape
        The tensor's own sizes, as in `trans_data`; a ``.bin`` file needs them unless it has a record.
    c0, groups
        As in `trans_data`.
    dtype
        Element type to see the data as, where the file cannot name it; a view of the same item size, never a cast.
        A name without ``<`` or ``>`` keeps the byte order of the file.
    include, exclude
        Globs on tensor names; tensors not chosen, and those that the formats cannot hold, are copied unchanged
        (left out where the output is a ``.npy`` or ``.bin`` file, which holds one tensor).
    device
        ``"auto"`` and ``"cpu"``: host memory. ``"cuda"`` or ``"cuda:N"``: slab after slab by way of that device, with
        copies and kernels overlapped.
    jobs
        Threads, at least 1.
    resume
        Skip outputs that were made from the same input, by size and time of change, with the same options.
    verify
        Read every output back, convert it back and compare it with the input before it gets its name, and see that
        padding is zero; with `resume` also outputs that are skipped, and what has changed since it was made or cannot
        be read has failed.
    overwrite
        Replace outputs that exist; otherwise they are an error before anything is read.
    dry_run
        Decide and check everything, write nothing; the report also tells which executor each tensor would take.
    scheduler
        Address of a Dask scheduler whose workers see the same files; then `jobs` has no effect, and which executor
        the report names is that of this machine.
    max_bytes
        Bytes of input and output that all slabs in flight take together, also those that `verify` converts back,
        where the formats let a tensor be cut so far.
    device_memory
        Bytes of the device that all slabs in flight take together, at most; never more than it has free. It must
        hold all of a tensor where the formats do not let it be cut. With `scheduler`, each task may take as much.
    progress
        Called with the bytes written so far and in total.

    Returns
    -------
    Report
        What was done. Where a tensor failed, its output file was given up and the others were written.

    Raises
    ------
    ValueError, TypeError
        An option or the input does not fit; nothing was written.
    OSError
        A file cannot be read or written; outputs written so far are complete.

    Notes
    -----
    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from xascend import files
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "x.npy", np.arange(560, dtype=np.float16).reshape(20, 28))
    >>> files.convert(folder / "x.npy", folder / "y.npy", src_format="ND", dst_format="NZ").tensors[0].dst_shape
    (2, 2, 16, 16)
    >>> files.convert(folder / "y.npy", folder / "z.npy").tensors[0].dst_shape
    (20, 28)
    """
    request = Request(
        None if src_format is None else as_format("src_format", src_format),
        None if dst_format is None else as_format("dst_format", dst_format),
        None if shape is None else as_shape("shape", shape),
        None if c0 is None else as_size("c0", c0),
        as_size("groups", groups),
        None if dtype is None else as_dtype(dtype),
        has_order(dtype),
        _globs("include", include),
        _globs("exclude", exclude),
    )
    jobs, max_bytes = as_size("jobs", jobs), as_size("max_bytes", max_bytes)
    device_memory = as_size("device_memory", device_memory)
    number = as_device(device)
    share = None if number is None else Share(number, min(device_memory, free_bytes(number)) // jobs)
    part_bytes = max(1, max_bytes // jobs)
    if share is not None:
        part_bytes = min(part_bytes, share.nbytes)
    elif scheduler is None:
        part_bytes = min(part_bytes, CACHED_BYTES)
    started = time.monotonic()
    layout = find_files(Path(src), Path(dst))
    pending = check_outputs(layout, request, resume, verify, overwrite)
    listed = _list(layout, request)
    planned = _plan(listed, pending.layout.data, request)
    again = _plan(listed, pending.complete, request) if verify else []
    if planned:
        _require_work(planned)
    if share is not None:
        _require_room(planned, share, part_bytes)
    taken = executor_of_slabs(number)
    reports = [_report(choice, job, taken) for job in planned for choice in job.choices]
    damaged = _damaged(listed, pending, request, taken)
    written: list[str] = []
    verified = [str(job.out) for job in (*planned, *again)] if verify else []
    moved = 0
    if not dry_run:
        total = sum(nbytes_of(choice) for job in planned for choice in job.choices)
        done = 0

        def on_bytes(count: int) -> None:
            nonlocal done
            done += count
            if progress is not None:
                progress(done, total)

        with _folders(pending.layout), workers(jobs, scheduler) as run:
            settings = Settings(run, share, part_bytes, verify, pending.replaceable, on_bytes)
            reports, written, moved = _write_all(planned, settings, taken)
            spoiled, intact = _verify_again(again, part_bytes, taken)
            verified = [*written, *intact] if verify else []
            reports += spoiled
            if len(written) == len(planned) and not (spoiled or damaged):
                written += _write_others(layout, pending)
    skipped = tuple(str(out) for _, out in pending.complete)
    seconds = time.monotonic() - started
    return Report((*reports, *damaged), tuple(written), skipped, tuple(verified), moved, seconds, dry_run)


def _globs(name: str, globs: Iterable[str]) -> tuple[str, ...]:
    if isinstance(globs, str):
        raise TypeError(f"`{name}` must be a list of globs, got the text {globs!r}")
    return tuple(globs)


def _list(layout: Layout, request: Request) -> Listed:
    """Return stamp and tensors of every input file."""
    listed = {source: (Stamp.of(source), list_tensors(source, request)) for source, _ in layout.data}
    for index, _ in layout.indexes:
        held = {source: frozenset(tensor.name for tensor in tensors) for source, (_, tensors) in listed.items()}
        require_covered(index, held)
    return listed


def _plan(listed: Listed, data: Iterable[tuple[Path, Path]], request: Request) -> list[Job]:
    recorded = any(t.record is not None and t.record.is_blocked for _, tensors in listed.values() for t in tensors)
    jobs = []
    for source, out in data:
        stamp, tensors = listed[source]
        choices = tuple(choose(tensor, request, recorded) for tensor in tensors)
        if out.suffix in (".npy", ".bin") and len(choices) > 1:
            choices = tuple(choice for choice in choices if request.selects(choice.tensor.name))
        metadata = read_metadata(source)[0] if source.suffix == ".safetensors" else {}
        jobs.append(make_job(source, out, choices, FileRecord({}, stamp, request.to_json()), metadata))
    return jobs


def _require_work(jobs: list[Job]) -> None:
    choices = [choice for job in jobs for choice in job.choices]
    if not choices:
        raise ValueError(f"there is nothing to convert: {jobs[0].source} holds no tensor that was chosen")
    if not any(choice.plan for choice in choices):
        reasons = {choice.reason: choice.tensor.name for choice in reversed(choices)}  # the first of each reason
        shown = [f"{name}: {why}" for why, name in reasons.items() if why != NOT_CHOSEN or len(reasons) == 1]
        more = len(choices) - len(shown)
        raise ValueError(
            "there is nothing to convert: " + "; ".join(reversed(shown)) + (f" (and {more} more)" if more else "")
        )


def _require_room(jobs: list[Job], share: Share, max_bytes: int) -> None:
    """Raise ValueError where a part of a tensor, as small as its formats allow, needs more of the device."""
    for choice in (choice for job in jobs for choice in job.choices):
        if choice.plan is None:
            continue
        itemsize = choice.tensor.dtype.itemsize
        needed = device_bytes(cut(choice.plan, itemsize, max_bytes), itemsize)
        if needed > share.nbytes:
            raise ValueError(
                f"`device_memory` must leave each of the `jobs` at least {needed} bytes of free memory of the device "
                f"for {choice.tensor.name}, which {choice.plan.src_format.value} to {choice.plan.dst_format.value} "
                f"does not let be cut further, got {share.nbytes}; or take device cpu"
            )


def _report(choice: Choice, job: Job, taken: Taken) -> TensorReport:
    tensor, plan = choice.tensor, choice.plan
    formats = (plan.src_format.value, plan.dst_format.value) if plan else ("", "")
    action, sizes = "convert" if plan else "copy", (tensor.shape, choice.shape)
    start = tensor.name, str(job.source), action, choice.reason, tensor.type_name
    return TensorReport(*start, *formats, *sizes, nbytes_of(choice), *(taken if plan else ("", {})))


@contextmanager
def _folders(layout: Layout) -> Iterator[None]:
    """Make the folders of an output folder; in the end those that stayed empty go again, and slab memory too."""
    made: list[Path] = []
    try:
        if layout.is_folder:
            for _, out in (*layout.data, *layout.copies, *layout.indexes):
                missing = [folder for folder in (out.parent, *out.parent.parents) if not folder.exists()]
                for folder in reversed(missing):
                    folder.mkdir()
                    made.append(folder)
        yield
    finally:
        release_memory()
        for folder in reversed(made):
            with suppress(OSError):  # not empty
                folder.rmdir()


def _write_all(jobs: list[Job], settings: Settings, taken: Taken) -> tuple[list[TensorReport], list[str], int]:
    reports: list[TensorReport] = []
    written: list[str] = []
    moved = 0
    for job in jobs:
        entries = [_report(choice, job, taken) for choice in job.choices]
        try:
            write_job(job, settings)
        except TensorError as error:
            entries = [
                replace(entry, action="failed", reason=error.failures[entry.name])
                if entry.name in error.failures
                else replace(entry, action="dropped", reason=f"{job.out} was given up")
                for entry in entries
            ]
        else:
            written.append(str(job.out))
            moved += sum(choice.tensor.nbytes + nbytes_of(choice) for choice in job.choices)
        reports += entries
    return reports, written, moved


def _verify_again(jobs: list[Job], max_bytes: int, taken: Taken) -> tuple[list[TensorReport], list[str]]:
    """Return what is wrong with files that exist already, and which are right."""
    reports: list[TensorReport] = []
    intact: list[str] = []
    for job in jobs:
        try:
            verify_job(job, job.out, max_bytes)
        except TensorError as error:
            entries = {choice.tensor.name: _report(choice, job, taken) for choice in job.choices}
            reports += (replace(entries[n], action="failed", reason=why) for n, why in error.failures.items())
        except (ValueError, TypeError, OSError) as error:  # its header tells of other data than it holds
            reports += _all_failed(job, f"the output {job.out} cannot be read: {told(error)}", taken)
        else:
            intact.append(str(job.out))
    return reports, intact


def _damaged(listed: Listed, pending: Pending, request: Request, taken: Taken) -> list[TensorReport]:
    """Return what is to be told of outputs that are not as they were made."""
    whys = {out: why for _, out, why in pending.damaged}
    jobs = _plan(listed, ((source, out) for source, out, _ in pending.damaged), request)
    return [entry for job in jobs for entry in _all_failed(job, whys[job.out], taken)]


def _all_failed(job: Job, why: str, taken: Taken) -> list[TensorReport]:
    return [replace(_report(choice, job, taken), action="failed", reason=why) for choice in job.choices]


def _write_others(layout: Layout, pending: Pending) -> list[str]:
    """Copy the other files of a folder and write its indexes anew; return what was written."""
    written = [str(out) for _, out in pending.layout.copies]
    for source, out in pending.layout.copies:
        with atomic_outputs((out, source.stat().st_size), replaceable=pending.replaceable) as (temporary,):
            shutil.copyfile(source, temporary)
            shutil.copystat(source, temporary)
    for index, out in layout.indexes:
        shards = {source.name: out for source, out in layout.data if source.parent == index.parent}
        held = {
            (n, t.name): t.nbytes for n, p in shards.items() if p.suffix == ".safetensors" for t in list_safetensors(p)
        }
        text = index_text(index, held).encode()
        if out.exists() and out.read_bytes() == text:
            continue
        with atomic_outputs((out, len(text)), replaceable=pending.replaceable) as (temporary,):
            temporary.write_bytes(text)
        written.append(str(out))
    return written

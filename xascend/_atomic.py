"""Output files that appear complete or not at all, written by one process at a time."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_CAN_LOCK = os.name == "posix"  # elsewhere the user has to remove what a killed process left
if _CAN_LOCK:
    import fcntl

__all__ = ["TEMPORARY_PREFIX", "atomic_outputs", "require_free", "write_file"]

TEMPORARY_PREFIX = ".xascend-"
_CANNOT_LINK = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES, errno.EINVAL)
_CANNOT_LOCK = (errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK, errno.EINVAL)


def require_free(path: Path, overwrite: bool, /) -> None:
    """Refuse a file that exists, a broken link included, unless it may be overwritten."""
    if not overwrite and os.path.lexists(path):
        message = "the file exists; choose another name, or overwrite it (--overwrite)"
        raise FileExistsError(errno.EEXIST, message, str(path))


def write_file(path: Path, data: bytes, overwrite: bool, /) -> None:
    """Write a small file, which appears complete or not at all."""
    require_free(path, overwrite)
    path = path.resolve()  # a link is written through, not replaced
    with atomic_outputs((path, len(data)), replaceable=(path,) if overwrite else ()) as (temporary,):
        temporary.write_bytes(data)


@contextmanager
def atomic_outputs(*outputs: tuple[Path, int], replaceable: Container[Path]) -> Iterator[tuple[Path, ...]]:
    """Give temporary files for (path, bytes) beside each path, which get their names in this order when all went well.

    The first is the data, and those behind it describe it: an old description goes before the data are replaced, and
    the new one comes last, so that at no time one lies beside data of another. A path that exists and is not
    `replaceable` is an error, also when it appeared meanwhile.

    The space is reserved first, so that a full disk is one error before any work. The temporary files are removed on
    any exception, an interruption included; files that already are at the paths stay as they were until then. Each
    is locked as long as its process lives, so that a second one that writes the same output is refused, and what a
    killed one left is replaced.
    """
    paths = tuple(path for path, _ in outputs)
    with ExitStack() as stack:
        temporaries = tuple(_created(stack, path, size, paths[0]) for path, size in outputs)
        yield temporaries
        for temporary in temporaries:
            _sync(temporary)
        for path in paths[1:]:
            if path in replaceable:
                path.unlink(missing_ok=True)
        _sync_folders(paths)
        _publish(temporaries, paths, replaceable)
    _sync_folders(paths)


def _publish(temporaries: tuple[Path, ...], paths: tuple[Path, ...], replaceable: Container[Path]) -> None:
    new: list[Path] = []
    try:
        for temporary, path in zip(temporaries, paths, strict=True):
            if path in replaceable:
                temporary.replace(path)
            else:
                _give_name(temporary, path)
                new.append(path)
    except BaseException:
        for path in reversed(new):  # all or none
            with suppress(OSError):
                path.unlink()
        raise


def _give_name(temporary: Path, path: Path) -> None:
    """Give a file a name that must be free."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _appeared(path) from None
    except OSError as error:
        if error.errno not in _CANNOT_LINK:
            raise
        if path.exists():  # without links this leaves a moment in between
            raise _appeared(path) from None
        temporary.rename(path)


def _appeared(path: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, "the output appeared while it was made, and is not replaced", str(path))


def _created(stack: ExitStack, path: Path, size: int, named: Path) -> Path:
    """Return a locked temporary file; the end of the stack removes it if it is still there."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}.part")
    try:
        _remove_stale(temporary)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if not _CAN_LOCK:  # Windows renames no open file
            stack.callback(_remove, temporary)
            try:
                _reserve(descriptor, size)
            finally:
                os.close(descriptor)
            return temporary
        stack.callback(os.close, descriptor)
        _lock(descriptor, temporary)
        stack.callback(_remove, temporary)
        _reserve(descriptor, size)
    except (BlockingIOError, FileExistsError) as error:
        hint = "" if _CAN_LOCK else f", or one was killed and left {temporary.name}"
        raise BlockingIOError(errno.EAGAIN, f"another process is writing this output{hint}", str(named)) from error
    except OSError as error:
        raise type(error)(error.errno, f"cannot write: {error.strerror}", str(named)) from error
    return temporary


def _remove(temporary: Path) -> None:
    with suppress(OSError):  # it has its name, or what went wrong first is what to tell
        temporary.unlink()


def _remove_stale(temporary: Path) -> None:
    if not _CAN_LOCK:
        return
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        _lock(descriptor, temporary)
        temporary.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int, temporary: Path) -> None:
    """Lock a file until its descriptor is closed, also by the end of the process; BlockingIOError if another has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _CANNOT_LOCK:
            raise
    try:
        ours = os.path.samestat(os.fstat(descriptor), temporary.lstat())
    except FileNotFoundError:
        ours = False
    if not ours:  # another process was faster
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _reserve(descriptor: int, size: int) -> None:
    try:
        if hasattr(os, "posix_fallocate") and size:
            os.posix_fallocate(descriptor, 0, size)
            return
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):  # the file system cannot reserve
            raise
    os.ftruncate(descriptor, size)


def _sync_folders(paths: tuple[Path, ...]) -> None:
    if os.name == "posix":
        for folder in {path.parent for path in paths}:
            _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

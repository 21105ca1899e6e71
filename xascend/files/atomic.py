"""Output files that appear complete or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["TEMPORARY_PREFIX", "atomic_outputs"]

TEMPORARY_PREFIX = ".xascend-"


@contextmanager
def atomic_outputs(*outputs: tuple[Path, int]) -> Iterator[tuple[Path, ...]]:
    """Give temporary files for (path, bytes) beside each path, and rename them in this order when all went well.

    Their space is reserved first, so that a full disk is one error before any work. They are removed on any
    exception, an interruption included; files that already are at the paths stay as they were until then.
    """
    token = secrets.token_hex(8)
    temporaries = tuple(path.with_name(f"{TEMPORARY_PREFIX}{token}-{i}.part") for i, (path, _) in enumerate(outputs))
    try:
        for temporary, (path, size) in zip(temporaries, outputs, strict=True):
            _create(temporary, size, path)
        yield temporaries
        for temporary in temporaries:
            _sync(temporary)
        for temporary, (path, _) in zip(temporaries, outputs, strict=True):
            temporary.replace(path)
    except BaseException:
        for temporary in temporaries:
            with suppress(OSError):  # what went wrong first is what to tell
                temporary.unlink()
        raise
    if os.name == "posix":
        for folder in {path.parent for path, _ in outputs}:
            _sync(folder)


def _create(temporary: Path, size: int, path: Path) -> None:
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            _reserve(descriptor, size)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise type(error)(error.errno, f"cannot write {size} bytes: {error.strerror}", str(path)) from error


def _reserve(descriptor: int, size: int) -> None:
    try:
        if hasattr(os, "posix_fallocate") and size:
            os.posix_fallocate(descriptor, 0, size)
            return
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):  # the file system cannot reserve
            raise
    os.ftruncate(descriptor, size)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Opening the files of a comparison: raw bytes take from the caller, or from the other file, what they do not tell."""

from __future__ import annotations

import errno
import math
from pathlib import Path
from typing import Any

import numpy as np

from xascend._dtypes import resolve_dtype
from xascend.files.choice import Request
from xascend.files.record import read_sidecar
from xascend.files.sources import list_tensors
from xascend.files.tensor import StoredTensor, as_dtype, with_dtype
from xascend.golden._manifest import find_entry

__all__ = ["as_told", "is_raw", "open_tensor"]

Shape = tuple[int, ...]
_TELLING = (".npy", ".npz", ".safetensors")


def is_raw(path: Path, /) -> bool:
    """Say whether a file is bytes alone, without a header and without a record of a conversion."""
    _require_file(path)
    if path.suffix in _TELLING:
        return False
    record = read_sidecar(path)
    return record is None or not record.tensors


def _require_file(path: Path, /) -> None:
    """Raise OSError unless a file is there: a missing one is told as such, before anything about types."""
    path.stat()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder is no file to compare", str(path))


def as_told(path: Path, /) -> tuple[np.dtype[Any] | None, Shape] | None:
    """Return the type and the sizes that a file tells, itself or by a manifest; None for raw bytes.

    The type alone is None where a file has sizes and only the size of its elements.
    """
    entry = find_entry(path)
    if entry is not None:
        return as_dtype(entry.dtype), entry.shape
    if is_raw(path):
        return None
    tensor = _only_tensor(path, Request())
    return None if tensor.is_untyped else tensor.dtype, tensor.shape


def open_tensor(path: Path, dtype: np.dtype[Any] | None, shape: Shape | None, source: str, /) -> StoredTensor:
    """Return the one tensor of a file; raw bytes are of `dtype`, and 1-D where `shape` is None.

    `source` says whose type and sizes these are, for errors.
    """
    if is_raw(path):
        if dtype is None:
            raise ValueError(f"{path} does not tell its type: pass `dtype` (--dtype)")
        shape = _raw_shape(path, dtype, shape, source)
    tensor = _only_tensor(path, Request(dtype=dtype, shape=shape))
    if tensor.is_untyped:
        if dtype is None:
            raise ValueError(f"{path} holds {tensor.type_name} without a type: pass `dtype` (--dtype)")
        return with_dtype(tensor, dtype)
    try:
        resolve_dtype(tensor.dtype)
    except TypeError as error:
        raise TypeError(f"{path} cannot be compared: {error}") from error
    return tensor


def _raw_shape(path: Path, dtype: np.dtype[Any], shape: Shape | None, source: str) -> Shape:
    present = path.stat().st_size
    if shape is None:
        count, rest = divmod(present, dtype.itemsize)
        if rest:
            raise ValueError(
                f"{path} has {present} bytes, which is no multiple of the {dtype.itemsize} of {dtype.name}"
            )
        return (count,)
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes != present:
        raise ValueError(f"{shape} of {dtype.name}, {source}, take {nbytes} bytes, {path} has {present}")
    return shape


def _only_tensor(path: Path, request: Request) -> StoredTensor:
    tensors = list_tensors(path, request)
    if len(tensors) != 1:
        raise ValueError(f"{path} must hold one tensor to be compared, it holds {len(tensors)}")
    return tensors[0]

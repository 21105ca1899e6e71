"""Raw .bin files: the bytes of one C-contiguous array; its type and sizes come from the caller or a sidecar."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from xascend._dtypes import numpy_dtype
from xascend.files.record import find_sidecar, read_sidecar
from xascend.files.tensor import StoredTensor, with_record

__all__ = ["list_bin"]


def list_bin(path: Path, dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None, /) -> tuple[StoredTensor, ...]:
    """Return the one tensor of a .bin file; `shape` is the stored array's, and both may come from the sidecar."""
    record = read_sidecar(path)
    name, own = next(iter(record.tensors.items()), (path.stem, None)) if record is not None else (path.stem, None)
    if own is not None:
        dtype, shape = numpy_dtype(own.dtype), own.stored_shape()
    if dtype is None or shape is None:
        raise ValueError(f"{path} tells neither type nor sizes: pass `dtype` and `shape` (--dtype, --shape)")
    nbytes, present = math.prod(shape) * dtype.itemsize, path.stat().st_size
    if nbytes != present:
        told = f"the record in {find_sidecar(path)} does not fit the data" if own else "`shape` and `dtype` do not fit"
        raise ValueError(f"{told}: {shape} of {dtype.name} take {nbytes} bytes, {path} has {present}")
    tensor = StoredTensor(name, str(path), dtype.newbyteorder("<") if own else dtype, shape, 0, nbytes)
    return (with_record(tensor, record, str(find_sidecar(path))),)

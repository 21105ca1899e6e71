"""`inspect`: what is in a file, told from its headers and records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xascend._plan import as_shape
from xascend.files.choice import Request
from xascend.files.sources import find_inputs, list_tensors
from xascend.files.tensor import as_dtype, has_order

__all__ = ["TensorInfo", "inspect"]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """What a file tells of one tensor.

    Attributes
    ----------
    name, file
        The tensor, and the file that holds it.
    dtype, shape, nbytes
        Element type, sizes and bytes of the stored array.
    format, plain_format, plain_shape, c0, groups
        What the record of its conversion tells; None where there is none.
    """

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    format: str | None
    plain_format: str | None
    plain_shape: tuple[int, ...] | None
    c0: int | None
    groups: int | None


def inspect(src: str | Path, *, dtype: Any = None, shape: Any = None) -> tuple[TensorInfo, ...]:
    """Return what a file, a checkpoint in shards or a folder holds, without reading the data.

    Parameters
    ----------
    src
        As in `convert`.
    dtype, shape
        Type and sizes of the array in a ``.bin`` file that has no record.

    Returns
    -------
    tuple of TensorInfo
        One entry per tensor, in the order of the files and of the data in them.

    Raises
    ------
    ValueError, OSError
        A file cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from xascend import files
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.zeros((20, 28), np.float16))
    >>> files.inspect(path)[0].shape
    (20, 28)
    """
    request = Request(
        dtype=None if dtype is None else as_dtype(dtype),
        with_order=has_order(dtype),
        shape=None if shape is None else as_shape("shape", shape),
    )
    infos = []
    for path in find_inputs(Path(src)):
        for tensor in list_tensors(path, request):
            record = tensor.record
            known: tuple[Any, ...] = (None,) * 5
            if record is not None:
                known = (record.format, record.plain_format, record.shape, record.c0, record.groups)
            infos.append(TensorInfo(tensor.name, str(path), tensor.type_name, tensor.shape, tensor.nbytes, *known))
    return tuple(infos)

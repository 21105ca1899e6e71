"""The .npy format: one array per file, its type and sizes in a header; types that NumPy cannot name are raw bytes.

Source: "numpy.lib.format" in the NumPy reference. Pickled objects are refused, never loaded.
"""

from __future__ import annotations

import io
import math
import warnings
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from xascend.files.record import find_sidecar, read_sidecar
from xascend.files.report import told
from xascend.files.tensor import StoredTensor, with_record

__all__ = ["list_npy", "npy_header", "read_npy_header"]

_HEADER_LIMIT = 1 << 16  # a header of a plain dtype takes about a hundred bytes
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}
# NumPy evaluates a header as a Python literal, so that is what can go wrong in it.
_UNREADABLE = (ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError)
_READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


def read_npy_header(stream: IO[bytes], where: str, /) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """Return dtype, shape, whether the order is Fortran's, and the header's bytes; ValueError if it cannot be read."""
    try:
        dtype, shape, fortran, nbytes = _parse(stream)
    except _UNREADABLE as error:
        raise ValueError(f"{where} is not a readable .npy file: {told(error)}") from error
    if dtype.hasobject:
        raise ValueError(f"{where} holds pickled Python objects, which are refused because loading them can run code")
    if any(size < 0 for size in shape):
        raise ValueError(f"{where} is not a readable .npy file: its shape is {shape}")
    return dtype, shape, fortran, nbytes


def _parse(stream: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    version = npy_format.read_magic(stream)
    if version not in _READERS:
        raise ValueError(f"version {version} is for structured types, which are not converted")
    prefix = stream.read(_LENGTH_BYTES[version])
    length = int.from_bytes(prefix, "little")
    if length > _HEADER_LIMIT:
        raise ValueError(f"its header claims {length} bytes")
    # NumPy writes float8_e5m2 under this name and cannot read it back; as raw bytes it can be viewed.
    text = stream.read(length).replace(b"'<f1'", b"'|V1'")
    with warnings.catch_warnings():  # about files of Python 2, which are as good as others
        warnings.simplefilter("ignore")
        shape, fortran, dtype = _READERS[version](io.BytesIO(prefix + text), max_header_size=_HEADER_LIMIT)
    return dtype, shape, fortran, npy_format.MAGIC_LEN + len(prefix) + length


def list_npy(path: Path, /) -> tuple[StoredTensor, ...]:
    """Return the one tensor of a .npy file, called as its record calls it or else as the file."""
    with path.open("rb") as stream:
        dtype, shape, fortran, offset = read_npy_header(stream, str(path))
    nbytes = math.prod(shape) * dtype.itemsize
    present = path.stat().st_size - offset
    if nbytes != present:
        raise ValueError(f"{path} is damaged: its header tells of {nbytes} bytes of data, it has {present}")
    record = read_sidecar(path)
    name = next(iter(record.tensors), path.stem) if record is not None else path.stem
    tensor = StoredTensor(name, str(path), dtype, shape, offset, nbytes, fortran)
    return (with_record(tensor, record, str(find_sidecar(path))),)


def npy_header(dtype: np.dtype[Any], shape: tuple[int, ...], /) -> bytes:
    """Return the header of a C-contiguous array; types that NumPy cannot name become raw bytes of their size."""
    named = dtype if dtype.isbuiltin != 2 else np.dtype((np.void, dtype.itemsize))
    stream = io.BytesIO()
    fields = {"descr": npy_format.dtype_to_descr(named), "fortran_order": False, "shape": shape}
    npy_format.write_array_header_1_0(stream, fields)
    return stream.getvalue()

"""A tensor in a file: its name, type and sizes, and where its bytes lie."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._dtypes import numpy_dtype, resolve_dtype
from xascend.files.record import FileRecord, Record

__all__ = ["StoredTensor", "as_dtype", "has_order", "with_dtype", "with_record"]

_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor in a file, not read yet; it can be sent to another process.

    Attributes
    ----------
    name, path
        Name of the tensor, and of the file that holds it.
    dtype, shape
        Type and sizes of the stored array.
    offset, nbytes
        Where its bytes begin in the file, and how many they are.
    fortran
        Whether the first axis is the fastest.
    raw
        Name of a type that NumPy has not; the bytes are then read as uint8 and only copied.
    member
        Name of a compressed member of the archive `path`; empty where the bytes lie in the file as they are.
    record
        How the tensor was converted before, if it was.
    """

    name: str
    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    fortran: bool = False
    raw: str = ""
    member: str = ""
    record: Record | None = None

    @property
    def is_untyped(self) -> bool:
        """Whether the file tells the size of the elements, and not their type."""
        return self.dtype.type is np.void and self.dtype.names is None

    @property
    def type_name(self) -> str:
        """The element type as shown to users."""
        if self.is_untyped:
            return f"raw bytes V{self.dtype.itemsize}"
        return self.raw or self.dtype.name

    @property
    def walks_rows(self) -> bool:
        """Whether the array is not C-contiguous, so that it is copied along its first axis and not as one run."""
        return self.fortran and len(self.shape) > 1

    def load(self) -> npt.NDArray[Any]:
        """Return the array, read-only: memory-mapped, or in memory where it is empty or compressed."""
        shape = (self.nbytes,) if self.raw else self.shape
        if self.nbytes == 0:
            array = np.empty(shape, self.dtype)
        elif self.member:
            array = self._decompress()
        else:
            order: Any = "F" if self.fortran else "C"
            array = np.memmap(self.path, self.dtype, "r", self.offset, shape, order).view(np.ndarray)
        array.flags.writeable = False
        return array

    def _decompress(self) -> npt.NDArray[Any]:
        flat = np.empty(self.nbytes, np.uint8)
        rest: Any = flat
        with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as stream:
            stream.read(self.offset)
            while rest.size:
                chunk = stream.read(_CHUNK)  # the last one compares the checksum
                if not chunk:
                    raise ValueError(f"{self.path}: member {self.member} ends early")
                rest[: len(chunk)] = np.frombuffer(chunk, np.uint8)
                rest = rest[len(chunk) :]
        return flat.view(self.dtype).reshape(self.shape, order="F" if self.fortran else "C")


def as_dtype(dtype: Any, /) -> np.dtype[Any]:
    """Return the NumPy dtype that a name, also with a byte order such as ``">f2"``, means."""
    if isinstance(dtype, str) and dtype.startswith(("<", ">", "=", "|")):
        try:
            dtype = np.dtype(dtype)
        except TypeError as error:
            raise TypeError(f"`dtype` {dtype!r} is not known: {error}") from error
    return numpy_dtype(dtype)


def has_order(dtype: Any, /) -> bool:
    """Say whether a type was given with a byte order, and not as a type of whatever order the file has."""
    if isinstance(dtype, str):
        return dtype.startswith(("<", ">"))
    return isinstance(dtype, np.dtype) and not dtype.isnative


def with_dtype(tensor: StoredTensor, dtype: np.dtype[Any], with_order: bool = False, /) -> StoredTensor:
    """Return the tensor seen as another type of the same item size; nothing is cast."""
    if tensor.raw or dtype.itemsize != tensor.dtype.itemsize:
        raise ValueError(
            f"`dtype` must be a type of {tensor.dtype.itemsize} bytes to view {tensor.name}, which is stored as "
            f"{tensor.type_name}; got {dtype.name}, which has {dtype.itemsize}"
        )
    if not with_order and not tensor.dtype.isnative:
        dtype = dtype.newbyteorder(tensor.dtype.byteorder)
    return replace(tensor, dtype=dtype)


def with_record(tensor: StoredTensor, file_record: FileRecord | None, where: str, /) -> StoredTensor:
    """Return the tensor with its record, which must fit: same sizes, and a type of the same item size."""
    record = file_record.tensors.get(tensor.name) if file_record is not None else None
    if record is None:
        return tensor
    expected = record.stored_shape()
    if expected != tensor.shape:
        raise ValueError(
            f"the record in {where} does not fit the data: {tensor.name} as {record.format} of {record.shape} has the "
            f"shape {expected}, but {tensor.shape} is stored"
        )
    if resolve_dtype(record.dtype).itemsize != tensor.dtype.itemsize or (
        tensor.type_name != record.dtype and not tensor.is_untyped
    ):
        raise ValueError(
            f"the record in {where} does not fit the data: {tensor.name} is stored as {tensor.type_name}, "
            f"the record says {record.dtype}"
        )
    order = tensor.dtype.byteorder if tensor.type_name == record.dtype else "="
    return replace(tensor, dtype=numpy_dtype(record.dtype).newbyteorder(order), record=record)

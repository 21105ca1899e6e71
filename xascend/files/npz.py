"""The .npz format: a zip archive of .npy members.

Source: "numpy.savez" in the NumPy reference. Members that are not compressed are read where they lie in the archive.
"""

from __future__ import annotations

import errno
import math
import struct
import zipfile
import zlib
from pathlib import Path

from xascend.files.npy import read_npy_header
from xascend.files.record import find_sidecar, read_sidecar
from xascend.files.tensor import StoredTensor, with_record

__all__ = ["damaged_members", "list_npz", "member_info"]

_LOCAL_HEADER = struct.Struct("<26xHH")  # after 26 bytes: how long name and extra field are
_CHUNK = 1 << 22


def list_npz(path: Path, /) -> tuple[StoredTensor, ...]:
    """Return the tensors of a .npz file in the order of the archive."""
    record = read_sidecar(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            names = [info.filename.removesuffix(".npy") for info in members]
            if len(set(names)) != len(names):
                raise ValueError(f"{path} holds two members of one name")
            listed = tuple(_member(archive, info, path) for info in members)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a place before the beginning of the file
            raise
        raise ValueError(f"{path} is not a readable .npz file: {error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error) as error:
        raise ValueError(f"{path} is not a readable .npz file: {error}") from error
    return tuple(with_record(tensor, record, str(find_sidecar(path))) for tensor in listed)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> StoredTensor:
    where = f"{path}: member {info.filename}"
    with archive.open(info) as stream:
        dtype, shape, fortran, offset = read_npy_header(stream, where)
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes != info.file_size - offset:
            raise ValueError(
                f"{where} is damaged: its header tells of {nbytes} bytes of data, it has {info.file_size - offset}"
            )
        compressed = info.compress_type != zipfile.ZIP_STORED
        if not compressed:
            offset += _data_offset(path, info)
    name = info.filename.removesuffix(".npy")
    member = info.filename if compressed else ""
    return StoredTensor(name, str(path), dtype, shape, offset, nbytes, fortran, member=member)


def _data_offset(path: Path, info: zipfile.ZipInfo) -> int:
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        name_length, extra_length = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    return int(info.header_offset + _LOCAL_HEADER.size + name_length + extra_length)


def damaged_members(path: Path, /) -> dict[str, str]:
    """Return what is wrong with the checksums of stored members, by tensor; reading their bytes in place skips them."""
    wrong = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.compress_type == zipfile.ZIP_STORED:
                try:
                    with archive.open(info) as stream:
                        while stream.read(_CHUNK):
                            pass
                except zipfile.BadZipFile as error:
                    wrong[info.filename.removesuffix(".npy")] = str(error)
    return wrong


def member_info(name: str, /) -> zipfile.ZipInfo:
    """Return the archive entry for a tensor: stored as it is, and without a date, so equal data make equal files."""
    return zipfile.ZipInfo(f"{name}.npy")

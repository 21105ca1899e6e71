"""What travels with a converted file: formats and sizes of every tensor before and after, and what it was made from.

One JSON object holds it: under the key ``xascend`` of a safetensors file's ``__metadata__``, otherwise in a sidecar,
a file named like the data with ``.json`` behind it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import xascend
from xascend._dtypes import resolve_dtype
from xascend._plan import as_shape, as_size, make_plan
from xascend.formats import Format, as_format

__all__ = [
    "FileRecord",
    "Fingerprint",
    "Record",
    "Stamp",
    "find_sidecar",
    "is_sidecar",
    "read_claim",
    "read_sidecar",
    "sidecar_path",
]

_SAMPLES = 64  # blocks of a data file that its fingerprint looks at
_SAMPLE_BYTES = 1 << 12


@dataclass(frozen=True, slots=True)
class Record:
    """How one tensor is stored, and what it was before.

    Attributes
    ----------
    format
        Storage format.
    plain_format, shape
        Plain format it was converted from and goes back to, and the tensor's own sizes in its axes.
    dtype
        Element type.
    c0, groups
        C0 of the storage format (None for a plain one) and convolution groups.

    Examples
    --------
    >>> from xascend.files import Record
    >>> Record("FRACTAL_NZ", "ND", (20, 28), "float16", c0=16).stored_shape()
    (2, 2, 16, 16)
    """

    format: str
    plain_format: str
    shape: tuple[int, ...]
    dtype: str
    c0: int | None = None
    groups: int = 1

    @property
    def is_blocked(self) -> bool:
        """Whether the tensor is in a blocked format, so that there is a way back."""
        return Format(self.format).is_blocked

    def stored_shape(self) -> tuple[int, ...]:
        """Return the shape that the stored array must have."""
        if self.format == self.plain_format:
            return self.shape
        bits = resolve_dtype(self.dtype).bits
        plain, stored = Format(self.plain_format), Format(self.format)
        return make_plan(plain, stored, self.shape, None, bits, self.c0, self.groups).dst_shape

    @classmethod
    def from_json(cls, fields: Any, /) -> Record:
        """Return the record that a JSON object holds; ValueError or TypeError where it is none."""
        if not isinstance(fields, dict) or set(fields) != set(cls.__dataclass_fields__):
            raise ValueError(f"a record has the fields {', '.join(cls.__dataclass_fields__)}, got {fields!r}")
        c0 = fields["c0"]
        record = cls(
            as_format("format", str(fields["format"])).value,
            as_format("plain_format", str(fields["plain_format"])).value,
            as_shape("shape", fields["shape"]),
            resolve_dtype(str(fields["dtype"])).name,
            None if c0 is None else as_size("c0", c0),
            as_size("groups", fields["groups"]),
        )
        if Format(record.plain_format).is_blocked or (record.format != record.plain_format and not record.is_blocked):
            raise ValueError(f"{record.format} from {record.plain_format} is no conversion from a plain format")
        record.stored_shape()
        return record


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells an input file from a changed one: its name, bytes and time of last change in nanoseconds."""

    name: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path, /) -> Stamp:
        """Return the stamp of a file as it is now."""
        status = path.stat()
        return cls(path.name, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells the data file that a sidecar describes from any other: its bytes, and a digest of samples of them.

    A copied or moved file keeps it. Files up to 256 KiB are taken whole, of longer ones the beginning, the end, and
    blocks of 4 KiB at equal distances.
    """

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path, /) -> Fingerprint:
        """Return the fingerprint of a file as it is now."""
        size = path.stat().st_size
        digest = hashlib.sha256()
        with path.open("rb") as stream:
            if size <= _SAMPLES * _SAMPLE_BYTES:
                digest.update(stream.read())
            else:
                for sample in range(_SAMPLES):
                    stream.seek((size - _SAMPLE_BYTES) * sample // (_SAMPLES - 1))
                    digest.update(stream.read(_SAMPLE_BYTES))
        return cls(size, digest.hexdigest())


@dataclass(frozen=True, slots=True)
class FileRecord:
    """The records of a file's tensors by name, the input it was made from, with which options, by which version.

    In a sidecar `data` tells which data file it describes; a record inside a safetensors file needs none.
    """

    tensors: Mapping[str, Record] = field(default_factory=dict)
    source: Stamp | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    version: str = xascend.__version__
    data: Fingerprint | None = None

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        fields = {
            "xascend": self.version,
            "tensors": {name: asdict(record) for name, record in self.tensors.items()},
            "source": None if self.source is None else asdict(self.source),
            "options": dict(self.options),
            "data": None if self.data is None else asdict(self.data),
        }
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str, where: str, /) -> FileRecord:
        """Return the record that a text holds; ValueError naming `where` it lies if it is none."""
        try:
            fields = json.loads(text)
            tensors = {str(name): Record.from_json(record) for name, record in fields["tensors"].items()}
            source = None if fields["source"] is None else Stamp(**fields["source"])
            data = None if fields.get("data") is None else Fingerprint(**fields["data"])
            return cls(tensors, source, dict(fields["options"]), str(fields["xascend"]), data)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"{where} holds no readable record of a conversion: {error}") from error


def sidecar_path(path: Path, /) -> Path:
    """Return where the record of a file lies that has no room for one."""
    return path.with_name(path.name + ".json")


def find_sidecar(path: Path, /) -> Path | None:
    """Return the file that may be the record of a data file: beside it, or beside what it links to."""
    for sidecar in (sidecar_path(path), sidecar_path(Path(os.path.realpath(path)))):
        if sidecar.exists():
            if not sidecar.is_file():
                raise ValueError(f"{sidecar}, where the record of {path.name} lies, is not a regular file")
            return sidecar
    return None


def is_sidecar(sidecar: Path, /) -> bool:
    """Say whether a file is a record that this library wrote, and not another file of that name."""
    return _is_record(sidecar.read_bytes()) is True


def _is_record(text: str | bytes) -> bool | None:
    """Say whether a text is a record of this library; None where it is no JSON, as which a damaged one ends too."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return isinstance(fields, dict) and "xascend" in fields


def read_sidecar(path: Path, /) -> FileRecord | None:
    """Return the record of a data file, or None where there is none; ValueError if it describes other data."""
    record = read_claim(path)
    if record is not None and record.data != Fingerprint.of(path):
        raise ValueError(
            f"the record in {find_sidecar(path)} does not fit the data: {path} has changed since; if it was replaced, "
            "remove the record, and say what the new data are"
        )
    return record


def read_claim(path: Path, /) -> FileRecord | None:
    """Return the record beside a data file, whether or not it fits the data, or None where there is none."""
    sidecar = find_sidecar(path)
    if sidecar is None:
        return None
    text = sidecar.read_bytes().decode(errors="replace")
    if _is_record(text) is False:
        return None  # somebody else's; what may have been a record is an error
    return FileRecord.from_json(text, str(sidecar))

"""What travels with a converted file: formats and sizes of every tensor before and after, and what it was made from.

One JSON object holds it: under the key ``xascend`` of a safetensors file's ``__metadata__``, otherwise in a sidecar,
a file named like the data with ``.json`` behind it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import xascend
from xascend._dtypes import resolve_dtype
from xascend._plan import as_shape, as_size, make_plan
from xascend.formats import Format, as_format

__all__ = ["FileRecord", "Record", "Stamp", "read_sidecar", "sidecar_path"]


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
class FileRecord:
    """The records of a file's tensors by name, the input it was made from, with which options, by which version."""

    tensors: Mapping[str, Record] = field(default_factory=dict)
    source: Stamp | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    version: str = xascend.__version__

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        fields = {
            "xascend": self.version,
            "tensors": {name: asdict(record) for name, record in self.tensors.items()},
            "source": None if self.source is None else asdict(self.source),
            "options": dict(self.options),
        }
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str, where: str, /) -> FileRecord:
        """Return the record that a text holds; ValueError naming `where` it lies if it is none."""
        try:
            fields = json.loads(text)
            tensors = {str(name): Record.from_json(record) for name, record in fields["tensors"].items()}
            source = None if fields["source"] is None else Stamp(**fields["source"])
            return cls(tensors, source, dict(fields["options"]), str(fields["xascend"]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"{where} holds no readable record of a conversion: {error}") from error


def sidecar_path(path: Path, /) -> Path:
    """Return where the record of a file lies that has no room for one."""
    return path.with_name(path.name + ".json")


def read_sidecar(path: Path, /) -> FileRecord | None:
    """Return the record beside a data file, or None where there is none."""
    sidecar = sidecar_path(path)
    try:
        text = sidecar.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ValueError(f"{sidecar} holds no readable record of a conversion: {error}") from error
    return FileRecord.from_json(text, str(sidecar))

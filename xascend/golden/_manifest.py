"""The manifest of a folder of golden data: what was made, from which parameters, and what each file holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import xascend
from xascend._dtypes import resolve_dtype
from xascend._plan import as_shape, as_size
from xascend.formats import as_format
from xascend.golden._json import as_json_value

__all__ = ["MANIFEST", "ArrayFile", "Manifest", "StoredAs", "find_entry", "read_manifest"]

MANIFEST = "manifest.json"
_FIELDS = {"xascend", "op", "parameters", "seed", "values", "inputs", "output"}


@dataclass(frozen=True, slots=True)
class StoredAs:
    """The tensor that an array stores: its format, and its own sizes in the axes of a plain one.

    Attributes
    ----------
    format, plain_format
        Storage format, and the plain format in whose axes `shape` is given.
    shape
        The tensor's own sizes.
    c0, groups
        C0 of the format (None for a plain one) and convolution groups.
    """

    format: str
    plain_format: str
    shape: tuple[int, ...]
    c0: int | None = None
    groups: int = 1

    @classmethod
    def from_json(cls, fields: Any, /) -> StoredAs:
        """Return what a JSON object says."""
        return cls(
            as_format("format", fields["format"]).value,
            as_format("plain_format", fields["plain_format"]).value,
            as_shape("shape", fields["shape"]),
            None if fields["c0"] is None else as_size("c0", fields["c0"]),
            as_size("groups", fields["groups"]),
        )


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """One array of a folder of golden data, as little-endian bytes in C order.

    Attributes
    ----------
    name
        What the operator calls it.
    file
        Path inside the folder.
    dtype, shape
        Element type and sizes.
    nbytes, sha256
        Bytes of the file, and their SHA-256 in hexadecimal.
    storage
        The tensor that the array stores, where that is known.
    """

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    sha256: str
    storage: StoredAs | None = None

    @classmethod
    def from_json(cls, fields: Any, /) -> ArrayFile:
        """Return what a JSON object says."""
        storage = None if fields["storage"] is None else StoredAs.from_json(fields["storage"])
        return cls(
            str(fields["name"]),
            str(fields["file"]),
            resolve_dtype(str(fields["dtype"])).name,
            as_shape("shape", fields["shape"]),
            as_size("nbytes", fields["nbytes"], 0),
            str(fields["sha256"]),
            storage,
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a folder of golden data holds.

    Attributes
    ----------
    op
        Name of the operator.
    parameters
        All its parameters, defaults included, enumerations by name.
    seed
        Seed of random values.
    values
        What the configuration says of each input's values: ``values``, and ``low`` and ``high`` where they are random.
        With the seed, and type and shape of `inputs`, they make the inputs again.
    inputs, output
        The arrays that go in, and the one that must come out.
    version
        Version of xascend that made it.
    """

    op: str
    parameters: Mapping[str, Any]
    seed: int
    values: Mapping[str, Any]
    inputs: tuple[ArrayFile, ...]
    output: ArrayFile
    version: str = xascend.__version__

    def to_json(self) -> str:
        """Return the manifest as indented JSON, with NaN and infinities, which JSON has not, as text."""
        fields = {"xascend": self.version, **self._fields(), "values": as_json_value(self.values)}
        return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "version"}

    @classmethod
    def from_json(cls, text: str, where: str, /) -> Manifest | None:
        """Return the manifest that a text is, None where it is none of ours; ValueError where it is damaged."""
        fields = _own_fields(text)
        if fields is None:
            return None
        try:
            return cls(
                str(fields["op"]),
                dict(fields["parameters"]),
                as_size("seed", fields["seed"], 0),
                dict(fields["values"]),
                tuple(ArrayFile.from_json(entry) for entry in fields["inputs"]),
                ArrayFile.from_json(fields["output"]),
                str(fields["xascend"]),
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{where} is a damaged manifest: {error}") from error


def _own_fields(text: str) -> dict[str, Any] | None:
    """Return the fields of a manifest of ours, or None where a text is anything else."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) and fields.keys() >= _FIELDS else None


def _read_text(folder: Path) -> str:
    """Return the text of what may be a manifest; empty where there is none to be read."""
    path = folder / MANIFEST
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return ""


def read_manifest(folder: Path, /) -> Manifest | None:
    """Return the manifest of a folder, or None where it has none of ours; ValueError where ours is damaged."""
    return Manifest.from_json(_read_text(folder), str(folder / MANIFEST))


def find_entry(path: Path, /) -> ArrayFile | None:
    """Return what the manifest of the folder that holds a file says of it, or None where none of ours lists it.

    A damaged manifest of ours is a ValueError if it lists the file, or if that cannot be told.
    """
    path = path.resolve()
    for folder in path.parents[:2]:
        text = _read_text(folder)
        fields = _own_fields(text)
        if fields is None or _leaves_out(fields, path.relative_to(folder)):
            continue
        manifest = Manifest.from_json(text, str(folder / MANIFEST))
        for entry in () if manifest is None else (manifest.output, *manifest.inputs):
            if folder / entry.file == path:
                return entry
    return None


def _leaves_out(fields: Mapping[str, Any], file: Path) -> bool:
    """Say whether it can be told of all files that a manifest lists that they are others."""
    inputs = fields["inputs"]
    entries = [*inputs, fields["output"]] if isinstance(inputs, list) else [None]
    names = [entry.get("file") if isinstance(entry, dict) else None for entry in entries]
    return all(isinstance(name, str) and Path(name) != file for name in names)

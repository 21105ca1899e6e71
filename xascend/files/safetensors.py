"""The safetensors format: a length, a JSON header with type, sizes and offsets per tensor, the data without holes.

The safetensors library checks a header before it is believed; the library can neither hand out offsets nor write in
parts, which is what is done here. Source: "Format" in the safetensors documentation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from xascend._dtypes import numpy_dtype
from xascend.files.record import FileRecord
from xascend.files.tensor import StoredTensor, with_record

__all__ = ["METADATA_KEY", "list_safetensors", "read_metadata", "safetensors_header", "type_name"]

METADATA_KEY = "xascend"
_LENGTH_BYTES = 8
_HEADER_LIMIT = 100_000_000  # the library refuses longer ones

_NAMES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "BF16": "bfloat16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "C64": "complex64",
    "F64": "float64",
    "I64": "int64",
    "U64": "uint64",
}
_BY_DTYPE = {dtype: name for name, dtype in _NAMES.items()}


def _read_header(path: Path) -> tuple[dict[str, Any], int]:
    try:
        with safe_open(path, framework="np"):
            pass
    except SafetensorError as error:
        raise ValueError(f"{path} is not a readable safetensors file: {error}") from error
    except OSError as error:  # some lack a number or the name
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from error
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
        return json.loads(stream.read(length)), _LENGTH_BYTES + length


def read_metadata(path: Path, /) -> tuple[dict[str, str], FileRecord | None]:
    """Return a file's own metadata, and apart from it the record of its conversion, if it has one."""
    return _split_metadata(_read_header(path)[0], path)


def _split_metadata(header: dict[str, Any], path: Path) -> tuple[dict[str, str], FileRecord | None]:
    metadata = dict(header.get("__metadata__") or {})
    text = metadata.pop(METADATA_KEY, None)
    return metadata, None if text is None else FileRecord.from_json(text, f"the metadata of {path}")


def list_safetensors(path: Path, /) -> tuple[StoredTensor, ...]:
    """Return the tensors of a safetensors file in the order of their data."""
    header, data_start = _read_header(path)
    _, record = _split_metadata(header, path)
    header.pop("__metadata__", None)
    listed = []
    for name, entry in sorted(header.items(), key=lambda item: tuple(item[1]["data_offsets"])):
        begin, end = entry["data_offsets"]
        known = _NAMES.get(entry["dtype"])
        dtype = numpy_dtype(known).newbyteorder("<") if known else np.dtype(np.uint8)
        shape, raw = tuple(entry["shape"]), "" if known else entry["dtype"]
        tensor = StoredTensor(name, str(path), dtype, shape, data_start + begin, end - begin, raw=raw)
        listed.append(with_record(tensor, record, f"the metadata of {path}"))
    return tuple(listed)


def type_name(name: str, dtype: np.dtype[Any], raw: str, /) -> str:
    """Return what safetensors calls a type; TypeError naming the tensor where it has no name for it."""
    if not raw and dtype.name not in _BY_DTYPE:
        shown = "raw bytes (say what they are with `dtype`)" if dtype.type is np.void else dtype.name
        raise TypeError(f"{name} holds {shown}, for which safetensors has no type; write .npy or .npz instead")
    return raw or _BY_DTYPE[dtype.name]


def safetensors_header(
    tensors: Sequence[tuple[str, str, tuple[int, ...], int]], metadata: Mapping[str, str], /
) -> bytes:
    """Return length and header for (name, type, shape, bytes) in the order of the data, padded to 8 bytes."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    for name, kind, shape, nbytes in tensors:
        if name == "__metadata__":
            raise ValueError("safetensors can hold no tensor called __metadata__; rename it")
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [offset, offset + nbytes]}
        offset += nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _HEADER_LIMIT:
        raise ValueError(f"the header of the output would take {len(text)} bytes; safetensors allows {_HEADER_LIMIT}")
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text

"""`compare_files`: a result in a file held against a golden file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xascend._plan import as_shape, as_size
from xascend.files.tensor import StoredTensor, as_dtype, has_order
from xascend.formats import Format, as_format
from xascend.golden._manifest import ArrayFile, StoredAs, find_entry
from xascend.golden._opening import as_told, is_raw, open_tensor
from xascend.sizes import storage_shape
from xascend.testing import Report, compare

__all__ = ["compare_files"]

FormatLike = Format | str | int


@dataclass(frozen=True, slots=True)
class _Given:
    """What the caller says of the golden file; None where nothing is said."""

    dtype: np.dtype[Any] | None
    with_order: bool  # whether it was given with a byte order
    format: str | None
    plain_format: str | None
    shape: tuple[int, ...] | None
    c0: int | None
    groups: int | None

    @property
    def is_blocked(self) -> bool:
        """Whether a blocked format is given, so that `shape` is the tensor's own."""
        return self.format is not None and Format(self.format).is_blocked

    def stored_shape(self, dtype: np.dtype[Any]) -> tuple[int, ...] | None:
        """Return the shape of an array of a type in a raw file, None where nothing tells it."""
        if self.shape is None or self.format is None or not self.is_blocked:
            return self.shape
        return storage_shape(
            self.shape, self.format, dtype, src_format=self.plain_format, c0=self.c0, groups=self.groups or 1
        )

    def storage(self) -> dict[str, Any]:
        """Return what `compare` takes to describe a storage."""
        return {
            "format": self.format,
            "plain_format": self.plain_format,
            "shape": None if self.format is None else self.shape,
            "c0": self.c0,
            "groups": self.groups or 1,
        }

    def require_type(self, path: Path, held: np.dtype[Any]) -> None:
        """Refuse another type than that of the file, or another byte order."""
        if self.dtype is not None and (self.dtype.name != held.name or (self.with_order and self.dtype != held)):
            known, given = (d.str if self.with_order and d.isbuiltin != 2 else d.name for d in (held, self.dtype))
            raise ValueError(f"`dtype` must be left out or {known}, which {path} holds; got {given}")

    def require_agreement(self, path: Path, known: StoredAs) -> None:
        """Refuse what contradicts the record of the file."""
        for name in ("format", "plain_format", "shape", "c0", "groups"):
            given, recorded = getattr(self, name), getattr(known, name)
            if given not in (None, recorded):
                raise ValueError(f"`{name}` must be left out or {recorded}, which {path} is recorded with; got {given}")


def compare_files(
    actual: str | os.PathLike[str],
    golden: str | os.PathLike[str],
    /,
    *,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    format: FormatLike | None = None,  # noqa: A002 - what every other function and option calls it
    plain_format: FormatLike | None = None,
    c0: int | None = None,
    groups: int | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    ulp: int | None = None,
    max_shown: int = 10,
) -> Report:
    """Hold a result in a file against a golden file, as `xascend.testing.compare` does.

    What the golden file holds is read from the ``manifest.json`` in its folder or the one above, as `make_golden`
    writes it, from the record that ``xascend convert`` leaves, or from the file itself; the options say the rest, and
    must not contradict what is known. A raw result is taken to be of the type and shape of the golden file. A raw
    golden file that nothing tells more of is taken to be of the type and shape that the result's file tells, or else
    to be 1-D.

    Parameters
    ----------
    actual, golden
        Files of one tensor each: .npy, .npz, .safetensors; anything else is raw bytes in C order.
    dtype, shape
        Element type of raw data, and its sizes: with a blocked `format` the tensor's own, otherwise the array's.
        Without a shape it is 1-D, with as many elements as the file has, unless the other file tells one.
    format, plain_format, c0, groups
        Storage format of the golden file, as in `xascend.testing.compare`.
    rtol, atol, ulp, max_shown
        Tolerances and number of differences to list, as in `xascend.testing.compare`.

    Returns
    -------
    Report
        As of `xascend.testing.compare`.

    Raises
    ------
    ValueError, TypeError
        A file cannot be read as what it should be, the golden file is not the one that its manifest lists, or an
        option does not fit.
    OSError
        A file cannot be read at all.

    Notes
    -----
    Files are memory-mapped, so that memory stays bounded whatever their size.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from xascend.golden import compare_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     golden, actual = pathlib.Path(folder, "golden.bin"), pathlib.Path(folder, "actual.bin")
    ...     np.arange(32, dtype=np.float16).tofile(golden)
    ...     np.arange(32, dtype=np.float16)[::-1].tofile(actual)
    ...     print(compare_files(actual, golden, dtype="half", shape=(2, 16), max_shown=1))
    different: 32 of 32 elements of float16 (100.00%)
    largest difference: 31 absolute, 29 relative, 20416 ulp
    [0, 0]: 31.0, expected 0.0
    and 31 more
    """
    given = _Given(
        None if dtype is None else as_dtype(dtype),
        has_order(dtype),
        None if format is None else as_format("format", format).value,
        None if plain_format is None else as_format("plain_format", plain_format).value,
        None if shape is None else as_shape("shape", shape),
        None if c0 is None else as_size("c0", c0),
        None if groups is None else as_size("groups", groups),
    )
    expected, stored_as = _open_golden(Path(golden), given, Path(actual))
    result = open_tensor(Path(actual), expected.dtype, expected.shape, f"as in {golden}")
    storage = given.storage() if stored_as is None else asdict(stored_as)
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "ulp": ulp, "max_shown": max_shown}
    return compare(result.load(), expected.load(), **options, **storage)


def _open_golden(path: Path, given: _Given, actual: Path) -> tuple[StoredTensor, StoredAs | None]:
    """Return the golden tensor, and which tensor it stores where a manifest or a record tells."""
    entry = find_entry(path)
    if entry is not None:
        _require_intact(path, entry)
        tensor = open_tensor(path, as_dtype(entry.dtype), entry.shape, "which its manifest lists")
        stored_as = entry.storage
    else:
        tensor, stored_as = _open_unlisted(path, given, actual), None
        record = tensor.record
        if record is not None and record.is_blocked:
            stored_as = StoredAs(record.format, record.plain_format, record.shape, record.c0, record.groups)
    given.require_type(path, tensor.dtype)
    if stored_as is not None:
        given.require_agreement(path, stored_as)
    elif given.format is None and given.shape not in (None, tensor.shape):
        raise ValueError(f"`shape` must be left out or {tensor.shape}, which {path} holds; got {given.shape}")
    return tensor, stored_as


def _open_unlisted(path: Path, given: _Given, actual: Path) -> StoredTensor:
    """Return a golden tensor of which no manifest tells; what a raw file lacks may come from the result's."""
    if not is_raw(path):
        return open_tensor(path, given.dtype, None, "")
    told = None if given.dtype is not None and given.shape is not None else as_told(actual)
    dtype = given.dtype if given.dtype is not None or told is None else told[0]
    if dtype is None:
        sizes = ", and `shape` (--shape) where it is not 1-D" if given.shape is None and told is None else ""
        raise ValueError(f"{path} does not tell its type: pass `dtype` (--dtype){sizes}")
    shape = given.stored_shape(dtype)
    if shape is None and told is not None:
        return open_tensor(path, dtype, told[1], f"as in {actual}")
    if shape is None and given.is_blocked:
        raise ValueError(f"{path} does not tell its sizes in {given.format}: pass `shape` (--shape), the tensor's own")
    return open_tensor(path, dtype, shape, "of `dtype` and `shape`")


def _require_intact(path: Path, entry: ArrayFile) -> None:
    """Refuse a golden file that has changed since it was made: nothing could be told by it."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != entry.sha256:
        raise ValueError(
            f"{path} is not the file that its manifest lists: SHA-256 must be {entry.sha256}, got {digest}; "
            "make the golden data again"
        )

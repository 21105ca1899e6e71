"""Which files an input names, which tensors they hold, and which output each of them becomes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xascend._atomic import TEMPORARY_PREFIX
from xascend._dtypes import resolve_dtype
from xascend._plan import make_plan
from xascend.files.bin import list_bin
from xascend.files.choice import Request
from xascend.files.index import shards_of
from xascend.files.npy import list_npy
from xascend.files.npz import list_npz
from xascend.files.record import find_sidecar, is_sidecar, sidecar_path
from xascend.files.safetensors import list_safetensors
from xascend.files.tensor import StoredTensor

__all__ = ["INDEX_SUFFIX", "KINDS", "Layout", "find_files", "find_inputs", "list_tensors"]

KINDS = (".npy", ".npz", ".bin", ".safetensors")
INDEX_SUFFIX = ".safetensors.index.json"


@dataclass(frozen=True, slots=True)
class Layout:
    """Input files and their outputs: data files to convert, files to copy as they are, and indexes to write anew."""

    data: tuple[tuple[Path, Path], ...]
    copies: tuple[tuple[Path, Path], ...] = ()
    indexes: tuple[tuple[Path, Path], ...] = ()
    is_folder: bool = False


def find_inputs(src: Path, /) -> tuple[Path, ...]:
    """Return the files with tensors that an input (file, index or folder) consists of."""
    if not src.exists():
        raise FileNotFoundError(2, "there is no such file or folder", str(src))
    if src.is_dir():
        return _with_tensors(src, tuple(_walk(src, set())))
    _require_regular(src)
    if src.name.endswith(INDEX_SUFFIX):
        return shards_of(src)
    if src.suffix not in KINDS:
        raise ValueError(f"the input must be a folder, a {INDEX_SUFFIX} or one of {', '.join(KINDS)}, got {src}")
    return (src,)


def find_files(src: Path, dst: Path, /) -> Layout:
    """Return what an input and an output name consist of, checked as far as names tell."""
    if src.is_dir():
        return _folder(src, dst, tuple(_walk(src, set())))
    data = find_inputs(src)
    if src.name.endswith(INDEX_SUFFIX):
        return _folder(src.parent, dst.parent if dst.name.endswith(INDEX_SUFFIX) else dst, (src, *data))
    if dst.is_dir():
        dst = dst / src.name
    if dst.suffix not in KINDS:
        raise ValueError(f"the output must be one of {', '.join(KINDS)}, or a folder that exists, got {dst}")
    return Layout(((src, _real(dst)),))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # a link is written through, not replaced


def _walk(folder: Path, seen: set[tuple[int, int]]) -> Iterator[Path]:
    status = folder.stat()
    if (status.st_dev, status.st_ino) in seen:  # a link to a folder that holds it
        return
    seen.add((status.st_dev, status.st_ino))
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _walk(path, seen)
        elif not path.name.startswith(TEMPORARY_PREFIX):
            _require_regular(path)
            yield path


def _require_regular(path: Path) -> None:
    """Refuse what cannot be read like a file; leaving it out in silence would lose a part of a checkpoint."""
    if not path.is_file():
        why = "is not a regular file" if path.exists() else "is a link to a file that is not there"
        raise ValueError(f"the input must consist of regular files, but {path} {why}")


def _with_tensors(root: Path, files: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the files of a folder that hold tensors; a .bin without a sidecar may be anything and is none of them."""
    found = tuple(p for p in files if p.suffix in KINDS and (p.suffix != ".bin" or _has_record(p)))
    if not found:
        raise ValueError(f"{root} holds no file to convert: looked for {', '.join(KINDS)} (.bin with its sidecar)")
    return found


def _has_record(path: Path) -> bool:
    sidecar = find_sidecar(path)
    return sidecar is not None and is_sidecar(sidecar)


def _folder(root: Path, out: Path, files: tuple[Path, ...]) -> Layout:
    data = _with_tensors(root, files)
    out = _real(out)
    if not out.is_dir() and (out.exists() or out.suffix in KINDS):
        raise ValueError(f"the output of a folder must be a folder, got {out}")
    if out.is_relative_to(_real(root)):
        raise ValueError(f"the output must lie outside the input folder {root}, got {out}")
    indexes = tuple(path for path in files if path.name.endswith(INDEX_SUFFIX))
    beside = {sidecar_path(path) for path in data if path.suffix != ".safetensors"}
    known = {*data, *indexes, *(path for path in beside.intersection(files) if is_sidecar(path))}
    others = tuple(path for path in files if path not in known)

    def paired(paths: tuple[Path, ...]) -> tuple[tuple[Path, Path], ...]:
        return tuple((path, _real(out / path.relative_to(root))) for path in paths)

    return Layout(paired(data), paired(others), paired(indexes), is_folder=True)


def list_tensors(path: Path, request: Request, /) -> tuple[StoredTensor, ...]:
    """Return the tensors of a file, in the order in which they lie."""
    if path.exists():
        _require_regular(path)
    match path.suffix:
        case ".npy":
            return list_npy(path)
        case ".npz":
            return list_npz(path)
        case ".safetensors":
            return list_safetensors(path)
    return list_bin(path, request.dtype, _stored_shape(request))


def _stored_shape(request: Request) -> tuple[int, ...] | None:
    """Return the shape of the array in a .bin file, of which `shape` tells the tensor's own sizes."""
    src, dst = request.src_format, request.dst_format
    if src is None or not src.is_blocked or request.shape is None or request.dtype is None:
        return request.shape
    to_plain = dst is not None and not dst.is_blocked
    plain = dst if dst is not None and to_plain else src.plain
    bits = resolve_dtype(request.dtype).bits
    c0 = request.c0 if to_plain else None
    groups = request.groups if src.layout.grouped else 1
    return make_plan(plain, src, request.shape, None, bits, c0, groups).dst_shape

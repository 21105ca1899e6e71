"""Reading a written tensor back and comparing it with its source, bit for bit."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._plan import Plan, make_plan
from xascend._slabs import slabs
from xascend.files.choice import Choice
from xascend.files.npy import list_npy
from xascend.files.npz import list_npz
from xascend.files.safetensors import list_safetensors
from xascend.files.tasks import CACHED_BYTES, convert_slab, copy_parts, rows, slab_memory
from xascend.files.tensor import StoredTensor

__all__ = ["inverse_of", "mismatch", "written_tensors"]

_LISTERS = {".npy": list_npy, ".npz": list_npz, ".safetensors": list_safetensors}


def written_tensors(kind: str, path: Path, choices: tuple[Choice, ...], /) -> Iterator[StoredTensor]:
    """Yield what a file of a kind holds for each choice, read from the file where the kind has a header."""
    listed = {tensor.name: tensor for tensor in _LISTERS[kind](path)} if kind in _LISTERS else {}
    for choice in choices:
        plain = replace(choice.tensor, path=str(path), shape=choice.shape, offset=0, fortran=False, member="")
        found = next(iter(listed.values())) if kind == ".npy" else listed.get(choice.tensor.name, plain)
        dtype = choice.tensor.dtype if found.dtype.type is np.void else found.dtype
        if kind == ".bin":
            dtype, nbytes = dtype.newbyteorder("<"), math.prod(choice.shape) * dtype.itemsize
            found = replace(found, nbytes=nbytes)
        yield replace(found, dtype=dtype, record=None)


def inverse_of(plan: Plan, /) -> Plan:
    """Return the plan that undoes a plan."""
    shape = plan.sizes if plan.dst_format.is_blocked else None
    c0 = plan.src_c0 or None
    return make_plan(plan.dst_format, plan.src_format, plan.dst_shape, shape, plan.bits, c0, plan.groups)


def mismatch(choice: Choice, written: StoredTensor, max_bytes: int, /) -> str | None:
    """Return in what a written tensor differs from its source, or None where nothing does."""
    if written.shape != choice.shape:
        return f"the shape {written.shape} was written instead of {choice.shape}"
    source, result = choice.tensor.load(), written.load()
    max_bytes = min(max_bytes, CACHED_BYTES)
    if choice.plan is None:
        flat = rows(choice.tensor, source)
        for part in copy_parts(choice.tensor, max_bytes):
            if not _equal(flat[part], _ordered_as(source, result.reshape(flat.shape)[part])):
                return "what was written differs from the source"
        return None
    for slab in slabs(inverse_of(choice.plan), max_bytes // choice.tensor.dtype.itemsize):
        reason = _mismatch_of_part(slab.plan, source[slab.dst], _ordered_as(source, result[slab.src]))
        if reason is not None:
            return reason
    return None


def _mismatch_of_part(plan: Plan, source: npt.NDArray[Any], result: npt.NDArray[Any]) -> str | None:
    back = slab_memory(source.size, source.dtype).reshape(plan.dst_shape)
    size, moved = min(source.dtype.itemsize, 8), math.prod(plan.sizes)
    convert_slab(plan, result, back)
    if result.size > moved and np.count_nonzero(_words(result, size)) != np.count_nonzero(_words(back, size)):
        return "padding of what was written is not zero"
    same = _equal(source, back) if source.size == moved else _same_but_padding(plan, source, result, back)
    return None if same else "converted back, what was written differs from the source"


def _same_but_padding(plan: Plan, source: npt.NDArray[Any], result: npt.NDArray[Any], back: npt.NDArray[Any]) -> bool:
    """Say whether a part gives the elements of the source; what padding of the source holds does not matter.

    It is converted back over the complement of the source: elements become equal to it, and padding stays complement.
    """
    size = min(source.dtype.itemsize, 8)
    expected, words = _words(source, size), _words(back, size)
    np.invert(expected, out=words)
    convert_slab(_without_padding(plan), result, back)
    different = np.bitwise_xor(words, expected, out=words)
    equal = words.size - np.count_nonzero(different)
    untouched = words.size - np.count_nonzero(np.invert(different, out=different))
    return bool(equal == math.prod(plan.sizes) * (source.dtype.itemsize // size) and equal + untouched == words.size)


@functools.lru_cache(maxsize=64)
def _without_padding(plan: Plan) -> Plan:
    return replace(plan, padding=())


def _equal(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    size = 8 if a.nbytes % 8 == 0 else 1
    return np.array_equal(_words(a, size), _words(b, size))


def _words(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Return the bytes of an array, in C order, as unsigned integers of `size` bytes."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).view(f"u{size}")


def _ordered_as(source: npt.NDArray[Any], result: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the result in the byte order of the source."""
    return result if result.dtype.isnative == source.dtype.isnative else result.astype(source.dtype)

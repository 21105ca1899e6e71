"""Reading a written tensor back and comparing it with its source, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._execute import execute
from xascend._plan import Plan, make_plan
from xascend._slabs import slabs
from xascend.files.choice import Choice
from xascend.files.npy import list_npy
from xascend.files.npz import list_npz
from xascend.files.safetensors import list_safetensors
from xascend.files.tasks import copy_parts, rows
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
    if choice.plan is None:
        flat = rows(choice.tensor, source)
        for part in copy_parts(choice.tensor, max_bytes):
            if not np.array_equal(_bytes(flat[part]), _bytes(result.reshape(flat.shape)[part])):
                return "what was written differs from the source"
        return None
    for slab in slabs(inverse_of(choice.plan), max_bytes // choice.tensor.dtype.itemsize):
        if not _same(slab.plan, source[slab.dst], result[slab.src]):
            return "converted back, what was written differs from the source"
    return None


def _same(plan: Plan, source: npt.NDArray[Any], result: npt.NDArray[Any]) -> bool:
    """Convert back over the complement of the source: then elements must equal it, and its padding stay complement."""
    expected = _bytes(source)
    complement = ~expected
    back = complement.copy().view(result.dtype.newbyteorder("=")).reshape(plan.dst_shape)
    native = np.ascontiguousarray(result).astype(back.dtype, copy=False)
    zero: Any = np.zeros((), back.dtype)[()]
    execute(replace(plan, padding=()), native, np, zero, back)
    got, shape = _bytes(back), (-1, source.dtype.itemsize)
    equal = (got == expected).reshape(shape).all(axis=1)
    untouched = (got == complement).reshape(shape).all(axis=1)
    return bool((equal | untouched).all()) and int(equal.sum()) == math.prod(plan.sizes)


def _bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return the bytes of an array in the byte order of this machine."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(-1).view(np.uint8)

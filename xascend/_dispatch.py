"""Which library an array belongs to, where it lies, and whether two arrays may meet in one call."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import array_api_compat.numpy
import numpy as np

from xascend._dtypes import DType, resolve_dtype

_MAX_WORK: Any = 10_000  # candidates tried before two interleaved views count as overlapping

__all__ = ["array_dtype", "array_namespace", "array_shape", "overlaps", "place", "require_same_place"]


def array_namespace(name: str, x: Any, /) -> Any:
    """Return the array-API namespace of `x`; TypeError, naming the argument, where it is not a plain dense array."""
    if type(x) is np.ndarray:
        return compat.numpy
    if not compat.is_array_api_obj(x):
        kind = type(x).__name__
        hint = f"`{name}.toarray()`" if hasattr(x, "toarray") else f"`np.asarray({name}, dtype=...)`"
        raise TypeError(f"`{name}` must be an array (NumPy, CuPy, PyTorch, JAX, Dask), got {kind}; try {hint}")
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"`{name}` is a masked array; a storage format has no mask, pass `{name}.filled(...)`")
    if compat.is_pydata_sparse_array(x) or str(getattr(x, "layout", "torch.strided")) != "torch.strided":
        raise TypeError(f"`{name}` is sparse; a storage format is dense, pass `{name}.to_dense()`")
    return compat.array_namespace(x)


def array_dtype(x: Any, /) -> DType:
    """Return the table's entry for the dtype of an array, or raise TypeError naming the dtype."""
    return resolve_dtype(x.dtype)


def array_shape(name: str, x: Any, /) -> tuple[int, ...]:
    """Return the shape of an array; ValueError where a lazy array does not know it yet."""
    shape = tuple(x.shape)
    if any(size is None or size != size for size in shape):
        raise ValueError(f"`{name}` must have a known shape, got {shape}; call `{name}.compute_chunk_sizes()` first")
    return shape


def place(x: Any, /) -> str:
    """Return the library and the device of an array, as a user would say it: ``"numpy on cpu"``."""
    library = type(x).__module__.partition(".")[0]
    return f"{library} on {compat.device(x)}"


def require_same_place(name: str, x: Any, other_name: str, other: Any, /) -> None:
    """Raise TypeError unless `other` is an array of the same library on the same device as `x`."""
    namespace = array_namespace(name, x)
    if array_namespace(other_name, other) is not namespace or compat.device(x) != compat.device(other):
        raise TypeError(
            f"`{other_name}` is {place(other)} but `{name}` is {place(x)}; "
            "both must be of one library on one device, nothing is transferred silently"
        )


def overlaps(x: Any, y: Any, /) -> bool:
    """Say whether two arrays of one library share memory (exact for NumPy, by address range for PyTorch)."""
    if compat.is_torch_array(x):
        return _torch_overlaps(x, y)
    if compat.is_cupy_array(x):
        import cupy

        return bool(cupy.shares_memory(x, y))
    if not isinstance(x, np.ndarray):
        try:
            x, y = np.from_dlpack(x), np.from_dlpack(y)
        except (AttributeError, BufferError, RuntimeError, TypeError):
            return x is y  # lazy or immutable arrays: there is no memory to share
    try:
        return np.shares_memory(x, y, max_work=_MAX_WORK)
    except np.exceptions.TooHardError:
        return True


def _torch_overlaps(x: Any, y: Any) -> bool:
    if x.numel() == 0 or y.numel() == 0:
        return False
    spans = []
    for tensor in (x, y):
        reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
        start = tensor.data_ptr()
        spans.append((start, start + (reach + 1) * tensor.element_size()))
    return bool(spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1])

"""Which library an array belongs to, where it lies, and whether two arrays may meet in one call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import array_api_compat as compat
import array_api_compat.numpy
import numpy as np
import numpy.typing as npt

from xascend import _torch
from xascend._dtypes import DType, resolve_dtype

_MAX_WORK: Any = 10_000  # candidates tried before two interleaved views count as overlapping

__all__ = [
    "array_dtype",
    "array_namespace",
    "array_shape",
    "is_dense",
    "overlaps",
    "place",
    "require_output",
    "require_same_place",
]


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
    if getattr(x, "is_nested", False):
        raise TypeError(f"`{name}` is a nested tensor, whose rows differ in size; convert them one by one")
    if compat.is_dask_array(x):
        array_namespace(name, x._meta)  # what the chunks are
    if compat.is_pydata_sparse_array(x) or str(getattr(x, "layout", "torch.strided")) != "torch.strided":
        raise TypeError(f"`{name}` is sparse; a storage format is dense, pass `{name}.to_dense()`")
    return compat.array_namespace(x)


def array_dtype(x: Any, /, name: str = "x") -> DType:
    """Return the table's entry for the dtype of an array, or raise TypeError naming argument and dtype."""
    dtype = resolve_dtype(x.dtype, name)
    if dtype.bits == 4 and compat.is_torch_array(x):
        raise TypeError(
            f"`{name}` has dtype {x.dtype}, which PyTorch cannot move; pass `{name}.view(torch.uint8)`, "
            "and `c0` in bytes"
        )
    return dtype


def array_shape(name: str, x: Any, /) -> tuple[int, ...]:
    """Return the shape of an array; ValueError where a lazy array does not know it yet."""
    shape = tuple(x.shape)
    if not isinstance(x, np.ndarray) and any(size is None or size != size for size in shape):
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


def require_output(name: str, x: Any, dtype: Any, shape: tuple[int, ...], out: Any, /) -> None:
    """Raise unless `out` is a writeable array beside `x`, of a dtype and a shape, apart from `x` and from itself."""
    if (
        type(x) is type(out) is np.ndarray
        and out.dtype == dtype
        and out.shape == shape
        and out.flags.carray  # C-contiguous, aligned and writeable
        and not np.may_share_memory(x, out)
    ):
        return  # the arrays of most calls, which meet every rule below
    require_same_place(name, x, "out", out)
    if out.dtype != dtype:
        whose = f"`{name}`" if dtype == x.dtype else "the result"
        raise TypeError(f"`out` must have the dtype of {whose}, {dtype}, got {out.dtype}")
    if tuple(out.shape) != shape:
        raise ValueError(f"`out` must have the shape {shape}, got {tuple(out.shape)}")
    if compat.is_lazy_array(out):
        raise TypeError(f"`out` must be an array in memory, got a lazy or immutable {type(out).__name__}")
    if not compat.is_writeable_array(out):
        raise ValueError("`out` must be writeable, got a read-only array")
    if getattr(out, "requires_grad", False) or getattr(x, "requires_grad", False):
        raise ValueError(f"`out` cannot take part in a gradient; pass `{name}` and `out` without requires_grad")
    if _overlaps_itself(out):
        raise ValueError("`out` must not overlap itself: a stride must reach over all that axes with smaller ones span")
    if overlaps(x, out):
        raise ValueError(f"`out` must not overlap `{name}`; this cannot be done in place, pass other memory")


def _overlaps_itself(x: Any) -> bool:
    """Say whether strides leave no room for every element; arrays without strides cannot overlap themselves."""
    strides = x.stride() if compat.is_torch_array(x) else getattr(x, "strides", None)
    if strides is None or 0 in x.shape:
        return False
    reach = 1 if compat.is_torch_array(x) else x.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(strides, x.shape, strict=True) if size > 1):
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False


def overlaps(x: Any, y: Any, /) -> bool:
    """Say whether two arrays of one library share memory (exact for NumPy and CuPy, by address range for PyTorch)."""
    if compat.is_torch_array(x):
        return _torch.overlaps(x, y)
    # CuPy's own answer sorts the addresses of all elements on the device and waits for it
    x, y = (_address_view(a) if compat.is_cupy_array(a) else _host_view(a) for a in (x, y))
    if x is None or y is None:
        return False
    try:
        return np.shares_memory(x, y, max_work=_MAX_WORK)
    except np.exceptions.TooHardError:
        return True


def _address_view(x: Any) -> npt.NDArray[Any]:
    """Return an array of NumPy at the addresses of one of CuPy, which may be compared but not read."""
    interface = {"data": (x.data.ptr, True), "typestr": f"|V{x.itemsize}", "shape": x.shape, "strides": x.strides}
    return np.asarray(SimpleNamespace(__array_interface__=interface | {"version": 3}))


def is_dense(x: Any, /) -> bool:
    """Say whether an array is C-contiguous, as far as its library tells."""
    x = x if compat.is_cupy_array(x) else _host_view(x)
    return x is None or bool(x.flags.c_contiguous)


def _host_view(x: Any) -> npt.NDArray[Any] | None:
    """Return an array in host memory as NumPy sees it, or None for lazy ones, which have no memory."""
    if isinstance(x, np.ndarray):
        return x
    try:
        return np.from_dlpack(x)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        return None

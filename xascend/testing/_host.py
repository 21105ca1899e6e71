"""Arrays of any library in the host's memory, as NumPy arrays on the same memory."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np
import numpy.typing as npt

from xascend._dispatch import array_dtype, array_namespace, place
from xascend._dtypes import numpy_dtype

__all__ = ["as_host_array"]

_CPU = 1  # kDLCPU of DLPack


def as_host_array(name: str, x: Any, /) -> npt.NDArray[Any]:
    """Return `x` as a NumPy array; TypeError where it is none, or lies on another device than the CPU.

    Dask arrays are computed. Nothing else is copied.
    """
    array_namespace(name, x)
    if isinstance(x, np.ndarray | np.generic):
        return np.asarray(x)
    if compat.is_dask_array(x):
        return as_host_array(name, x.compute())
    in_torch = compat.is_torch_array(x)
    if x.device.type != "cpu" if in_torch else x.__dlpack_device__()[0] != _CPU:
        raise TypeError(f"`{name}` is {place(x)}; arrays are compared on the CPU and never moved there silently")
    return _from_torch(name, x) if in_torch else np.asarray(x)


def _from_torch(name: str, x: Any) -> npt.NDArray[Any]:
    import torch

    dtype = numpy_dtype(array_dtype(x, name).name)
    x = x.detach().resolve_conj().resolve_neg()
    if dtype.isbuiltin == 1:
        return np.asarray(x.numpy())
    bits = {1: torch.uint8, 2: torch.int16}[dtype.itemsize]  # of types that NumPy has not itself
    return np.asarray(x.view(bits).numpy()).view(dtype)

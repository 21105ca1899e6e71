"""Libraries with arrays on a GPU: there and back, and a stream of their own that does not wait for others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from libraries import cupy_library, torch_cuda_library


@dataclass(frozen=True)
class Gpu:
    """`put` and `get` work on the current stream; `used_bytes` is what living arrays hold."""

    name: str
    put: Callable[[np.ndarray], Any]
    get: Callable[[Any], np.ndarray]
    stream: Callable[[], AbstractContextManager[Any]]
    used_bytes: Callable[[], int]


def of_cupy() -> Gpu:
    cupy_library()  # skips without a device
    import cupy

    return Gpu(
        "cupy",
        cupy.asarray,
        cupy.asnumpy,
        lambda: cupy.cuda.Stream(non_blocking=True),
        lambda: cupy.get_default_memory_pool().used_bytes(),
    )


def of_torch() -> Gpu:
    cupy_library()  # the kernels are compiled by CuPy
    torch_cuda_library()
    import torch

    return Gpu(
        "torch",
        lambda x: torch.from_numpy(x.copy()).cuda(),
        lambda x: x.cpu().numpy(),
        lambda: torch.cuda.stream(torch.cuda.Stream()),
        lambda: torch.cuda.memory_allocated(),
    )


GPUS = {"cupy": of_cupy, "torch": of_torch}

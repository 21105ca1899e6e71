"""The array libraries the tests run on: how a NumPy array gets there and its bits get back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

STANDARD = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
)
COMPLEX = ("complex64", "complex128")
FLOAT8 = (
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
FOUR_BIT = ("int4", "uint4", "float4_e2m1fn")
ALL_DTYPES = (*STANDARD, *COMPLEX, "float16", "bfloat16", *FLOAT8, *FOUR_BIT)
TORCH_DTYPES = (
    *STANDARD,
    *COMPLEX,
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)


@dataclass(frozen=True)
class Library:
    """One array library: `asarray` brings a NumPy array there, `to_numpy` brings the bits back."""

    name: str
    array_type: type
    asarray: Callable[[np.ndarray], Any]
    to_numpy: Callable[[Any], np.ndarray]
    dtypes: tuple[str, ...]

    def require(self, dtype: str) -> None:
        if dtype not in self.dtypes:
            pytest.skip(f"{self.name} has no {dtype}")


def numpy_dtype(name: str) -> np.dtype:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    return np.dtype(getattr(ml_dtypes, name, name))


def numpy_library() -> Library:
    return Library("numpy", np.ndarray, np.asarray, np.asarray, ALL_DTYPES)


def readonly_library() -> Library:
    def asarray(x: np.ndarray) -> np.ndarray:
        x = x.copy()
        x.flags.writeable = False
        return x

    return Library("numpy_readonly", np.ndarray, asarray, np.asarray, ALL_DTYPES)


def strict_library() -> Library:
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    return Library("array_api_strict", type(xp.zeros(1)), xp.asarray, np.asarray, (*STANDARD, *COMPLEX))


def torch_library() -> Library:
    torch = pytest.importorskip("torch", reason="torch is not installed")

    def asarray(x: np.ndarray) -> Any:
        if x.dtype.kind in "biufc" and x.dtype.name not in FLOAT8:
            return torch.from_numpy(x.copy())
        bits = torch.from_numpy(x.copy().view(f"u{x.dtype.itemsize}"))
        return bits.view(getattr(torch, x.dtype.name))

    def to_numpy(x: Any) -> np.ndarray:
        dtype = numpy_dtype(str(x.dtype).removeprefix("torch."))
        bits = {1: torch.uint8, 2: torch.int16}.get(dtype.itemsize)
        if dtype.kind == "b" or bits is None:
            return x.numpy()
        return x.view(bits).numpy().view(dtype)

    return Library("torch", torch.Tensor, asarray, to_numpy, TORCH_DTYPES)


def torch_cuda_library() -> Library:
    torch, host = pytest.importorskip("torch", reason="torch is not installed"), torch_library()
    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device")
    return Library(
        "torch_cuda", torch.Tensor, lambda x: host.asarray(x).cuda(), lambda x: host.to_numpy(x.cpu()), TORCH_DTYPES
    )


def dask_library() -> Library:
    da = pytest.importorskip("dask.array", reason="dask is not installed")

    def asarray(x: np.ndarray) -> Any:
        return da.from_array(x, chunks=tuple(max(1, (size + 1) // 2) for size in x.shape))

    def to_numpy(x: Any) -> np.ndarray:
        return np.asarray(x.compute(scheduler="synchronous"))

    return Library("dask", da.Array, asarray, to_numpy, (*STANDARD, *COMPLEX, "float16", "bfloat16"))


def cupy_library() -> Library:
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"cupy is installed but the CUDA runtime is not usable: {error}")
    if devices == 0:
        pytest.skip("cupy is installed but there is no CUDA device")
    return Library("cupy", cupy.ndarray, cupy.asarray, cupy.asnumpy, (*STANDARD, *COMPLEX, "float16"))


LIBRARIES: dict[str, Callable[[], Library]] = {
    "numpy": numpy_library,
    "numpy_readonly": readonly_library,
    "array_api_strict": strict_library,
    "torch": torch_library,
    "dask": dask_library,
    "cupy": cupy_library,
    "torch_cuda": torch_cuda_library,
}
ON_GPU = ("cupy", "torch_cuda")  # tests of these get the mark `gpu`


def counting(shape: tuple[int, ...], dtype: str = "uint32") -> np.ndarray:
    """Return 1, 2, 3, ... in `shape`: each element shows where it came from and differs from zero padding."""
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(numpy_dtype(dtype))


def random_bits(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Return arbitrary bit patterns (NaN payloads, -0.0, ...), but only valid values of bool and 4-bit types."""
    rng = np.random.default_rng(seed)
    target = numpy_dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in FOUR_BIT:
        nibbles = rng.integers(0, 16, shape).astype(np.uint8)
        return nibbles.view(target) if dtype != "int4" else (nibbles.astype(np.int8) - 8).view(target)
    raw = rng.integers(0, 256, (*shape, target.itemsize), np.uint8)
    return np.frombuffer(raw.tobytes(), target).reshape(shape).copy()


def assert_same_bits(actual: np.ndarray, expected: np.ndarray) -> None:
    """Compare shape, dtype (byte order too) and bytes; report the first place that differs."""
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    a = np.frombuffer(actual.tobytes(), np.uint8).reshape(*actual.shape, -1) if actual.size else actual
    b = np.frombuffer(expected.tobytes(), np.uint8).reshape(*expected.shape, -1) if expected.size else expected
    differs = np.argwhere((a != b).any(axis=-1)) if actual.size else ()
    if len(differs):
        first = tuple(map(int, differs[0]))
        pytest.fail(
            f"{len(differs)} of {actual.size} elements differ, "
            f"the first at {first}: {actual[first]!r}, wanted {expected[first]!r}"
        )


def assert_result(library: Library, actual: Any, expected: np.ndarray) -> None:
    """Check the array's library, and that NumPy results own C-contiguous writeable memory; then the bits."""
    assert isinstance(actual, library.array_type)
    if library.array_type is np.ndarray:
        assert type(actual) is np.ndarray
        assert actual.flags.c_contiguous
        assert actual.flags.writeable
    if library.array_type.__module__ == "torch":
        assert actual.is_contiguous()
        assert actual.is_cuda == (library.name in ON_GPU)
    if library.name == "cupy":
        assert actual.flags.c_contiguous
    assert_same_bits(library.to_numpy(actual), expected)

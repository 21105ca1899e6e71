"""Files made on the spot, ways to read them without the library, and the command in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import safetensors

import xascend
from xascend import files

ROOT = Path(xascend.__file__).parents[1]


@pytest.fixture
def counting() -> Callable[..., np.ndarray]:
    """Return arrays whose bytes count, so that every element shows where it came from."""

    def make(shape: tuple[int, ...], dtype: str) -> np.ndarray:
        kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
        count = int(np.prod(shape))
        if kind.kind == "b":
            return (np.arange(count) % 3 == 0).reshape(shape)
        if kind.itemsize == 1:
            return (np.arange(count) % 251).astype(np.uint8).view(kind).reshape(shape)
        words = np.arange(count * kind.itemsize // 2, dtype=np.uint16)
        return words.view(kind).reshape(shape)

    return make


@pytest.fixture
def same_bits() -> Callable[[np.ndarray, np.ndarray], bool]:
    """Return a comparison that sees types, sizes and every bit, NaN payloads too."""

    def same(a: np.ndarray, b: np.ndarray) -> bool:
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()

    return same


@pytest.fixture
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs ``python -m xascend`` in a process of its own."""

    def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "xascend", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env=command_environment(),
            **options,  # type: ignore[arg-type]
        )

    return run


def command_environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}


@pytest.fixture
def environment() -> dict[str, str]:
    """Return the environment in which a process finds the package."""
    return command_environment()


@pytest.fixture
def digest() -> Callable[[Path], dict[str, str]]:
    """Return a function that tells names and contents of a folder, to see that nothing changed."""

    def of(folder: Path) -> dict[str, str]:
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    return of


@pytest.fixture
def write_safetensors() -> Callable[..., Path]:
    """Return a writer of safetensors files from raw parts, which may lie."""

    def write(path: Path, header: object, data: bytes = b"", *, length: int | None = None) -> Path:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
        return path

    return write


@pytest.fixture
def converted(tmp_path: Path, counting: Callable[..., np.ndarray]) -> Path:
    """Return a folder with x.npy, and y.npy made of it in FRACTAL_NZ."""
    np.save(tmp_path / "x.npy", counting((20, 28), "float16"))
    files.convert(tmp_path / "x.npy", tmp_path / "y.npy", src_format="ND", dst_format="NZ")
    return tmp_path


TYPES = {
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "I8": np.int8,
    "I32": np.int32,
    "U8": np.uint8,
    "F16": np.float16,
    "F32": np.float32,
    "C64": np.complex64,
    "BOOL": np.bool_,
}


@pytest.fixture
def load_file() -> Callable[[Path], dict[str, np.ndarray]]:
    """Return a reader by way of the safetensors library, which has no float8 arrays of its own."""

    def load(path: Path) -> dict[str, np.ndarray]:
        return {
            name: np.frombuffer(entry["data"], TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in safetensors.deserialize(path.read_bytes())
        }

    return load


@pytest.fixture
def mixed_tensors(counting: Callable[..., np.ndarray]) -> dict[str, np.ndarray]:
    """Return tensors of many types, with a scalar, an empty one and one of a single axis."""
    return {
        "w.bf16": counting((33, 18), "bfloat16"),
        "w.e4m3": counting((35, 70), "float8_e4m3fn"),
        "w.e5m2": counting((2, 5, 40), "float8_e5m2"),
        "w.i8": counting((17, 33), "int8"),
        "w.f16": counting((20, 28), "float16"),
        "w.f32": counting((3, 3), "float32"),
        "w.bool": counting((16, 32), "bool"),
        "scalar": np.array(7, np.float32),
        "empty": np.zeros((0, 5), np.float16),
        "bias": counting((19,), "float16"),
    }

"""``python -m xascend.demo``: a small model file converted to FRACTAL_NZ and back, and the bytes compared."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors import deserialize
from safetensors.numpy import save_file

from xascend.cli import run

__all__ = ["main"]

_TENSORS = {
    "embed.weight": ((1000, 96), np.float32),
    "attention.query.weight": ((96, 100), ml_dtypes.bfloat16),
    "attention.query.bias": ((96,), ml_dtypes.bfloat16),
    "mlp.weight": ((360, 96), np.float16),
    "mlp.weight_int8": ((360, 96), np.int8),
    "mlp.weight_float8": ((100, 40), ml_dtypes.float8_e4m3fn),
    "scale": ((), np.float32),
}


def _make_model(path: Path) -> None:
    """Write a model of every bit pattern, so that NaN payloads and negative zeros are among the values."""
    random = np.random.default_rng(0)
    tensors = {}
    for name, (shape, dtype) in _TENSORS.items():
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        tensors[name] = random.integers(0, 256, size, np.uint8).view(dtype).reshape(shape)
    save_file(tensors, path)


def _fingerprint(path: Path) -> str:
    """Return a hash of names, types, shapes and bytes of all tensors of a file."""
    digest = hashlib.sha256()
    for name, tensor in sorted(deserialize(path.read_bytes())):
        digest.update(f"{name} {tensor['dtype']} {tensor['shape']}".encode())
        digest.update(tensor["data"])
    return digest.hexdigest()


def main() -> int:
    """Run the demonstration and return its exit status: 0 where the bytes agree."""
    with tempfile.TemporaryDirectory() as folder:
        model, blocked, back = (Path(folder) / f"{name}.safetensors" for name in ("model", "model.nz", "back"))
        _make_model(model)
        for arguments in (
            ["convert", str(model), str(blocked), "--from", "ND", "--to", "FRACTAL_NZ"],
            ["info", str(blocked)],
            ["convert", str(blocked), str(back)],
        ):
            print("$ xascend", *(Path(a).name if a.endswith(".safetensors") else a for a in arguments), flush=True)
            status = run(arguments)
            if status:
                return status
            print()
        before, after = _fingerprint(model), _fingerprint(back)
        print(f"before  sha256 {before}\nafter   sha256 {after}")
        print("The bytes agree." if before == after else "THE BYTES DIFFER.")
        return int(before != after)


if __name__ == "__main__":
    raise SystemExit(main())

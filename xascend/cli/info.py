"""``xascend info``."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xascend.cli._values import as_sizes, require_path, shown_bytes, shown_shape, shown_text

if TYPE_CHECKING:
    from xascend.files import TensorInfo

__all__ = ["info"]

_LIBRARIES = (
    "xascend",
    "numpy",
    "ml-dtypes",
    "array-api-compat",
    "safetensors",
    "torch",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "dask",
    "distributed",
    "matplotlib",
)


def info(
    src: Annotated[
        str | None, typer.Argument(metavar="FILE", callback=require_path, help="File, index or folder.")
    ] = None,
    system: Annotated[bool, typer.Option("--system", help="Show versions, libraries and devices instead.")] = False,
    dtype: Annotated[str | None, typer.Option(help="Element type of a .bin file without a record.")] = None,
    shape: Annotated[str | None, typer.Option(help="Sizes of a .bin file without a record.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Show what is in a file: tensors, types, sizes, formats; or what this machine has."""
    if (src is None) != system:
        raise typer.BadParameter("pass either a FILE or --system")
    if src is None:
        facts = _system()
        print(json.dumps(facts) if as_json else "\n".join(f"{name}: {value}" for name, value in facts.items()))
        return 0
    from xascend import files

    found = files.inspect(src, dtype=dtype, shape=None if shape is None else as_sizes("--shape", shape))
    if as_json:
        print(json.dumps({"tensors": [asdict(tensor) for tensor in found]}))
        return 0
    for tensor in found:
        where = "" if tensor.file == str(Path(src)) else f"{tensor.file}: "
        print(shown_text(where + _line(tensor)))
    print(f"{len(found)} tensors, {shown_bytes(sum(tensor.nbytes for tensor in found))}")
    return 0


def _line(tensor: TensorInfo) -> str:
    line = f"{tensor.name} {tensor.dtype} {shown_shape(tensor.shape)} {tensor.nbytes} bytes"
    if tensor.format is None or tensor.plain_shape is None:
        return line
    line += f", {tensor.format}"
    if tensor.format != tensor.plain_format:
        line += f" of {tensor.plain_format} {shown_shape(tensor.plain_shape)}, c0 {tensor.c0}"
    return line + (f", groups {tensor.groups}" if tensor.groups != 1 else "")


def _system() -> dict[str, str]:
    facts = {"python": platform.python_version(), "platform": platform.platform(), "cpus": str(os.cpu_count())}
    for library in _LIBRARIES:
        try:
            facts[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            facts[library] = "not installed"
    from xascend.runtime import build_info, get_num_threads

    facts |= {"native library": str(build_info()), "threads": str(get_num_threads())}
    return facts | {"cuda devices": _cuda_devices()}


def _cuda_devices() -> str:
    try:
        import cupy
    except ImportError as error:
        return f"none: CuPy cannot be imported ({error})"
    runtime = cupy.cuda.runtime
    try:
        names = [runtime.getDeviceProperties(n)["name"].decode() for n in range(runtime.getDeviceCount())]
    except runtime.CUDARuntimeError as error:
        return f"none: {error}"
    return ", ".join(f"{number} {name}" for number, name in enumerate(names)) or "none"

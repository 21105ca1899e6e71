"""Finding the kernels' sources, making one text of a source and its includes, and compiling it once per device."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from xascend._cuda._jobs import Kernel

__all__ = ["get_function", "read_source", "source_folder"]

_PACKAGE = Path(__file__).parents[1]
_PLACES = (_PACKAGE / "kernels_cuda", _PACKAGE.parent / "kernels_cuda")  # installed, in a checkout
_INCLUDE = re.compile(r'#include "([\w.]+)"\s*')
_ONCE = re.compile(r"#pragma once\s*")


def source_folder() -> Path:
    """Return the folder of the CUDA sources."""
    for place in _PLACES:
        if (place / "tiles.cu").is_file():
            return place
    raise FileNotFoundError(f"the CUDA sources of xascend lie neither in {_PLACES[0]} nor in {_PLACES[1]}")


def read_source(file: str, /) -> str:
    """Return a source with its own includes in their places: a compiler's cache key must see all of the text."""
    return "\n".join(_lines(source_folder(), file, set())) + "\n"


def _lines(folder: Path, file: str, seen: set[str]) -> list[str]:
    if file in seen:
        return []
    seen.add(file)
    lines = [f'#line 1 "{file}"']
    for number, line in enumerate((folder / file).read_text(encoding="utf-8").splitlines(), start=1):
        included = _INCLUDE.fullmatch(line)
        if included:
            lines += [*_lines(folder, included[1], seen), f'#line {number + 1} "{file}"']
        else:
            lines.append("" if _ONCE.fullmatch(line) else line)
    return lines


@functools.cache
def get_function(kernel: Kernel, device: int, /) -> Any:
    """Return a kernel compiled for `device`, which must be the current one; a compiler's complaint is raised."""
    import cupy

    options = ("-std=c++17", *kernel.definitions)
    return cupy.RawModule(code=read_source(kernel.file), options=options).get_function(kernel.entry)

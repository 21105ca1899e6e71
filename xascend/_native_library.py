"""Finding, checking and loading the native library, and saying why where there is none."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NAME", "Library", "load"]

NAME = {"darwin": "libxascend_cpu.dylib", "win32": "xascend_cpu.dll"}.get(sys.platform, "libxascend_cpu.so")
_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parent
_SOURCES = _CHECKOUT / "kernels_cpu"
_PLACES = (_PACKAGE / NAME, _CHECKOUT / "build" / "kernels_cpu" / NAME)
_ABSENT = _PACKAGE / "native_absent.txt"  # written when a package is built without the library
_DISABLE = "XASCEND_DISABLE_NATIVE"

Convert = Callable[[int, int, int, bytes, int], int]
Quantise = Callable[[int, int, int, int, int], int]


@dataclass(frozen=True, slots=True)
class Library:
    """The loaded library, or the reason why there is none.

    Attributes
    ----------
    convert
        ``xascend_convert`` of the library.
    quantise
        ``xascend_quantise`` of the library.
    path
        The file that was loaded, or that could not be.
    build
        What the library says of its own making.
    reason
        None, or why it is not used.
    """

    convert: Convert
    quantise: Quantise
    path: Path | None
    build: str
    reason: str | None


@functools.cache
def load() -> Library:
    """Return the library, loaded once. One that is there and cannot be used is reported with a RuntimeWarning."""
    if os.environ.get(_DISABLE, "") not in ("", "0"):
        return _without(None, f"{_DISABLE} is set")
    path = next((place for place in _PLACES if place.is_file()), None)
    if path is None:
        return _without(None, _why_absent())
    try:
        library = ctypes.CDLL(str(path))
        build = library.xascend_build
        build.restype = ctypes.c_char_p
        made = build().decode()
        if _SOURCES.is_dir() and f"sources {_source_digest(_SOURCES)}" not in made:
            return _broken(
                path, f"{path} was built from other sources than {_SOURCES}; run `python {_SOURCES / 'build.py'}` again"
            )
        convert, quantise = library.xascend_convert, library.xascend_quantise
    except (OSError, AttributeError) as error:
        return _broken(path, f"{path} cannot be loaded: {error}")
    convert.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)
    quantise.argtypes = (*[ctypes.c_void_p] * 4, ctypes.c_int)
    convert.restype = quantise.restype = ctypes.c_int
    return Library(convert, quantise, path, made, None)


def _broken(path: Path, reason: str) -> Library:
    warnings.warn(f"xascend's native library is not used: {reason}", RuntimeWarning, stacklevel=2)
    return _without(path, reason)


def _without(path: Path | None, reason: str) -> Library:
    def refuse(*_: object) -> int:
        raise RuntimeError(f"the native library is not used: {reason}")

    return Library(refuse, refuse, path, "", reason)


def _why_absent() -> str:
    if _ABSENT.is_file():
        return _ABSENT.read_text(encoding="utf-8").strip()
    if _SOURCES.is_dir():
        return f"it has not been built; run `python {_SOURCES / 'build.py'}`"
    return f"this installation has none for {platform.system()} {platform.machine()}"


def _source_digest(folder: Path) -> str:
    """Return the digest of the C++ sources that the library was given when it was built."""
    digest = hashlib.sha256()
    for path in sorted((*folder.glob("*.cpp"), *folder.glob("*.hpp"))):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]

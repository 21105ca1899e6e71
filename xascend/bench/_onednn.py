"""A reorder of oneDNN, called through ctypes, versions 2 and 3 of its C interface.

A blocked storage is described to oneDNN as a plain tensor with more axes and their strides. For sizes in whole blocks
that is the same reorder as between its own blocked formats, and it needs none of the numbers of its format tags, which
differ from version to version.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xascend.bench._layouts import Layout
from xascend.bench._unavailable import UnavailableError

__all__ = ["reorder", "version"]

_NAMES = ("libdnnl.so.3", "libdnnl.so.2", "libdnnl.3.dylib", "libdnnl.dylib", "dnnl.dll")
_TYPES = {"float16": 1, "bfloat16": 2, "float32": 3, "int32": 4, "int8": 5, "uint8": 6}
_CPU, _IN_ORDER, _SOURCE, _TARGET = 1, 1, 1, 17
_MAX_AXES = 12
_DESCRIPTOR_BYTES = 4096  # of version 2, where the caller holds it; its own size is below a quarter of that
_UNIMPLEMENTED = 3
_IMPLEMENTATION = 8  # the query for a primitive's name
_REFERENCE = b"ref", b"simple:any"  # in names of implementations for what no other one can do

_Dims = ctypes.c_int64 * _MAX_AXES


class _Version(ctypes.Structure):
    _fields_ = (("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int))


class _Argument(ctypes.Structure):
    _fields_ = (("index", ctypes.c_int), ("memory", ctypes.c_void_p))


@functools.cache
def _library() -> Any:
    places = [Path(sys.prefix, "lib", name) for name in _NAMES]  # where a wheel puts it
    for name in (*_NAMES, *(str(place) for place in places if place.is_file())):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def version() -> str | None:
    """Return the version of oneDNN, or None where its library is not found."""
    library = _library()
    if library is None:
        return None
    library.dnnl_version.restype = ctypes.POINTER(_Version)
    found = library.dnnl_version().contents
    return f"{found.major}.{found.minor}.{found.patch}"


@contextmanager
def reorder(
    layout: Layout, dtype: str, source: int, target: int, threads: int, /, *, back: bool
) -> Iterator[Callable[[], None]]:
    """Give the reorder between two addresses; UnavailableError says why there is none."""
    library = _library()
    if library is None:
        raise UnavailableError("its library (libdnnl) is not found")
    if dtype not in _TYPES:
        raise UnavailableError(f"it has no {dtype}")
    if not layout.is_aligned:
        raise UnavailableError("described by strides, it takes whole blocks alone")
    made = _Objects(library)
    with _threads(library, threads):
        try:
            yield made.reorder(layout, _TYPES[dtype], source, target, back)
        finally:
            made.destroy()


@contextmanager
def _threads(library: Any, threads: int) -> Iterator[None]:
    """Set the threads of OpenMP, which a handle of the library reaches among what it is linked with."""
    try:
        get, put = library.omp_get_max_threads, library.omp_set_num_threads
    except AttributeError:
        raise UnavailableError("it was built without OpenMP, so its threads cannot be set") from None
    before = get()
    put(threads)
    try:
        yield
    finally:
        put(before)


class _Objects:
    """Objects of oneDNN, in the order in which they were made."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._made: list[tuple[str, ctypes.c_void_p]] = []

    def _make(self, kind: str, *arguments: Any, function: str = "") -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        function = function or f"dnnl_{kind}_create"
        status = getattr(self._library, function)(ctypes.byref(handle), *arguments)
        if status == _UNIMPLEMENTED:
            raise UnavailableError("it has no such reorder for this element type on this CPU")
        if status:
            raise UnavailableError(f"{function} failed with status {status}")
        self._made.append((kind, handle))
        return handle

    def _descriptor(self, sizes: Sequence[int], strides: Sequence[int], kind: int) -> Any:
        arguments = len(sizes), _Dims(*sizes), kind, _Dims(*strides)
        if hasattr(self._library, "dnnl_memory_desc_create_with_strides"):
            return self._make("memory_desc", *arguments, function="dnnl_memory_desc_create_with_strides")
        descriptor = ctypes.create_string_buffer(_DESCRIPTOR_BYTES)
        if self._library.dnnl_memory_desc_init_by_strides(descriptor, *arguments):
            raise UnavailableError("dnnl_memory_desc_init_by_strides failed")
        return descriptor

    def reorder(self, layout: Layout, kind: int, source: int, target: int, back: bool) -> Callable[[], None]:
        sizes = layout.pieces
        plain = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        blocked = [math.prod(layout.blocks[place + 1 :]) for place in layout.inverse]
        engine = self._make("engine", _CPU, ctypes.c_size_t(0))
        sides = [self._descriptor(sizes, strides, kind) for strides in (plain, blocked)]
        if back:
            sides.reverse()
        stream = self._make("stream", engine, ctypes.c_uint(_IN_ORDER))
        memories = [
            self._make("memory", side, engine, ctypes.c_void_p(address))
            for side, address in zip(sides, (source, target), strict=True)
        ]
        description = self._make(
            "primitive_desc", sides[0], engine, sides[1], engine, None, function="dnnl_reorder_primitive_desc_create"
        )
        self._require_optimised(description)
        primitive = self._make("primitive", description)
        arguments = (_Argument * 2)(_Argument(_SOURCE, memories[0]), _Argument(_TARGET, memories[1]))
        execute, wait = self._library.dnnl_primitive_execute, self._library.dnnl_stream_wait

        def run() -> None:
            if execute(primitive, stream, 2, arguments) or wait(stream):
                raise RuntimeError("oneDNN could not carry out a reorder that it had made")

        return run

    def _require_optimised(self, description: ctypes.c_void_p) -> None:
        """Refuse the reference implementation, which says nothing of oneDNN's speed."""
        name = ctypes.c_char_p()
        if self._library.dnnl_primitive_desc_query(description, _IMPLEMENTATION, 0, ctypes.byref(name)):
            raise UnavailableError("it does not say which implementation it would use")
        if any(word in (name.value or b"") for word in _REFERENCE):
            raise UnavailableError("it has its reference implementation alone for this element type on this CPU")

    def destroy(self) -> None:
        for kind, handle in reversed(self._made):
            getattr(self._library, f"dnnl_{kind}_destroy")(handle)

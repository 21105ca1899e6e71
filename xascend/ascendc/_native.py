"""Instructions on data blocks by the native library, on arrays in host memory.

`trans_data_to_5hd` and `brcb` move between addresses that have been checked. Most calls need no check in Python: the
library finds the arrays of a *plain* call by itself, through Python's buffer protocol, and sees at a glance that it
keeps every rule. Where it does not, nothing is written, and the checks in Python say what is wrong or that nothing is.
"""

from __future__ import annotations

import array
import ctypes
import functools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np

from xascend import _torch
from xascend._address import address_of
from xascend._native_library import load
from xascend.ascendc._memory import HALF, owner_of
from xascend.ascendc._plan import Plan, Side

__all__ = ["PlainCall", "brcb", "brcb_if_plain", "read_plain", "trans_data_to_5hd"]

_ENTRIES = 16

# The words of a call, which ``kernels_cpu/instructions.cpp`` describes, and the addresses that follow them.
_TRANS_DATA_TO_5HD, _LISTS = struct.Struct("6q"), struct.Struct(f"{2 * _ENTRIES}q")
_BRCB, _PAIR = struct.Struct("4q"), struct.Struct("2q")

_Move = Callable[[bytes], None]
_TryMove = Callable[[bytes, Any], bool]


class _Library(NamedTuple):
    """What the library has for instructions. It keeps the interpreter's lock: a call moves 128 KiB at most."""

    trans_data_to_5hd: _Move
    trans_data_to_5hd_in_array: _TryMove
    trans_data_to_5hd_of_views: _TryMove
    brcb: _Move
    brcb_of_views: _TryMove


@functools.cache
def _library() -> _Library | None:
    found = load()
    if found.reason is not None:
        return None
    library = ctypes.PyDLL(str(found.path))
    names = ("PyObject_GetBuffer", "PyBuffer_Release", "PyList_GetItem")
    python = array.array(
        "Q", [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in names]
    )
    return _Library(
        _move(library.xascend_trans_data_to_5hd),
        _try_move(library.xascend_trans_data_to_5hd_in_array, python),
        _try_move(library.xascend_trans_data_to_5hd_of_views, python),
        _move(library.xascend_brcb),
        _try_move(library.xascend_brcb_of_views, python),
    )


def _move(function: Any) -> _Move:
    function.argtypes, function.restype = (ctypes.c_char_p,), None
    move: _Move = function
    return move


def _try_move(function: Any, python: array.array[int]) -> _TryMove:
    function.argtypes = (ctypes.c_char_p, ctypes.py_object, ctypes.c_void_p)

    def try_move(words: bytes, objects: Any) -> bool:
        try:
            return not function(words, objects, python.buffer_info()[0])
        except (BufferError, ValueError):  # an array that is not contiguous
            return False

    return try_move


class PlainCall(NamedTuple):
    """A TransDataTo5HD that may be plain."""

    x: Any  # one of its arrays, which have one dtype
    try_move: _TryMove
    objects: list[Any] | None  # None: `x` alone
    addresses: bytes

    def carry_out(self, params: Any, itemsize: int) -> bool:
        """Carry the call out and return True, or write nothing and return False."""
        objects = _memory(self.x) if self.objects is None else self.objects
        if objects is None:
            return False
        strides = params.dst_rep_stride, params.src_rep_stride
        halves = HALF * params.dst_high_half, HALF * params.src_high_half
        words = _TRANS_DATA_TO_5HD.pack(itemsize, params.repeat_times, *strides, *halves)
        done = self.try_move(words + self.addresses, objects)
        if done:
            _count_change(self.x)
        return done


def read_plain(dst_list: Any, src_list: Any, ub: Any) -> PlainCall | None:
    """Return a call if it may be plain: with addresses in host memory, or NumPy views of one array on each side."""
    library = _library()
    if library is None:
        return None
    if ub is not None:
        addresses = _addresses(dst_list, src_list, ub) if _is_bare(ub) else None
        return None if addresses is None else PlainCall(ub, library.trans_data_to_5hd_in_array, None, addresses)
    if not _are_lists(dst_list, src_list):
        return None
    entries = [*dst_list, *src_list]  # what the library counts on; a list can change at any time
    if len(entries) != 2 * _ENTRIES or {*map(type, entries)} != {np.ndarray}:
        return None
    x, y = dst_list[0], src_list[0]
    dtype, dst_base, src_base = x.dtype, x.base, y.base
    if not (isinstance(dst_base, np.ndarray) and isinstance(src_base, np.ndarray)):
        return None
    # lists, not generators: 32 arrays come in each call
    alike = [x.dtype is dtype and x.base is dst_base for x in dst_list]
    alike += [x.dtype is dtype and x.base is src_base for x in src_list]
    if not all(alike):
        return None
    return PlainCall(x, library.trans_data_to_5hd_of_views, [*entries, owner_of(x), owner_of(y)], b"")


def _are_lists(dst_list: Any, src_list: Any) -> bool:
    kinds = {type(dst_list), type(src_list)}  # those of other types, even if derived from these, may say any length
    return kinds <= {list, tuple} and len(dst_list) == len(src_list) == _ENTRIES


def _addresses(dst_list: Any, src_list: Any, ub: Any) -> bytes | None:
    if type(dst_list) is type(src_list) is type(ub) is np.ndarray and dst_list.dtype == src_list.dtype == np.uint64:
        dst_list, src_list = dst_list.tolist(), src_list.tolist()
    if not _are_lists(dst_list, src_list) or {*map(type, dst_list), *map(type, src_list)} != {int}:
        return None
    try:
        return _LISTS.pack(*dst_list, *src_list)
    except struct.error:  # more than 64 bits
        return None


def _is_bare(x: Any) -> bool:
    """Say whether an array is of NumPy or PyTorch, with nothing to record or to carry out before its memory is read."""
    if type(x) is np.ndarray:
        return True
    return bool(compat.is_torch_array(x)) and not (x.requires_grad or x.is_conj() or x.is_neg())


def trans_data_to_5hd(plan: Plan, dst_anchors: dict[int, Any], src_anchors: dict[int, Any], itemsize: int) -> bool:
    """Carry a checked plan out and return True, or return False where the library does not reach the arrays."""
    library = _library()
    if library is None:
        return False
    dst, src = _absolute(plan.dst, dst_anchors), _absolute(plan.src, src_anchors)
    if dst is None or src is None:
        return False
    strides = plan.dst.stride, plan.src.stride
    halves = HALF * plan.dst.halves[0], HALF * plan.src.halves[0]
    words = _TRANS_DATA_TO_5HD.pack(itemsize, plan.repeats, *strides, *halves)
    library.trans_data_to_5hd(words + _LISTS.pack(*dst, *src))
    for _, x in dst_anchors.values():
        _count_change(x)
    return True


def _absolute(side: Side, anchors: dict[int, Any]) -> list[int] | None:
    """Return the addresses of a side in this process."""
    origins = {}
    for owner, (start, x) in anchors.items():
        address = _address(x)
        if address is None:
            return None
        origins[owner] = address - start
    return [origins[owner] + start for owner, start in zip(side.owners, side.starts, strict=True)]


def brcb_if_plain(dst: Any, src: Any, repeats: int, strides: tuple[int, int], itemsize: int) -> bool:
    """Carry out a Brcb on NumPy arrays of one dtype if it is plain, or write nothing and return False."""
    library = _library()
    if library is None:
        return False
    words = _BRCB.pack(itemsize, repeats, *strides)
    return library.brcb_of_views(words, [dst, src, owner_of(dst), owner_of(src)])


def brcb(dst: Any, src: Any, repeats: int, strides: tuple[int, int], itemsize: int) -> bool:
    """Carry out a checked Brcb and return True, or return False where the library does not reach the arrays."""
    library, to, from_ = _library(), _address(dst), _address(src)
    if library is None or to is None or from_ is None:
        return False
    library.brcb(_BRCB.pack(itemsize, repeats, *strides) + _PAIR.pack(to, from_))
    _count_change(dst)
    return True


def _memory(x: Any) -> Any:
    """Return a NumPy array on the memory of another, or None where that is out of reach."""
    if isinstance(x, np.ndarray):
        return x
    return _torch.host_memory(x) if compat.is_torch_array(x) else None


def _address(x: Any) -> int | None:
    memory = _memory(x)
    return None if memory is None else address_of(memory)


def _count_change(x: Any) -> None:
    if not isinstance(x, np.ndarray):
        _torch.count_change(x)

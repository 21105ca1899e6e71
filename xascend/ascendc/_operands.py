"""The address lists of TransDataTo5HD, whatever form they come in: where each entry lies and on which array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xascend._dispatch import require_same_place
from xascend.ascendc._memory import Places, is_writable, locate, require_buffer, require_like, require_writable

__all__ = ["ENTRIES", "Operands", "read_operands"]

ENTRIES = 16  # NCHW_CONV_ADDR_LIST_SIZE of the vendor's header


class Operands(NamedTuple):
    """Where both sides of an instruction lie, destinations first, and on each side what to reach it through.

    An anchor is, for each owner, the array that begins lowest, with its start in bytes from the owner's.
    """

    places: Places
    dst_anchors: dict[int, tuple[int, Any]]
    src_anchors: dict[int, tuple[int, Any]]


def read_operands(dst_list: Any, src_list: Any, ub: Any) -> Operands:
    """Return where all 32 entries lie; the lists and their arrays are checked, addresses are not."""
    dst_list, src_list = _own(dst_list), _own(src_list)
    form = _form("dst_list", dst_list)
    if _form("src_list", src_list) != form:
        raise TypeError("`dst_list` and `src_list` must come in one form: views, ints or uint64 arrays")
    if form == "views":
        if ub is not None:
            raise TypeError("`ub` goes with byte addresses; views already say where they lie")
        return _view_operands(dst_list, src_list)
    if ub is None:
        raise TypeError("`ub` is required with byte addresses: the array that they are addresses in")
    require_buffer("ub", ub)
    require_writable("ub", ub)
    starts = (*_addresses("dst_list", dst_list, ub), *_addresses("src_list", src_list, ub))
    places = Places((0,) * len(starts), starts, (ub.nbytes,) * len(starts))
    return Operands(places, {0: (0, ub)}, {0: (0, ub)})


def _own(entries: Any) -> Any:
    """Return a list of our own, which is as long as it says it is."""
    return list(entries) if isinstance(entries, list | tuple) else entries


def _form(name: str, entries: Any) -> str:
    if isinstance(entries, list):
        if len(entries) != ENTRIES:
            raise ValueError(f"`{name}` must have {ENTRIES} entries, got {len(entries)}")
        return "ints" if isinstance(entries[0], int | np.integer) else "views"
    if str(getattr(entries, "dtype", "")).removeprefix("torch.") == "uint64":
        return "uint64 array"
    got = f"an array of {entries.dtype}" if hasattr(entries, "dtype") else type(entries).__name__
    raise TypeError(
        f"`{name}` must be a list of {ENTRIES} views or of {ENTRIES} ints, or a uint64 array of "
        f"{ENTRIES} addresses; got {got}"
    )


def _view_operands(dst_list: Any, src_list: Any) -> Operands:
    first, views = dst_list[0], [*dst_list, *src_list]
    # 32 views come in each call: what is plainly right must not pay for finding out what is wrong.
    dtype, strides = getattr(first, "dtype", None), (getattr(first, "itemsize", 0),)
    if any(type(x) is not np.ndarray or x.dtype is not dtype or x.strides != strides for x in views):
        _require_alike(dst_list, src_list)
    for entry, x in enumerate(dst_list):
        if not is_writable(x):
            require_writable(f"dst_list[{entry}]", x)
    places = locate(views)
    dst_side, src_side = slice(None, ENTRIES), slice(ENTRIES, None)
    return Operands(places, _anchors(places, views, dst_side), _anchors(places, views, src_side))


def _anchors(places: Places, views: list[Any], side: slice) -> dict[int, tuple[int, Any]]:
    owners, starts = places.owners[side], places.starts[side]
    anchors = {}
    for owner in set(owners):
        start, entry = min([(start, entry) for entry, start in enumerate(starts) if owners[entry] == owner])
        anchors[owner] = (start, views[side][entry])
    return anchors


def _require_alike(dst_list: Any, src_list: Any) -> None:
    first = dst_list[0]
    for name, views in (("dst_list", dst_list), ("src_list", src_list)):
        for entry, x in enumerate(views):
            require_buffer(f"{name}[{entry}]", x)
            if type(x) is not type(first) or x.dtype != first.dtype or x.device != first.device:
                require_like("dst_list[0]", first, f"{name}[{entry}]", x)


def _addresses(name: str, entries: Any, ub: Any) -> tuple[int, ...]:
    if not isinstance(entries, list):
        require_buffer(name, entries)
        require_same_place("ub", ub, name, entries)
        if entries.shape[0] != ENTRIES:
            raise ValueError(f"`{name}` must have {ENTRIES} entries, got {entries.shape[0]}")
        return tuple(entries.tolist())
    for entry, address in enumerate(entries):
        if type(address) is not int and not isinstance(address, np.integer):
            raise TypeError(f"`{name}[{entry}]` must be an int, a byte address in `ub`, got {address!r}")
    return tuple(map(int, entries))

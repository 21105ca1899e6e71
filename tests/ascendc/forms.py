"""The three forms in which addresses come to `trans_data_to_5hd`, and the libraries that can run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from libraries import LIBRARIES, ON_GPU, Library

from xascend import ascendc

FORMS = ("views", "ints", "uint64 arrays")
WRITING = ("numpy", "torch", *ON_GPU)
DTYPES = (
    "int8",
    "uint8",
    "bool",
    "float8_e4m3fn",
    "int16",
    "uint16",
    "float16",
    "bfloat16",
    "int32",
    "uint32",
    "float32",
)


def library(name: str, dtype: str) -> Library:
    """Return a library, or skip the test where it or the dtype is missing."""
    found = LIBRARIES[name]()
    found.require(dtype)
    return found


def run(
    form: str,
    ub: Any,
    dst: Sequence[int],
    src: Sequence[int],
    params: ascendc.TransDataTo5HDParams,
    **options: Any,
) -> Any:
    """Call the function with byte addresses in `ub`, in one of the forms."""
    if form == "views":
        lists = [[ub[address // ub.itemsize :] for address in addresses] for addresses in (dst, src)]
        return ascendc.trans_data_to_5hd(*lists, params, **options)
    if form == "ints":
        return ascendc.trans_data_to_5hd(list(dst), tuple(src), params, ub=ub, **options)
    return ascendc.trans_data_to_5hd(address_array(dst, ub), address_array(src, ub), params, ub=ub, **options)


def address_array(addresses: Sequence[int], ub: Any) -> Any:
    """Return a uint64 array of the library of `ub`."""
    array = np.array(addresses, np.uint64)
    if isinstance(ub, np.ndarray):
        return array
    name = type(ub).__module__.partition(".")[0]
    moved = LIBRARIES[name]().asarray(array)
    return moved.to(ub.device) if name == "torch" else moved

"""Ascend storage formats and data-rearranging instructions, bit for bit, on NumPy, PyTorch and CUDA GPUs.

Everything is loaded when it is first asked for: the command line starts at once, and so can be interrupted at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # as `_HOMES` and `_MODULES` have it, which a test compares
    from xascend import ascendc, atb, files, golden, pictures, testing
    from xascend.convert import (
        nc1hwc0_to_nchw,
        nc1hwc0_to_nhwc,
        nchw_to_nc1hwc0,
        nd_to_nz,
        nhwc_to_nc1hwc0,
        npu_format_cast,
        nz_to_nd,
        trans_data,
    )
    from xascend.formats import Format
    from xascend.runtime import build_info, explain, get_num_threads, set_num_threads
    from xascend.sizes import block_c0, default_c0, is_aligned, locate, storage_nbytes, storage_shape

__all__ = [
    "Format",
    "ascendc",
    "atb",
    "block_c0",
    "build_info",
    "default_c0",
    "explain",
    "files",
    "get_num_threads",
    "golden",
    "is_aligned",
    "locate",
    "nc1hwc0_to_nchw",
    "nc1hwc0_to_nhwc",
    "nchw_to_nc1hwc0",
    "nd_to_nz",
    "nhwc_to_nc1hwc0",
    "npu_format_cast",
    "nz_to_nd",
    "pictures",
    "set_num_threads",
    "storage_nbytes",
    "storage_shape",
    "testing",
    "trans_data",
]

__version__ = "0.1.0"

_HOMES = {
    "convert": (
        "nc1hwc0_to_nchw",
        "nc1hwc0_to_nhwc",
        "nchw_to_nc1hwc0",
        "nd_to_nz",
        "nhwc_to_nc1hwc0",
        "npu_format_cast",
        "nz_to_nd",
        "trans_data",
    ),
    "formats": ("Format",),
    "runtime": ("build_info", "explain", "get_num_threads", "set_num_threads"),
    "sizes": ("block_c0", "default_c0", "is_aligned", "locate", "storage_nbytes", "storage_shape"),
}
_MODULES = ("ascendc", "atb", "files", "golden", "pictures", "testing", *_HOMES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value  # found at once from now on
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})

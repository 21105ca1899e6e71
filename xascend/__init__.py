"""Ascend storage formats and data-rearranging instructions, bit for bit, on NumPy, PyTorch and CUDA GPUs."""

from xascend import ascendc, atb
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
    "get_num_threads",
    "is_aligned",
    "locate",
    "nc1hwc0_to_nchw",
    "nc1hwc0_to_nhwc",
    "nchw_to_nc1hwc0",
    "nd_to_nz",
    "nhwc_to_nc1hwc0",
    "npu_format_cast",
    "nz_to_nd",
    "set_num_threads",
    "storage_nbytes",
    "storage_shape",
    "trans_data",
]

__version__ = "0.1.0"

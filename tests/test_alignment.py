"""New arrays of NumPy are whole and begin at a cache line, whatever makes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from quant.values import word

import xascend as xa
from xascend.quant import QuantMode, requantize

#: Memory of the system begins at 16 bytes, so that of 13 arrays some would lie elsewhere.
SIZES = (*range(1, 13), 3000)

ATB_THERE, ATB_BACK = xa.atb.TransdataType.ND_TO_FRACTAL_NZ, xa.atb.TransdataType.FRACTAL_NZ_TO_ND


def ones(*shape: int, dtype: str = "float16") -> np.ndarray:
    return np.ones(shape, dtype)


CALLS: dict[str, Callable[[int], np.ndarray]] = {
    "nd_to_nz": lambda n: xa.nd_to_nz(ones(n, 5, dtype="uint8")),
    "nz_to_nd": lambda n: xa.nz_to_nd(ones(1, n, 16, 16), (16 * n, 5)),
    "nchw_to_nc1hwc0": lambda n: xa.nchw_to_nc1hwc0(ones(1, 3, n, 5), c0=3),
    "nc1hwc0_to_nchw": lambda n: xa.nc1hwc0_to_nchw(ones(1, 1, n, 5, 16), 3),
    "nhwc_to_nc1hwc0": lambda n: xa.nhwc_to_nc1hwc0(ones(1, n, 5, 3), c0=3),
    "nc1hwc0_to_nhwc": lambda n: xa.nc1hwc0_to_nhwc(ones(1, 1, n, 5, 16), 3),
    "npu_format_cast": lambda n: xa.npu_format_cast(ones(n, 5), 29),
    "filled before": lambda n: xa.trans_data(ones(3, 5, n, 1), "NCHW", "C1HWNCoC0", c0=5),
    "groups": lambda n: xa.trans_data(ones(6, 2, n, 1), "NCHW", "FRACTAL_Z", groups=3),
    "plain to plain": lambda n: xa.trans_data(ones(1, 3, n, 5), "NCHW", "NHWC"),
    "the same format": lambda n: xa.trans_data(ones(1, 3, n, 5), "NCHW", "NCHW"),
    "blocked to blocked": lambda n: xa.trans_data(ones(1, 1, n, 1, 16), "5HD", "5HD", shape=(1, 5, n, 1), c0=5),
    "nothing": lambda n: xa.trans_data(ones(n, 0), "ND", "FRACTAL_NZ"),
    "big-endian": lambda n: xa.nd_to_nz(ones(n, 5, dtype=">f4")),
    "strides and 16 bytes": lambda n: xa.nd_to_nz(ones(9, 2 * n, dtype="complex128")[::-1, ::2]),
    "ATB there": lambda n: xa.atb.transdata(ones(n, 5), xa.atb.TransdataParam(ATB_THERE)),
    "ATB back": lambda n: xa.atb.transdata(ones(1, 1, 16 * n, 16), xa.atb.TransdataParam(ATB_BACK, (16 * n - 3, 5))),
    "requantize to 8 bits": lambda n: requantize(ones(n, 5, dtype="int32"), QuantMode.REQ8, word(0.5)),
    "requantize to 16 bits": lambda n: requantize(ones(n, 5, dtype="float32").T, QuantMode.F322F16, 0),
    "requantize nothing": lambda n: requantize(ones(n, 5, dtype="float32"), QuantMode.NoQuant, 0),
}


@pytest.mark.parametrize("call", CALLS)
def test_new_arrays_begin_at_a_cache_line(call: str) -> None:
    kept = [CALLS[call](size) for size in SIZES]
    assert {y.ctypes.data % 64 for y in kept} == {0}
    assert all(y.flags.c_contiguous and y.flags.writeable for y in kept)

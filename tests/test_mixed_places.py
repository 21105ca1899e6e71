"""Arrays of two libraries or devices in one call are a TypeError that names both, in every public function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xascend as xa
from xascend import ascendc, atb, testing

HALF = np.float16
BLOCKS = [32 * i for i in range(16)]
BEHIND = [32 * (16 + i) for i in range(16)]
ONCE = ascendc.TransDataTo5HDParams()
WORD = np.array([ascendc.pack_quant_param(1.0)] * 16, np.uint64)
VECTOR = ascendc.FixpipeParamsV220(16, 16, 16, 16, ascendc.QuantMode.VREQ8)
SLOPES = ascendc.FixpipeParamsV220(16, 16, 16, 16, ascendc.QuantMode.F322F16, relu_en=True)
CUBE = ascendc.MmadParams(16, 16, 16)

Array = Any
Make = Callable[[np.ndarray], Array]


def zeros(size: int | tuple[int, ...], dtype: Any = HALF) -> np.ndarray:
    return np.zeros(size, dtype)


def fixpipe_with(params: Any, source: str, result: str, **tensors: Array) -> Callable[[Make, Make], Any]:
    """Return a call whose tensor beside the buffers lies elsewhere."""

    def call(a: Make, b: Make) -> Any:
        moved = {name: b(tensor) for name, tensor in tensors.items()}
        return ascendc.fixpipe(a(zeros(256, result)), a(zeros(256, source)), params, **moved)

    return call


def views(put: Make) -> list[Array]:
    return [put(zeros(256))[16 * i :] for i in range(16)]


# By function and the argument that lies elsewhere: a call with arrays made by `a` and `b`.
CALLS: dict[str, Callable[[Make, Make], Any]] = {
    "trans_data out": lambda a, b: xa.trans_data(a(zeros((20, 28))), "ND", "NZ", out=b(zeros((2, 2, 16, 16)))),
    "explain out": lambda a, b: xa.explain(a(zeros((20, 28))), "ND", "NZ", out=b(zeros((2, 2, 16, 16)))),
    "nd_to_nz out": lambda a, b: xa.nd_to_nz(a(zeros((20, 28))), out=b(zeros((2, 2, 16, 16)))),
    "nz_to_nd out": lambda a, b: xa.nz_to_nd(a(zeros((2, 2, 16, 16))), (20, 28), out=b(zeros((20, 28)))),
    "nchw_to_nc1hwc0 out": lambda a, b: xa.nchw_to_nc1hwc0(a(zeros((1, 3, 2, 2))), out=b(zeros((1, 1, 2, 2, 16)))),
    "nc1hwc0_to_nchw out": lambda a, b: xa.nc1hwc0_to_nchw(a(zeros((1, 1, 2, 2, 16))), out=b(zeros((1, 16, 2, 2)))),
    "nhwc_to_nc1hwc0 out": lambda a, b: xa.nhwc_to_nc1hwc0(a(zeros((1, 2, 2, 3))), out=b(zeros((1, 1, 2, 2, 16)))),
    "nc1hwc0_to_nhwc out": lambda a, b: xa.nc1hwc0_to_nhwc(a(zeros((1, 1, 2, 2, 16))), out=b(zeros((1, 2, 2, 16)))),
    "trans_data_to_5hd src_list": lambda a, b: ascendc.trans_data_to_5hd(views(a), views(b), ONCE),
    "trans_data_to_5hd dst_list": lambda a, b: ascendc.trans_data_to_5hd(
        [*views(a)[:15], b(zeros(256))], views(a), ONCE
    ),
    "trans_data_to_5hd ub": lambda a, b: ascendc.trans_data_to_5hd(
        *(b(np.array(blocks, np.uint64)) for blocks in (BEHIND, BLOCKS)), ONCE, ub=a(zeros(512))
    ),
    "brcb src": lambda a, b: ascendc.brcb(a(zeros(128)), b(zeros(8)), 1),
    "fixpipe src": lambda a, b: ascendc.fixpipe(
        a(zeros(256)), b(zeros(256, "float32")), ascendc.FixpipeParamsV220(16, 16, 16, 16, ascendc.QuantMode.F322F16)
    ),
    "fixpipe quant_tensor": fixpipe_with(VECTOR, "int32", "int8", quant_tensor=WORD),
    "fixpipe relu_tensor": fixpipe_with(SLOPES, "float32", "float16", relu_tensor=zeros(16, "float32")),
    "requantize quant": lambda a, b: ascendc.requantize(a(zeros((16, 16), "int32")), ascendc.QuantMode.VREQ8, b(WORD)),
    "pack_quant_param offset": lambda a, b: ascendc.pack_quant_param(a(zeros(4, "float32")), b(zeros(4, "int32"))),
    "data_copy_nd2nz src": lambda a, b: ascendc.data_copy_nd2nz(
        a(zeros(64)), b(zeros(40)), ascendc.Nd2NzParams(1, 2, 20, 0, 20, 2, 1, 0)
    ),
    "load_data src": lambda a, b: ascendc.load_data(
        a(zeros(512)), b(zeros(512)), ascendc.LoadData2dParams(repeat_times=1)
    ),
    "load_data_with_transpose src": lambda a, b: ascendc.load_data_with_transpose(
        a(zeros(512)), b(zeros(512)), ascendc.LoadData2dTransposeParams(repeat_times=1)
    ),
    "mmad a": lambda a, b: ascendc.mmad(a(zeros(256, "float32")), b(zeros(256)), a(zeros(256)), CUBE),
    "mmad b": lambda a, b: ascendc.mmad(a(zeros(256, "float32")), a(zeros(256)), b(zeros(256)), CUBE),
}
# Functions of at most one array; `compare` computes on the host and says so of arrays that lie elsewhere.
OTHERS = {
    *("block_c0", "build_info", "default_c0", "get_num_threads", "is_aligned", "locate", "npu_format_cast"),
    *("set_num_threads", "storage_nbytes", "storage_shape", "transdata", "support_table", "supports"),
    *("nc1hwc0_to_nchw_with_instruction", "nchw_to_nc1hwc0_with_instruction", "unpack_quant_param", "compare"),
}


def on_numpy(x: np.ndarray) -> np.ndarray:
    return x


def on_cupy(x: np.ndarray) -> Any:
    """Return an array of CuPy over host memory: without a driver there is one too, as long as nobody computes."""
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    memory = cupy.cuda.UnownedMemory(x.ctypes.data, x.nbytes, x, 0)
    return cupy.ndarray(x.shape, x.dtype, cupy.cuda.MemoryPointer(memory, 0))


def on_torch(x: np.ndarray) -> Any:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return torch.from_numpy(x)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (on_numpy, on_cupy),
        (on_cupy, on_numpy),
        (on_torch, on_cupy),
        (on_numpy, on_torch),
        (on_torch, on_numpy),
    ],
    ids=lambda put: put.__name__,
)
@pytest.mark.parametrize("name", CALLS)
def test_mixed_arguments(name: str, a: Make, b: Make) -> None:
    with pytest.raises(TypeError, match="both must be of one library on one device, nothing is transferred silently"):
        CALLS[name](a, b)


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_right_but_for_the_places(name: str) -> None:
    CALLS[name](on_numpy, on_numpy)


def test_what_is_named() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match="`quant_tensor` is torch on cpu but `dst` is numpy on cpu"):
        CALLS["fixpipe quant_tensor"](on_numpy, torch.from_numpy)
    with pytest.raises(TypeError, match=r"`b` is torch on cpu but `a` is numpy on cpu|`b` .*torch.* `dst`"):
        CALLS["mmad b"](on_numpy, torch.from_numpy)


def test_every_public_function_is_listed() -> None:
    public = {
        name
        for module in (xa, atb, ascendc, testing)
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    assert {name.partition(" ")[0] for name in CALLS} | OTHERS == public

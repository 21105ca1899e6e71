"""Checks on the device that is timed: every kernel against NumPy on the host, bit for bit."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import xascend as xa
from xascend import ascendc
from xascend._cuda._loader import source_folder
from xascend.bench._devices import Device

__all__ = ["Check", "checks", "entries_of_sources", "recorded_entries"]

_ENTRY = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(')
_DTYPES = ("uint8", "float16", "float32", "complex64", "complex128")  # a word size each
_CONVERSIONS: tuple[tuple[str, str, tuple[int, ...], dict[str, Any]], ...] = (
    ("ND", "FRACTAL_NZ", (256, 512), {}),
    ("ND", "FRACTAL_NZ", (3, 255, 243), {}),
    ("ND", "FRACTAL_ZZ", (100, 70), {}),
    ("NCHW", "NC1HWC0", (2, 64, 28, 28), {}),
    ("NCHW", "NC1HWC0", (2, 100, 35, 35), {}),
    ("NHWC", "NC1HWC0", (2, 17, 19, 100), {}),
    ("NCHW", "FRACTAL_Z", (64, 64, 3, 3), {}),
    ("NCHW", "FRACTAL_Z", (33, 20, 3, 3), {}),
    ("NCHW", "FRACTAL_Z", (36, 5, 2, 3), {"groups": 9}),
    ("NCHW", "FRACTAL_Z_C04", (33, 3, 3, 5), {}),
    ("NCHW", "C1HWNCoC0", (5, 20, 2, 3), {}),
    ("NCDHW", "NDC1HWC0", (2, 20, 3, 5, 7), {}),
    ("NCDHW", "FRACTAL_Z_3D", (17, 20, 2, 3, 5), {}),
    ("NCHW", "NHWC", (2, 20, 33, 35), {}),
    ("ND", "FRACTAL_NZ", (0, 20), {}),
)


@dataclass(frozen=True, slots=True)
class Check:
    """What is checked, and a call that returns in words what is wrong, or None."""

    name: str
    find_fault: Callable[[], str | None]


def checks(device: Device, executor: str, /) -> Iterator[Check]:
    """Yield all checks; whole-tensor conversions must be done by `executor`."""
    for src, dst, shape, options in _CONVERSIONS:
        for dtype in _DTYPES:
            name = f"{src} to {dst} and back, {dtype}, {' x '.join(map(str, shape))}"
            yield Check(name, lambda case=(src, dst, shape, dtype, options): _convert(device, executor, *case))
    for dtype in _DTYPES:
        yield Check(f"from a misaligned address, {dtype}", lambda dtype=dtype: _misaligned(device, dtype))
        for src, dst, shape in (("ND", "FRACTAL_NZ", (65, 70)), ("NCHW", "C1HWNCoC0", (5, 20, 2, 3))):
            name = f"{src} to {dst} at a misaligned address, {dtype}"
            yield Check(name, lambda case=(src, dst, shape, dtype): _into_misaligned(device, *case))
        yield Check(f"of a reversed and sliced view, {dtype}", lambda dtype=dtype: _view(device, dtype))
    yield Check("into another C0 and another format, float16", lambda: _between(device))
    for offset, where in ((0, ""), (8, ", misaligned")):
        for dtype in ("uint8", "float16", "float32"):
            case = dtype, offset
            yield Check(f"trans_data_to_5hd, {dtype}{where}", lambda case=case: _transdata5hd(device, *case))
        for dtype in ("uint8", "float16", "float32", "uint64"):
            yield Check(f"brcb, {dtype}{where}", lambda case=(dtype, offset): _brcb(device, *case))
    for mode, source, result in _FIXPIPES:
        for layout in _LAYOUTS:
            name = f"fixpipe {mode.name} to {layout}, {source} to {result}"
            yield Check(name, lambda case=(mode, source, result, layout): _fixpipe(device, *case))
        yield Check(f"requantize {mode.name}, {source}", lambda case=(mode, source): _requantize(device, *case))


def _bits(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    raw = np.random.default_rng(len(shape)).integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    return np.frombuffer(raw.tobytes(), dtype).reshape(shape)


def _difference(made: np.ndarray, wanted: np.ndarray) -> str | None:
    if (made.shape, made.dtype) != (wanted.shape, wanted.dtype):
        return f"{made.dtype} {made.shape} came, {wanted.dtype} {wanted.shape} was wanted"
    if made.tobytes() == wanted.tobytes():
        return None
    a, b = (np.frombuffer(x.tobytes(), np.uint8).reshape(-1, x.itemsize) for x in (made, wanted))
    wrong = np.flatnonzero((a != b).any(axis=1))
    first = tuple(map(int, np.unravel_index(wrong[0], made.shape)))
    return f"{len(wrong)} of {made.size} elements differ, the first at {first}"


def _convert(
    device: Device, executor: str, src: str, dst: str, shape: tuple[int, ...], dtype: str, options: dict[str, Any]
) -> str | None:
    x = _bits(shape, dtype)
    given, wanted = device.place(x), xa.trans_data(x, src, dst, pad_value=3, **options)
    explained = xa.explain(given, src, dst, **options)
    if explained.executor != executor:
        return f"not done by {executor} but by {explained}"
    stored = xa.trans_data(given, src, dst, pad_value=3, **options)
    back = xa.trans_data(stored, dst, src, shape=shape, **options)
    return _difference(device.fetch(stored), wanted) or _difference(device.fetch(back), x)


def _misaligned(device: Device, dtype: str) -> str | None:
    x = _bits((65, 70), dtype)
    padded = np.concatenate((np.zeros(1, x.dtype), x.reshape(-1)))
    return _difference(device.fetch(xa.nd_to_nz(device.place(padded)[1:].reshape(x.shape))), xa.nd_to_nz(x))


def _into_misaligned(device: Device, src: str, dst: str, shape: tuple[int, ...], dtype: str) -> str | None:
    x = _bits(shape, dtype)
    wanted = xa.trans_data(x, src, dst, pad_value=3)
    out = _place_at(device, np.zeros_like(wanted), x.itemsize).reshape(wanted.shape)
    return _difference(device.fetch(xa.trans_data(device.place(x), src, dst, pad_value=3, out=out)), wanted)


def _view(device: Device, dtype: str) -> str | None:
    x = _bits((3, 40, 71), dtype)
    given = device.place(x)[:, ::-1, ::-2].transpose(0, 2, 1)
    return _difference(device.fetch(xa.nd_to_nz(given)), xa.nd_to_nz(x[:, ::-1, ::-2].transpose(0, 2, 1)))


def _between(device: Device) -> str | None:
    x = xa.nchw_to_nc1hwc0(_bits((2, 40, 9, 11), "float16"))
    for dst, c0 in (("NC1HWC0", 32), ("FRACTAL_NZ", 8), ("FRACTAL_Z", 16)):
        made, wanted = (xa.trans_data(a, "NC1HWC0", dst, shape=(2, 40, 9, 11), c0=c0) for a in (device.place(x), x))
        if fault := _difference(device.fetch(made), wanted):
            return f"to {dst}: {fault}"
    return None


def _place_at(device: Device, x: np.ndarray, offset: int) -> Any:
    """Return a copy whose memory begins `offset` bytes after where memory of the device begins."""
    padded = device.place(np.frombuffer(bytes(offset) + x.tobytes(), np.uint8))
    if isinstance(padded, np.ndarray):
        return np.frombuffer(memoryview(padded)[offset:], x.dtype)
    cuda = device.xp.cuda
    owner = cuda.UnownedMemory(padded.data.ptr + offset, x.nbytes, padded, padded.device.id)
    return device.xp.ndarray(x.shape, x.dtype, cuda.MemoryPointer(owner, 0))


def _transdata5hd(device: Device, dtype: str, offset: int) -> str | None:
    """All of a buffer in repeats, into another one, from address lists."""
    repeats, elements = 40, 32 // np.dtype(dtype).itemsize
    length = 16 * repeats * elements
    ub = _bits((2 * length,), dtype)
    addresses = [32 * repeats * i for i in range(16)]
    targets = [ub.nbytes // 2 + a for a in addresses]
    params = ascendc.TransDataTo5HDParams(repeat_times=repeats, dst_rep_stride=1, src_rep_stride=1)
    given, wanted = _place_at(device, ub, offset), ub.copy()
    for memory in (given, wanted):
        ascendc.trans_data_to_5hd(targets, addresses, params, ub=memory)
    return _difference(device.fetch(given), wanted)


def _brcb(device: Device, dtype: str, offset: int) -> str | None:
    src, size = _bits((800,), dtype), 32 // np.dtype(dtype).itemsize
    wanted = np.zeros(2 * 800 * size, dtype)
    given = _place_at(device, wanted, offset)
    for dst, values in ((given, _place_at(device, src, offset)), (wanted, src)):
        ascendc.brcb(dst, values, 100, ascendc.BrcbRepeatParams(2, 16))
    return _difference(device.fetch(given), wanted)


_FIXPIPES = (
    (ascendc.QuantMode.NoQuant, "float32", "float32"),
    (ascendc.QuantMode.F322F16, "float32", "float16"),
    (ascendc.QuantMode.DEQF16, "int32", "float16"),
    (ascendc.QuantMode.QF322B8_PRE, "float32", "int8"),
    (ascendc.QuantMode.REQ8, "int32", "int8"),
    (ascendc.QuantMode.VREQ8, "int32", "int8"),
)
_LAYOUTS = {
    "ND": (ascendc.FixpipeParamsV220, ascendc.CFG_ROW_MAJOR),
    "NZ": (ascendc.FixpipeParamsV220, ascendc.CFG_NZ),
    "DN": (ascendc.FixpipeParamsC310, ascendc.CFG_COLUMN_MAJOR),
    "DN in whole vectors": (ascendc.FixpipeParamsC310, ascendc.CFG_COLUMN_MAJOR),
}


def _fixpipe(device: Device, mode: ascendc.QuantMode, source: str, result: str, layout: str) -> str | None:
    m, n = 100, 144
    make, config = _LAYOUTS[layout]
    block = m * (32 if result == "int8" else 16) * np.dtype(result).itemsize // 32
    stride = {"ND": n + 1, "NZ": block, "DN": m, "DN in whole vectors": m + 12}[layout]
    words = _words(mode, n)
    is_vector = isinstance(words, np.ndarray)
    params = make(n, m, m, stride, mode, 0 if is_vector else words)
    src, wanted = _numbers((m * n,), source), np.zeros((m + 12) * (n + 1), result)
    given = device.place(wanted)
    for dst, values, place in ((given, device.place(src), device.place), (wanted, src, np.asarray)):
        tensor = place(words) if is_vector else None
        ascendc.fixpipe(dst, values, params, config=config, quant_tensor=tensor)
    return _difference(device.fetch(given), wanted)


def _requantize(device: Device, mode: ascendc.QuantMode, source: str) -> str | None:
    x, words = _numbers((33, 50), source), _words(mode, 50)
    placed = device.place(words) if isinstance(words, np.ndarray) else words
    made = ascendc.requantize(device.place(x), mode, placed)
    return _difference(device.fetch(made), ascendc.requantize(x, mode, words))


def _numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.random.default_rng(0).standard_normal(shape) * 300).astype(dtype)


def _words(mode: ascendc.QuantMode, n: int) -> Any:
    if mode.name.startswith("V"):
        return ascendc.pack_quant_param(np.linspace(0.1, 1.0, n, dtype=np.float32), np.arange(n) - 70)
    return ascendc.pack_quant_param(0.37, 3) if mode.name in ("DEQF16", "QF322B8_PRE", "REQ8") else 0


def entries_of_sources() -> set[str]:
    """Return the kernels in the CUDA sources."""
    return {name for path in source_folder().glob("*.cu") for name in _ENTRY.findall(path.read_text(encoding="utf-8"))}


@contextmanager
def recorded_entries(cupy: Any, /) -> Iterator[dict[str, float]]:
    """Give a table of the kernels that are compiled while the context lasts, and the seconds that each takes."""
    raw_module = cupy.RawModule
    entries: dict[str, float] = {}

    class Recording:
        def __init__(self, **options: Any) -> None:
            self._module = raw_module(**options)

        def get_function(self, entry: str) -> Any:
            start = time.perf_counter()
            function = self._module.get_function(entry)  # which compiles, or finds what was compiled before
            entries[entry] = entries.get(entry, 0.0) + time.perf_counter() - start
            return function

    cupy.RawModule = Recording
    try:
        yield entries
    finally:
        cupy.RawModule = raw_module

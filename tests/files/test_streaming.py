"""Streaming through a device with little memory: every wait is needed, and the memory is what was allowed."""

from __future__ import annotations

import gc
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files.late_device import ORDERS, FaultError, LateDevice

from xascend import _numpy
from xascend._plan import Plan, make_plan
from xascend._slabs import slabs
from xascend.files import streaming
from xascend.formats import Format

CASES = (
    ((70, 33), Format.ND, Format.FRACTAL_NZ, "uint8", 600),
    ((1, 250), Format.ND, Format.FRACTAL_NZ, "uint8", 10_000),
    ((3, 70, 9, 11), Format.NCHW, Format.NC1HWC0, "uint16", 900),
    ((3, 70, 9, 11), Format.NCHW, Format.NC1HWC0, "uint16", 300),
    ((40, 20, 3, 3), Format.NCHW, Format.FRACTAL_Z, "float32", 5000),
    ((100, 60), Format.ND, Format.FRACTAL_ZZ, "complex128", 3000),
    ((0, 70), Format.ND, Format.FRACTAL_NZ, "uint16", 600),
    ((20, 28), Format.ND, Format.FRACTAL_NZ, "uint16", 10_000),
)


def plan_of(x: np.ndarray, src: Format, dst: Format) -> Plan:
    return make_plan(src, dst, x.shape, None, x.itemsize * 8, None, 1)


def counting(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return (np.arange(count) % 251).astype(np.uint8).view(dtype).reshape(shape)


def expected_of(plan: Plan, x: np.ndarray) -> bytes:
    out = np.empty(plan.dst_shape, x.dtype)
    _numpy.run(plan, x, out, np.zeros((), x.dtype)[()])
    return out.tobytes()


def run_cases(module: Any, order: str | int) -> None:
    """Stream all cases one after the other through one pipeline; AssertionError where anything is wrong."""
    parts = [
        (plan, x, list(slabs(plan, most)))
        for shape, src, dst, dtype, most in CASES
        for x in (counting(shape, dtype),)
        for plan in (plan_of(x, src, dst),)
    ]
    largest = max(module.device_bytes(cut, x.itemsize) for _, x, cut in parts)
    for nbytes, lanes in ((2 * largest, 2), (2 * largest - 1, 1)):
        device = LateDevice(order)
        pipeline = module.Pipeline(device, nbytes)
        for plan, x, cut in parts:
            before = len(device.beside)
            made = b"".join(data.tobytes() for data in pipeline.convert(x, cut))
            assert made == expected_of(plan, x)
            assert device.peak <= nbytes
            assert device.pinned_peak <= nbytes
            if len(cut) > 2 and lanes == 2 and x.size and 2 * module.device_bytes(cut, x.itemsize) <= nbytes:
                seen = device.beside[before:]
                assert order != "late" or sum("convert" in kinds for kinds in seen) >= len(cut) - 1
        broken_off = pipeline.convert(parts[2][1], parts[2][2])
        next(broken_off)
        broken_off.close()
        pipeline.close()
        del pipeline, broken_off
        gc.collect()
        assert device.left == 0
        assert (device.held, device.pinned_held) == (0, 0)


@pytest.mark.parametrize("order", ORDERS)
def test_any_order_gives_the_same_bytes_within_the_bound(order: str | int) -> None:
    run_cases(streaming, order)


MUTATIONS = {
    "no wait before staging": ("            self._uploaded.wait()\n", "            pass\n"),
    "no wait for the result": ("            mark.wait()\n", ""),
    "no wait at the end": ("        self._queue.mark().wait()\n", ""),
    "the wait before the download": (
        "        self._queue.download(self._fetched[: result.nbytes], self._target)\n        return self._queue.mark()",
        "        mark = self._queue.mark()\n"
        "        self._queue.download(self._fetched[: result.nbytes], self._target)\n        return mark",
    ),
    "a result on top of one that is read": ("== len(lanes):", "> len(lanes):"),
    "another slab": ("x[slab.src]", "x[parts[0].src]"),
    "one slab after the other": ("LANES = 2", "LANES = 1"),
    "both lanes whatever they take": ("<= self._most else 1", "<= 2 * self._most else 1"),
    "more memory beside the old": ("            self._lanes.clear()  #", "            #"),
    "too little memory": ("sizes[1] <= self._fetched.nbytes", "True"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_caught(name: str) -> None:
    old, new = MUTATIONS[name]
    source = Path(streaming.__file__).read_text(encoding="utf-8")
    assert source.count(old) == 1
    mutant = types.ModuleType("mutant")
    exec(compile(source.replace(old, new), name, "exec"), vars(mutant))

    def run_all() -> None:
        for order in ORDERS:
            run_cases(mutant, order)

    with pytest.raises((AssertionError, ValueError)):
        run_all()


def test_what_the_device_says_of_memory_that_has_gone() -> None:
    device = LateDevice()
    queue, block, host = device.queue(), device.memory(8), device.pinned(8)
    queue.upload(block, host)
    queue.download(host, block)
    assert device.held == device.pinned_held == 8
    del block
    with pytest.raises(FaultError, match="memory of the device was given back"):
        queue.mark().wait()
    queue.upload(device.memory(4), np.zeros(4, np.uint8))
    queue.work.popleft()
    with pytest.raises(FaultError, match="host memory is not pinned"):
        queue.download(np.zeros(4, np.uint8), device.memory(4)) or queue.device.pinned_at(0, 4)

"""What is timed on a GPU, and the targets: conversions, Fixpipe, small calls, and streaming from host memory."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gpu_streaming import time_streaming

from xascend import ascendc
from xascend.bench import SIZES, CaseResult
from xascend.bench._cases import FAMILIES, Case
from xascend.bench._devices import Cuda
from xascend.bench._devices import Device as Place
from xascend.bench._measure import measure
from xascend.files.streaming import Device

__all__ = ["Queued", "Ratio", "Row", "Step", "fixpipe_rows", "layout_row", "steps", "streaming_rows"]

MIB = 1 << 20
ROUNDS = 9
_ALIGNED, _RAGGED = 0.90, 0.80  # of a copy of as many bytes on the device
_OF_IDIOM, _OF_TORCH = 2.0, 1.0
_FIXPIPE, _STREAMING = 0.80, 0.85
_LAYOUTS = ("nz", "5hd", "fz", "nz-ragged", "5hd-ragged", "5hd-nhwc")
_TEMPORARIES = 8  # arrays of a tensor's size that the contenders hold together


@dataclass(frozen=True, slots=True)
class Ratio:
    """Speed as a multiple of something else's, and what it should be at least."""

    value: float
    target: float | None = None

    def __str__(self) -> str:
        if self.target is None:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} {'>=' if self.value >= self.target else 'BELOW'} {self.target:.2f}"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: seconds of the device, bytes read and written, ratios by what they are to."""

    what: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    seconds: float
    ratios: Mapping[str, Ratio]
    overhead_seconds: float | None = None  # what a call takes beyond that, one after the other


@dataclass(frozen=True, slots=True)
class Step:
    """Something to measure, with the bytes of its tensor as a sign of how long that takes."""

    name: str
    nbytes: int
    run: Callable[[], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class Queued(Cuda):
    """A CUDA device whose time is taken while calls wait in its queue, so that launching them takes no part."""

    copies: list[int] = field(default_factory=lambda: [16])  # that the calls wait behind

    def seconds(self, call: Callable[[], Any], number: int) -> float:
        """Return the mean time of a call on the device; of one that waits for the device, the whole time."""
        xp, number = self.xp, min(number, 100)  # a longer queue makes the host wait
        source, target = xp.zeros(128 * MIB, np.uint8), xp.empty(128 * MIB, np.uint8)
        start, stop = xp.cuda.Event(), xp.cuda.Event()
        while True:
            for _ in range(self.copies[0]):
                xp.copyto(target, source)
            start.record()
            for _ in range(number):
                call()
            stop.record()
            in_time = not start.done
            stop.synchronize()
            if in_time or self.copies[0] >= 256:
                milliseconds: float = xp.cuda.get_elapsed_time(start, stop)
                return milliseconds / 1e3 / number
            self.copies[0] *= 2


def steps(number: int, streamer: Device, free: int) -> Iterator[Step]:
    """Yield what is measured on a device with so many free bytes; what says most comes first, what takes longest last.

    Sizes are those of the tensor; what the device cannot hold with all contenders is halved.
    """
    device, calling = Queued(number), Cuda(number)
    yield Step("fixpipe with quantisation", 256 * MIB, lambda: fixpipe_rows(device, 8192, 4080))
    for name in ("nz", "5hd"):
        yield Step(f"streaming {name}", 1024 * MIB, lambda name=name: streaming_rows(streamer, name, 1024 * MIB))
    for dtype in ("float16", "int8", "float32"):
        for name in _LAYOUTS:
            yield from _layout_steps(device, name, dtype, _fitting(256 * MIB, free))
        if dtype == "float16":
            for size in ("tiny", "cache"):
                for name in ("nz", "5hd"):
                    case = _case(name, dtype, SIZES[size])
                    yield Step(f"{case}", 0, lambda case=case: iter((_small_row(case, device, calling),)))
    for size in (1024 * MIB, 4096 * MIB):
        if _fitting(size, free) > 256 * MIB:
            for name in ("nz", "5hd"):
                yield from _layout_steps(device, name, "float16", _fitting(size, free))


def _fitting(nbytes: int, free: int) -> int:
    while nbytes * _TEMPORARIES > free and nbytes > MIB:
        nbytes //= 2
    return nbytes


def _case(name: str, dtype: str, nbytes: int, back: bool = False) -> Case:
    family = next(family for family in FAMILIES if family.name == name)
    return Case(family, family.shape(nbytes // np.dtype(dtype).itemsize), dtype, back)


def _layout_steps(device: Place, name: str, dtype: str, nbytes: int) -> Iterator[Step]:
    for back in (False, True):
        case = _case(name, dtype, nbytes, back)
        yield Step(f"{case}", nbytes, lambda case=case: iter((layout_row(measure(case, device, 1, ROUNDS)),)))


def layout_row(case: CaseResult, with_targets: bool = True) -> Row:
    """Return the row of a conversion that was measured beside a copy, CuPy's idiom and PyTorch."""
    copied = _RAGGED if case.family.endswith("-ragged") else _ALIGNED
    ours = case.find("xascend", 1)
    assert ours is not None
    targets = {"copy": copied, "idiom": _OF_IDIOM, "torch": _OF_TORCH} if with_targets else {}
    ratios = {}
    for name in ("copy", "idiom", "torch"):
        theirs = case.find(name, 1)
        if theirs is not None:
            value = ours.ratio if name == "copy" else theirs.seconds / ours.seconds
            ratios[name] = Ratio(value, targets.get(name))
    return Row(f"{case.src} to {case.dst}", case.dtype, case.shape, case.nbytes, ours.seconds, ratios)


def _small_row(case: Case, device: Place, calling: Place) -> Row:
    on_device = measure(case, device, 1, ROUNDS)
    row = layout_row(on_device, with_targets=False)
    called = measure(case, calling, 1, ROUNDS).find("xascend", 1)
    assert called is not None
    overhead = max(0.0, called.seconds - row.seconds)
    return Row(row.what, row.dtype, row.shape, row.nbytes, row.seconds, row.ratios, overhead)


def fixpipe_rows(device: Place, m: int, n: int) -> Iterator[Row]:
    """Yield the speed of single instructions against copies that read and write as many bytes."""
    word = ascendc.pack_quant_param(0.37, 3)
    for mode, source, result in (
        (ascendc.QuantMode.REQ8, "int32", "int8"),
        (ascendc.QuantMode.QF322B8_PRE, "float32", "int8"),
        (ascendc.QuantMode.DEQF16, "int32", "float16"),
    ):
        src = device.place((np.arange(m * n) % 601 - 300).astype(source))
        for layout, config in (("ND", ascendc.CFG_ROW_MAJOR), ("NZ", ascendc.CFG_NZ)):
            dst = device.empty((m * n,), result)
            stride = n if layout == "ND" else m * (32 if result == "int8" else 16) * dst.dtype.itemsize // 32
            params = ascendc.FixpipeParamsV220(n, m, m, stride, mode, word)
            nbytes = src.nbytes + dst.nbytes
            copied, copy = device.empty((nbytes // 2,), np.uint8), device.empty((nbytes // 2,), np.uint8)
            ours, theirs = _in_turn(
                device,
                lambda dst=dst, src=src, params=params, config=config: ascendc.fixpipe(dst, src, params, config=config),
                lambda copied=copied, copy=copy: device.xp.copyto(copy, copied),
            )
            ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
            yield Row(
                f"fixpipe {mode.name} to {layout}",
                source,
                (m, n),
                nbytes,
                statistics.median(ours),
                {"copy": Ratio(ratio, _FIXPIPE)},
            )


def _in_turn(device: Place, *calls: Callable[[], Any]) -> tuple[list[float], ...]:
    """Return the seconds of each call in every round, all of which begin warm."""
    numbers = []
    for call in calls:
        call()
        numbers.append(max(1, math.ceil(5e-3 / max(device.seconds(call, 1), 1e-9))))
    rounds = [[device.seconds(*each) for each in zip(calls, numbers, strict=True)] for _ in range(ROUNDS)]
    return tuple(map(list, zip(*rounds, strict=True)))


def streaming_rows(device: Device, name: str, nbytes: int, device_memory: int = 1 << 30) -> Iterator[Row]:
    """Yield the rate at which a host tensor passes through the device, against copies of pinned memory alone."""
    case = _case(name, "float16", nbytes)
    ours, theirs, moved = time_streaming(device, case, device_memory)
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    source, target = case.formats
    yield Row(
        f"streaming {source} to {target}",
        case.dtype,
        case.shape,
        moved,
        statistics.median(ours),
        {"pinned copy": Ratio(ratio, _STREAMING)},
    )

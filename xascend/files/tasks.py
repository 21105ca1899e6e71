"""A tensor's way into an output file, cut into independent tasks of bounded size."""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xascend._execute import execute
from xascend._outputs import empty_aligned
from xascend._plan import Plan
from xascend._slabs import Slab, slabs
from xascend.files.choice import Choice
from xascend.files.device import Cuda, Share
from xascend.files.streaming import Pipeline, cut
from xascend.files.tensor import StoredTensor

__all__ = [
    "CACHED_BYTES",
    "Target",
    "Task",
    "convert_slab",
    "copy_parts",
    "produce",
    "release_device",
    "release_memory",
    "rows",
    "run_task",
    "slab_memory",
    "tasks_of",
]

CACHED_BYTES = 16 << 20  # larger slabs fall out of the processor's caches between conversion and writing
_NATIVE = "<" if sys.byteorder == "little" else ">"
_LOCAL = threading.local()
_DEVICE_PARTS = 64  # slabs of a task that a device converts: filling and emptying the pipeline is then little beside it

Part = Slab | slice


@dataclass(frozen=True, slots=True)
class Target:
    """The output file that tasks write into.

    Attributes
    ----------
    path
        The file, which exists.
    little_endian
        Whether it takes no other byte order.
    device
        What each thread has of the CUDA device that converts, or None.
    sync
        Whether each task waits until its data is on the disk, because it may run on another machine.
    """

    path: str
    little_endian: bool
    device: Share | None
    sync: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """Parts of one tensor and where they go; it can be sent to another process that sees the same files.

    Attributes
    ----------
    tensor
        The tensor to read.
    parts
        Slabs to convert, or ranges to copy unchanged, in the order of the output.
    target, offset
        The output file, and where in it the first part begins.
    """

    tensor: StoredTensor
    parts: tuple[Part, ...]
    target: Target
    offset: int


def rows(tensor: StoredTensor, array: npt.NDArray[Any], /) -> npt.NDArray[Any]:
    """Return an array as its copying walks it: flat where that needs no copy, otherwise along the first axis."""
    return array if tensor.walks_rows else array.reshape(-1)


def copy_parts(tensor: StoredTensor, max_bytes: int, /) -> Iterator[slice]:
    """Yield the ranges in which a tensor is copied unchanged."""
    count = tensor.shape[0] if tensor.walks_rows else tensor.nbytes // tensor.dtype.itemsize
    step = max(1, max_bytes * count // max(tensor.nbytes, 1))
    yield from (slice(start, min(start + step, count)) for start in range(0, count, step))


def tasks_of(choice: Choice, offset: int, target: Target, max_bytes: int, /) -> Iterator[Task]:
    """Yield the tasks for one tensor whose data begin at `offset`.

    A compressed tensor is one task, so that it is decompressed once; slabs for a device are tasks of many, which
    overlap there.
    """
    tensor, itemsize = choice.tensor, choice.tensor.dtype.itemsize
    on_device = choice.plan is not None and target.device is not None
    parts: Iterator[Part]
    if choice.plan is None:
        parts = copy_parts(tensor, max_bytes)
    elif on_device:
        parts = cut(choice.plan, itemsize, max_bytes)
    else:
        parts = slabs(choice.plan, max_bytes // itemsize)
    if tensor.member:
        yield Task(tensor, tuple(parts), target, offset)
        return
    row = tensor.nbytes // max(tensor.shape[0], 1) if tensor.walks_rows else itemsize
    some: tuple[Part, ...]
    while some := tuple(islice(parts, _DEVICE_PARTS if on_device else 1)):
        yield Task(tensor, some, target, offset)
        for part in some:
            if isinstance(part, Slab):
                offset += math.prod(part.plan.dst_shape) * itemsize
            else:
                offset += (part.stop - part.start) * row


def produce(task: Task, /) -> Generator[memoryview]:
    """Yield the bytes of the task's parts; each is valid until the next is asked for."""
    order = task.tensor.dtype.byteorder
    swap = task.target.little_endian and (order == ">" or (order == "=" and _NATIVE == ">"))
    for data in _converted(task):
        if swap:
            data.byteswap(inplace=True)
        flat: Any = data.reshape(-1).view(np.uint8)
        yield memoryview(flat)


def _converted(task: Task) -> Iterator[npt.NDArray[Any]]:
    array = _loaded(task)
    found = [part for part in task.parts if isinstance(part, Slab)]
    if found and task.target.device is not None:
        yield from _pipeline(task.target.device).convert(array, found)
        return
    for part in task.parts:
        if isinstance(part, Slab):
            data = slab_memory(math.prod(part.plan.dst_shape), array.dtype).reshape(part.plan.dst_shape)
            convert_slab(part.plan, array[part.src], data)
        else:
            source = rows(task.tensor, array)[part]
            data = slab_memory(source.size, array.dtype).reshape(source.shape)
            data[...] = source
        yield data


def convert_slab(plan: Plan, x: npt.NDArray[Any], out: npt.NDArray[Any], /) -> None:
    """Convert a part into `out`, both in host memory; padding is zero."""
    zero: Any = np.zeros((), x.dtype)[()]
    execute(plan, x, np, zero, out)


def run_task(task: Task, /) -> int:
    """Carry a task out and return the bytes written."""
    written = 0
    with Path(task.target.path).open("r+b", buffering=0) as stream:
        stream.seek(task.offset)
        with closing(produce(task)) as produced:
            for data in produced:
                written += data.nbytes
                while data:
                    data = data[stream.write(data) :]
        if task.target.sync:
            os.fsync(stream.fileno())
            release_device()  # of another machine, which nobody tells when the last task is done
    return written


def slab_memory(count: int, dtype: np.dtype[Any], /) -> npt.NDArray[Any]:
    """Return memory of this thread for `count` elements; fresh memory would cost as much as the move."""
    nbytes = count * dtype.itemsize
    held = getattr(_LOCAL, "buffer", None)
    if held is None or held.nbytes < nbytes:
        _LOCAL.buffer = None
        _LOCAL.buffer = held = empty_aligned((nbytes,), np.dtype(np.uint8))
    return np.asarray(held[:nbytes]).view(dtype)


def _pipeline(share: Share) -> Pipeline:
    """Return this thread's way through a device; memory taken anew for each task would cost as much as the copies."""
    held: tuple[Share, Pipeline] | None = getattr(_LOCAL, "pipeline", None)
    if held is None or held[0] != share:
        release_device()
        _LOCAL.pipeline = held = share, Pipeline(Cuda(share.number), share.nbytes)
    return held[1]


def _loaded(task: Task) -> npt.NDArray[Any]:
    """Return the tensor's array, kept from slab to slab so that its pages are not looked up again for each.

    The temporary name of the output is part of the key, so that nothing outlives the call that made it.
    """
    key = (task.target.path, task.tensor)
    if getattr(_LOCAL, "key", None) != key:
        _LOCAL.key, _LOCAL.array = None, None
        _LOCAL.array = task.tensor.load()
        _LOCAL.key = key
    array: npt.NDArray[Any] = _LOCAL.array
    return array


def release_device() -> None:
    """Give back what this thread holds of a device."""
    held: tuple[Share, Pipeline] | None = vars(_LOCAL).pop("pipeline", None)
    if held is not None:
        held[1].close()


def release_memory() -> None:
    """Give back the memory that this thread holds for slabs and of a device, and the last tensor."""
    release_device()
    vars(_LOCAL).clear()

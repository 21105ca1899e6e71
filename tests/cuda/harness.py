"""Kernels on the host: compiles a kernel's .cu with g++ and the stand-in runtime beside this file, and runs it."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from xascend._cuda._jobs import Kernel
from xascend._cuda._launches import THREADS, Launch, Memory, make_launches, make_padding
from xascend._plan import Plan

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "kernels_cuda"
BUILD = HERE.parents[1] / "build" / "cuda_harness"
SPACES = ("global load", "global store", "shared load", "shared store")
FLAGS = ("-std=c++17", "-O1", "-fno-strict-aliasing", "-ffp-contract=off", "-Wall", "-Wextra", "-Wno-unknown-pragmas")


class KernelError(AssertionError):
    """What the harness found wrong."""


@dataclass
class Counts:
    """Per space, instructions of warps, what they cost (sectors of 32 bytes, or passes over the banks), and bytes."""

    of: np.ndarray = field(default_factory=lambda: np.zeros((len(SPACES), 3), np.int64))
    kernels: Counter[str] = field(default_factory=Counter)

    def sectors(self, space: str) -> int:
        return int(self.of[SPACES.index(space), 1])

    def bytes(self, space: str) -> int:
        return int(self.of[SPACES.index(space), 2])

    def ways(self) -> float:
        """Return the average number of passes that a shared access takes, relative to one without conflicts."""
        fewest, passes, _ = self.of[2:].sum(axis=0)
        return float(passes / fewest) if fewest else 1.0


def require_compiler() -> str:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ to compile the kernels for the host with")
    return compiler


@functools.cache
def host_kernel(kernel: Kernel, folder: Path = KERNELS) -> ctypes.CDLL:
    """Return the library of a kernel compiled for the host; kept from one run of the tests to the next."""
    sources = (*sorted(folder.glob("*.cu*")), *sorted(HERE.glob("harness.*pp")))
    command = [
        require_compiler(),
        *FLAGS,
        *(("-Werror",) if folder == KERNELS else ()),  # not of kernels that a test broke
        "-shared",
        "-fPIC",
        *("-include", str(HERE / "harness.hpp")),
        *kernel.definitions,
        f'-DKERNEL_FILE="{folder / kernel.file}"',
        f"-DKERNEL_ENTRY={kernel.entry}",
        str(HERE / "harness.cpp"),
    ]
    digest = hashlib.sha256("\0".join(command).encode() + b"\0".join(p.read_bytes() for p in sources)).hexdigest()[:16]
    library = BUILD / f"{kernel.entry}_{digest}.so"
    if not library.is_file():
        BUILD.mkdir(parents=True, exist_ok=True)
        made = library.with_suffix(f".{id(kernel)}.tmp")
        subprocess.run([*command, "-o", str(made)], check=True)
        made.replace(library)
    loaded = ctypes.CDLL(str(library))
    loaded.run_kernel.restype = ctypes.c_char_p
    loaded.run_kernel.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int] * 5 + [ctypes.c_void_p]
    return loaded


def run_kernel(
    kernel: Kernel,
    arguments: Sequence[int | np.ndarray],
    reads: Sequence[np.ndarray],
    writes: Sequence[np.ndarray],
    counts: Counts,
    *,
    blocks: int,
    shared: int,
    threads: int = THREADS,
    descending: bool = False,
    folder: Path = KERNELS,
) -> None:
    """Run a kernel that may touch these arrays alone; KernelError where something is wrong.

    Arguments are what a launch by CuPy takes: addresses, and structures as arrays of one record. `descending` reverses
    the order of threads and of blocks.
    """
    library = host_kernel(kernel, folder)
    values = [np.array(a, np.uint64) if isinstance(a, int) else a for a in arguments]
    sizes = [library.size_of_parameter(at) for at in range(len(values) + 1)]
    if sizes != [*(value.nbytes for value in values), 0]:
        raise KernelError(f"Python and the kernel disagree on the bytes of its parameters: {sizes}")
    pointers = np.array([value.ctypes.data for value in values], np.uint64)
    memories = np.array(
        [(*bounds(x), is_written) for is_written, arrays in enumerate((reads, writes)) for x in arrays], np.int64
    )
    found = np.zeros((len(SPACES), 3), np.int64)
    error = library.run_kernel(
        *(pointers.ctypes.data, memories.ctypes.data, len(memories)),
        *(blocks, threads, shared, descending, found.ctypes.data),
    )
    counts.of += found
    counts.kernels[kernel.entry] += 1
    if error is not None:
        raise KernelError(error.decode())


def address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


def memory_of(x: np.ndarray) -> Memory:
    at = address(x)
    return Memory(x.shape, x.strides, x.itemsize, min(at & -at, 32))


def bounds(x: np.ndarray) -> tuple[int, int]:
    return np.lib.array_utils.byte_bounds(x)


def launch(
    launch: Launch,
    x: np.ndarray,
    out: np.ndarray,
    pad_value: np.ndarray,
    counts: Counts,
    *,
    descending: bool = False,
    blocks: int | None = None,
    folder: Path = KERNELS,
) -> None:
    """Run one launch on arrays of NumPy; KernelError where something is wrong."""
    arguments = (address(x), address(out), make_padding(pad_value), launch.table)
    run_kernel(
        *(launch.kernel, arguments, [x], [out], counts),
        blocks=blocks or launch.blocks,
        shared=launch.shared,
        descending=descending,
        folder=folder,
    )


def convert(plan: Plan, x: np.ndarray, out: np.ndarray, pad_value: np.ndarray, **options) -> Counts:
    """Carry out a plan on the host by the very kernels and launches that a GPU gets."""
    counts = Counts()
    for each in make_launches(plan, memory_of(x), memory_of(out)):
        launch(each, x, out, pad_value, counts, **options)
    return counts


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype, at: int = 256) -> np.ndarray:
    """Return uninitialised memory that begins at a multiple of `at`, as a GPU's does."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(nbytes + at, np.uint8)
    start = -address(memory) % at
    return memory[start : start + nbytes].view(dtype).reshape(shape)


def aligned(x: np.ndarray) -> np.ndarray:
    return place(x, 0)


def place(x: np.ndarray, offset: int) -> np.ndarray:
    """Return a copy that begins `offset` bytes after a multiple of 256."""
    memory = aligned_empty((x.nbytes + offset,), np.dtype(np.uint8))
    copy = memory[offset:].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy

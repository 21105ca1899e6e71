"""Instructions on arrays of NumPy by the CUDA kernels, executed on the host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda import harness

from xascend import _cuda
from xascend.ascendc import _native


@dataclass
class Device:
    """Memories that kernels may touch, and how these are run."""

    memories: list[np.ndarray]
    descending: bool = False
    blocks: int | None = None  # other than the launch asks for
    folder: Path = harness.KERNELS
    counts: harness.Counts = field(default_factory=harness.Counts)
    launches: list[_cuda.Launch] = field(default_factory=list)

    def run(self, launch: _cuda.Launch, beside: Any) -> None:
        assert isinstance(beside, np.ndarray)
        self.launches.append(launch)
        harness.run_kernel(
            *(launch.kernel, [launch.table], self.memories, self.memories, self.counts),
            blocks=self.blocks or launch.blocks,
            shared=launch.shared,
            descending=self.descending,
            folder=self.folder,
        )


@contextmanager
def taking_numpy(device: Device) -> Iterator[Device]:
    """Let the kernels take instructions on the arrays of NumPy that lie in the memories of `device`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_native, "_library", lambda: None)
        patch.setattr(_cuda, "takes", lambda x: True)
        patch.setattr(_cuda, "address_of", harness.address)
        patch.setattr(_cuda, "run_instruction", device.run)
        yield device


def place(content: np.ndarray, offset: int = 0) -> np.ndarray:
    """Return a copy that owns its memory, as far as NumPy tells, and begins `offset` bytes after a multiple of 256."""
    memory = harness.aligned_empty((content.nbytes + offset,), np.dtype(np.uint8))
    placed = np.frombuffer(memoryview(memory)[offset:], content.dtype)
    placed[...] = content
    return placed

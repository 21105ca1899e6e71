"""Memory for slabs: one buffer per thread for all tensors and files, at a cache line, given back in the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from xascend import files
from xascend.files import tasks

ND_NZ: Any = {"src_format": "ND", "dst_format": "NZ"}


@pytest.fixture
def buffers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return where slabs are written, by thread."""
    seen: list[tuple[int, int]] = []
    convert_slab = tasks.convert_slab

    def spy(plan: Any, x: np.ndarray, out: np.ndarray) -> None:
        seen.append((threading.get_ident(), out.ctypes.data))
        convert_slab(plan, x, out)

    monkeypatch.setattr(tasks, "convert_slab", spy)
    return seen


@pytest.mark.parametrize("kind", [".safetensors", ".npz"])
def test_one_buffer_for_all_tensors(
    tmp_path: Path, counting: Callable, buffers: list[tuple[int, int]], kind: str
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for shard in range(2):
        tensors = {f"w{shard}.{n}": counting((512, 512 - n), "float16") for n in range(5)}
        if kind == ".npz":
            np.savez(source / f"{shard}.npz", **tensors)
        else:
            save_file(tensors, source / f"{shard}.safetensors")
    files.convert(source, tmp_path / "out", max_bytes=1 << 18, **ND_NZ)
    assert len(buffers) > 20
    assert len(set(buffers)) == 1
    assert buffers[0][1] % 64 == 0
    assert not vars(tasks._LOCAL)


def test_one_buffer_per_thread(tmp_path: Path, counting: Callable, buffers: list[tuple[int, int]]) -> None:
    save_file({f"w{n}": counting((512, 512), "float16") for n in range(8)}, tmp_path / "x.safetensors")
    files.convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", jobs=3, **ND_NZ)
    assert len(buffers) == 8
    assert len(set(buffers)) == len({thread for thread, _ in buffers}) <= 3

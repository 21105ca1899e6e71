"""`trans_data_to_5hd` and `brcb` on a GPU: one kernel a call, on the library's stream, equal to NumPy bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpus import Gpu
from libraries import cupy_library, random_bits

from xascend import ascendc

pytestmark = pytest.mark.gpu
BLOCK = 32


def transpose(ub: Any, dtype: str, repeats: int, dst_stride: int, src_stride: int) -> None:
    """Destinations in shuffled order behind the sources; the halves are the high ones with 8-bit types."""
    high = dtype == "uint8"
    walk = ascendc.TransDataTo5HDParams(high, high, repeats, dst_stride, src_stride)
    dst = [BLOCK * (5000 + (5 * i) % 16) for i in range(16)]
    ascendc.trans_data_to_5hd(dst, [BLOCK * 3 * j for j in range(16)], walk, ub=ub)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
@pytest.mark.parametrize(
    ("repeats", "dst_stride", "src_stride"), [(1, 3, 5), (2, 16, 1), (17, 1, 16), (255, 16, 17), (255, 0, 0)]
)
def test_transposition(
    gpu: Gpu, launches: list[str], dtype: str, repeats: int, dst_stride: int, src_stride: int
) -> None:
    expected = random_bits((BLOCK * 10000 // np.dtype(dtype).itemsize,), dtype)
    ub = gpu.put(expected)
    transpose(ub, dtype, repeats, dst_stride, src_stride)
    transpose(expected, dtype, repeats, dst_stride, src_stride)
    assert gpu.get(ub).tobytes() == expected.tobytes()
    assert launches == ["trans_data_to_5hd_aligned"]


def test_repeats_that_must_keep_their_order(gpu: Gpu) -> None:
    """Every repeat writes what the one before it has read."""
    walk = ascendc.TransDataTo5HDParams(repeat_times=255, dst_rep_stride=16, src_rep_stride=16)
    expected = random_bits((16 * 16 * 257,), "float16")
    ub = gpu.put(expected)
    for memory in (ub, expected):
        ascendc.trans_data_to_5hd(
            [BLOCK * i for i in range(16)], [BLOCK * (16 + j) for j in range(16)], walk, ub=memory
        )
    assert gpu.get(ub).tobytes() == expected.tobytes()


def test_views_of_several_buffers(gpu: Gpu, launches: list[str]) -> None:
    contents = [random_bits((8 * 700,), "float32", seed) for seed in range(3)]
    buffers = [gpu.put(content) for content in contents]
    for memories in (buffers, contents):
        views = [[memories[(i + side) % 3][8 * (2 * i + 1) :] for i in range(16)] for side in (0, 1)]
        ascendc.trans_data_to_5hd(*views, ascendc.TransDataTo5HDParams(repeat_times=19, dst_rep_stride=32))
    for buffer, expected in zip(buffers, contents, strict=True):
        assert gpu.get(buffer).tobytes() == expected.tobytes()
    assert launches == ["trans_data_to_5hd_aligned"]


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("repeats", "block_stride", "repeat_stride"), [(1, 1, 8), (255, 1, 8), (17, 1, 0), (33, 5, 2), (255, 3, 1)]
)
def test_brcb(gpu: Gpu, launches: list[str], dtype: str, repeats: int, block_stride: int, repeat_stride: int) -> None:
    itemsize = np.dtype(dtype).itemsize
    expected = random_bits((BLOCK * (8 * block_stride + repeats * repeat_stride) // itemsize,), dtype)
    src = random_bits((8 * repeats,), dtype, 1)
    dst = gpu.put(expected)
    params = ascendc.BrcbRepeatParams(block_stride, repeat_stride)
    ascendc.brcb(dst, gpu.put(src), repeats, params)
    ascendc.brcb(expected, src, repeats, params)
    assert gpu.get(dst).tobytes() == expected.tobytes()
    assert launches == ["brcb_aligned"]


@pytest.mark.parametrize("offset", [2, 8, 16])
def test_memory_that_begins_anywhere(offset: int, launches: list[str]) -> None:
    """A foreign allocation at an address that is no multiple of 16 is a memory of its own."""
    cupy_library()
    import cupy

    memory = cupy.zeros(1 << 16, cupy.uint8)
    owner = cupy.cuda.UnownedMemory(memory.data.ptr + offset, 60000, memory)
    ub = cupy.ndarray((30000,), cupy.float16, cupy.cuda.MemoryPointer(owner, 0))
    expected = random_bits((30000,), "float16")
    memory[offset : offset + 60000] = cupy.asarray(expected.view(np.uint8))
    for x in (ub, expected):
        walk = ascendc.TransDataTo5HDParams(repeat_times=20, dst_rep_stride=16, src_rep_stride=1)
        ascendc.trans_data_to_5hd(
            [BLOCK * (500 + i) for i in range(16)], [BLOCK * 25 * j for j in range(16)], walk, ub=x
        )
        ascendc.brcb(x[16 * 1000 :], x[:1024], 20)
    assert cupy.asnumpy(memory)[offset : offset + 60000].tobytes() == expected.tobytes()
    kind = "unaligned" if offset % 16 else "aligned"
    assert launches == [f"trans_data_to_5hd_{kind}", f"brcb_{kind}"]


def test_streams_of_their_own(gpu: Gpu) -> None:
    """Upload, two instructions that need each other's results, and download, on a stream that waits for no other."""
    content = random_bits((16 * 4000,), "float16")
    expected = content.copy()

    def run(ub: Any) -> None:
        walk = ascendc.TransDataTo5HDParams(repeat_times=60, dst_rep_stride=16, src_rep_stride=1)
        ascendc.trans_data_to_5hd(
            [BLOCK * (1000 + i) for i in range(16)], [BLOCK * 60 * j for j in range(16)], walk, ub=ub
        )
        ascendc.brcb(ub[16 * 2000 :], ub[16 * 1000 :], 100)

    run(expected)
    for _ in range(100):
        with gpu.stream():
            ub = gpu.put(content)
            run(ub)
            assert gpu.get(ub).tobytes() == expected.tobytes()


def test_switched_off_the_arrays_functions_do_it(
    gpu: Gpu, launches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XASCEND_DISABLE_CUDA_KERNELS", "1")
    expected = random_bits((16 * 10000,), "float16")
    ub = gpu.put(expected)
    for memory in (ub, expected):
        transpose(memory, "float16", 9, 16, 1)
        ascendc.brcb(memory, memory[16 * 2000 :], 9)
    assert gpu.get(ub).tobytes() == expected.tobytes()
    assert launches == []

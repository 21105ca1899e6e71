"""Instructions of the vector unit against a plain copy of the bytes that they move, on NumPy.

Every case is one group of pytest-benchmark, whose table shows each contender as a multiple of the fastest, the
copy. The aim is under 20 for `trans_data_to_5hd` with 255 repeats on 16-bit data, given addresses, which the
vendor's document recommends over arrays. Views cost more: where 32 arrays lie has to be asked of each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import xascend as xa
from xascend import ascendc

REPEATS = 255
BYTES = REPEATS * 16 * 32


@dataclass(frozen=True)
class Instruction:
    """One `trans_data_to_5hd`: 16 rows of the source become blocks of the destination."""

    dtype: str
    why: str

    def ub(self) -> np.ndarray:
        """Return a buffer with a source of 255 repeats, and room for the destination behind it."""
        ub = np.zeros(2 * BYTES // np.dtype(self.dtype).itemsize, self.dtype)
        ub[: ub.size // 2] = np.arange(ub.size // 2).astype(self.dtype)
        return ub


INSTRUCTIONS = (
    Instruction("int8", "one half of each block: twice the calls for the same bytes"),
    Instruction("uint16", "the size that the aim is set for"),
    Instruction("int32", "pairs of destination blocks"),
)

SRC = [j * REPEATS * 32 for j in range(16)]
DST = [BYTES + 32 * i for i in range(16)]
WALK = ascendc.TransDataTo5HDParams(repeat_times=REPEATS, dst_rep_stride=16, src_rep_stride=1)


def expected(ub: np.ndarray) -> np.ndarray:
    """Return what the destination holds after the instruction, by NumPy's own transpose."""
    per_block = 32 // ub.itemsize
    rows = ub[: ub.size // 2].reshape(16, REPEATS, per_block)
    if ub.itemsize == 1:
        out = np.zeros((REPEATS, 16, 32), ub.dtype)
        out[:, :, :16] = rows[:, :, :16].transpose(1, 2, 0)
        return out.reshape(-1)
    return rows.transpose(1, 2, 0).reshape(-1)


@pytest.mark.parametrize("case", INSTRUCTIONS, ids=lambda case: case.dtype)
@pytest.mark.parametrize("contender", ["copy", "addresses", "views"])
def test_trans_data_to_5hd(benchmark: Any, case: Instruction, contender: str) -> None:
    benchmark.group = f"trans_data_to_5hd, {REPEATS} repeats, {case.dtype}"
    benchmark.extra_info.update(bytes_moved=2 * BYTES, why=case.why)
    ub = case.ub()
    source, result = ub[: ub.size // 2], ub[ub.size // 2 :]
    wanted = expected(ub)
    if contender == "copy":
        benchmark(np.copyto, result, source)
        assert result.tobytes() == source.tobytes()
        return
    if contender == "addresses":
        benchmark(ascendc.trans_data_to_5hd, DST, SRC, WALK, ub=ub)
    else:
        lists = [[ub[address // ub.itemsize :] for address in addresses] for addresses in (DST, SRC)]
        benchmark(ascendc.trans_data_to_5hd, *lists, WALK)
    assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("contender", ["copy", "np.repeat", "brcb"])
def test_brcb(benchmark: Any, contender: str) -> None:
    benchmark.group = f"brcb, {REPEATS} repeats, uint16"
    benchmark.extra_info.update(bytes_moved=BYTES // 2 + BYTES // 32)
    src = np.arange(8 * REPEATS, dtype=np.uint16)
    dst, wanted = np.zeros(16 * src.size, np.uint16), np.repeat(src, 16)
    if contender == "copy":
        benchmark(np.copyto, dst, wanted)
    elif contender == "np.repeat":
        dst = benchmark(np.repeat, src, 16)
    else:
        benchmark(ascendc.brcb, dst, src, REPEATS)
    assert dst.tobytes() == wanted.tobytes()


@dataclass(frozen=True)
class Tensor:
    """One NCHW tensor."""

    shape: tuple[int, int, int, int]
    dtype: str
    why: str


TENSORS = (
    Tensor((8, 256, 56, 56), "uint16", "a convolution's activations, whole blocks and repeats"),
    Tensor((8, 250, 55, 55), "int8", "tails of pixels and of channels, four instructions for each tile"),
)


@pytest.mark.parametrize("case", TENSORS, ids=lambda case: case.dtype)
@pytest.mark.parametrize("contender", ["copy", "xa.nchw_to_nc1hwc0", "with instruction"])
def test_nchw_to_nc1hwc0(benchmark: Any, case: Tensor, contender: str) -> None:
    benchmark.group = f"NCHW to NC1HWC0, {case.dtype} {case.shape}"
    x = np.random.default_rng(0).integers(0, 100, case.shape).astype(case.dtype)
    wanted = xa.nchw_to_nc1hwc0(x)
    benchmark.extra_info.update(bytes_moved=x.nbytes + wanted.nbytes, why=case.why)
    contenders: dict[str, Callable[..., np.ndarray]] = {
        "copy": np.copy,
        "xa.nchw_to_nc1hwc0": xa.nchw_to_nc1hwc0,
        "with instruction": ascendc.nchw_to_nc1hwc0_with_instruction,
    }
    made = benchmark(contenders[contender], x)
    assert made.tobytes() == (x if contender == "copy" else wanted).tobytes()

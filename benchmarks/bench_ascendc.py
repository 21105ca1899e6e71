"""Instructions of the vector unit against a plain copy of the bytes that they move, on NumPy.

Every case is one group of pytest-benchmark, whose table shows each contender as a multiple of the fastest, the
copy. The aim for `trans_data_to_5hd` with 255 repeats on 16-bit data is under 4 with addresses, which the vendor's
document recommends over arrays, and under 10 with views: where 32 arrays lie has to be asked of each of them. Without
the native library it is under 20 with addresses. One repeat shows what a call costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import xascend as xa
from xascend import ascendc
from xascend.ascendc import _native

REPEATS = 255  # the most that one instruction can have


@dataclass(frozen=True)
class Instruction:
    """One `trans_data_to_5hd`: 16 rows of the source become blocks of the destination."""

    dtype: str
    repeats: int
    why: str

    @property
    def nbytes(self) -> int:
        """Return the bytes of the source, and of the destination."""
        return self.repeats * 16 * 32

    def ub(self) -> np.ndarray:
        """Return a buffer with the source, and room for the destination behind it."""
        ub = np.zeros(2 * self.nbytes // np.dtype(self.dtype).itemsize, self.dtype)
        ub[: ub.size // 2] = np.arange(ub.size // 2).astype(self.dtype)
        return ub

    def arguments(self) -> tuple[list[int], list[int], ascendc.TransDataTo5HDParams]:
        """Return the addresses of the destinations and of the sources, and the parameters."""
        src = [j * self.repeats * 32 for j in range(16)]
        dst = [self.nbytes + 32 * i for i in range(16)]
        strides = (16, 1) if self.repeats > 1 else (0, 0)
        return dst, src, ascendc.TransDataTo5HDParams(False, False, self.repeats, *strides)

    def expected(self, ub: np.ndarray) -> np.ndarray:
        """Return what the destination holds after the instruction, by NumPy's own transpose."""
        rows = ub[: ub.size // 2].reshape(16, self.repeats, 32 // ub.itemsize)
        if ub.itemsize == 1:
            out = np.zeros((self.repeats, 16, 32), ub.dtype)
            out[:, :, :16] = rows[:, :, :16].transpose(1, 2, 0)
            return out.reshape(-1)
        return rows.transpose(1, 2, 0).reshape(-1)


INSTRUCTIONS = (
    Instruction("int8", REPEATS, "one half of each block: twice the calls for the same bytes"),
    Instruction("uint16", REPEATS, "the size that the aims are set for"),
    Instruction("int32", REPEATS, "pairs of destination blocks"),
    Instruction("uint16", 1, "what a call costs"),
)


@pytest.fixture
def contender(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Switch to the path that a contender names."""
    name: str = request.param
    if name.endswith("NumPy"):
        monkeypatch.setattr(_native, "_library", lambda: None)
    elif name != "copy" and (reason := xa.build_info().reason):
        pytest.skip(reason)
    return name


@pytest.mark.parametrize("case", INSTRUCTIONS, ids=lambda case: f"{case.dtype}-{case.repeats}")
@pytest.mark.parametrize("contender", ["copy", "addresses", "views", "addresses, NumPy", "views, NumPy"], indirect=True)
def test_trans_data_to_5hd(benchmark: Any, case: Instruction, contender: str) -> None:
    benchmark.group = f"trans_data_to_5hd, {case.repeats} repeats, {case.dtype}"
    benchmark.extra_info.update(bytes_moved=2 * case.nbytes, why=case.why)
    ub = case.ub()
    source, result = ub[: ub.size // 2], ub[ub.size // 2 :]
    wanted = case.expected(ub)
    dst, src, params = case.arguments()
    if contender == "copy":
        benchmark(np.copyto, result, source)
        assert result.tobytes() == source.tobytes()
        return
    if contender.startswith("addresses"):
        benchmark(ascendc.trans_data_to_5hd, dst, src, params, ub=ub)
    else:
        lists = [[ub[address // ub.itemsize :] for address in addresses] for addresses in (dst, src)]
        benchmark(ascendc.trans_data_to_5hd, *lists, params)
    assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("contender", ["copy", "np.repeat, NumPy", "brcb", "brcb, NumPy"], indirect=True)
@pytest.mark.parametrize("repeats", [REPEATS, 1])
def test_brcb(benchmark: Any, repeats: int, contender: str) -> None:
    benchmark.group = f"brcb, {repeats} repeats, uint16"
    src = np.arange(8 * repeats, dtype=np.uint16)
    dst, wanted = np.zeros(16 * src.size, np.uint16), np.repeat(src, 16)
    benchmark.extra_info.update(bytes_moved=src.nbytes + dst.nbytes)
    if contender == "copy":
        benchmark(np.copyto, dst, wanted)
    elif contender.startswith("np.repeat"):
        dst = benchmark(np.repeat, src, 16)
    else:
        benchmark(ascendc.brcb, dst, src, repeats)
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

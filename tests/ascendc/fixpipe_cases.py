"""A case of `fixpipe` with everything that it needs, run by the library and by the loops of the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ascendc.fixpipe_oracle as oracle
import numpy as np
import quant.quant_oracle as quant_oracle
from ascendc.forms import library
from libraries import Library, assert_same_bits, numpy_dtype, random_bits
from quant.values import word

from xascend import ascendc

CONFIGS = {"NZ": ascendc.CFG_NZ, "ND": ascendc.CFG_ROW_MAJOR, "DN": ascendc.CFG_COLUMN_MAJOR}
# mode, vector form, source, result
KINDS = (
    ("NoQuant", False, "float32", "float32"),
    ("NoQuant", False, "int32", "int32"),
    ("F322F16", False, "float32", "float16"),
    ("F322BF16", False, "float32", "bfloat16"),
    ("DEQF16", False, "int32", "float16"),
    ("DEQF16", True, "int32", "float16"),
    ("REQ8", False, "int32", "int8"),
    ("REQ8", True, "int32", "uint8"),
    ("QF322B8_PRE", False, "float32", "uint8"),
    ("QF322B8_PRE", True, "float32", "int8"),
)


@dataclass(frozen=True)
class Case:
    """One call: the parameters, the layout, the element types and what goes with them."""

    params: ascendc.FixpipeParamsV220 | ascendc.FixpipeParamsC310
    layout: str
    kind: tuple[str, bool, str, str]
    seed: int = 0
    slopes: bool = False
    saturate: bool = False

    @property
    def is_c310(self) -> bool:
        return isinstance(self.params, ascendc.FixpipeParamsC310)

    @property
    def matrices(self) -> tuple[int, int, int]:
        """Number of matrices, distance of sources (elements; rows of 16 with DN) and of results."""
        p = self.params
        if self.layout == "DN":
            return p.dn_num, p.src_nz_matrix_stride, p.dst_dn_matrix_stride
        return p.nd_num, p.src_nd_stride * (16 if self.is_c310 else 256), p.dst_nd_stride

    @property
    def width(self) -> int:
        if self.params.is_channel_split:
            return 8
        return 32 if self.kind[3] in ("int8", "uint8") else 16

    @property
    def block_stride(self) -> int:
        unit = 1 if self.is_c310 else 32 // numpy_dtype(self.kind[3]).itemsize
        return self.params.dst_stride * unit

    def words(self) -> list[int]:
        """Return a word for each column in the vector modes, else the scalar word."""
        mode, vector, _, result = self.kind
        if not quant_oracle.MODES[mode][1]:
            return [0]
        if not vector:
            return [int(self.params.deq_scalar)]
        return [
            word((-1) ** k * (0.05 + k % 13), (37 * k) % 512 - 256, result == "int8", (k + self.seed) % 17)
            for k in range(self.params.n_size)
        ]

    def slope_values(self) -> np.ndarray | None:
        n = self.params.n_size
        return np.linspace(-1.7, 1.9, n, dtype=np.float32) if self.slopes else None

    def loops(self, dst: list, src: list, convert: oracle.Convert) -> None:
        """Run the oracle's loops."""
        p = self.params
        sizes = (int(p.n_size), int(p.m_size), int(p.src_stride))
        if self.layout == "ND":
            oracle.nz2nd(dst, src, convert, *sizes, int(p.dst_stride), self.matrices)
        elif self.layout == "DN":
            oracle.nz2dn(dst, src, convert, *sizes, int(p.dst_stride), self.matrices, p.src_nz_c0_stride)
        else:
            oracle.nz2nz(dst, src, convert, *sizes, self.block_stride, self.width)

    def sizes(self) -> tuple[int, int]:
        """Return how far the loops read and write."""
        read, written = _Reach(), _Reach()
        self.loops(written, read, lambda value, column: value)
        return read.end, written.end

    def check(self, library_name: str, spare: int = 5) -> None:
        """Run both on random bits, with junk in the source and old values in the destination."""
        mode, vector, source, result = self.kind
        lib: Library = library(library_name, result)
        read, written = self.sizes()
        x = random_bits((read + spare,), source, self.seed)
        if source == "float32":
            x[::3] = np.random.default_rng(self.seed).integers(-999, 999, x[::3].size) / 2
            x[np.isnan(x)] = 0.5  # bits of NaN are a matter of `requantize`
        else:
            x[::2] %= 2000
        before = random_bits((written + spare,), result, self.seed + 1)
        words, slopes = self.words(), self.slope_values()

        def convert(value: Any, column: int) -> Any:
            return quant_oracle.element(
                value,
                mode,
                words[column % len(words)],
                relu=self.params.relu_en,
                slope=None if slopes is None else float(slopes[column]),
                saturate=self.saturate,
                has_shift=not self.is_c310,
            )

        is_float16 = result in ("float16", "bfloat16")
        old = (before.view(np.uint16) if is_float16 else before).tolist()
        self.loops(old, x.tolist(), convert)
        expected = np.array(old, np.uint16).view(before.dtype) if is_float16 else np.array(old, result)
        untouched = np.ones(before.size, bool)
        marks = _Reach()
        self.loops(marks, _Reach(), lambda value, column: value)
        untouched[list(marks.indices)] = False
        expected[untouched] = before[untouched]  # bits of old NaN do not survive a list

        dst, src = lib.asarray(before.copy()), lib.asarray(x)
        options: dict[str, Any] = {"config": CONFIGS[self.layout], "saturate": self.saturate}
        if vector:
            options["quant_tensor"] = lib.asarray(np.array(words, np.uint64))
        if slopes is not None:
            options["relu_tensor"] = lib.asarray(slopes)
        assert ascendc.fixpipe(dst, src, self.params, **options) is dst
        assert_same_bits(lib.to_numpy(dst), expected)
        assert lib.to_numpy(src).tobytes() == x.tobytes()


class _Reach:
    """Stands for a list that is long enough, and notes the places that are used."""

    def __init__(self) -> None:
        self.indices: set[int] = set()

    def __getitem__(self, index: int) -> int:
        assert index >= 0
        self.indices.add(index)
        return 0

    def __setitem__(self, index: int, value: object) -> None:
        assert index >= 0
        assert index not in self.indices, "the case writes twice"
        self.indices.add(index)

    @property
    def end(self) -> int:
        return max(self.indices) + 1


def quant_mode(kind: tuple[str, bool, str, str]) -> ascendc.QuantMode:
    return ascendc.QuantMode["V" + kind[0] if kind[1] else kind[0]]


def scalar_word(kind: tuple[str, bool, str, str], offset: int = 3) -> int:
    mode, vector, _, result = kind
    return word(0.3, offset, result == "int8", 3) if quant_oracle.MODES[mode][1] and not vector else 0

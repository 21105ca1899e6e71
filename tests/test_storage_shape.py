"""storage_shape, storage_nbytes, is_aligned and the C0 tables: sizes without data."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import oracle
import pytest
from libraries import ALL_DTYPES, FLOAT8, FOUR_BIT, numpy_dtype

import xascend as xa

DEFAULT_C0 = (
    dict.fromkeys(FOUR_BIT, 64)
    | dict.fromkeys(("bool", "int8", "uint8", *FLOAT8), 32)
    | dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 16)
    | dict.fromkeys(("int32", "uint32", "float32", "int64", "uint64", "float64", "complex64", "complex128"), 16)
)


def test_the_table_covers_every_dtype() -> None:
    assert set(DEFAULT_C0) == set(ALL_DTYPES)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_default_c0(dtype: str) -> None:
    assert xa.default_c0(dtype) == DEFAULT_C0[dtype]
    assert xa.default_c0(numpy_dtype(dtype)) == DEFAULT_C0[dtype]
    assert xa.storage_shape((1, 1), "FRACTAL_NZ", dtype) == (1, 1, 16, DEFAULT_C0[dtype])


@pytest.mark.parametrize(
    ("dtype", "c0"),
    [
        ("int4", 64),
        ("int8", 32),
        ("float8_e5m2", 32),
        ("bool", 32),
        ("float16", 16),
        ("bfloat16", 16),
        ("float32", 8),
        ("int64", 4),
        ("complex64", 4),
        ("complex128", 2),
    ],
)
def test_block_c0_is_32_bytes(dtype: str, c0: int) -> None:
    assert xa.block_c0(dtype) == c0


@pytest.mark.parametrize("dtype", [np.float16, "float16", np.dtype("f2"), np.dtype(">f2"), "torch.float16", "half"])
def test_any_way_to_say_a_dtype(dtype: object) -> None:
    assert xa.default_c0(dtype) == 16
    assert xa.storage_nbytes((20, 28), "NZ", dtype) == 2 * 2 * 16 * 16 * 2


def test_dtypes_of_other_libraries() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert xa.storage_shape((20, 28), "NZ", torch.bfloat16) == (2, 2, 16, 16)
    assert xa.storage_shape((20, 28), "NZ", torch.float8_e5m2) == (1, 2, 16, 32)


@pytest.mark.parametrize(
    ("shape", "fmt", "dtype", "nbytes"),
    [
        ((20, 28), "FRACTAL_NZ", "float16", 1024 * 2),
        ((20, 28), "FRACTAL_NZ", "complex128", 1024 * 16),
        ((20, 28), "FRACTAL_NZ", "int4", 2 * 16 * 64),  # one value per byte, as NumPy stores them
        ((0, 28), "FRACTAL_NZ", "float16", 0),
        ((20, 28), "ND", "float32", 560 * 4),
        ((2, 5, 3, 3), "NC1HWC0", "int8", 2 * 9 * 32),
    ],
)
def test_nbytes(shape: tuple, fmt: str, dtype: str, nbytes: int) -> None:
    assert xa.storage_nbytes(shape, fmt, dtype) == nbytes


@pytest.mark.parametrize(
    ("src", "dst", "storage"),
    [
        ("NCHW", "NC1HWC0", (2, 1, 7, 9, 16)),
        ("NHWC", "NC1HWC0", (2, 1, 5, 7, 16)),
        ("HWCN", "NC1HWC0", (9, 1, 2, 5, 16)),
        ("CHWN", "NC1HWC0", (9, 1, 5, 7, 16)),
        (None, "NC1HWC0", (2, 1, 7, 9, 16)),
        (None, "NZ", (2, 5, 1, 1, 16, 16)),
        ("NCHW", "NHWC", (2, 7, 9, 5)),
        ("HWCN", "NCHW", (9, 7, 2, 5)),
        (None, "FZ", (63, 1, 16, 16)),
    ],
)
def test_src_format_names_the_axes_of_shape(src: str | None, dst: str, storage: tuple) -> None:
    assert xa.storage_shape((2, 5, 7, 9), dst, "float16", src_format=src) == storage


def test_shape_may_hold_numpy_integers_and_be_a_list() -> None:
    got = xa.storage_shape([np.int64(20), np.int32(28)], "NZ", "float16", c0=np.int64(8))
    assert got == (4, 2, 16, 8)
    assert all(type(size) is int for size in got)


@pytest.mark.parametrize(
    ("shape", "fmt", "dtype", "aligned"),
    [
        ((16, 360), "FRACTAL_NZ", "float16", False),
        ((16, 368), "FRACTAL_NZ", "float16", True),
        ((360, 360), "FRACTAL_NZ", "int8", False),
        ((352, 352), "FRACTAL_NZ", "int8", True),
        ((16, 16), "FRACTAL_NZ", "int8", False),
        ((15, 32), "FRACTAL_NZ", "float16", False),
        ((16, 64), "FRACTAL_NZ", "int4", True),
        ((32, 32), "FRACTAL_ZZ", "uint8", True),
        ((16, 32), "FRACTAL_ZZ", "uint8", False),
        ((1, 16, 3, 3), "NC1HWC0", "float16", True),
        ((1, 17, 3, 3), "NC1HWC0", "float16", False),
        ((16, 16, 3, 3), "FRACTAL_Z", "float16", True),
        ((15, 16, 3, 3), "FRACTAL_Z", "float16", False),
        ((16, 4, 2, 2), "FRACTAL_Z_C04", "float16", True),
        ((16, 3, 2, 2), "FRACTAL_Z_C04", "float16", False),
        ((16, 4, 3, 1), "FRACTAL_Z_C04", "float16", False),
    ],
)
def test_is_aligned(shape: tuple, fmt: str, dtype: str, aligned: bool) -> None:
    assert xa.is_aligned(shape, fmt, dtype) is aligned


def test_is_aligned_takes_src_format_c0_and_groups() -> None:
    assert not xa.is_aligned((1, 3, 3, 16), "NC1HWC0", "float16")
    assert xa.is_aligned((1, 3, 3, 16), "NC1HWC0", "float16", src_format="NHWC")
    assert xa.is_aligned((16, 8), "NZ", "float16", c0=8)
    assert xa.is_aligned((16, 8, 1, 1), "FRACTAL_Z", "float16", groups=1, c0=8)
    assert xa.is_aligned((32, 16, 1, 1), "FRACTAL_Z", "float16", groups=2)
    assert not xa.is_aligned((32, 15, 1, 1), "FRACTAL_Z", "float16", groups=2)
    assert not xa.is_aligned((30, 16, 1, 1), "FRACTAL_Z", "float16", groups=2)


@pytest.mark.parametrize("shape", [(2**40, 3), (3, 2**40), (2**33 + 5, 2**33 + 7), (2**20, 2**20, 2**20)])
@pytest.mark.parametrize(("fmt", "c0"), [("FRACTAL_NZ", 16), ("FRACTAL_ZZ", 16), ("FRACTAL_NZ", 8)])
def test_sizes_past_64_bits_are_exact(shape: tuple, fmt: str, c0: int) -> None:
    *batch, m, n = shape
    m_block = c0 if fmt == "FRACTAL_ZZ" else 16
    m1, n1 = -(-m // m_block), -(-n // c0)
    storage = (*batch, n1, m1, 16, c0) if fmt == "FRACTAL_NZ" else (*batch, m1, n1, c0, c0)
    assert xa.storage_shape(shape, fmt, "float32", c0=c0) == storage
    assert xa.storage_nbytes(shape, fmt, "float32", c0=c0) == 4 * m_block * c0 * m1 * n1 * int(np.prod(batch or [1]))


def test_fractal_z_past_32_bits() -> None:
    shape = (2**20 + 1, 2**20 + 1, 300, 300)
    assert xa.storage_shape(shape, "FRACTAL_Z", "float16") == ((2**16 + 1) * 90_000, 2**16 + 1, 16, 16)


@pytest.mark.parametrize(
    ("bad", "text"), [((20, -1), "-1"), ((20, 2.5), "2.5"), ((True, 20), "True"), (("a", 2), "'a'")]
)
def test_shape_must_hold_sizes(bad: tuple, text: str) -> None:
    for function in (xa.storage_shape, xa.storage_nbytes, xa.is_aligned):
        with pytest.raises(ValueError, match=rf"`shape` must be an integer of at least 0, got {text}"):
            function(bad, "NZ", "float16")


@pytest.mark.parametrize("bad", [5, None, "20,28"])
def test_shape_must_be_a_sequence(bad: object) -> None:
    with pytest.raises(ValueError, match="`shape` must be a sequence of integers, got"):
        xa.storage_shape(bad, "NZ", "float16")


@pytest.mark.parametrize("shape", [(), (5,)])
@pytest.mark.parametrize("fmt", oracle.BLOCKED)
def test_fewer_than_two_axes(shape: tuple, fmt: str) -> None:
    with pytest.raises(ValueError, match=r"`shape`"):
        xa.storage_shape(shape, fmt, "float16")


@pytest.mark.parametrize(
    ("fmt", "shape", "axes"),
    [
        ("NC1HWC0", (1, 2, 3), "N, C, H, W"),
        ("FRACTAL_Z", (1, 2, 3, 4, 5), "N, C, H, W"),
        ("NDC1HWC0", (1, 2, 3, 4), "N, C, D, H, W"),
        ("FRACTAL_Z_3D", (1, 2, 3), "N, C, D, H, W"),
        ("C1HWNCoC0", (1, 2, 3), "N, C, H, W"),
    ],
)
def test_wrong_rank_names_the_axes(fmt: str, shape: tuple, axes: str) -> None:
    with pytest.raises(ValueError, match=rf"`shape` .*\({axes}\)"):
        xa.storage_shape(shape, fmt, "float16")


def test_refused_dtype() -> None:
    for function in (xa.storage_shape, xa.storage_nbytes, xa.is_aligned):
        with pytest.raises(TypeError, match="object"):
            function((2, 2), "NZ", object)
    for function in (xa.default_c0, xa.block_c0):
        with pytest.raises(TypeError, match="datetime64"):
            function("datetime64[s]")


def test_bfloat16_type_object() -> None:
    assert xa.default_c0(ml_dtypes.bfloat16) == 16

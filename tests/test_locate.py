"""locate: the storage index of one element, without data."""

from __future__ import annotations

import itertools

import numpy as np
import oracle
import pairs
import pytest
from libraries import counting

import xascend as xa

SHAPES = (
    {"ND": (2, 17, 5)}
    | {plain: pairs.sizes_of(plain, "NCHW", (17, 3, 2, 3)) for plain in oracle.PLAIN_4D}
    | {plain: pairs.sizes_of(plain, "NCDHW", (17, 5, 2, 1, 2)) for plain in oracle.PLAIN_5D}
)


@pytest.mark.parametrize(("src", "dst"), pairs.PLAIN_TO_BLOCKED)
def test_agrees_with_the_data_for_every_index(src: str, dst: str) -> None:
    shape = SHAPES[src]
    x = counting(shape)
    y = oracle.convert(x, src, dst, c0=4)
    for index in itertools.product(*map(range, shape)):
        found = xa.locate(index, shape, src, dst, c0=oracle.OWN_C0.get(dst, 4))
        assert y[found] == x[index]


@pytest.mark.parametrize(("src", "dst"), [("NCHW", "NHWC"), ("HWCN", "NCHW"), ("NCDHW", "DHWCN")])
def test_plain_to_plain(src: str, dst: str) -> None:
    shape = tuple(range(2, 2 + len(src)))
    index = tuple(size - 1 - i % 2 for i, size in enumerate(shape))
    found = xa.locate(index, shape, src, dst, dtype="float16")
    assert found == tuple(index[src.index(axis)] for axis in dst)


@pytest.mark.parametrize(("plain", "fmt"), pairs.PLAIN_TO_BLOCKED)
def test_from_blocked_is_the_inverse(plain: str, fmt: str) -> None:
    shape = SHAPES[plain]
    c0 = oracle.OWN_C0.get(fmt, 4)
    for index in (tuple(0 for _ in shape), tuple(size - 1 for size in shape), tuple(size // 2 for size in shape)):
        stored = oracle.place(index, shape, fmt, axes=oracle.letters(plain), c0=c0)
        assert xa.locate(stored, shape, fmt, plain, c0=c0) == index


@pytest.mark.parametrize(("src", "dst"), pairs.BLOCKED_TO_BLOCKED)
def test_blocked_to_blocked(src: str, dst: str) -> None:
    axes = pairs.logical_axes(src, dst)
    shape = SHAPES[axes]
    letters = oracle.letters(axes)
    for index in (tuple(0 for _ in shape), tuple(size - 1 for size in shape), tuple(size // 2 for size in shape)):
        stored = oracle.place(index, shape, src, axes=letters)
        found = xa.locate(stored, shape, src, dst, dtype="float16", c0=oracle.OWN_C0.get(dst, 8))
        assert found == oracle.place(index, shape, dst, axes=letters, c0=8)


@pytest.mark.parametrize(("index", "fmt"), [((1, 1, 4, 0), "NZ"), ((1, 0, 0, 12), "NZ"), ((1, 1, 3, 12), "NZ")])
def test_padding_holds_no_element(index: tuple, fmt: str) -> None:
    with pytest.raises(ValueError, match=r"`index` .*padding"):
        xa.locate(index, (20, 28), fmt, "ND", dtype="float16")


def test_groups() -> None:
    shape = (3, 2, 5, 18)  # H, W, C, N
    for groups in (1, 2, 3, 9, 18):
        for index in ((0, 0, 0, 0), (2, 1, 4, 17), (1, 0, 3, 11)):
            found = xa.locate(index, shape, "HWCN", "FRACTAL_Z", dtype="float16", groups=groups)
            assert found == oracle.place(index, shape, "FRACTAL_Z", axes="HWCN", groups=groups)


@pytest.mark.parametrize("fmt", ["FRACTAL_NZ", "FRACTAL_ZZ"])
def test_indices_past_32_bits(fmt: str) -> None:
    shape = (3, 2**33 + 5, 2**34 + 7)
    for index in ((2, 2**33 + 4, 2**34 + 6), (0, 2**31, 2**31), (1, 2**32 + 15, 2**32 - 1)):
        for c0 in (16, 32, 3):
            assert xa.locate(index, shape, "ND", fmt, c0=c0) == oracle.place(index, shape, fmt, c0=c0)


@pytest.mark.parametrize("fmt", oracle.CONV_4D)
@pytest.mark.parametrize("plain", oracle.PLAIN_4D)
def test_convolution_indices_past_32_bits(fmt: str, plain: str) -> None:
    size = {"N": 2**20 + 3, "C": 4 if fmt == "FRACTAL_Z_C04" else 2**11 + 1, "H": 2**17 + 1, "W": 2**15 + 5}
    at = {"N": 2**20 + 2, "C": size["C"] - 1, "H": 2**17, "W": 2**15 + 4}
    shape, index = (tuple(sizes[axis] for axis in plain) for sizes in (size, at))
    c0 = oracle.OWN_C0.get(fmt, 16)
    c1 = -(-size["C"] // c0)
    h, w = at["H"], at["W"]
    row = (at["C"] // c0 * size["H"] + h) * size["W"] + w
    k = (h * size["W"] + w) * 4 + at["C"]
    n1, n0 = divmod(at["N"], 16)
    wanted = {
        "NC1HWC0": (at["N"], c1 - 1, h, w, at["C"] % c0),
        "NC1HWC0_C04": (at["N"], c1 - 1, h, w, at["C"] % c0),
        "FRACTAL_Z": (row, n1, n0, at["C"] % c0),
        "FRACTAL_Z_C04": (k // c0, n1, n0, k % c0),
        "C1HWNCoC0": (c1 - 1, h, w, at["N"], at["C"] % c0, at["C"] % c0),
    }[fmt]
    assert xa.locate(index, shape, plain, fmt, c0=c0) == wanted


def test_takes_numpy_integers_and_returns_ints() -> None:
    found = xa.locate([np.int64(17), np.int32(20)], (20, 28), "ND", "NZ", dtype=np.float16)
    assert found == (1, 1, 1, 4)
    assert all(type(i) is int for i in found)


def test_c0_by_dtype() -> None:
    assert xa.locate((0, 33), (1, 40), "ND", "NZ", dtype="int8") == (1, 0, 0, 1)
    assert xa.locate((0, 33), (1, 40), "ND", "NZ", dtype="float32") == (2, 0, 0, 1)


def test_needs_dtype_or_c0() -> None:
    with pytest.raises(ValueError, match=r"`dtype` or `c0`"):
        xa.locate((0, 0), (4, 4), "ND", "NZ")


@pytest.mark.parametrize("index", [(20, 0), (0, 28), (-1, 0), (0, -28), (2**63, 0)])
def test_index_out_of_range(index: tuple) -> None:
    with pytest.raises(ValueError, match=r"`index`.* must (lie in \[0, (20|28)\)|be an integer of at least 0), got"):
        xa.locate(index, (20, 28), "ND", "NZ", dtype="float16")


@pytest.mark.parametrize("index", [(), (0,), (0, 0, 0)])
def test_index_of_wrong_length(index: tuple) -> None:
    with pytest.raises(ValueError, match=r"`index` must have 2 entries"):
        xa.locate(index, (20, 28), "ND", "NZ", dtype="float16")


@pytest.mark.parametrize("index", [(0.5, 0), (True, 0), ("0", 0), 3, None])
def test_index_of_wrong_type(index: object) -> None:
    with pytest.raises(ValueError, match=r"`index` must be"):
        xa.locate(index, (20, 28), "ND", "NZ", dtype="float16")


@pytest.mark.parametrize("shape", [(0, 28), (20, 0)])
def test_an_empty_tensor_has_no_elements(shape: tuple) -> None:
    with pytest.raises(ValueError, match=r"`index`"):
        xa.locate((0, 0), shape, "ND", "NZ", dtype="float16")

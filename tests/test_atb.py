"""ATB's TransdataOperation: rank-4 NZ, crops, and the intervals that its document states."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import oracle
import pytest
from libraries import Library, assert_result, assert_same_bits, counting, random_bits

from xascend import atb

TO_ND = atb.TransdataType.FRACTAL_NZ_TO_ND
TO_NZ = atb.TransdataParam(transdata_type=atb.TransdataType.ND_TO_FRACTAL_NZ)
DTYPES = ("float16", "bfloat16", "int8")


def crop(m: int, n: int) -> atb.TransdataParam:
    return atb.TransdataParam(transdata_type=TO_ND, out_crops=(m, n))


def nz_of(x: np.ndarray) -> np.ndarray:
    """Return the rank-4 form: M1 and M0 merged, batch always there."""
    batched = x.reshape(-1, *x.shape[-2:])
    five = oracle.to_storage(batched, "FRACTAL_NZ", c0=oracle.default_c0(x.itemsize))
    batch, n1, m1, m0, n0 = five.shape
    return five.reshape(batch, n1, m1 * m0, n0)


def test_numbers() -> None:
    assert [(t.name, t.value) for t in atb.TransdataType] == [
        ("UNDEFINED", 0),
        ("FRACTAL_NZ_TO_ND", 1),
        ("ND_TO_FRACTAL_NZ", 2),
    ]
    assert atb.TransdataParam().transdata_type is atb.TransdataType.UNDEFINED
    assert tuple(atb.TransdataParam().out_crops) == (0, 0)


@pytest.mark.parametrize(
    ("shape", "dtype", "nz"),
    [
        ((8, 32), "float16", (1, 2, 16, 16)),
        ((1, 8, 32), "float16", (1, 2, 16, 16)),
        ((23, 257), "float16", (1, 17, 32, 16)),
        ((8, 100, 30), "float16", (8, 2, 112, 16)),
        ((8, 100, 30), "bfloat16", (8, 2, 112, 16)),
        ((2, 3, 4), "int8", (2, 1, 16, 32)),
        ((13, 30), "float16", (1, 2, 16, 16)),
        ((16, 64), "int8", (1, 2, 16, 32)),
        ((0, 20), "float16", (1, 2, 0, 16)),
        ((20, 0), "float16", (1, 0, 32, 16)),
        ((0, 5, 5), "int8", (0, 1, 16, 32)),
    ],
)
def test_there_and_back(shape: tuple, dtype: str, nz: tuple) -> None:
    x = random_bits(shape, dtype)
    y = atb.transdata(x, TO_NZ)
    assert y.shape == nz
    assert_same_bits(y, nz_of(x) if 0 not in shape else np.zeros(nz, x.dtype))
    assert_same_bits(
        atb.transdata(y, crop(*shape[-2:])),
        x.reshape(-1, *shape[-2:]) if x.size else np.zeros((nz[0], *shape[-2:]), x.dtype),
    )


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_on_every_library(xp: Library, dtype: str) -> None:
    xp.require(dtype)
    x = random_bits((2, 17, 35), dtype)
    y = atb.transdata(xp.asarray(x), TO_NZ)
    assert_result(xp, y, nz_of(x))
    assert_result(xp, atb.transdata(y, crop(17, 35)), x)


def test_bytes_are_those_of_rank_five() -> None:
    x = counting((2, 20, 30), "float16")
    five = oracle.to_storage(x, "FRACTAL_NZ")
    assert atb.transdata(x, TO_NZ).tobytes() == five.tobytes()


def test_out_crops_are_ignored_towards_nz() -> None:
    x = counting((8, 32), "float16")
    param = atb.TransdataParam(transdata_type=atb.TransdataType.ND_TO_FRACTAL_NZ, out_crops=(3, 5))
    assert_same_bits(atb.transdata(x, param), atb.transdata(x, TO_NZ))


def test_vendor_crop_vectors() -> None:
    assert atb.transdata(np.zeros((1, 2, 32, 16), np.float16), crop(32, 32)).shape == (1, 32, 32)
    assert atb.transdata(np.zeros((1, 2, 16, 16), np.float16), crop(10, 20)).shape == (1, 10, 20)
    assert atb.transdata(np.zeros((1, 237, 2576, 16), np.float16), crop(2573, 3792)).shape == (
        1,
        2573,
        3792,
    )
    assert atb.transdata(np.zeros((1, 1, 16, 16), np.float16), crop(1, 5)).shape == (1, 1, 5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n1", "m1"), [(1, 1), (2, 1), (3, 2)])
def test_crops_at_the_ends_of_the_intervals(dtype: str, n1: int, m1: int) -> None:
    n0 = 32 if dtype == "int8" else 16
    stored = random_bits((2, n1, 16 * m1, n0), dtype)
    for m in (16 * m1 - 15, 16 * m1):
        for n in (n0 * (n1 - 1) + 1, n0 * n1):
            full = oracle.to_logical(stored.reshape(2, n1, m1, 16, n0), "FRACTAL_NZ", (2, 16 * m1, n0 * n1))
            assert_same_bits(atb.transdata(stored, crop(m, n)), full[:, :m, :n].copy())
    m_interval = rf"\({16 * (m1 - 1)}, {16 * m1}\]"
    n_interval = rf"\({n0 * (n1 - 1)}, {n0 * n1}\]"
    for m in (16 * (m1 - 1), 16 * m1 + 1):
        with pytest.raises(ValueError, match=rf"`out_crops`.*{m_interval}.*{m}"):
            atb.transdata(stored, crop(m, n0 * n1))
    for n in (n0 * (n1 - 1), n0 * n1 + 1):
        with pytest.raises(ValueError, match=rf"`out_crops`.*{n_interval}.*{n}"):
            atb.transdata(stored, crop(16 * m1, n))


@pytest.mark.parametrize(
    ("m", "n", "interval"),
    [
        (17, 20, r"\(0, 16\]"),
        (10, 16, r"\(16, 32\]"),
        (10, 33, r"\(16, 32\]"),
        (100, 3, r"\(0, 16\]"),
        (0, 32, r"\(0, 16\]"),
        (0, 0, r"\(0, 16\]"),
        (16, 1, r"\(16, 32\]"),
    ],
)
def test_crops_outside_are_refused_with_the_interval(m: int, n: int, interval: str) -> None:
    with pytest.raises(ValueError, match=rf"`out_crops`.*{interval}"):
        atb.transdata(np.zeros((1, 2, 16, 16), np.float16), crop(m, n))


def test_int8_columns_have_an_interval_of_32() -> None:
    x = counting((10, 10), "int8")
    stored = nz_of(x)
    assert stored.shape == (1, 1, 16, 32)
    assert_same_bits(atb.transdata(stored, crop(10, 10)), x[None])


@pytest.mark.parametrize("crops", [(10, 20, 5), (10,), ()])
def test_out_crops_must_be_two(crops: object) -> None:
    with pytest.raises(ValueError, match=r"`out_crops` must have 2 sizes"):
        atb.transdata(np.zeros((1, 2, 16, 16), np.float16), atb.TransdataParam(transdata_type=TO_ND, out_crops=crops))


@pytest.mark.parametrize("crops", [(10.0, 20), (True, 20), ("10", 20), (10, -20), 10, None, "10"])
def test_out_crops_must_be_integers(crops: object) -> None:
    with pytest.raises(ValueError, match=r"`out_crops` must be"):
        atb.transdata(np.zeros((1, 2, 16, 16), np.float16), atb.TransdataParam(transdata_type=TO_ND, out_crops=crops))


def test_a_list_of_crops_and_a_plain_number_work() -> None:
    param = atb.TransdataParam(transdata_type=1, out_crops=[np.int64(10), 20])
    assert atb.transdata(np.zeros((1, 2, 16, 16), np.float16), param).shape == (1, 10, 20)


@pytest.mark.parametrize("number", [5, -1, 3])
def test_unknown_type(number: int) -> None:
    with pytest.raises(ValueError, match=rf"`transdata_type`.*{number}"):
        atb.transdata(np.zeros((8, 32), np.float16), atb.TransdataParam(transdata_type=number))


def test_undefined_type() -> None:
    with pytest.raises(ValueError, match=r"`transdata_type`.*UNDEFINED"):
        atb.transdata(np.zeros((8, 32), np.float16), atb.TransdataParam())


@pytest.mark.parametrize("shape", [(), (8,), (1, 2, 3, 4), (1, 2, 3, 4, 5)])
def test_nd_has_two_or_three_axes(shape: tuple) -> None:
    with pytest.raises(ValueError, match=r"`x`"):
        atb.transdata(np.zeros(shape, np.float16), TO_NZ)


@pytest.mark.parametrize("shape", [(), (8,), (2, 16, 16), (1, 2, 1, 16, 16)])
def test_nz_has_four_axes(shape: tuple) -> None:
    with pytest.raises(ValueError, match=r"`x`"):
        atb.transdata(np.zeros(shape, np.float16), crop(10, 20))


@pytest.mark.parametrize(
    ("shape", "dtype", "rule"),
    [
        ((1, 2, 16, 32), "float16", "16"),
        ((1, 2, 16, 8), "bfloat16", "16"),
        ((1, 2, 16, 16), "int8", "32"),
        ((1, 2, 20, 16), "float16", "multiple of 16"),
        ((1, 2, 8, 32), "int8", "multiple of 16"),
    ],
)
def test_blocks_of_the_nz_input(shape: tuple, dtype: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rf"`x`.*{rule}"):
        atb.transdata(
            np.zeros(shape, np.uint8).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype),
            crop(10, 20),
        )


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int16", "float64", "bool", "float8_e5m2", "complex64"])
def test_other_dtypes_are_refused(dtype: str) -> None:
    for x, param in ((np.zeros((8, 32)), TO_NZ), (np.zeros((1, 2, 16, 16)), crop(10, 20))):
        with pytest.raises(TypeError, match=rf"{dtype}"):
            atb.transdata(x.astype(getattr(ml_dtypes, dtype, dtype)), param)


@pytest.mark.parametrize("bad", [[[1, 2], [3, 4]], None, 3.0])
def test_not_an_array(bad: object) -> None:
    with pytest.raises(TypeError, match="`x` must be an array"):
        atb.transdata(bad, TO_NZ)


def test_param_must_be_a_param() -> None:
    with pytest.raises(TypeError, match="`param`"):
        atb.transdata(np.zeros((8, 32), np.float16), {"transdataType": 2})


def test_param_is_a_frozen_value() -> None:
    assert crop(10, 20) == crop(10, 20)
    assert hash(crop(10, 20)) == hash(crop(10, 20))
    with pytest.raises(AttributeError):
        TO_NZ.out_crops = (1, 1)

"""Values that a configuration describes, against definitions written out in plain Python."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from libraries import ALL_DTYPES, numpy_dtype

from xascend.golden._arrays import make_array


def array(dtype: str, shape: list[int], values: Any, seed: int = 0, **options: Any) -> np.ndarray:
    return make_array("src", {"dtype": dtype, "shape": shape, "values": values, **options}, seed)


@pytest.mark.parametrize(
    ("dtype", "count"),
    [
        ("bool", 2),
        ("int8", 128),
        ("uint8", 256),
        ("int16", 32768),
        ("float16", 2048),
        ("bfloat16", 256),
        ("float8_e4m3fn", 16),
        ("float8_e5m2", 8),
        ("float8_e3m4", 16),
        ("float4_e2m1fn", 4),
        ("int4", 8),
        ("uint4", 16),
    ],
)
def test_counting_starts_again_where_the_type_ends(dtype: str, count: int) -> None:
    x = array(dtype, [2, count], "arange")
    assert x.dtype == numpy_dtype(dtype)
    assert [float(v) for v in x.reshape(-1)] == [float(i) for i in [*range(count)] * 2]


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64", "complex64"])
def test_counting_in_wide_types(dtype: str) -> None:
    assert array(dtype, [3, 100], "arange").reshape(-1).tolist() == list(range(300))


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d != "float8_e8m0fnu"])
def test_numbers(dtype: str) -> None:
    assert array(dtype, [2, 3], 1).astype(np.float64 if "complex" not in dtype else complex).tolist() == [[1] * 3] * 2
    assert array(dtype, [3], [0, 1, 1]).tolist() == [0, 1, 1]
    assert array(dtype, [0, 3], []).shape == (0, 3)


def test_special_numbers() -> None:
    x = array("float16", [4], [math.nan, math.inf, -math.inf, -0.0])
    assert x.view(np.uint16).tolist()[1:] == [0x7C00, 0xFC00, 0x8000]
    assert math.isnan(x[0])
    assert array("uint64", [2], [(1 << 64) - 1, 1 << 63]).tolist() == [(1 << 64) - 1, 1 << 63]


def words(seed: int, count: int, name: str = "src") -> list[int]:
    return [int(word) for word in np.random.PCG64([seed, *name.encode()]).random_raw(count)]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int8", -128, 127),
        ("int8", -3, 3),
        ("uint8", 0, 255),
        ("bool", 0, 1),
        ("int4", -8, 7),
        ("int32", -(1 << 31), (1 << 31) - 1),
        ("int64", -(1 << 63), (1 << 63) - 1),
        ("uint64", 0, (1 << 64) - 1),
        ("uint64", 5, 5),
    ],
)
def test_random_integers(dtype: str, low: int, high: int) -> None:
    x = array(dtype, [4, 50], "random", seed=9, low=low, high=high)
    assert x.dtype == numpy_dtype(dtype)
    assert [int(v) for v in x.reshape(-1)] == [low + word % (high - low + 1) for word in words(9, 200)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float32", "float64"])
def test_random_floats(dtype: str) -> None:
    x = array(dtype, [200], "random", seed=3, low=-1.5, high=6)
    expected = [-1.5 + 7.5 * ((word >> 11) / 2**53) for word in words(3, 200)]
    assert x.tobytes() == np.array(expected).astype(numpy_dtype(dtype)).tobytes()
    assert x.min() < 0 < 5 < x.max()


def test_random_floats_between_numbers_of_different_kinds() -> None:
    for low, high in ((0, 1 << 70), (np.float32(0), np.int64(1 << 62)), (False, True)):
        x = array("float64", [50], "random", low=low, high=high)
        assert x.tolist() == [float(high) * ((word >> 11) / 2**53) for word in words(0, 50)]


def test_an_array_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError("Unable to allocate 2.00 TiB")

    monkeypatch.setattr(np, "full", fail)
    with pytest.raises(MemoryError, match=r"\[src\] `shape` \(3, 5\) takes more memory than there is"):
        array("int8", [3, 5], 0)


def test_random_values_depend_on_the_name() -> None:
    table = {"dtype": "float32", "shape": [50], "values": "random", "low": 0, "high": 1}
    assert (make_array("src", table, 0) != make_array("dst", table, 0)).all()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"values": "ones"}, r"\[src\] `values` must be 'arange', 'random' .*; got 'ones'"),
        ({"values": None}, r"\[src\] `values` must be 'arange', 'random' .*; got None"),
        ({"values": [1, 2, 3]}, r"\[src\] `values` must list 8 numbers for \(8,\), got 3"),
        ({"values": 300}, "`src.values` must be a number that int8 can hold, got 300"),
        ({"values": 0.5}, "`src.values` must be a number that int8 can hold, got 0.5"),
        ({"values": [0] * 7 + [128]}, r"`src.values\[7\]` must be a number that int8 can hold, got 128"),
        ({"values": "random"}, r"\[src\] must have `low` and `high` for random values, got neither"),
        ({"values": "random", "low": 1}, r"\[src\] must have `low` and `high` for random values, got \['low'\]"),
        ({"values": "random", "low": 1, "high": 0}, r"\[src\] `low` must be at most `high`.*got 1 and 0"),
        ({"values": "random", "low": 0, "high": 200}, "`src.high` must be a number that int8 can hold, got 200"),
        ({"values": "arange", "low": 0}, r"\[src\] `low` goes with random values only, got values = 'arange'"),
        ({"shape": 8}, r"`\[src\] shape` must be a sequence of integers, got 8"),
        ({"shape": [-8]}, r"`\[src\] shape` must be an integer of at least 0, got -8"),
        ({"dtype": 8}, r"\[src\] `dtype` must be a name such as 'float16', got 8"),
        ({"dtype": "float8_e8m0fnu", "values": "arange"}, r"\[src\] `values` cannot be 'arange'"),
        ({"dtype": "float64", "values": "random", "low": -1.7e308, "high": 1.7e308}, "with a finite distance"),
        ({"dtype": "float32", "values": "random", "low": 0, "high": math.inf}, "with a finite distance"),
        ({"dtype": "float32", "values": "random", "low": math.nan, "high": 1}, "`low` must be at most `high`"),
        ({"dtype": "bfloat16", "values": "random", "low": math.nan, "high": 1}, "`low` must be at most `high`"),
        ({"dtype": "float64", "values": "random", "low": 1 - 10**308, "high": 10**308}, "with a finite distance"),
        ({"dtype": "complex128", "values": "random", "low": -(10**308), "high": 1.7e308}, "with a finite distance"),
        (
            {"dtype": "float64", "values": "random", "low": 0, "high": 10**400},
            "`src.high` must be a number that float64",
        ),
        ({"shape": [1 << 40, 1 << 40]}, r"\[src\] `shape` must have at most \d+ elements, got \(1099511627776, 1"),
        ({"shape": [0, 1 << 64]}, r"\[src\] `shape` must have at most \d+ elements, got \(0, 18446744073709551616\)"),
        ({"shape": [1] * 68}, r"\[src\] `shape` must have at most 64 sizes, got 68"),
        ({"size": 8}, r"\[src\] has the unknown key `size` = 8; accepted are dtype, shape, values, low, high"),
    ],
)
def test_refused_values(fields: dict, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make_array("src", {"dtype": "int8", "shape": [8], "values": 0, **fields}, 0)


def test_quantisation_words() -> None:
    def words_of(count: int, **table: Any) -> list[int]:
        return array("uint64", [count], table).tolist()

    assert words_of(2, scale=2, signed=False) == [0x40000000, 0x40000000]
    assert words_of(3, scale=[1.0, 0.5, 0.5], offset=[-256, 3, -1]) == [0x60003F800000, 0x40603F000000, 0x7FE03F000000]
    assert words_of(1, scale=1, signed=False, shift=1) == [0x103F800000]
    assert words_of(0, scale=[]) == []


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({}, r"\[src\] values lacks the key `scale`"),
        (
            {"scale": 1, "zero_point": 1},
            r"values has the unknown key `zero_point` = 1; accepted are scale, offset",
        ),
        ({"scale": [1, 2, 3]}, r"\[src\] values `scale` must be a number, or a list of 2; got a list of 3"),
        ({"scale": 1, "offset": []}, r"\[src\] values `offset` must be a number, or a list of 2; got a list of 0"),
        ({"scale": 10**400}, r"\[src\] values: `scale` must be 0 or a number whose float32 is .* finite.*; got 1000"),
        ({"scale": 1e300}, r"\[src\] values: `scale` must be 0 or a number whose float32 is .* finite.*; got 1e\+300"),
        ({"scale": [1, math.inf]}, r"\[src\] values: `scale` must be 0 or a number whose float32 is .*; got inf"),
        ({"scale": [1, 1e-40]}, "`scale` must be 0 or a number whose float32 is normal and finite"),
        ({"scale": 1, "offset": 256}, r"\[src\] values: `offset` must lie in \[-256, 255\], got 256"),
        ({"scale": 1, "offset": [0, 10**400]}, r"\[src\] values: `offset` must lie in \[-256, 255\], got 1000"),
    ],
)
def test_refused_quantisation_words(table: dict, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        array("uint64", [2], table)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"scale": "1"}, r"\[src\] values: `scale` must be a number .*, got '1'"),
        ({"scale": True}, r"\[src\] values: `scale` must be a number .*, got True"),
        ({"scale": [1, [1]]}, r"\[src\] values: `scale` must be a number .*, got \[1\]"),
        ({"scale": 1, "offset": [0, True]}, r"\[src\] values: `offset` must be an int .* got True"),
        ({"scale": 1, "offset": 0.5}, r"\[src\] values: `offset` must be an int .* got 0.5"),
        ({"scale": 1, "signed": 1}, r"\[src\] values: `signed` must be a bool, got 1"),
    ],
)
def test_quantisation_words_of_refused_types(table: dict, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        array("uint64", [2], table)


def test_quantisation_words_are_uint64() -> None:
    with pytest.raises(ValueError, match=r"\[src\] `dtype` must be uint64 for quantisation words, got int64"):
        array("int64", [2], {"scale": 1})


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"dtype": "object"}, "`dtype` object is not supported"),
        ({"values": ["a"] * 8}, r"`src.values\[0\]` must be a number, got str 'a'"),
        ({"values": "random", "low": "a", "high": 1}, "`src.low` must be a number, got str 'a'"),
        ({"values": "random", "dtype": "complex64", "low": 0, "high": 1j}, "`src.high` must be a real number, got 1j"),
    ],
)
def test_refused_types(fields: dict, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        make_array("src", {"dtype": "int8", "shape": [8], "values": 0, **fields}, 0)


def test_ml_dtypes_ranges_are_the_ones_assumed() -> None:
    assert float(ml_dtypes.finfo(numpy_dtype("float8_e3m4")).max) == 15.5

"""`compare`: real element types, NaN, tolerances, places in storage and tensor, bounded memory."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from fractions import Fraction

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import oracle
import pytest
from hypothesis import given
from libraries import ALL_DTYPES, FLOAT8, ON_GPU, counting, numpy_dtype, random_bits

import xascend as xa
from xascend.testing import Difference, Report, compare

SMALL_FLOATS = ("float16", "bfloat16", *FLOAT8, "float4_e2m1fn")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "int4", "uint4")


def all_values(dtype: str) -> np.ndarray:
    """Every bit pattern of a type of at most 16 bits."""
    target = numpy_dtype(dtype)
    count = 16 if dtype in ("int4", "uint4", "float4_e2m1fn") else 1 << 8 * target.itemsize
    return np.arange(count, dtype=f"u{target.itemsize}").view(target)


def limits(dtype: str) -> tuple[int, int]:
    info = ml_dtypes.iinfo(numpy_dtype(dtype))
    return int(info.min), int(info.max)


class TestEqual:
    @pytest.mark.parametrize("dtype", ALL_DTYPES)
    @pytest.mark.parametrize("shape", [(), (0,), (3, 0, 5), (7,), (3, 4, 5)])
    def test_an_array_equals_its_copy(self, dtype: str, shape: tuple) -> None:
        x = random_bits(shape, dtype)
        report = compare(x, x.copy())
        assert report.equal
        assert report.size == x.size
        assert (report.different, report.other_bits, report.within_tolerance, report.first) == (0, 0, 0, ())
        assert (report.largest_absolute, report.largest_relative, report.largest_ulp) == (0, 0, 0)

    def test_every_library(self, xp) -> None:
        for dtype in ("float16", "bfloat16", "float8_e5m2", "float32", "int8", "bool", "complex64"):
            if dtype in xp.dtypes:
                x = random_bits((5, 7), dtype)
                if xp.name in ON_GPU:
                    with pytest.raises(TypeError, match=r"`actual` is (cupy|torch) on .*compared on the CPU"):
                        compare(xp.asarray(x), x)
                    continue
                assert compare(xp.asarray(x), x).equal
                assert compare(x, xp.asarray(x)).equal
                assert not compare(xp.asarray(x), xp.asarray(random_bits((5, 7), dtype, seed=1))).equal

    def test_torch_views_and_gradients(self) -> None:
        torch = pytest.importorskip("torch", reason="torch is not installed")
        x = torch.arange(24, dtype=torch.float32).reshape(4, 6).requires_grad_()
        assert compare(x.T, np.arange(24, dtype=np.float32).reshape(4, 6).T)
        z = torch.tensor([1 + 2j, 3 - 4j])
        assert compare(z.conj(), np.array([1 - 2j, 3 + 4j], np.complex64))
        assert compare(z.conj().imag, np.array([-2, 4], np.float32))

    def test_strides_and_byte_order_do_not_count(self) -> None:
        x = counting((40, 60), "float16")
        assert compare(np.asfortranarray(x)[::-1, ::3], x[::-1, ::3].copy()).equal
        assert compare(np.broadcast_to(np.float16(3), (40, 60)), np.full((40, 60), 3, np.float16)).equal
        for dtype in ("float16", "int64", "complex64", "complex128"):
            x = counting((40, 60), "int16").astype(dtype) + np.array(1, dtype)
            swapped = x.astype(x.dtype.newbyteorder())
            assert compare(swapped, x).equal
            assert compare(x.T, swapped.T).equal
            swapped[3, 4] = 0
            report = compare(swapped, x)
            assert [d.index for d in report.first] == [(3, 4)]
            assert report.first[0].actual == 0

    def test_a_report_is_true_where_arrays_are_equal(self) -> None:
        assert compare(np.zeros(3), np.zeros(3))
        assert not compare(np.zeros(3), np.ones(3))
        assert not compare(np.zeros(3), np.zeros(4))


class TestNumbers:
    @pytest.mark.parametrize("dtype", [*SMALL_FLOATS, "float32", "float64"])
    def test_nan_equals_nan(self, dtype: str) -> None:
        if dtype == "float4_e2m1fn":
            pytest.skip("float4_e2m1fn has no NaN")
        nan, one = np.full(3, np.nan).astype(numpy_dtype(dtype)), np.ones(3).astype(numpy_dtype(dtype))
        assert compare(nan, nan.copy()).equal
        for pair in ((nan, one), (one, nan)):
            report = compare(*pair, rtol=1e9, atol=1e9, ulp=1 << 63)
            assert (report.different, report.unpaired_nans) == (3, 3)
            assert (report.largest_absolute, report.largest_relative, report.largest_ulp) == (0, 0, 0)
            assert "3 NaN on one side" in str(report)

    def test_payloads_and_signs_of_zero_are_told_and_equal(self) -> None:
        a = np.array([0x7E01, 0x7C01, 0xFD55, 0x8000, 0x3C00], np.uint16).view(np.float16)
        e = np.array([0x7E00, 0x7E00, 0x7E00, 0x0000, 0x3C00], np.uint16).view(np.float16)
        report = compare(a, e)
        assert report.equal
        assert report.other_bits == 4
        assert str(report) == "equal: 5 elements of float16, 4 equal with other bits"

    def test_infinities_equal_only_themselves(self) -> None:
        inf, largest = np.float16(np.inf), np.finfo(np.float16).max
        e = np.array([inf, -inf, inf, largest, inf, 1], np.float16)
        a = np.array([inf, -inf, -inf, inf, largest, -inf], np.float16)
        report = compare(a, e, rtol=1e3, atol=1e9, ulp=65535)
        assert [d.index for d in report.first] == [(2,), (3,), (4,), (5,)]
        assert report.largest_absolute == math.inf
        assert report.largest_relative == math.inf
        assert report.largest_ulp == 0

    def test_zeros_divide_nothing(self) -> None:
        report = compare(np.array([1, 2, 3], np.int8), np.array([0, 0, 4], np.int8))
        assert (report.different, report.largest_absolute, report.largest_relative) == (3, 2, 0.25)
        report = compare(np.ones(3, np.float32), np.zeros(3, np.float32))
        assert (report.largest_absolute, report.largest_relative) == (1, 0)

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_integer_extremes_do_not_overflow(self, dtype: str) -> None:
        low, high = limits(dtype)
        a = np.array([low, high, low, high], numpy_dtype(dtype))
        e = np.array([high, low, low, high - 1], numpy_dtype(dtype))
        report = compare(a, e)
        assert (report.different, report.largest_absolute, report.largest_ulp) == (3, high - low, high - low)
        assert [(d.actual, d.expected) for d in report.first] == [(low, high), (high, low), (high, high - 1)]
        assert compare(a, e, ulp=high - low).equal
        assert compare(a, e, ulp=high - low - 1).different == 2

    def test_int8_is_compared_as_int8(self) -> None:
        report = compare(np.array([-128, 127], np.int8), np.array([127, -128], np.int8))
        assert (report.different, report.largest_absolute) == (2, 255)

    @pytest.mark.parametrize(("dtype", "big"), [("int64", (1 << 62) + 1), ("uint64", (1 << 63) + 1)])
    def test_wide_integers_are_exact(self, dtype: str, big: int) -> None:
        a, e = np.array([big], dtype), np.array([big - 1], dtype)
        assert float(big) == float(big - 1)
        assert compare(a, e).largest_absolute == 1
        assert not compare(a, e).equal
        assert not compare(a, e, atol=0.99).equal
        assert compare(a, e, atol=1).equal
        assert compare(a, e, rtol=1e-18).equal  # 4.6 or 9.2 times 1e18

    def test_an_integer_tolerance_beyond_64_bits(self) -> None:
        a, e = np.array([0, 1 << 63], np.uint64), np.array([(1 << 64) - 1, 0], np.uint64)
        assert compare(a, e, atol=2.0**64).equal
        assert compare(a, e, atol=2.0**63).different == 1
        assert compare(a, e, atol=1e300).equal

    def test_large_integers_are_printed_in_full(self) -> None:
        low, high = np.array([-(1 << 63)]), np.array([(1 << 63) - 1])
        assert str(compare(low, high)).splitlines()[1].startswith("largest difference: 18446744073709551615 absolute, ")

    def test_differences_too_large_for_float64_never_pass(self) -> None:
        huge = np.array([1.7e308])
        report = compare(-huge, huge, rtol=1e300, atol=1e308)
        assert report.largest_absolute == math.inf
        assert not report.equal

    def test_bool(self) -> None:
        report = compare(np.array([True, False, True]), np.array([True, True, True]))
        assert (report.different, report.largest_absolute, report.largest_ulp) == (1, 1, 1)
        assert report.first[0] == Difference((1,), None, False, False, True)

    def test_complex_is_judged_part_by_part(self) -> None:
        e = np.array([1 + 2j, complex(math.nan, 1), complex(math.inf, math.nan), 5 + 6j], np.complex64)
        a = np.array([1 + 2.5j, complex(math.nan, 1), complex(math.inf, math.nan), 5 + 6j], np.complex64)
        report = compare(a, e)
        assert (report.different, report.largest_absolute, report.largest_relative) == (1, 0.5, 0.25)
        assert report.first[0].actual == 1 + 2.5j
        assert compare(a, e, atol=0.5).equal
        assert compare(np.array([1 + 0j]), np.array([1 + 3j]), rtol=1).equal
        assert not compare(np.array([1 + 3j]), np.array([1 + 0j]), rtol=1).equal


class TestTolerance:
    def test_the_limit_itself_passes(self) -> None:
        a, e = np.array([1.0, 1.25, 1.5, -0.75]), np.array([1.0, 1.0, 1.0, -1.0])
        report = compare(a, e, atol=0.25)
        assert (report.different, report.within_tolerance) == (1, 2)
        assert str(report).splitlines()[0] == "different: 1 of 4 elements of float64 (25.00%), 2 within tolerance"
        assert compare(a, e, rtol=0.25, atol=0.25).equal

    def test_relative_to_the_expected_value(self) -> None:
        a, e = np.array([100.0, 110.0]), np.array([110.0, 100.0])
        assert [d.index for d in compare(a, e, rtol=0.095).first] == [(1,)]

    @pytest.mark.parametrize("dtype", SMALL_FLOATS)
    def test_ulp_counts_the_values_between(self, dtype: str) -> None:
        values = all_values(dtype)
        with np.errstate(invalid="ignore"):  # signalling NaN
            numbers = values.astype(np.float64)
        finite = np.flatnonzero(np.isfinite(numbers))
        rank = {number: i for i, number in enumerate(sorted(set(numbers[finite])))}
        rng = np.random.default_rng(5)
        at, beside = rng.choice(finite, 400), rng.choice(finite, 400)
        expected = [abs(rank[numbers[i]] - rank[numbers[j]]) for i, j in zip(at, beside, strict=True)]
        for i, j, steps in zip(at, beside, expected, strict=True):
            report = compare(values[i : i + 1], values[j : j + 1])
            assert report.largest_ulp == steps
            assert report.equal == (steps == 0)
        for ulp in (0, 1, 3, max(expected)):
            report = compare(values[at], values[beside], ulp=ulp)
            assert report.different == sum(steps > ulp for steps in expected)
            assert report.within_tolerance == sum(0 < steps <= ulp for steps in expected)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_ulp_of_wide_floats(self, dtype: str) -> None:
        one = np.ones(1, dtype)
        next_one = np.nextafter(one, np.array(2, dtype))
        tiny = np.nextafter(np.zeros(1, dtype), one)
        assert compare(next_one, one).largest_ulp == 1
        assert compare(-tiny, tiny).largest_ulp == 2
        assert compare(next_one, one, ulp=1).equal
        whole = 2 * (0x7F7FFFFF if dtype == "float32" else 0x7FEFFFFFFFFFFFFF)
        assert compare(np.array([np.finfo(dtype).max]), np.array([np.finfo(dtype).min])).largest_ulp == whole

    @given(
        st.lists(st.tuples(st.floats(width=16), st.floats(width=16)), min_size=1, max_size=20),
        st.sampled_from([0.0, 1e-3, 0.5]),
        st.sampled_from([0.0, 1e-3, 100.0]),
    )
    def test_against_exact_fractions(self, pairs: list, rtol: float, atol: float) -> None:
        passing = 0
        for x, y in pairs:
            if math.isnan(x) or math.isnan(y):
                passing += math.isnan(x) and math.isnan(y)
            elif math.isinf(x) or math.isinf(y):
                passing += x == y
            else:
                passing += abs(Fraction(x) - Fraction(y)) <= Fraction(atol) + Fraction(rtol) * abs(Fraction(y))
        a, e = np.array(pairs, np.float16).T
        assert compare(a, e, rtol=rtol, atol=atol).different == len(pairs) - passing


class TestPlaces:
    def test_the_first_in_the_order_of_memory(self) -> None:
        e = np.zeros((300, 500), np.float32)
        a = e.copy()
        where = [(0, 3), (131, 36), (131, 37), (299, 499)]  # 131 * 500 + 36 is the end of the first slab
        for value, place in enumerate(where, 1):
            a[place] = value
        report = compare(a, e)
        assert report.different == 4
        assert report.first == tuple(Difference(p, None, False, float(v), 0.0) for v, p in enumerate(where, 1))
        assert compare(np.asfortranarray(a), np.asfortranarray(e)).first == report.first
        assert compare(a, e, max_shown=2).first == report.first[:2]
        assert str(compare(a, e, max_shown=2)).splitlines()[-1] == "and 2 more"
        assert compare(a, e, max_shown=0).first == ()

    def test_a_scalar(self) -> None:
        assert compare(np.float32(1), np.array(2, np.float32)).first[0].index == ()

    @pytest.mark.parametrize(
        ("fmt", "plain", "shape"),
        [(fmt, "ND", (2, 20, 18)) for fmt in oracle.MATRIX]
        + [(fmt, plain, (18, 3, 3, 5)) for fmt in oracle.CONV_4D for plain in ("NCHW", "NHWC") if "C04" not in fmt]
        + [(fmt, "NCHW", (18, 3, 3, 5)) for fmt in oracle.CONV_4D if "C04" in fmt]
        + [(fmt, plain, (18, 3, 2, 3, 5)) for fmt in oracle.CONV_5D for plain in ("NCDHW", "DHWCN")],
    )
    def test_storage_and_tensor(self, fmt: str, plain: str, shape: tuple) -> None:
        tensor = counting(shape, "int32") + 1
        expected = xa.trans_data(tensor, plain, fmt)
        size = tensor.size
        report = compare(expected + 1, expected, format=fmt, plain_format=plain, shape=shape, max_shown=expected.size)
        assert report.different == expected.size
        assert report.different_in_padding == expected.size - size
        assert len(report.first) == expected.size
        for difference in report.first:
            assert difference.in_padding == (expected[difference.index] == 0)
            if not difference.in_padding:
                assert tensor[difference.logical] == expected[difference.index]
                where = xa.locate(difference.logical, shape, plain, fmt, dtype="int32")
                assert where == difference.index
            else:
                assert difference.logical is None

    def test_groups(self) -> None:
        tensor = counting((6, 5, 2, 3), "int32") + 1
        expected = xa.trans_data(tensor, "NCHW", "FRACTAL_Z", groups=3)
        report = compare(expected * 2, expected, format="FRACTAL_Z", shape=tensor.shape, groups=3, max_shown=999)
        assert (report.different, report.different_in_padding) == (tensor.size, 0)
        assert all(tensor[d.logical] == d.expected for d in report.first)

    @pytest.mark.parametrize("make", [lambda y: y, np.ravel, lambda y: y.reshape(3, 2, 32, 16)])
    def test_flat_and_merged_arrays(self, make) -> None:
        tensor = counting((3, 20, 30), "int16") + 1
        expected = xa.nd_to_nz(tensor)
        actual = expected.copy()
        actual[1, 1, 1, 3, 13] = -1
        actual[2, 1, 1, 4, 0] = -2
        report = compare(make(actual), make(expected), format="NZ", shape=(3, 20, 30))
        assert [(d.logical, d.actual) for d in report.first] == [((1, 19, 29), -1), (None, -2)]
        assert [make(actual)[d.index] for d in report.first] == [-1, -2]

    def test_c0_of_flat_arrays(self) -> None:
        tensor = counting((16, 16), "float32")
        expected = xa.nd_to_nz(tensor, c0=8).reshape(-1)
        report = compare(expected + 1, expected, format="NZ", shape=(16, 16), c0=8, max_shown=256)
        assert all(tensor[d.logical] == d.expected for d in report.first)
        default = compare(expected + 1, expected, format="NZ", shape=(16, 16), max_shown=256)
        assert any(tensor[d.logical] != d.expected for d in default.first)

    def test_without_a_shape_padding_is_part_of_the_tensor(self) -> None:
        expected = xa.nd_to_nz(counting((20, 28), "float16"))
        report = compare(expected + np.float16(1000), expected, format=29, max_shown=1024)
        assert report.different_in_padding == 0
        assert report.first[-1].logical == (31, 31)

    def test_a_plain_format(self) -> None:
        x = counting((2, 3, 4, 5), "float32")
        report = compare(x + 1, x, format="NCHW", plain_format="NHWC", shape=(2, 4, 5, 3), max_shown=1)
        assert report.first[0].logical == (0, 0, 0, 0)
        report = compare(x + 1, x, format="NHWC", shape=(2, 3, 4, 5))
        assert all(d.index == d.logical for d in report.first)

    def test_text(self) -> None:
        expected = xa.nd_to_nz(np.ones((20, 28), np.int8))
        actual = expected.copy()
        actual[0, 1, 3, 27], actual[0, 1, 4, 0] = -128, 5
        assert str(compare(actual, expected, format="NZ", shape=(20, 28))).splitlines() == [
            "different: 2 of 1024 elements of int8 (0.20%), 1 in padding",
            "largest difference: 129 absolute, 129 relative, 129 ulp",
            "[0, 1, 3, 27] (element [19, 27]): -128, expected 1",
            "[0, 1, 4, 0] (padding): 5, expected 0",
        ]


class TestMismatch:
    def test_dtypes(self) -> None:
        report = compare(np.zeros(3, np.float16), np.zeros(3, ml_dtypes.bfloat16))
        assert report == Report("`actual` is float16, expected bfloat16", "bfloat16", (3,))
        assert str(report) == "different: `actual` is float16, expected bfloat16"

    def test_shapes(self) -> None:
        for shape in ((6,), (3, 2), (2, 3, 1), (), (0,)):
            report = compare(np.zeros(shape), np.zeros((2, 3)))
            assert not report.equal
            assert f"`actual` has the shape {shape}, expected (2, 3)" in report.reason
        assert not compare(np.zeros((0, 3)), np.zeros((3, 0))).equal


class TestErrors:
    @pytest.mark.parametrize(("bad", "kind"), [([1, 2], "list"), (1.0, "float"), (None, "NoneType"), ("x", "str")])
    def test_not_an_array(self, bad: object, kind: str) -> None:
        with pytest.raises(TypeError, match=rf"`actual` must be an array.*got {kind}"):
            compare(bad, np.zeros(2))
        with pytest.raises(TypeError, match=rf"`expected` must be an array.*got {kind}"):
            compare(np.zeros(2), bad)

    @pytest.mark.parametrize(("dtype", "text"), [("O", "object"), ("U3", "str"), ("M8[s]", "datetime64"), ("V2", "V2")])
    def test_refused_dtypes(self, dtype: str, text: str) -> None:
        x = np.zeros(2, dtype)
        for pair, name in (((x, x), "expected"), ((np.zeros(2), x), "expected"), ((x, np.zeros(2)), "actual")):
            with pytest.raises(TypeError, match=rf"`{name}` has dtype {text}"):
                compare(*pair)

    def test_another_device(self) -> None:
        torch = pytest.importorskip("torch", reason="torch is not installed")
        x = torch.zeros(2, device="meta")
        for pair, name in (((x, np.zeros(2)), "actual"), ((np.zeros(2), x), "expected")):
            with pytest.raises(TypeError, match=rf"`{name}` is torch on meta; arrays are compared on the CPU"):
                compare(*pair)

    @pytest.mark.parametrize("name", ["rtol", "atol"])
    @pytest.mark.parametrize("bad", [-1, -1e-9, math.nan, math.inf, pytest.param(10**400, id="10**400")])
    def test_tolerance_range(self, name: str, bad: float) -> None:
        with pytest.raises(ValueError, match=rf"`{name}` must be finite and at least 0, got {bad}"):
            compare(np.zeros(2), np.zeros(2), **{name: bad})

    @pytest.mark.parametrize("name", ["rtol", "atol"])
    @pytest.mark.parametrize("bad", ["1", None, True, 1j])
    def test_tolerance_type(self, name: str, bad: object) -> None:
        with pytest.raises(TypeError, match=rf"`{name}` must be a number, got"):
            compare(np.zeros(2), np.zeros(2), **{name: bad})

    @pytest.mark.parametrize(("name", "bad"), list(itertools.product(["ulp", "max_shown"], [-1, 1.5, True, "1"])))
    def test_counts(self, name: str, bad: object) -> None:
        with pytest.raises(ValueError, match=rf"`{name}` must be an integer of at least 0, got {bad!r}"):
            compare(np.zeros(2), np.zeros(2), **{name: bad})

    @pytest.mark.parametrize(
        "options", [{"shape": (1, 2)}, {"shape": np.ones(2, int)}, {"c0": 16}, {"groups": 2}, {"plain_format": "ND"}]
    )
    def test_a_storage_without_format(self, options: dict) -> None:
        with pytest.raises(ValueError, match="describe a storage `format`, which is missing"):
            compare(np.zeros(2), np.zeros(2), **options)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"format": "NY"}, "`format` 'NY' is not a known format"),
            ({"format": "NZ", "plain_format": "5HD"}, "`plain_format` must be a plain format, got NC1HWC0"),
            ({"format": "NZ", "plain_format": "xx"}, "`plain_format` 'xx' is not a known format"),
            ({"format": "NZ", "shape": (20, 60)}, r"`shape` \(20, 60\) in FRACTAL_NZ takes \(4, 2, 16, 16\), 2048"),
            ({"format": "NZ", "shape": (20,)}, "`shape` must have the axes"),
            ({"format": "NZ", "shape": 5}, "`shape` must be a sequence of integers"),
            ({"format": "NZ", "c0": 8}, "`c0` must be the last axis"),
            ({"format": "NZ", "c0": 0}, "`c0` must be an integer of at least 1"),
            ({"format": "NZ", "groups": 2}, "`groups` must be 1 unless"),
            ({"groups": np.ones(2)}, "`groups` must be an integer of at least 1"),
            ({"format": "5HD"}, "`actual` must have the axes"),
            ({"format": "ND", "shape": (32, 32), "c0": 4}, "`c0` must be left out between plain formats"),
        ],
    )
    def test_a_storage_that_does_not_fit(self, options: dict, text: str) -> None:
        x = np.zeros((2, 2, 16, 16), np.float16)
        with pytest.raises(ValueError, match=text):
            compare(x, x, **options)


def test_memory_is_bounded() -> None:
    e = xa.nd_to_nz(np.zeros((4096, 4000), np.float16))
    a = np.asfortranarray(e + np.float16(1))
    tracemalloc.start()
    try:
        report = compare(a, e, format="NZ", shape=(4096, 4000), rtol=0.5, ulp=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert report.different == e.size
    assert peak < 64 << 20


def test_inputs_stay_as_they_are() -> None:
    a, e = counting((40, 50), "float32"), counting((40, 50), "float32") + 1
    before = a.tobytes(), e.tobytes()
    compare(a, e, rtol=1)
    assert (a.tobytes(), e.tobytes()) == before

"""Properties of every conversion, on sizes, C0, groups and element sizes that Hypothesis draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import oracle
from hypothesis import given
from hypothesis import strategies as st
from libraries import assert_same_bits, counting, random_bits

import xascend as xa

DTYPES = ("bool", "int8", "float16", "bfloat16", "float32", "int64", "complex128", "float8_e5m2", "int4")


@dataclass(frozen=True)
class Case:
    """One conversion from a plain tensor."""

    plain: str
    fmt: str
    shape: tuple[int, ...]
    c0: int
    groups: int = 1

    @property
    def options(self) -> dict[str, int]:
        return {"c0": self.c0, "groups": self.groups}


def sizes(block: int, most: int = 40) -> st.SearchStrategy[int]:
    """Draw a size, mostly next to a multiple of `block`."""
    edges = [size for size in (0, 1, block - 1, block, block + 1, 2 * block, 2 * block + 1) if 0 <= size <= most]
    return st.one_of(st.sampled_from(edges), st.integers(0, most))


@st.composite
def cases(draw: st.DrawFn, formats: tuple[str, ...] = oracle.BLOCKED) -> Case:
    fmt = draw(st.sampled_from(formats))
    c0 = oracle.OWN_C0.get(fmt) or draw(st.sampled_from((1, 2, 3, 4, 5, 8, 16, 17, 32)))
    small = st.integers(0, 4)
    if fmt not in oracle.AXES:
        m_block = c0 if fmt == "FRACTAL_ZZ" else 16
        shape = (*draw(st.lists(small, max_size=2)), draw(sizes(m_block)), draw(sizes(c0)))
        return Case("ND", fmt, shape, c0)
    plain = draw(st.sampled_from(oracle.PLAIN_5D if fmt in oracle.CONV_5D else oracle.PLAIN_4D))
    groups = 1
    size = {
        "N": draw(sizes(16, 20)),
        "C": draw(sizes(c0, 34)),
        "D": draw(small),
        "H": draw(small),
        "W": draw(small),
    }
    if fmt == "FRACTAL_Z_C04":
        c0 = draw(st.sampled_from((4, 8, 12, 16, 32)))
        size["C"] = draw(st.integers(0, 4))
    if fmt == "FRACTAL_Z":
        groups = draw(st.integers(1, 6))
        size["N"] = groups * draw(st.integers(1, 9)) if groups > 1 else size["N"]
        size["C"] = max(1, size["C"]) if groups > 1 else size["C"]
    return Case(plain, fmt, tuple(size[axis] for axis in plain), c0, groups)


def to_blocked(case: Case, x: np.ndarray, **options: object) -> np.ndarray:
    return xa.trans_data(x, case.plain, case.fmt, **case.options, **options)


@given(cases(), st.sampled_from(DTYPES))
def test_equals_the_oracle(case: Case, dtype: str) -> None:
    x = random_bits(case.shape, dtype)
    expected = oracle.to_storage(x, case.fmt, axes=oracle.letters(case.plain), **case.options)
    assert_same_bits(to_blocked(case, x), expected)


@given(cases(), st.sampled_from(DTYPES))
def test_the_way_back_is_the_inverse(case: Case, dtype: str) -> None:
    x = random_bits(case.shape, dtype)
    y = to_blocked(case, x)
    assert_same_bits(xa.trans_data(y, case.fmt, case.plain, shape=case.shape, groups=case.groups), x)


@given(cases())
def test_forward_is_a_bijection_plus_padding(case: Case) -> None:
    x = counting(case.shape)
    y = to_blocked(case, x)
    assert np.array_equal(np.sort(y[y != 0]), x.ravel())
    padded = to_blocked(case, x, pad_value=4_000_000_000)
    assert np.array_equal(padded[y != 0], y[y != 0])
    assert (padded[y == 0] == 4_000_000_000).all()


@given(cases())
def test_aligned_means_no_padding(case: Case) -> None:
    if case.fmt == "C1HWNCoC0" or case.groups > 1 or 0 in case.shape:
        return  # off a diagonal there is always padding; with a size of zero nothing says what was padded
    storage = xa.storage_shape(case.shape, case.fmt, "int16", src_format=case.plain, **case.options)
    aligned = xa.is_aligned(case.shape, case.fmt, "int16", src_format=case.plain, **case.options)
    assert aligned == (np.prod(storage) == np.prod(case.shape))


@given(cases())
def test_storage_shape_and_nbytes_need_no_data(case: Case) -> None:
    y = to_blocked(case, counting(case.shape, "float16"))
    options = {"src_format": case.plain, **case.options}
    assert xa.storage_shape(case.shape, case.fmt, y.dtype, **options) == y.shape
    assert xa.storage_nbytes(case.shape, case.fmt, y.dtype, **options) == y.nbytes


@given(cases(), st.data())
def test_locate_agrees_with_the_data(case: Case, data: st.DataObject) -> None:
    x = counting(case.shape)
    if x.size == 0:
        return
    y = to_blocked(case, x)
    index = tuple(data.draw(st.integers(0, size - 1)) for size in case.shape)
    found = xa.locate(index, case.shape, case.plain, case.fmt, **case.options)
    assert y[found] == x[index]


@given(cases(oracle.MATRIX + oracle.NZ_C0), st.integers(0, 3))
def test_batch_axes_commute(case: Case, batch: int) -> None:
    x = counting((batch, *case.shape))
    whole = to_blocked(case, x)
    assert len(whole) == batch
    for i in range(batch):
        assert_same_bits(whole[i], to_blocked(case, x[i]))


@given(cases(("NC1HWC0", "NC1HWC0_C04", "NDC1HWC0")))
def test_images_of_a_batch_are_independent(case: Case) -> None:
    x = counting(case.shape)
    axis = case.plain.index("N")
    whole = to_blocked(case, x)
    for i in range(case.shape[axis]):
        one = x.take([i], axis=axis)
        assert_same_bits(whole[i : i + 1], to_blocked(case, one))


@given(cases(), st.integers(0, 2**32 - 1))
def test_any_strides_give_the_same_result(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(case.shape))
    base = counting(tuple(2 * case.shape[axis] + 1 for axis in order), "uint32")
    step = tuple(slice(1, None, 2) if flip else slice(-2, None, -2) for flip in rng.integers(0, 2, len(order)))
    view = base[step].transpose(np.argsort(order))
    assert view.shape == case.shape
    assert_same_bits(to_blocked(case, view), to_blocked(case, view.copy()))


@given(cases(), cases())
def test_blocked_to_blocked_is_the_same_as_through_plain(first: Case, second: Case) -> None:
    if oracle.AXES.get(first.fmt) != oracle.AXES.get(second.fmt) or first.groups > 1:
        return
    axes = oracle.AXES.get(first.fmt, "ND")
    options = {"c0": second.c0, "groups": 1}
    if second.fmt == "FRACTAL_Z_C04" and first.shape[first.plain.find("C")] > 4:
        return
    shape = tuple(first.shape[first.plain.index(axis)] for axis in axes) if axes != "ND" else first.shape
    x = random_bits(shape, "int16")
    y = xa.trans_data(x, axes, first.fmt, c0=first.c0)
    direct = xa.trans_data(y, first.fmt, second.fmt, shape=shape, **options)
    assert_same_bits(direct, xa.trans_data(x, axes, second.fmt, **options))

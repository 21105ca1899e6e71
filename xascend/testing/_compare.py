"""`compare`: two arrays held against each other, whatever their library and size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xascend._dispatch import array_dtype
from xascend._plan import as_size
from xascend.formats import Format
from xascend.testing._host import as_host_array
from xascend.testing._judge import Tolerance
from xascend.testing._places import make_storage
from xascend.testing._report import Report
from xascend.testing._tally import Tally, slabs

__all__ = ["compare"]

Array = Any
FormatLike = Format | str | int


def compare(
    actual: Array,
    expected: Array,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    ulp: int | None = None,
    format: FormatLike | None = None,  # noqa: A002 - what every other function and option calls it
    plain_format: FormatLike | None = None,
    shape: Sequence[int] | None = None,
    c0: int | None = None,
    groups: int = 1,
    max_shown: int = 10,
) -> Report:
    """Hold a result against what was expected, element by element in their own type.

    Two elements are equal if they are the same number or both NaN. So -0.0 equals 0.0, one NaN equals another
    whatever its payload, an infinity equals only itself; `Report.other_bits` counts elements that are equal in this
    sense and not bit for bit. Complex numbers are judged part by part.

    Elements that are not equal still pass if ``|actual - expected| <= atol + rtol * |expected|``, or if `ulp` is
    given and they are at most so many steps apart. An infinite difference never passes, NaN never passes for a number.

    Parameters
    ----------
    actual, expected
        Arrays of any library in the host's memory, and not necessarily of the same. Dask arrays are computed.
    rtol, atol
        Relative and absolute tolerance, finite and at least 0.
    ulp
        Tolerance in steps, at least 0: from one value of the element type to the next, for integers 1.
    format
        Storage format of the arrays. Every difference is then told in the tensor's own index too, or as padding.
        Padding is compared like everything else.
    plain_format
        Plain format in whose axes the tensor's own index is told and `shape` is given; by default NCHW, NCDHW or ND,
        as `format` has it.
    shape
        The tensor's own sizes. Left out, padding counts as part of the tensor. With it, the arrays may have the
        storage shape or any other of as many elements: flat, as a raw file is, or ATB's ``(batch, n1, m1*m0, n0)``.
    c0
        C0 of `format`; by default the last axis of the arrays, or that of the dtype where they are flat.
    groups
        Convolution groups of FRACTAL_Z.
    max_shown
        How many differences the report lists.

    Returns
    -------
    Report
        With `equal`, counts, the largest differences and the first places; it is true where `equal` is. Arrays of
        different shapes or element types are not equal, and `Report.reason` says so; byte order does not count.

    Raises
    ------
    TypeError
        An argument is no array, lies on another device than the CPU, or has a dtype that is not supported.
    ValueError
        A tolerance is negative, infinite or NaN, or the arrays cannot be in `format`.

    Notes
    -----
    Memory is bounded: slabs of 65536 elements are compared one after the other, and arrays are never copied whole.

    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> from xascend.testing import compare
    >>> expected = xa.nd_to_nz(np.arange(560, dtype=np.float16).reshape(20, 28))
    >>> actual = expected.copy()
    >>> actual[1, 1, 3, 11] += 1
    >>> actual[1, 1, 3, 12] = 7
    >>> report = compare(actual, expected, format="FRACTAL_NZ", shape=(20, 28))
    >>> report.equal, report.different, report.different_in_padding
    (False, 2, 1)
    >>> report.first[0].index, report.first[0].logical
    ((1, 1, 3, 11), (19, 27))
    >>> print(report)
    different: 2 of 1024 elements of float16 (0.20%), 1 in padding
    largest difference: 7 absolute, 0.00179 relative, 18176 ulp
    [1, 1, 3, 11] (element [19, 27]): 560.0, expected 559.0
    [1, 1, 3, 12] (padding): 7.0, expected 0.0
    """
    tolerance = Tolerance(
        _as_tolerance("rtol", rtol), _as_tolerance("atol", atol), None if ulp is None else as_size("ulp", ulp, 0)
    )
    max_shown, groups = as_size("max_shown", max_shown, 0), as_size("groups", groups)
    a, e = as_host_array("actual", actual), as_host_array("expected", expected)
    dtype, own = array_dtype(e, "expected"), array_dtype(a, "actual")
    is_described = groups != 1 or any(given is not None for given in (plain_format, shape, c0))
    if format is None and is_described:
        raise ValueError("`plain_format`, `shape`, `c0` and `groups` describe a storage `format`, which is missing")
    if own != dtype:
        return Report(f"`actual` is {own.name}, expected {dtype.name}", dtype.name, e.shape)
    if a.shape != e.shape:
        return Report(f"`actual` has the shape {a.shape}, expected {e.shape}", dtype.name, e.shape)
    storage = None if format is None else make_storage(e.shape, dtype, format, plain_format, shape, c0, groups)
    tally = Tally(tolerance, storage, e.shape, max_shown)
    for start, a_slab, e_slab in slabs(a, e):
        tally.add(start, a_slab, e_slab)
    return Report("", dtype.name, e.shape, e.size, **tally.found())


def _as_tolerance(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"`{name}` must be a number, got {type(value).__name__} {value!r}")
    try:
        tolerance = float(value)
    except OverflowError:  # an int beyond all float64
        tolerance = math.inf
    if not 0 <= tolerance < math.inf:
        raise ValueError(f"`{name}` must be finite and at least 0, got {value}")
    return tolerance

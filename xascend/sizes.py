"""What can be told of a conversion without any data: default C0, storage shapes and sizes, and where elements go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xascend._dtypes import resolve_dtype
from xascend._plan import Plan, as_shape, as_size, make_plan
from xascend.formats import DATA_BLOCK_BYTES, DEFAULT_C0, Format, as_format

__all__ = ["block_c0", "default_c0", "is_aligned", "locate", "storage_nbytes", "storage_shape"]

FormatLike = Format | str | int


def default_c0(dtype: Any, /) -> int:
    """Return the C0 that conversions take for a dtype where none is given.

    Parameters
    ----------
    dtype
        Dtype of any array library, or a name.

    Returns
    -------
    int
        64 elements for 4-bit types, 32 for 1-byte types, 16 for all wider ones.

    Raises
    ------
    TypeError
        The dtype is not supported.

    Notes
    -----
    These are the numbers of the graph engine's format tables. For 4-byte types the documents disagree ("Key fractal
    formats" says 32 bytes, thus 8 elements): see `block_c0`, and pass `c0` where it matters.

    Examples
    --------
    >>> import xascend as xa
    >>> xa.default_c0("int8"), xa.default_c0("float32")
    (32, 16)
    """
    return DEFAULT_C0[resolve_dtype(dtype).bits]


def block_c0(dtype: Any, /) -> int:
    """Return the hardware's own C0: how many elements fill a data block of 32 bytes.

    Parameters
    ----------
    dtype
        Dtype of any array library, or a name.

    Returns
    -------
    int
        Elements per 32 bytes, 4-bit types counted two to a byte.

    Raises
    ------
    TypeError
        The dtype is not supported.

    Notes
    -----
    Source: "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import xascend as xa
    >>> xa.block_c0("int8"), xa.block_c0("float32")
    (32, 8)
    """
    return DATA_BLOCK_BYTES * 8 // resolve_dtype(dtype).bits


def storage_shape(
    shape: Sequence[int],
    dst_format: FormatLike,
    dtype: Any,
    *,
    src_format: FormatLike | None = None,
    c0: int | None = None,
    groups: int = 1,
) -> tuple[int, ...]:
    """Return the shape that a tensor has in a format.

    Parameters
    ----------
    shape
        The tensor's own sizes, in the axes of `src_format`.
    dst_format
        Format to store it in.
    dtype
        Dtype of any array library, or a name.
    src_format
        Format in whose plain axes `shape` is given; by default those of `dst_format`: NCHW, NCDHW,
        ``(*batch, m, n)``, or its own where it is plain.
    c0
        Block of the channel (or column) axis; by default `default_c0`.
    groups
        Convolution groups of FRACTAL_Z.

    Returns
    -------
    tuple of int
        The storage shape.

    Raises
    ------
    TypeError
        The dtype is not supported.
    ValueError
        A format, size, C0 or group count does not fit.

    Notes
    -----
    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import xascend as xa
    >>> xa.storage_shape((48, 512, 5, 5), "FRACTAL_Z", "float32")
    (800, 3, 16, 16)
    >>> xa.storage_shape((8, 5, 5, 512), "NC1HWC0", "float16", src_format="NHWC")
    (8, 32, 5, 5, 16)
    """
    return _plan_of_shape(shape, dst_format, dtype, src_format, c0, groups).dst_shape


def storage_nbytes(
    shape: Sequence[int],
    dst_format: FormatLike,
    dtype: Any,
    *,
    src_format: FormatLike | None = None,
    c0: int | None = None,
    groups: int = 1,
) -> int:
    """Return the bytes of the array that holds a tensor in a format.

    Parameters
    ----------
    shape, dst_format, dtype, src_format, c0, groups
        As in `storage_shape`.

    Returns
    -------
    int
        Bytes of the array; the 4-bit types of ml_dtypes take one byte per element.

    Raises
    ------
    TypeError, ValueError
        As in `storage_shape`.

    Notes
    -----
    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import xascend as xa
    >>> xa.storage_nbytes((20, 28), "FRACTAL_NZ", "float16")
    2048
    """
    plan = _plan_of_shape(shape, dst_format, dtype, src_format, c0, groups)
    return math.prod(plan.dst_shape) * resolve_dtype(dtype).itemsize


def is_aligned(
    shape: Sequence[int],
    dst_format: FormatLike,
    dtype: Any,
    *,
    src_format: FormatLike | None = None,
    c0: int | None = None,
    groups: int = 1,
) -> bool:
    """Say whether a tensor fills whole blocks of a format, so that nothing is padded.

    Parameters
    ----------
    shape, dst_format, dtype, src_format, c0, groups
        As in `storage_shape`.

    Returns
    -------
    bool
        True where ``trans_data(..., strict=True)`` would convert.

    Raises
    ------
    TypeError, ValueError
        As in `storage_shape`.

    Notes
    -----
    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import xascend as xa
    >>> xa.is_aligned((32, 32), "NZ", "int8"), xa.is_aligned((16, 360), "NZ", "float16")
    (True, False)
    """
    return not _plan_of_shape(shape, dst_format, dtype, src_format, c0, groups).unaligned


def locate(
    index: Sequence[int],
    shape: Sequence[int],
    src_format: FormatLike | None,
    dst_format: FormatLike,
    *,
    dtype: Any = None,
    c0: int | None = None,
    groups: int = 1,
) -> tuple[int, ...]:
    """Return where one element goes: ``trans_data(x, ...)[locate(index, ...)] == x[index]``.

    Parameters
    ----------
    index
        Index of the element in the source array, every entry in ``[0, size)``. For a plain source that is the
        tensor's own index, for a blocked source the storage index.
    shape
        The tensor's own sizes, in the axes that `trans_data` takes them in.
    src_format, dst_format
        Formats; None as source means the plain axes of `dst_format`.
    dtype
        Dtype of any array library, or a name; it chooses the C0 where `c0` does not.
    c0
        C0 of the destination, or of the source where the destination is plain.
    groups
        Convolution groups of a FRACTAL_Z side.

    Returns
    -------
    tuple of int
        Index in the destination array.

    Raises
    ------
    TypeError
        The dtype is not supported.
    ValueError
        A format, size or index does not fit, the index is padding, or neither `dtype` nor `c0` tells the C0.

    Notes
    -----
    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import xascend as xa
    >>> xa.locate((19, 27), (20, 28), "ND", "FRACTAL_NZ", dtype="float16")
    (1, 1, 3, 11)
    >>> xa.locate((1, 1, 3, 11), (20, 28), "FRACTAL_NZ", "ND", dtype="float16")
    (19, 27)
    """
    dst = as_format("dst_format", dst_format)
    src = dst.plain if src_format is None else as_format("src_format", src_format)
    if dtype is None and c0 is None and any(fmt.is_blocked and not fmt.layout.fixed_c0 for fmt in (src, dst)):
        raise ValueError("`locate` needs `dtype` or `c0` to know the C0, got neither")
    bits = 8 if dtype is None else resolve_dtype(dtype).bits
    sizes, groups = as_shape("shape", shape), as_size("groups", groups)
    given = None if c0 is None else as_size("c0", c0)
    dst_c0 = given if dst.is_blocked else None
    src_shape = sizes
    if src.is_blocked:
        plain = src.plain if dst.is_blocked else dst
        src_c0 = None if src.layout.fixed_c0 or (dst.is_blocked and dtype is not None) else given
        src_shape = make_plan(
            plain, src, sizes, None, bits, src_c0, groups if src.layout.grouped else 1, "shape"
        ).dst_shape
    plan = make_plan(src, dst, src_shape, sizes if src.is_blocked else None, bits, dst_c0, groups, "shape")
    return plan.locate(as_shape("index", index))


def _plan_of_shape(
    shape: Sequence[int],
    dst_format: FormatLike,
    dtype: Any,
    src_format: FormatLike | None,
    c0: int | None,
    groups: int,
) -> Plan:
    dst = as_format("dst_format", dst_format)
    src = (dst if src_format is None else as_format("src_format", src_format)).plain
    sizes = as_shape("shape", shape)
    bits = resolve_dtype(dtype).bits
    given = None if c0 is None else as_size("c0", c0)
    return make_plan(src, dst, sizes, None, bits, given, as_size("groups", groups), "shape")

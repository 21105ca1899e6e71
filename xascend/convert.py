"""Whole-tensor conversion between storage formats: `trans_data` and the named pairs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from xascend._dispatch import array_dtype, array_namespace, array_shape, require_output
from xascend._dtypes import DType, as_element, numpy_dtype, resolve_dtype
from xascend._execute import execute
from xascend._plan import Plan, as_shape, as_size, make_plan
from xascend._resolve import check_padded
from xascend.formats import Format, as_format

__all__ = [
    "nc1hwc0_to_nchw",
    "nc1hwc0_to_nhwc",
    "nchw_to_nc1hwc0",
    "nd_to_nz",
    "nhwc_to_nc1hwc0",
    "npu_format_cast",
    "nz_to_nd",
    "trans_data",
]

Array = Any
FormatLike = Format | str | int


def trans_data(
    x: Array,
    src_format: FormatLike,
    dst_format: FormatLike,
    /,
    *,
    shape: Sequence[int] | None = None,
    c0: int | None = None,
    groups: int = 1,
    pad_value: complex = 0,
    strict: bool = False,
    out: Array | None = None,
) -> Array:
    """Convert a tensor from one storage format to another, bit for bit.

    Elements are moved and never computed with, so NaN payloads, negative zeros and every bfloat16, float8 or 4-bit
    value survive. `x` is never changed.

    Parameters
    ----------
    x
        Array of any array-API library (NumPy, CuPy, PyTorch, JAX, Dask), with any strides, at least 2 axes.
    src_format, dst_format
        `Format` members, names in the usual spellings, or aclFormat numbers. ND, FRACTAL_NZ and FRACTAL_ZZ speak of
        ``(*batch, m, n)``; paired with a convolution format they take that format's plain axes as they lie, so that
        NC1HWC0 to FRACTAL_NZ makes FRACTAL_NZ of the NCHW tensor, with m = H and n = W. A 2-D tensor paired with
        FRACTAL_Z is ``(C, N)``, channels first, with H = W = 1, as the graph engine takes it.
    shape
        The tensor's own sizes, which padding hides: in the axes of a plain destination, otherwise in the plain axes
        of the source (NCHW, NCDHW, or ``(*batch, m, n)``). Left out, padding counts as part of the tensor.
        FRACTAL_Z, FRACTAL_Z_C04 and FRACTAL_Z_3D merge axes and cannot do without.
    c0
        Block of the channel (or column) axis of the destination, in elements; by default `default_c0` of the dtype.
        A blocked source shows its own C0 as its last axis.
    groups
        Convolution groups of a FRACTAL_Z side; C is then the number of channels per group, N counts all outputs.
    pad_value
        What padding of the destination holds.
    strict
        Refuse sizes that are not whole blocks instead of padding them.
    out
        Array to write into: same library, device, dtype and shape as the result, of any strides, apart from `x`.
        The fast way where several tensors of one size follow each other, because the system has to clear the memory
        of a new array first. Best is an array that xascend returned, such as the result before: C-contiguous, and
        with the native library at a multiple of 64 bytes.

    Returns
    -------
    array
        A new C-contiguous array of the same library, device and dtype, or `out`. Dask arrays are converted lazily,
        chunk by chunk.

    Raises
    ------
    TypeError
        `x` is not a plain dense array, its dtype is not supported, or `out` lies elsewhere or has another dtype.
    ValueError
        A format, size, C0 or group count does not fit; the message names the argument and what would be accepted.

    Notes
    -----
    Converting a blocked array once more as if it were plain cannot be noticed from its shape; files written by
    ``xascend convert`` carry their format and are protected.

    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> x = np.arange(20 * 28, dtype=np.float16).reshape(20, 28)
    >>> y = xa.trans_data(x, "ND", "FRACTAL_NZ")
    >>> y.shape, float(y[1, 1, 3, 11])
    ((2, 2, 16, 16), 559.0)
    >>> np.array_equal(xa.trans_data(y, "FRACTAL_NZ", "ND", shape=(20, 28)), x)
    True
    >>> for step in range(3):  # one buffer for all
    ...     y is xa.trans_data(x + step, "ND", "FRACTAL_NZ", out=y)
    True
    True
    True
    """
    xp = array_namespace("x", x)
    src, dst = as_format("src_format", src_format), as_format("dst_format", dst_format)
    shape = None if shape is None else as_shape("shape", shape)
    c0 = None if c0 is None else as_size("c0", c0)
    groups = as_size("groups", groups)
    if isinstance(x, np.ndarray):
        dtype = x.dtype
        plan = _plan_for_numpy(src, dst, x.shape, shape, dtype, c0, groups)
    else:
        dtype = numpy_dtype(x.dtype)
        plan = _plan_for(src, dst, array_shape("x", x), shape, array_dtype(x), c0, groups)
    if strict:
        plan.require_aligned()
    element = as_element("pad_value", pad_value, dtype)
    if out is not None:
        require_output("x", x, x.dtype, plan.dst_shape, out)
    return execute(plan, x, xp, element, out)


def _plan_for(
    src: Format,
    dst: Format,
    src_shape: tuple[int, ...],
    shape: tuple[int, ...] | None,
    dtype: DType,
    c0: int | None,
    groups: int,
) -> Plan:
    plan = make_plan(src, dst, src_shape, shape, dtype.bits, c0, groups)
    plan.require_addressable(dtype.itemsize)
    return plan


# Beside large arrays the interpreter's own data leave the caches, and each function that is called has to come back.
@functools.lru_cache(maxsize=1024)
def _plan_for_numpy(
    src: Format,
    dst: Format,
    src_shape: tuple[int, ...],
    shape: tuple[int, ...] | None,
    dtype: np.dtype[Any],
    c0: int | None,
    groups: int,
) -> Plan:
    return _plan_for(src, dst, src_shape, shape, resolve_dtype(dtype, "x"), c0, groups)


def nd_to_nz(
    x: Array,
    /,
    *,
    c0: int | None = None,
    pad_value: complex = 0,
    strict: bool = False,
    out: Array | None = None,
) -> Array:
    """Convert ND ``(*batch, m, n)`` to FRACTAL_NZ ``(*batch, n1, m1, 16, c0)``.

    Parameters
    ----------
    x
        Array of at least 2 axes.
    c0
        Columns per block; by default `default_c0` of the dtype.
    pad_value, strict, out
        As in `trans_data`.

    Returns
    -------
    array
        With ``n1 = ceil(n / c0)`` and ``m1 = ceil(m / 16)``.

    Raises
    ------
    TypeError, ValueError
        As in `trans_data`.

    Notes
    -----
    Formats: "Key fractal formats" in the Ascend C developer guide. The 4-D form of ATB is `atb.transdata`.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> xa.nd_to_nz(np.ones((16, 360), np.float16)).shape
    (23, 1, 16, 16)
    """
    return trans_data(x, Format.ND, Format.FRACTAL_NZ, c0=c0, pad_value=pad_value, strict=strict, out=out)


def nz_to_nd(x: Array, /, shape: Sequence[int] | None = None, *, out: Array | None = None) -> Array:
    """Convert FRACTAL_NZ ``(*batch, n1, m1, 16, c0)`` to ND ``(*batch, m, n)``.

    Parameters
    ----------
    x
        Array of at least 4 axes; c0 is read off the last.
    shape
        The last two sizes ``(m, n)`` or the whole shape; by default padding counts as part of the tensor.
    out
        Array to write into, as in `trans_data`.

    Returns
    -------
    array
        Of shape ``(*batch, m, n)``.

    Raises
    ------
    TypeError, ValueError
        As in `trans_data`; m must lie in ``(16 * (m1 - 1), 16 * m1]``, n in ``(c0 * (n1 - 1), c0 * n1]``.

    Notes
    -----
    Formats: "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> y = xa.nd_to_nz(np.arange(12, dtype=np.int8).reshape(3, 4))
    >>> xa.nz_to_nd(y, (3, 4))[2]
    array([ 8,  9, 10, 11], dtype=int8)
    """
    if shape is not None:
        shape = as_shape("shape", shape)
        if len(shape) == 2:
            shape = (*getattr(x, "shape", ())[:-4], *shape)
    return trans_data(x, Format.FRACTAL_NZ, Format.ND, shape=shape, out=out)


def nchw_to_nc1hwc0(
    x: Array,
    /,
    *,
    c0: int | None = None,
    pad_value: complex = 0,
    strict: bool = False,
    out: Array | None = None,
) -> Array:
    """Convert NCHW ``(n, c, h, w)`` to NC1HWC0 ``(n, c1, h, w, c0)``, also called 5HD.

    Parameters
    ----------
    x
        Array of 4 axes.
    c0
        Channels per block; by default `default_c0` of the dtype.
    pad_value, strict, out
        As in `trans_data`.

    Returns
    -------
    array
        With ``c1 = ceil(c / c0)``.

    Raises
    ------
    TypeError, ValueError
        As in `trans_data`.

    Notes
    -----
    Formats: "Data formats" in the Ascend C developer guide; "TransDataTo5HD" does it on the device.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> xa.nchw_to_nc1hwc0(np.ones((2, 22, 4, 4), np.float32)).shape
    (2, 2, 4, 4, 16)
    """
    return trans_data(x, Format.NCHW, Format.NC1HWC0, c0=c0, pad_value=pad_value, strict=strict, out=out)


def nc1hwc0_to_nchw(x: Array, /, channels: int | None = None, *, out: Array | None = None) -> Array:
    """Convert NC1HWC0 ``(n, c1, h, w, c0)`` to NCHW ``(n, channels, h, w)``.

    Parameters
    ----------
    x
        Array of 5 axes; c0 is read off the last.
    channels
        The tensor's own channels, in ``(c0 * (c1 - 1), c0 * c1]``; by default ``c0 * c1``.
    out
        Array to write into, as in `trans_data`.

    Returns
    -------
    array
        Of shape ``(n, channels, h, w)``.

    Raises
    ------
    TypeError, ValueError
        As in `trans_data`.

    Notes
    -----
    Formats: "Data formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> y = xa.nchw_to_nc1hwc0(np.ones((1, 22, 4, 4), np.float16))
    >>> xa.nc1hwc0_to_nchw(y, 22).shape
    (1, 22, 4, 4)
    """
    return _from_nc1hwc0(x, Format.NCHW, channels, out)


def nhwc_to_nc1hwc0(
    x: Array,
    /,
    *,
    c0: int | None = None,
    pad_value: complex = 0,
    strict: bool = False,
    out: Array | None = None,
) -> Array:
    """Convert NHWC ``(n, h, w, c)`` to NC1HWC0 ``(n, c1, h, w, c0)``, also called 5HD.

    Parameters
    ----------
    x
        Array of 4 axes.
    c0
        Channels per block; by default `default_c0` of the dtype.
    pad_value, strict, out
        As in `trans_data`.

    Returns
    -------
    array
        With ``c1 = ceil(c / c0)``.

    Raises
    ------
    TypeError, ValueError
        As in `trans_data`.

    Notes
    -----
    Formats: "Data formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> xa.nhwc_to_nc1hwc0(np.ones((2, 4, 4, 22), np.int8)).shape
    (2, 1, 4, 4, 32)
    """
    return trans_data(x, Format.NHWC, Format.NC1HWC0, c0=c0, pad_value=pad_value, strict=strict, out=out)


def nc1hwc0_to_nhwc(x: Array, /, channels: int | None = None, *, out: Array | None = None) -> Array:
    """Convert NC1HWC0 ``(n, c1, h, w, c0)`` to NHWC ``(n, h, w, channels)``.

    Parameters
    ----------
    x
        Array of 5 axes; c0 is read off the last.
    channels
        The tensor's own channels, in ``(c0 * (c1 - 1), c0 * c1]``; by default ``c0 * c1``.
    out
        Array to write into, as in `trans_data`.

    Returns
    -------
    array
        Of shape ``(n, h, w, channels)``.

    Raises
    ------
    TypeError, ValueError
        As in `trans_data`.

    Notes
    -----
    Formats: "Data formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> y = xa.nhwc_to_nc1hwc0(np.ones((1, 4, 4, 22), np.float16))
    >>> xa.nc1hwc0_to_nhwc(y, channels=22).shape
    (1, 4, 4, 22)
    """
    return _from_nc1hwc0(x, Format.NHWC, channels, out)


def _from_nc1hwc0(x: Array, dst: Format, channels: int | None, out: Array | None) -> Array:
    shape = None
    stored: tuple[int, ...] = tuple(getattr(x, "shape", ()))
    if channels is not None and len(stored) == 5:
        n, c1, h, w, c0 = stored
        channels = as_size("channels", channels, 0)
        check_padded("`channels`", channels, c1 * c0, c0)
        shape = (n, channels, h, w) if dst is Format.NCHW else (n, h, w, channels)
    return trans_data(x, Format.NC1HWC0, dst, shape=shape, out=out)


def npu_format_cast(x: Array, acl_format: FormatLike, /, *, c0: int | None = None) -> Array:
    """Convert a plain tensor to the storage format that a number names, as ``torch_npu.npu_format_cast`` does.

    Parameters
    ----------
    x
        ND tensor ``(*batch, m, n)`` for matrix formats, NCHW or NCDHW for convolution formats; for FRACTAL_Z also
        ``(C, N)``, channels first.
    acl_format
        aclFormat number (29 is FRACTAL_NZ, 3 NC1HWC0, 4 FRACTAL_Z, ...), name or `Format`.
    c0
        Block of the channel (or column) axis; by default `default_c0` of the dtype. torch_npu itself takes 16
        columns per block for 8-bit NC1HWC0 and FRACTAL_Z, where the default here is 32.

    Returns
    -------
    array
        The storage as an array of its own shape; torch_npu hides it behind the plain shape.

    Raises
    ------
    TypeError, ValueError
        As in `trans_data`.

    Notes
    -----
    Source: "npu_format_cast" in the Ascend Extension for PyTorch reference.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> xa.npu_format_cast(np.ones((18, 34), np.float32), 29).shape
    (3, 2, 16, 16)
    """
    fmt = as_format("acl_format", acl_format)
    if not fmt.is_blocked and fmt not in (Format.ND, Format.NCHW, Format.NCDHW):
        raise ValueError(
            f"`acl_format` must be a blocked format, or ND, NCHW or NCDHW as `x` is; for {fmt.value} use trans_data, "
            "which is told the axes of `x`"
        )
    return trans_data(x, Format.ND, fmt, c0=c0)

"""Mmad: the product of two matrices of fractals, from L0A and L0B to L0C."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import array_api_compat as compat
import numpy as np

from xascend._dispatch import array_dtype, array_namespace, require_same_place
from xascend._ranges import require_in_range
from xascend.ascendc._cube import (
    ALIGN_L0AB,
    ALIGN_L0C,
    elements_in,
    require_aligned,
    require_params,
    require_room,
    require_separate,
)
from xascend.ascendc._memory import BLOCK, require_buffer, require_like, require_writable

__all__ = ["MmadParams", "mmad"]

_SIDE = 16  # rows of a fractal of A, columns of one of B, both of one of C

# Types of A and B, and the type that they accumulate in.
_RESULTS = {"float16": "float32", "bfloat16": "float32", "int8": "int32"}


@dataclass(frozen=True, slots=True)
class MmadParams:
    """Sizes of the matrices of `mmad`, in the vendor's order and with its defaults.

    The vendor's structure goes on with a bias, an initial value of C, and switches for sparse matrices and for
    running side by side with Fixpipe; none of them is emulated.

    Parameters
    ----------
    m, n, k : int, default 0
        A is m x k, B is k x n, C is m x n: the real sizes, which need not fill the last fractals, 0 to 4095. 0
        does nothing.

    Raises
    ------
    TypeError
        If a number is not an int.
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.MmadParams(32, 16, 32)
    MmadParams(m=32, n=16, k=32)
    """

    m: int = 0
    n: int = 0
    k: int = 0

    def __post_init__(self) -> None:
        require_in_range("m", self.m, 0, 4095)
        require_in_range("n", self.n, 0, 4095)
        require_in_range("k", self.k, 0, 4095)


def mmad(dst: Any, a: Any, b: Any, params: MmadParams) -> Any:
    """Multiply A by B and write the product over C, in place, as Mmad does.

    Half precision and bfloat16 accumulate in float32, int8 in int32. With ``k0`` = 32 bytes of elements and
    ``m1``, ``n1``, ``k1`` the number of blocks of 16 rows, 16 columns and `k0` that the sizes begin, element
    ``(i, p)`` of A is ``a[i // 16, p // k0, i % 16, p % k0]``, ``(p, j)`` of B is
    ``b[p // k0, j // 16, j % 16, p % k0]`` and ``(i, j)`` of C ``dst[j // 16, i // 16, i % 16, j % 16]``, in the
    shapes below.

    Parameters
    ----------
    dst : array, shape ``(n1 * m1 * 16 * 16 or more,)``
        L0C, fractals of C in the order Nz, float32 or int32; begins at a multiple of 1024 bytes. Written in
        place: only C's m x n elements, the rest of the last fractals keeps what it held.
    a : array, shape ``(m1 * k1 * 16 * k0 or more,)``
        L0A, fractals of A in the order Zz, float16, bfloat16 or int8; begins at a multiple of 512 bytes. What
        lies beyond m and k is not looked at.
    b : array, shape ``(k1 * n1 * 16 * k0 or more,)``
        L0B, fractals of B in the order Zn, of the dtype of `a`; begins at a multiple of 512 bytes. What lies
        beyond n and k is not looked at.
    params : MmadParams
        Sizes.

    Returns
    -------
    array
        `dst`.

    Warns
    -----
    UserWarning
        If `params.m`, `params.n` or `params.k` is 0: nothing happens, and no other argument is looked at.

    Raises
    ------
    TypeError
        If an argument is no array of NumPy, PyTorch or CuPy, they are of different libraries or devices, or the
        dtypes are no combination above.
    ValueError
        If an array is not 1-D and contiguous, is too short, not aligned, read-only or requires grad, or `dst`
        shares memory with another. Nothing is written then.

    Notes
    -----
    Source: "Mmad", Ascend C API.

    - No document gives the order in which the hardware adds. Here the k products of an element are added one
      after another, p = 0 first, each sum rounded to float32, so that all libraries give the same bits (payloads of
      NaN aside). A product of two half-precision numbers is exact in float32, and so is every sum of them that
      fits in 24 bits of a common unit (integers up to 2**24, for instance); only other sums depend on the order.
    - Infinities and NaN stay, as in the mode of the hardware that does not saturate.
    - int8 cannot overflow: 4095 products of at most 2**14 stay below 2**26.
    - Alignment of L0C: 64 bytes in the general constraints and for Fixpipe, 1024 on the page of Mmad, which
      holds here.
    - With m = 1 the hardware reads A as a plain row of k elements (its GEMV mode, which the 950 series can
      switch off). Here A is made of fractals for every m; the two agree up to k = k0.
    - float32 and unsigned 8-bit operands, which some products take, are not offered.

    Examples
    --------
    >>> import numpy as np
    >>> from xascend import ascendc
    >>> a = np.zeros((1, 1, 16, 16), np.float16)
    >>> b = np.zeros((1, 1, 16, 16), np.float16)
    >>> a[0, 0, :2, :3] = [[1, 2, 3], [4, 5, 6]]
    >>> b[0, 0, :2, :3] = [[1, 0, 1], [0, 10, 0]]
    >>> l0c = np.zeros(256, np.float32)
    >>> c = ascendc.mmad(l0c, a.reshape(-1), b.reshape(-1), ascendc.MmadParams(2, 2, 3))
    >>> c.reshape(16, 16)[:2, :2]
    array([[ 4., 20.],
           [10., 50.]], dtype=float32)
    """
    require_params(params, MmadParams)
    m, n, k = int(params.m), int(params.n), int(params.k)
    for name, size in (("m", m), ("n", n), ("k", k)):
        if size == 0:
            warnings.warn(f"`{name}` is 0: nothing is computed", UserWarning, stacklevel=2)
            return dst
    k0 = _require_types(dst, a, b)
    m1, n1, k1 = -(-m // _SIDE), -(-n // _SIDE), -(-k // k0)
    sizes = {"dst": n1 * m1 * _SIDE * _SIDE, "a": m1 * k1 * _SIDE * k0, "b": k1 * n1 * _SIDE * k0}
    for name, x in (("dst", dst), ("a", a), ("b", b)):
        require_aligned(name, x, ALIGN_L0C if name == "dst" else ALIGN_L0AB)
        require_room(name, x, sizes[name])
    require_separate(dst[: sizes["dst"]], "a", a[: sizes["a"]])
    require_separate(dst[: sizes["dst"]], "b", b[: sizes["b"]])

    xp = array_namespace("a", a)
    blocks_a = a[: sizes["a"]].reshape(m1, k1, _SIDE, k0)
    blocks_b = b[: sizes["b"]].reshape(k1, n1, _SIDE, k0)
    matrix_a = xp.permute_dims(blocks_a, (0, 2, 1, 3)).reshape(m1 * _SIDE, k1 * k0)[:m, :k]
    matrix_b = xp.permute_dims(blocks_b, (0, 3, 1, 2)).reshape(k1 * k0, n1 * _SIDE)[:k, :n]
    product = _product(xp, matrix_a, matrix_b, getattr(xp, array_dtype(dst, "dst").name))

    column_blocks = dst[: sizes["dst"]].reshape(n1, m1 * _SIDE, _SIDE)
    whole = n // _SIDE
    full = product[:, : whole * _SIDE].reshape(m, whole, _SIDE)
    column_blocks[:whole, :m] = xp.permute_dims(full, (1, 0, 2))
    if n % _SIDE:
        column_blocks[whole, :m, : n % _SIDE] = product[:, whole * _SIDE :]
    return dst


def _require_types(dst: Any, a: Any, b: Any) -> int:
    """Check the three arrays but for their sizes, and return k0."""
    for name, x in (("dst", dst), ("a", a), ("b", b)):
        require_buffer(name, x)
    require_same_place("dst", dst, "a", a)
    require_like("a", a, "b", b)
    require_writable("dst", dst)
    operand = array_dtype(a)
    if operand.name not in _RESULTS:
        raise TypeError(f"`a` must be one of {', '.join(_RESULTS)}, got {operand.name}")
    result = array_dtype(dst, "dst").name
    if result != _RESULTS[operand.name]:
        raise TypeError(f"`dst` must be {_RESULTS[operand.name]} for operands of {operand.name}, got {result}")
    return elements_in(BLOCK, operand)


def _product(xp: Any, a: Any, b: Any, dtype: Any) -> Any:
    """Return the product of two matrices, accumulated in `dtype` in the order of their common axis."""
    a, b = xp.astype(a, dtype), xp.astype(b, dtype)
    total = xp.zeros((a.shape[0], b.shape[1]), dtype=dtype, device=compat.device(a))
    with np.errstate(all="ignore"):  # infinities and NaN are values here, not accidents
        for step in range(a.shape[1]):
            total += a[:, step : step + 1] * b[step]
    return total

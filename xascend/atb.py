"""ATB's TransdataOperation: ND <-> FRACTAL_NZ in the 4-D form, rows of blocks merged: ``(batch, n1, m1*m0, n0)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from xascend._dispatch import array_dtype, array_namespace
from xascend._plan import as_shape, as_size
from xascend._resolve import check_padded
from xascend.convert import trans_data
from xascend.formats import DEFAULT_C0, Format

__all__ = ["TransdataParam", "TransdataType", "transdata"]

Array = Any
_DTYPES = ("float16", "bfloat16", "int8")
_M0 = 16


class TransdataType(IntEnum):
    """Direction of `transdata`, with the vendor's numbers.

    MindSpore's ``ms_custom_ops.trans_data`` numbers the same directions 0 and 1.

    Examples
    --------
    >>> from xascend import atb
    >>> int(atb.TransdataType.ND_TO_FRACTAL_NZ)
    2
    """

    UNDEFINED = 0
    FRACTAL_NZ_TO_ND = 1
    ND_TO_FRACTAL_NZ = 2


@dataclass(frozen=True, slots=True)
class TransdataParam:
    """Parameters of `transdata`, in the vendor's order and with its defaults.

    Parameters
    ----------
    transdata_type
        Direction (``transdataType``); UNDEFINED is refused by `transdata`.
    out_crops
        ``(m, n)`` of the ND tensor (``outCrops``), used from FRACTAL_NZ to ND only.

    Raises
    ------
    ValueError
        `transdata_type` is no `TransdataType`, or `out_crops` is not two integers of at least 0.

    Notes
    -----
    Source: "TransdataOperation" in the ATB reference.

    Examples
    --------
    >>> from xascend import atb
    >>> atb.TransdataParam(atb.TransdataType.FRACTAL_NZ_TO_ND, (10, 20)).out_crops
    (10, 20)
    """

    transdata_type: TransdataType = TransdataType.UNDEFINED
    out_crops: Sequence[int] = (0, 0)

    def __post_init__(self) -> None:
        """Check and normalise both fields."""
        try:
            kind = TransdataType(as_size("transdata_type", self.transdata_type, 0))
        except ValueError:
            known = ", ".join(f"{kind.name} {kind.value}" for kind in TransdataType)
            raise ValueError(f"`transdata_type` must be one of {known}, got {self.transdata_type!r}") from None
        crops = as_shape("out_crops", self.out_crops)
        if len(crops) != 2:
            raise ValueError(f"`out_crops` must have 2 sizes (m, n), got {self.out_crops!r}")
        object.__setattr__(self, "transdata_type", kind)
        object.__setattr__(self, "out_crops", crops)


def transdata(x: Array, param: TransdataParam, /) -> Array:
    """Convert between ND and the 4-D FRACTAL_NZ of ATB.

    Parameters
    ----------
    x
        float16, bfloat16 or int8. ND ``(m, n)`` or ``(batch, m, n)``; FRACTAL_NZ ``(batch, n1, m1*m0, n0)`` with
        m0 = 16 and n0 = 16 (32 for int8).
    param
        Direction and, towards ND, the crops ``(m, n)``: m in ``(m1*m0 - 16, m1*m0]``, n in
        ``(n1*n0 - n0, n1*n0]``.

    Returns
    -------
    array
        FRACTAL_NZ ``(batch or 1, ceil(n / n0), ceil(m / 16) * 16, n0)``, or ND ``(batch, m, n)``, always 3-D.

    Raises
    ------
    TypeError
        `x` is not an array of a supported dtype, or `param` is no `TransdataParam`.
    ValueError
        Direction UNDEFINED, a wrong number of axes, or a crop outside its interval, which the message prints.

    Notes
    -----
    Source: "TransdataOperation" in the ATB reference. Two places differ from the vendor's code on purpose: for int8
    the interval of n is n0 = 32 wide, where the vendor's check has 16 fixed and refuses valid crops; and int8 and
    bfloat16 go both ways. The document's k >= 1 is read as k >= 0, as the vendor's own tests do.

    Examples
    --------
    >>> import numpy as np
    >>> from xascend import atb
    >>> x = np.ones((8, 100, 30), np.float16)
    >>> y = atb.transdata(x, atb.TransdataParam(atb.TransdataType.ND_TO_FRACTAL_NZ))
    >>> y.shape
    (8, 2, 112, 16)
    >>> atb.transdata(y, atb.TransdataParam(atb.TransdataType.FRACTAL_NZ_TO_ND, (100, 30))).shape
    (8, 100, 30)
    """
    xp = array_namespace("x", x)
    dtype = array_dtype(x)
    if dtype.name not in _DTYPES:
        raise TypeError(f"`x` must be {', '.join(_DTYPES)} in ATB's transdata, got {dtype.name}")
    if not isinstance(param, TransdataParam):
        raise TypeError(f"`param` must be a TransdataParam, got {type(param).__name__}")
    n0 = DEFAULT_C0[dtype.bits]
    if param.transdata_type is TransdataType.ND_TO_FRACTAL_NZ:
        return _nd_to_nz(xp, x, n0)
    if param.transdata_type is TransdataType.FRACTAL_NZ_TO_ND:
        return _nz_to_nd(xp, x, n0, param.out_crops)
    raise ValueError(
        "`transdata_type` must be FRACTAL_NZ_TO_ND (1) or ND_TO_FRACTAL_NZ (2) to convert, got UNDEFINED (0)"
    )


def _nd_to_nz(xp: Any, x: Array, n0: int) -> Array:
    if x.ndim not in (2, 3):
        raise ValueError(f"`x` must be ND (m, n) or (batch, m, n), got shape {tuple(x.shape)}")
    x = xp.reshape(x, (x.shape[0] if x.ndim == 3 else 1, *x.shape[-2:]))
    y = trans_data(x, Format.ND, Format.FRACTAL_NZ, c0=n0)
    batch, n1, m1, m0, _ = y.shape
    return xp.reshape(y, (batch, n1, m1 * m0, n0))


def _nz_to_nd(xp: Any, x: Array, n0: int, crops: Sequence[int]) -> Array:
    if x.ndim != 4:
        raise ValueError(f"`x` must be FRACTAL_NZ (batch, n1, m1*m0, n0), got shape {tuple(x.shape)}")
    batch, n1, rows, last = x.shape
    if last != n0 or rows % _M0:
        raise ValueError(
            f"`x` must have n0 = {n0} as its last axis for {x.dtype} and m1*m0 a multiple of {_M0}, "
            f"got shape {tuple(x.shape)}"
        )
    for crop, axis, padded, block in zip(crops, "mn", (rows, n1 * n0), (_M0, n0), strict=True):
        check_padded(f"`out_crops` {axis}", crop, padded, block)
    x = xp.reshape(x, (batch, n1, rows // _M0, _M0, n0))
    return trans_data(x, Format.FRACTAL_NZ, Format.ND, shape=(batch, *crops))

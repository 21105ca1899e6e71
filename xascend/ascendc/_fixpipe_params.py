"""The parameters of Fixpipe: the vendor's structures and their ranges as a literal table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

from xascend._ranges import require_flag, require_in_range
from xascend.quant import QuantMode

__all__ = [
    "CFG_COLUMN_MAJOR",
    "CFG_NZ",
    "CFG_ROW_MAJOR",
    "CO2Layout",
    "FixpipeConfig",
    "FixpipeParams",
    "FixpipeParamsC310",
    "FixpipeParamsM300",
    "FixpipeParamsM310",
    "FixpipeParamsV220",
]

_UINT16, _UINT32, _UINT64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1
_UNIT_FLAGS = (0, 2, 3)

_RANGES_V220 = {
    "n_size": (0, 4095),
    "m_size": (0, _UINT16),
    "src_stride": (0, _UINT16),
    "dst_stride": (1, _UINT32),
    "deq_scalar": (0, _UINT64),
    "nd_num": (0, _UINT16),
    "src_nd_stride": (0, _UINT16),
    "dst_nd_stride": (0, _UINT16),
}
_RANGES_V220_SEVERAL = {"src_nd_stride": (1, 512), "dst_nd_stride": (1, _UINT16)}  # when nd_num > 1
_RANGES_C310 = _RANGES_V220 | {
    "dst_nd_stride": (0, _UINT32),
    "dn_num": (0, _UINT16),
    "src_nz_matrix_stride": (0, _UINT16),
    "dst_dn_matrix_stride": (0, _UINT32),
    "src_nz_c0_stride": (0, _UINT16),
}


class CO2Layout(IntEnum):
    """Layout of Fixpipe's result.

    NZ keeps the blocks of 16 columns, ROW_MAJOR makes a plain matrix (NZ2ND), COLUMN_MAJOR its transpose (NZ2DN,
    on the 950 only).
    """

    NZ = 0
    ROW_MAJOR = 1
    COLUMN_MAJOR = 2


@dataclass(frozen=True, slots=True)
class FixpipeConfig:
    """Configuration of `fixpipe`, which in the vendor's prototypes is a template parameter.

    Parameters
    ----------
    format : CO2Layout
        Layout of the result.

    Raises
    ------
    TypeError
        If `format` is no `CO2Layout`.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.CFG_NZ == ascendc.FixpipeConfig(ascendc.CO2Layout.NZ)
    True
    """

    format: CO2Layout

    def __post_init__(self) -> None:
        if not isinstance(self.format, CO2Layout):
            raise TypeError(f"`format` must be a member of ascendc.CO2Layout, got {self.format!r}")


CFG_NZ = FixpipeConfig(CO2Layout.NZ)
CFG_ROW_MAJOR = FixpipeConfig(CO2Layout.ROW_MAJOR)
CFG_COLUMN_MAJOR = FixpipeConfig(CO2Layout.COLUMN_MAJOR)


@dataclass(frozen=True, slots=True)
class FixpipeParamsV220:
    """Parameters of `fixpipe` on Atlas A2 and A3, in the vendor's order and with its defaults.

    Parameters
    ----------
    n_size : int
        Columns of the matrix, 0 to 4095. 0 does nothing. NZ results: a multiple of 16, of 8 with `is_channel_split`.
    m_size : int
        Rows of the matrix, 0 to 65535; to 8192 with NZ2ND. 0 does nothing.
    src_stride : int
        Distance between the source's blocks of 16 columns, in rows of 16 elements, 0 to 65535; `m_size` rounded up
        to 16 where the matrix stands alone. Rows from `m_size` on are never read.
    dst_stride : int
        NZ2ND: elements from one row of the result to the next. NZ: distance between the result's column blocks, in
        data blocks of 32 bytes; a column block has 16 columns, 32 where 8-bit results are merged, 8 where float32
        results are split. 1 to 2**32 - 1.
    quant_pre : QuantMode, default NoQuant
        Quantisation.
    deq_scalar : int, default 0
        The word of a scalar quantisation mode, see `pack_quant_param`; 0 with all other modes.
    nd_num : int, default 1
        Matrices to move with NZ2ND, 0 to 65535; 0 does nothing. 1 with NZ.
    src_nd_stride : int, default 0
        Distance between the source matrices, in fractals of 1024 bytes, 1 to 512 where there are several;
        ignored for one.
    dst_nd_stride : int, default 0
        Distance between the result's matrices in elements, 1 to 65535 where there are several; ignored for one.
    relu_en : bool, default False
        Apply ReLU.
    unit_flag : int, default 0
        0, 2 or 3. It concerns when the hardware moves the data, and has no effect here.
    is_channel_split : bool, default False
        Write float32 NZ results in column blocks of 8; not together with `unit_flag`.

    Raises
    ------
    TypeError
        If a field has a wrong type.
    ValueError
        If a number is out of its range, or `unit_flag` is not 0 with `is_channel_split`.

    Notes
    -----
    Source: "Fixpipe", Ascend C API, in two editions. Where they differ:

    - `n_size`: the newer edition asks for a multiple of 16 without exception. The older edition and the vendor's
      own check allow any number with NZ2ND, and so it is here.
    - `n_size`, `m_size` and `nd_num` 0: outside the range of the older edition, no operation in the newer one.
    - `src_nd_stride`: 0 is inside the newer edition's range, not inside the older one's or the check's.
    - `is_channel_split` with `unit_flag`: the newer edition forbids it, the older one is silent.

    Examples
    --------
    >>> from xascend import ascendc
    >>> params = ascendc.FixpipeParamsV220(32, 48, 64, 64, nd_num=2, src_nd_stride=16, dst_nd_stride=4096)
    >>> params.quant_pre
    <QuantMode.NoQuant: 0>
    """

    n_size: int
    m_size: int
    src_stride: int
    dst_stride: int
    quant_pre: QuantMode = QuantMode.NoQuant
    deq_scalar: int = 0
    nd_num: int = 1
    src_nd_stride: int = 0
    dst_nd_stride: int = 0
    relu_en: bool = False
    unit_flag: int = 0
    is_channel_split: bool = False

    def __post_init__(self) -> None:
        _require_fields(self, _RANGES_V220)


@dataclass(frozen=True, slots=True)
class FixpipeParamsM300(FixpipeParamsV220):
    """Parameters of `fixpipe` on Atlas 200I/500 A2: the fields of `FixpipeParamsV220`.

    In the vendor's header the two are one structure. They are two classes here, so that ``product=`` can tell which
    one a product takes.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.FixpipeParamsM300(16, 16, 16, 16).nd_num
    1
    """


@dataclass(frozen=True, slots=True)
class FixpipeParamsM310(FixpipeParamsV220):
    """Parameters of `fixpipe` under the vendor's third name: the fields of `FixpipeParamsV220`.

    The document mentions the structure without saying which product takes it.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.FixpipeParamsM310(16, 16, 16, 16).nd_num
    1
    """


@dataclass(frozen=True, slots=True)
class FixpipeParamsC310:
    """Parameters of `fixpipe` on the 950, in the units of that product.

    The first fields are those of `FixpipeParamsV220`. The vendor keeps the strides of several matrices in a
    structure of their own for each layout (``Nz2NdParams``, ``Nz2DnParams``); here they are fields.

    Parameters
    ----------
    n_size, m_size, src_stride : int
        As in `FixpipeParamsV220`, with `m_size` up to 65535 in every layout.
    dst_stride : int
        In elements, also with NZ results. With NZ2DN from one column of the matrix, a row of the result, to the
        next.
    quant_pre, deq_scalar : QuantMode, int
        As in `FixpipeParamsV220`. The words have no shift on the 950; its bits are ignored.
    nd_num : int, default 1
        Matrices to move with NZ2ND, 0 to 65535; 0 does nothing. 1 in the other layouts.
    src_nd_stride : int, default 0
        Distance between their sources, in rows of 16 elements, 0 to 65535; ignored for one matrix.
    dst_nd_stride : int, default 0
        Distance between their results in elements, up to 2**32 - 1; ignored for one matrix.
    relu_en, unit_flag, is_channel_split : bool, int, bool
        As in `FixpipeParamsV220`.
    dn_num : int, default 1
        Matrices to move with NZ2DN, 0 to 65535; 0 does nothing. 1 in the other layouts.
    src_nz_matrix_stride : int, default 0
        Distance between their sources, in rows of 16 elements, 0 to 65535; ignored for one matrix.
    dst_dn_matrix_stride : int, default 0
        Distance between their results in elements, up to 2**32 - 1; ignored for one matrix.
    src_nz_c0_stride : int, default 1
        NZ2DN: distance from one row of the source to the next, in rows of 16 elements; not 0, and 1 where
        `unit_flag` is set. The vendor's default is 0, which NZ2DN forbids.

    Raises
    ------
    TypeError
        If a field has a wrong type.
    ValueError
        If a number is out of its range, or `unit_flag` is not 0 with `is_channel_split`.

    Notes
    -----
    Source: "Fixpipe", Ascend C API, the structure FixpipeParamsArch3510, also called FixpipeParamsC310.

    Examples
    --------
    >>> from xascend import ascendc
    >>> ascendc.FixpipeParamsC310(32, 48, 80, 80, dn_num=2, src_nz_matrix_stride=240, dst_dn_matrix_stride=3840).dn_num
    2
    """

    n_size: int
    m_size: int
    src_stride: int
    dst_stride: int
    quant_pre: QuantMode = QuantMode.NoQuant
    deq_scalar: int = 0
    nd_num: int = 1
    src_nd_stride: int = 0
    dst_nd_stride: int = 0
    relu_en: bool = False
    unit_flag: int = 0
    is_channel_split: bool = False
    dn_num: int = 1
    src_nz_matrix_stride: int = 0
    dst_dn_matrix_stride: int = 0
    src_nz_c0_stride: int = 1

    def __post_init__(self) -> None:
        _require_fields(self, _RANGES_C310)


FixpipeParams: TypeAlias = FixpipeParamsV220 | FixpipeParamsC310


def _require_fields(params: Any, ranges: dict[str, tuple[int, int]]) -> None:
    for name, (low, high) in ranges.items():
        if name in _RANGES_V220_SEVERAL and isinstance(params, FixpipeParamsV220) and params.nd_num > 1:
            require_in_range(name, getattr(params, name), *_RANGES_V220_SEVERAL[name], " where `nd_num` > 1")
        require_in_range(name, getattr(params, name), low, high)
    require_flag("relu_en", params.relu_en)
    require_flag("is_channel_split", params.is_channel_split)
    if not isinstance(params.quant_pre, QuantMode):
        raise TypeError(f"`quant_pre` must be a member of ascendc.QuantMode, got {params.quant_pre!r}")
    require_in_range("unit_flag", params.unit_flag, _UNIT_FLAGS[0], _UNIT_FLAGS[-1])
    if params.unit_flag not in _UNIT_FLAGS:
        raise ValueError(f"`unit_flag` must be one of {_UNIT_FLAGS}, got {params.unit_flag}")
    if params.unit_flag and params.is_channel_split:
        raise ValueError(f"`unit_flag` must be 0 where `is_channel_split` is set, got {params.unit_flag}")

"""The storage formats as rows of one table, the spellings users bring, and the default C0 per element size.

Glossary, valid in the whole library: a *logical* axis is one of the tensor's own (N, C, D, H, W, or m and n for
the last two axes of a matrix). A format may cut an axis X into blocks: X1 counts the blocks, X0 counts inside one
block, and the size of X0 is the *block* of X. `c0` is the block of the channel (or column) axis, m0 = 16 that of
rows, n0 = 16 that of output channels.
"""

from __future__ import annotations

import difflib
import operator
import re
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

__all__ = ["ACL_FORMATS", "DATA_BLOCK_BYTES", "DEFAULT_C0", "LAYOUTS", "Format", "Layout", "Piece", "as_format"]

DATA_BLOCK_BYTES = 32  # what the hardware moves as one; 32 bytes / item size is the hardware's own C0
DEFAULT_C0 = MappingProxyType({4: 64, 8: 32, 16: 16, 32: 16, 64: 16, 128: 16})  # bits of an element -> C0
C0 = 0  # stands, in the rows below, for "the C0 that the caller chooses"


class Format(Enum):
    """A tensor format of the Ascend processors, plain or blocked.

    Members compare by identity; every function that takes a format also takes its usual spellings
    (``"NZ"``, ``"ACL_FORMAT_FRACTAL_NZ"``, ``"5HD"``) and aclFormat numbers (``29``).

    Examples
    --------
    >>> import xascend as xa
    >>> xa.Format.FRACTAL_NZ.acl_format
    29
    >>> xa.Format.NC1HWC0.is_blocked, xa.Format.NHWC.is_blocked
    (True, False)
    """

    ND = "ND"
    NCHW = "NCHW"
    NHWC = "NHWC"
    HWCN = "HWCN"
    CHWN = "CHWN"
    NCDHW = "NCDHW"
    NDHWC = "NDHWC"
    DHWCN = "DHWCN"
    FRACTAL_NZ = "FRACTAL_NZ"
    FRACTAL_ZZ = "FRACTAL_ZZ"
    NC1HWC0 = "NC1HWC0"
    NC1HWC0_C04 = "NC1HWC0_C04"
    NDC1HWC0 = "NDC1HWC0"
    FRACTAL_Z = "FRACTAL_Z"
    FRACTAL_Z_C04 = "FRACTAL_Z_C04"
    FRACTAL_Z_3D = "FRACTAL_Z_3D"
    C1HWNCoC0 = "C1HWNCoC0"
    FRACTAL_NZ_C0_2 = "FRACTAL_NZ_C0_2"
    FRACTAL_NZ_C0_4 = "FRACTAL_NZ_C0_4"
    FRACTAL_NZ_C0_8 = "FRACTAL_NZ_C0_8"
    FRACTAL_NZ_C0_16 = "FRACTAL_NZ_C0_16"
    FRACTAL_NZ_C0_32 = "FRACTAL_NZ_C0_32"

    __hash__ = object.__hash__  # members compare by identity; that of Enum takes longer, and every call looks one up

    @property
    def layout(self) -> Layout:
        """The row of the format table."""
        return LAYOUTS[self]

    @property
    def is_blocked(self) -> bool:
        """Whether the format cuts axes into blocks (and may pad them)."""
        return bool(LAYOUTS[self].blocks)

    @property
    def plain(self) -> Format:
        """The plain format in whose axes a blocked one's tensor is given by default; a plain format itself."""
        if not self.is_blocked:
            return self
        return Format.ND if self.layout.is_matrix else Format(self.layout.axes)

    @property
    def short_names(self) -> tuple[str, ...]:
        """Other names that functions take; they are case-insensitive, and ``ACL_FORMAT_`` may stand before any."""
        return tuple(name for name, fmt in _SHORT_NAMES.items() if fmt is self)

    @property
    def acl_format(self) -> int | None:
        """The aclFormat number, or None where the vendor's header has none."""
        return ACL_FORMATS.get(self)


@dataclass(frozen=True, slots=True)
class Piece:
    """One factor of a storage axis: a whole logical axis, its block count ``1`` or its inside ``0``."""

    axis: str
    part: str


@dataclass(frozen=True, slots=True)
class Layout:
    """How a format stores its logical axes.

    Attributes
    ----------
    axes
        Logical axes, outermost first; a leading ``*`` stands for any number of batch axes.
    stored
        For each storage axis, outermost first, the pieces merged into it.
    blocks
        Block size per cut axis, `C0` where the caller chooses it.
    fixed_c0
        The only C0 the format has, or None.
    fused
        Not a pure layout: these axes (the last padded to 4) are first merged into one axis ``K``.
    grouped
        Not a pure layout with ``groups > 1``: groups are packed along a diagonal of (C, N) blocks.
    """

    axes: str
    stored: tuple[tuple[Piece, ...], ...]
    blocks: MappingProxyType[str, int]
    fixed_c0: int | None = None
    fused: str = ""
    grouped: bool = False

    @property
    def is_matrix(self) -> bool:
        """Whether the format speaks of (batch, m, n) rather than of named convolution axes."""
        return self.axes.startswith("*")

    @property
    def is_diagonal(self) -> bool:
        """Whether the inside of an axis is stored twice, so that all off-diagonal places are padding."""
        pieces = [piece for group in self.stored for piece in group]
        return len(pieces) != len(set(pieces))


def _row(
    axes: str,
    stored: str,
    /,
    *,
    fixed_c0: int | None = None,
    fused: str = "",
    grouped: bool = False,
    **blocks: int,
) -> Layout:
    storage_axes = re.findall(r"\(([^)]*)\)|(\S+)", stored)
    pieces = tuple(
        tuple(Piece(text[0], text[1:]) for text in (merged or single).split()) for merged, single in storage_axes
    )
    return Layout(axes, pieces, MappingProxyType(blocks), fixed_c0, fused, grouped)


def _plain(axes: str) -> Layout:
    return _row(axes, " ".join(axes))


def _nz(fixed_c0: int | None = None) -> Layout:
    return _row("*mn", "* n1 m1 m0 n0", m=16, n=C0, fixed_c0=fixed_c0)


# X1 X0: block count and inside of axis X. Parentheses: merged into one storage axis.
LAYOUTS = MappingProxyType(
    {
        Format.ND: _plain("*mn"),
        Format.NCHW: _plain("NCHW"),
        Format.NHWC: _plain("NHWC"),
        Format.HWCN: _plain("HWCN"),
        Format.CHWN: _plain("CHWN"),
        Format.NCDHW: _plain("NCDHW"),
        Format.NDHWC: _plain("NDHWC"),
        Format.DHWCN: _plain("DHWCN"),
        Format.FRACTAL_NZ: _nz(),
        Format.FRACTAL_ZZ: _row("*mn", "* m1 n1 m0 n0", m=C0, n=C0),
        Format.NC1HWC0: _row("NCHW", "N C1 H W C0", C=C0),
        Format.NC1HWC0_C04: _row("NCHW", "N C1 H W C0", C=C0, fixed_c0=4),
        Format.NDC1HWC0: _row("NCDHW", "N D C1 H W C0", C=C0),
        Format.FRACTAL_Z: _row("NCHW", "(C1 H W) N1 N0 C0", C=C0, N=16, grouped=True),
        Format.FRACTAL_Z_C04: _row("NCHW", "K1 N1 N0 K0", K=C0, N=16, fused="HWC"),
        Format.FRACTAL_Z_3D: _row("NCDHW", "(D C1 H W) N1 N0 C0", C=C0, N=16),
        Format.C1HWNCoC0: _row("NCHW", "C1 H W N C0 C0", C=C0),
        Format.FRACTAL_NZ_C0_2: _nz(2),
        Format.FRACTAL_NZ_C0_4: _nz(4),
        Format.FRACTAL_NZ_C0_8: _nz(8),
        Format.FRACTAL_NZ_C0_16: _nz(16),
        Format.FRACTAL_NZ_C0_32: _nz(32),
    }
)

ACL_FORMATS = MappingProxyType(
    {
        Format.NCHW: 0,
        Format.NHWC: 1,
        Format.ND: 2,
        Format.NC1HWC0: 3,
        Format.FRACTAL_Z: 4,
        Format.NC1HWC0_C04: 12,
        Format.FRACTAL_Z_C04: 13,
        Format.HWCN: 16,
        Format.NDHWC: 27,
        Format.FRACTAL_NZ: 29,
        Format.NCDHW: 30,
        Format.DHWCN: 31,
        Format.NDC1HWC0: 32,
        Format.FRACTAL_Z_3D: 33,
        Format.FRACTAL_NZ_C0_16: 50,
        Format.FRACTAL_NZ_C0_32: 51,
        Format.FRACTAL_NZ_C0_2: 52,
        Format.FRACTAL_NZ_C0_4: 53,
        Format.FRACTAL_NZ_C0_8: 54,
    }
)

_SHORT_NAMES = {
    "NZ": Format.FRACTAL_NZ,
    "ZZ": Format.FRACTAL_ZZ,
    "5HD": Format.NC1HWC0,
    "6HD": Format.NDC1HWC0,
    "FZ": Format.FRACTAL_Z,
    "FZ_3D": Format.FRACTAL_Z_3D,
    "FRACTALNZ": Format.FRACTAL_NZ,
    "FRACTALZ": Format.FRACTAL_Z,
} | {f"NZ_C0_{c0}": Format[f"FRACTAL_NZ_C0_{c0}"] for c0 in (2, 4, 8, 16, 32)}
_BY_NAME = {fmt.value.upper(): fmt for fmt in Format} | _SHORT_NAMES
_BY_NUMBER = {number: fmt for fmt, number in ACL_FORMATS.items()}


def as_format(name: str, value: Any, /) -> Format:
    """Return the `Format` that a member, spelling or aclFormat number means; `name` is the argument for errors."""
    if isinstance(value, Format):
        return value
    if isinstance(value, str):
        if value in _BY_NAME:
            return _BY_NAME[value]
        spelled = value.strip().upper().replace("-", "_").replace(" ", "_")
        for prefix in ("ACL_FORMAT_", "ACL_", "FORMAT_"):
            spelled = spelled.removeprefix(prefix)
        if spelled in _BY_NAME:
            return _BY_NAME[spelled]
        near = difflib.get_close_matches(spelled, _BY_NAME, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ValueError(
            f"`{name}` {value!r} is not a known format; {hint}known are {', '.join(f.value for f in Format)}"
        )
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(
            f"`{name}` must be a Format, a name or an aclFormat number, got {type(value).__name__} {value!r}"
        )
    if number not in _BY_NUMBER:
        known = ", ".join(f"{k} {f.value}" for k, f in sorted(_BY_NUMBER.items()))
        raise ValueError(f"`{name}` {number} is not a known aclFormat number; known are {known}")
    return _BY_NUMBER[number]

"""All pairs of formats that can be converted, and shapes that straddle their blocks."""

from __future__ import annotations

import oracle

_MATRIX = (*oracle.MATRIX, *oracle.NZ_C0)

PLAIN_TO_BLOCKED = (
    *(("ND", dst) for dst in _MATRIX),
    *((src, dst) for src in oracle.PLAIN_4D for dst in (*oracle.CONV_4D, *_MATRIX)),
    *((src, dst) for src in oracle.PLAIN_5D for dst in (*oracle.CONV_5D, *_MATRIX)),
)
BLOCKED_TO_PLAIN = tuple((dst, src) for src, dst in PLAIN_TO_BLOCKED)
PLAIN_TO_PLAIN = (
    *((src, dst) for src in oracle.PLAIN_4D for dst in oracle.PLAIN_4D),
    *((src, dst) for src in oracle.PLAIN_5D for dst in oracle.PLAIN_5D),
)
_ANY_4D = (*oracle.CONV_4D, *_MATRIX)
_ANY_5D = (*oracle.CONV_5D, *_MATRIX)
BLOCKED_TO_BLOCKED = tuple(
    dict.fromkeys(
        (
            *((src, dst) for src in _ANY_4D for dst in _ANY_4D),
            *((src, dst) for src in _ANY_5D for dst in _ANY_5D),
        )
    )
)

_ND = (
    (1, 1),
    (0, 3),
    (3, 0),
    (0, 0),
    (15, 31),
    (16, 16),
    (17, 33),
    (2, 3, 5),
    (3, 0, 5),
    (2, 1, 17, 3),
    (0, 3, 5),
)
_NCHW = (
    (1, 1, 1, 1),
    (15, 3, 2, 3),
    (16, 4, 3, 1),
    (17, 2, 1, 5),
    (3, 15, 2, 1),
    (2, 16, 1, 2),
    (1, 17, 3, 2),
    (0, 3, 2, 2),
    (2, 0, 2, 3),
    (2, 3, 0, 3),
    (2, 3, 3, 0),
)
_NCDHW = tuple((n, c, d, h, w) for (n, c, h, w), d in zip(_NCHW, (1, 2, 3, 1, 2, 1, 2, 2, 1, 2, 0), strict=True))


def sizes_of(fmt: str, letters: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return `sizes`, given in the order of `letters`, in the order of the plain format `fmt`."""
    return tuple(sizes[letters.index(axis)] for axis in fmt)


def shapes(plain: str, *blocked: str) -> tuple[tuple[int, ...], ...]:
    """Return logical shapes in the axes of `plain` that every one of `blocked` can hold."""
    if plain == "ND":
        return _ND
    letters, rows = ("NCHW", _NCHW) if len(plain) == len("NCHW") else ("NCDHW", _NCDHW)
    if "FRACTAL_Z_C04" in blocked:
        rows = tuple(row for row in rows if row[1] <= 4)
    return tuple(sizes_of(plain, letters, row) for row in rows)


def logical_axes(src: str, dst: str) -> str:
    """Return the plain format whose axes `shape` is in, blocked to blocked."""
    return oracle.AXES.get(src) or oracle.AXES.get(dst) or "ND"

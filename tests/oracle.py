"""The storage formats by their definitions, one element at a time: slow, obvious, no code of xascend.

A format is two functions of the sizes: the shape of its storage, and the place in the storage of one logical
element. Everything else here is a loop over all elements. Values move as bytes, so every dtype works.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

PLAIN_4D = ("NCHW", "NHWC", "HWCN", "CHWN")
PLAIN_5D = ("NCDHW", "NDHWC", "DHWCN")
PLAIN = ("ND", *PLAIN_4D, *PLAIN_5D)

MATRIX = ("FRACTAL_NZ", "FRACTAL_ZZ")  # of the last two axes as stored, whatever they are called
OWN_C0 = {f"FRACTAL_NZ_C0_{c0}": c0 for c0 in (2, 4, 8, 16, 32)} | {"NC1HWC0_C04": 4}
NZ_C0 = tuple(fmt for fmt in OWN_C0 if fmt.startswith("FRACTAL_NZ_C0_"))
CONV_4D = ("NC1HWC0", "NC1HWC0_C04", "FRACTAL_Z", "FRACTAL_Z_C04", "C1HWNCoC0")
CONV_5D = ("NDC1HWC0", "FRACTAL_Z_3D")
BLOCKED = (*MATRIX, *NZ_C0, *CONV_4D, *CONV_5D)

#: The logical axes of a blocked format where no plain format says otherwise.
AXES = dict.fromkeys(CONV_4D, "NCHW") | dict.fromkeys(CONV_5D, "NCDHW")
MERGED = ("FRACTAL_Z", "FRACTAL_Z_3D", "FRACTAL_Z_C04")  # C1, H and W share one storage axis


def ceil_div(size: int, block: int) -> int:
    blocks = 0
    while blocks * block < size:
        blocks += 1
    return blocks


def default_c0(itemsize: int, bits: int | None = None) -> int:
    return 64 if bits == 4 else 32 if itemsize == 1 else 16


def grouped_sizes(c: int, n: int, c0: int, groups: int) -> tuple[int, int, int, int]:
    """Return (groups packed together, C1, padded output channels, packs) of FRACTAL_Z for c, n / groups."""
    cout = n // groups
    if groups == 1:
        return 1, ceil_div(c, c0), ceil_div(n, 16) * 16, 1
    packed = min(math.lcm(math.lcm(c, c0) // c, math.lcm(cout, 16) // cout), groups)
    c1 = ceil_div(packed * c, c0)
    cout_padded = ceil_div(packed * cout, 16) * 16
    return packed, c1, cout_padded, ceil_div(groups, packed)


def storage_shape(
    shape: tuple[int, ...], fmt: str, *, axes: str | None = None, c0: int = 16, groups: int = 1
) -> tuple[int, ...]:
    """Return the shape of `fmt` for a logical `shape` whose axes are called `axes` (one letter each)."""
    c0 = OWN_C0.get(fmt, c0)
    if fmt == "FRACTAL_ZZ":
        *batch, m, n = shape
        return (*batch, ceil_div(m, c0), ceil_div(n, c0), c0, c0)
    if fmt.startswith("FRACTAL_NZ"):
        *batch, m, n = shape
        return (*batch, ceil_div(n, c0), ceil_div(m, 16), 16, c0)
    size = dict(zip(axes or AXES[fmt], shape, strict=True))
    n, c, h, w, d = size["N"], size["C"], size["H"], size["W"], size.get("D", 1)
    if fmt in ("NC1HWC0", "NC1HWC0_C04"):
        return n, ceil_div(c, c0), h, w, c0
    if fmt == "NDC1HWC0":
        return n, d, ceil_div(c, c0), h, w, c0
    if fmt == "FRACTAL_Z":
        _, c1, cout_padded, packs = grouped_sizes(c, n, c0, groups)
        return packs * c1 * h * w, cout_padded // 16, 16, c0
    if fmt == "FRACTAL_Z_3D":
        return d * ceil_div(c, c0) * h * w, ceil_div(n, 16), 16, c0
    if fmt == "FRACTAL_Z_C04":
        return ceil_div(4 * h * w, c0), ceil_div(n, 16), 16, c0
    if fmt == "C1HWNCoC0":
        return ceil_div(c, c0), h, w, n, c0, c0
    raise AssertionError(fmt)


def place(
    index: tuple[int, ...],
    shape: tuple[int, ...],
    fmt: str,
    *,
    axes: str | None = None,
    c0: int = 16,
    groups: int = 1,
) -> tuple[int, ...]:
    """Return where in the storage of `fmt` the logical element `index` lies."""
    c0 = OWN_C0.get(fmt, c0)
    if fmt == "FRACTAL_ZZ":
        *batch, m, n = index
        return (*batch, m // c0, n // c0, m % c0, n % c0)
    if fmt.startswith("FRACTAL_NZ"):
        *batch, m, n = index
        return (*batch, n // c0, m // 16, m % 16, n % c0)
    at = dict(zip(axes or AXES[fmt], index, strict=True))
    size = dict(zip(axes or AXES[fmt], shape, strict=True))
    n, c, h, w, d = at["N"], at["C"], at["H"], at["W"], at.get("D", 0)
    if fmt in ("NC1HWC0", "NC1HWC0_C04"):
        return n, c // c0, h, w, c % c0
    if fmt == "NDC1HWC0":
        return n, d, c // c0, h, w, c % c0
    if fmt == "FRACTAL_Z":
        packed, c1, _, _ = grouped_sizes(size["C"], size["N"], c0, groups)
        cout = size["N"] // groups
        group, n_in_group = n // cout, n % cout
        ci = (group % packed) * size["C"] + c
        co = (group % packed) * cout + n_in_group
        row = ((group // packed * c1 + ci // c0) * size["H"] + h) * size["W"] + w
        return row, co // 16, co % 16, ci % c0
    if fmt == "FRACTAL_Z_3D":
        c1 = ceil_div(size["C"], c0)
        return ((d * c1 + c // c0) * size["H"] + h) * size["W"] + w, n // 16, n % 16, c % c0
    if fmt == "FRACTAL_Z_C04":
        k = (h * size["W"] + w) * 4 + c
        return k // c0, n // 16, n % 16, k % c0
    if fmt == "C1HWNCoC0":
        return c // c0, h, w, n, c % c0, c % c0
    raise AssertionError(fmt)


@lru_cache(maxsize=4096)
def element_map(
    shape: tuple[int, ...], fmt: str, axes: str | None, c0: int, groups: int
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return all logical indices and their storage indices, ready to index arrays with."""
    logical = list(itertools.product(*map(range, shape)))
    stored = [place(index, shape, fmt, axes=axes, c0=c0, groups=groups) for index in logical]
    rank = len(storage_shape(shape, fmt, axes=axes, c0=c0, groups=groups))
    return columns(logical, len(shape)), columns(stored, rank)


def columns(indices: list[tuple[int, ...]], rank: int) -> tuple[np.ndarray, ...]:
    return tuple(np.array([index[axis] for index in indices], np.intp) for axis in range(rank))


def as_bytes(x: np.ndarray) -> np.ndarray:
    """Return the bytes of each element along a new last axis."""
    return np.frombuffer(x.tobytes(), np.uint8).reshape(*x.shape, x.dtype.itemsize)


def from_bytes(raw: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return np.frombuffer(raw.tobytes(), dtype).reshape(raw.shape[:-1]).copy()


def to_storage(
    logical: np.ndarray,
    fmt: str,
    *,
    axes: str | None = None,
    c0: int = 16,
    groups: int = 1,
    pad_value: object = None,
) -> np.ndarray:
    """Store `logical`, whose axes are called `axes`, as `fmt`; all other places are `pad_value` (None: zero bytes)."""
    shape = storage_shape(logical.shape, fmt, axes=axes, c0=c0, groups=groups)
    filled = np.zeros(shape, logical.dtype) if pad_value is None else np.full(shape, pad_value, logical.dtype)
    stored = as_bytes(filled).copy()
    here, there = element_map(logical.shape, fmt, axes, c0, groups)
    stored[there] = as_bytes(logical)[here]
    return from_bytes(stored, logical.dtype)


def to_logical(
    stored: np.ndarray, fmt: str, shape: tuple[int, ...], *, axes: str | None = None, groups: int = 1
) -> np.ndarray:
    """Read the logical tensor of `shape` back; C0 is the last axis of `stored`."""
    c0 = stored.shape[-1]
    assert storage_shape(shape, fmt, axes=axes, c0=c0, groups=groups) == stored.shape
    here, there = element_map(shape, fmt, axes, c0, groups)
    logical = np.zeros((*shape, stored.dtype.itemsize), np.uint8)
    logical[here] = as_bytes(stored)[there]
    return from_bytes(logical, stored.dtype)


def permute(x: np.ndarray, src: str, dst: str) -> np.ndarray:
    """Reorder the axes of a plain tensor by their letters."""
    order = [src.index(letter) for letter in dst]
    permuted = np.empty([x.shape[axis] for axis in order], x.dtype)
    for index in itertools.product(*map(range, x.shape)):
        permuted[tuple(index[axis] for axis in order)] = x[index]
    return permuted


def letters(fmt: str) -> str | None:
    """Return the axis letters of a plain format, None where axes have no names."""
    return fmt if fmt in PLAIN_4D + PLAIN_5D else None


def convert(
    x: np.ndarray,
    src: str,
    dst: str,
    *,
    shape: tuple[int, ...] | None = None,
    c0: int = 16,
    groups: int = 1,
    pad_value: object = None,
) -> np.ndarray:
    """Convert between any two formats through the logical tensor; `shape` as the library takes it."""
    if src in PLAIN:
        axes, logical = letters(src), x
    else:
        assert shape is not None  # the padding of a blocked source hides it
        axes = letters(dst) if dst in PLAIN else AXES.get(src) or AXES.get(dst)
        logical = to_logical(x, src, shape, axes=axes, groups=groups)
    if dst in BLOCKED:
        return to_storage(logical, dst, axes=axes, c0=c0, groups=groups, pad_value=pad_value)
    if src in PLAIN and letters(src) and letters(dst):
        return permute(logical, src, dst)
    return logical.copy()

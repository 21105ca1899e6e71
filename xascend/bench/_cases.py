"""What is measured: families of conversions, and the sizes they are measured at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xascend._dtypes import numpy_dtype
from xascend.bench._layouts import Layout, layout_of

__all__ = ["FAMILIES", "SIZES", "Case", "Family", "cases_for"]

#: Bytes of the tensor that is converted.
SIZES = {
    "tiny": 1 << 10,  # what a call costs beside the moving
    "cache": 512 << 10,  # source and destination stay in a core's own cache
    "dram": 32 << 20,  # beyond the caches of most machines
    "large": 512 << 20,
}
QUANTISED = "int32", "int8"


@dataclass(frozen=True, slots=True)
class Family:
    """Conversions that stress the same thing.

    Attributes
    ----------
    name
        As the command line takes it.
    plain, blocked
        The two formats; of ``requantize`` the two element types, which are no choice then.
    shapes
        Tensors of the plain format, small to large. The largest that fits a size is repeated along its first axis.
    why
        What the family shows.
    """

    name: str
    plain: str
    blocked: str
    shapes: tuple[tuple[int, ...], ...]
    why: str

    @property
    def is_layout(self) -> bool:
        """Whether elements are only moved."""
        return (self.plain, self.blocked) != QUANTISED

    def shape(self, elements: int, /) -> tuple[int, ...]:
        """Return a tensor's shape of about `elements` elements, never less than the smallest of `shapes`."""
        fitting = [shape for shape in self.shapes if math.prod(shape) <= elements]
        first, *rest = fitting[-1] if fitting else self.shapes[0]
        return max(1, elements // math.prod((first, *rest))) * first, *rest


_MATRICES = (16, 32), (64, 64), (256, 256), (1024, 1024), (4096, 4096)
_IMAGES = (1, 32, 4, 4), (1, 64, 14, 14), (1, 256, 56, 56)

FAMILIES = (
    Family("nz", "ND", "FRACTAL_NZ", _MATRICES, "weights in whole blocks: a data block stays together"),
    Family(
        "nz-ragged",
        "ND",
        "FRACTAL_NZ",
        ((15, 31), (63, 61), (255, 243), (1023, 1011), (4095, 4083)),
        "both axes are padded, and no row begins at a whole word",
    ),
    Family("5hd", "NCHW", "NC1HWC0", _IMAGES, "images: the fastest axes differ, so elements are transposed"),
    Family(
        "5hd-ragged",
        "NCHW",
        "NC1HWC0",
        ((1, 31, 5, 3), (1, 60, 15, 13), (1, 250, 57, 55)),
        "padded channels, odd image sizes",
    ),
    Family(
        "5hd-nhwc",
        "NHWC",
        "NC1HWC0",
        ((1, 4, 4, 32), (1, 14, 14, 64), (1, 56, 56, 256)),
        "images with channels last: a data block stays together",
    ),
    Family(
        "fz",
        "NCHW",
        "FRACTAL_Z",
        ((16, 32, 1, 1), (64, 64, 3, 3), (512, 512, 3, 3)),
        "filters: the axis that varies fastest becomes one of the slowest",
    ),
    Family("requantize", *QUANTISED, _MATRICES, "quantised results: arithmetic in one read and one write"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One family at one size, in one direction.

    Attributes
    ----------
    family
        What is converted and why.
    shape
        The tensor's own sizes, in the axes of the plain format.
    dtype
        Element type of the source.
    back
        Whether the blocked tensor is the source.
    """

    family: Family
    shape: tuple[int, ...]
    dtype: str
    back: bool = False

    @property
    def formats(self) -> tuple[str, str]:
        """Source and destination."""
        pair = self.family.plain, self.family.blocked
        return (pair[1], pair[0]) if self.back else pair

    @property
    def layout(self) -> Layout:
        """The conversion as a padding, a reshape and a permutation."""
        return layout_of(self.family.plain, self.family.blocked, self.shape, self.dtype)

    def __str__(self) -> str:
        source, target = self.formats
        return f"{self.family.name} {source} -> {target} {self.dtype} {'x'.join(map(str, self.shape))}"


def cases_for(families: Sequence[str], dtypes: Sequence[str], sizes: Sequence[int], /) -> Iterator[Case]:
    """Yield the cases of these families, element types and sizes in bytes; families without a choice of type once."""
    for family in FAMILIES:
        if family.name not in families:
            continue
        for dtype in dtypes if family.is_layout else (family.plain,):
            shapes = dict.fromkeys(family.shape(size // numpy_dtype(dtype).itemsize) for size in sizes)
            for shape in shapes:
                yield Case(family, shape, dtype)
                if family.is_layout:
                    yield Case(family, shape, dtype, back=True)

"""Shapes and values typed from the vendor's pages and test tables, for the oracle and the library alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ShapeVector:
    """A logical shape and the storage shape that a source states for it; `c0` None means the default."""

    src: str
    shape: tuple[int, ...]
    fmt: str
    dtype: str
    storage: tuple[int, ...]
    groups: int = 1
    c0: int | None = None

    @property
    def default_c0(self) -> int:
        return {"int4": 64, "int8": 32, "uint8": 32}.get(self.dtype, 16)

    def __str__(self) -> str:
        return f"{self.fmt}-{'x'.join(map(str, self.shape))}-{self.dtype}"


STORAGE_SHAPES = (
    # GE, transfer_shape_ut.cc: FRACTAL_NZ
    ShapeVector("ND", (18, 34), "FRACTAL_NZ", "float32", (3, 2, 16, 16)),
    ShapeVector("ND", (1, 18, 34), "FRACTAL_NZ", "int8", (1, 2, 2, 16, 32)),
    ShapeVector("ND", (1, 18, 34), "FRACTAL_NZ", "float16", (1, 3, 2, 16, 16)),
    ShapeVector("ND", (1, 18, 34), "FRACTAL_NZ", "int32", (1, 3, 2, 16, 16)),
    ShapeVector("ND", (1, 18, 134), "FRACTAL_NZ", "int4", (1, 3, 2, 16, 64)),
    ShapeVector("ND", (1, 18, 134), "FRACTAL_NZ", "uint8", (1, 1, 2, 16, 256), c0=256),  # its uint1
    ShapeVector("ND", (1, 18, 134), "FRACTAL_NZ", "uint8", (1, 2, 2, 16, 128), c0=128),  # its int2
    ShapeVector("ND", (2, 2, 17, 4), "FRACTAL_NZ", "float16", (2, 2, 1, 2, 16, 16)),
    # GE, same file: NC1HWC0 and its C04 form
    ShapeVector("NCHW", (8, 512, 5, 5), "NC1HWC0", "float32", (8, 32, 5, 5, 16)),
    ShapeVector("NCHW", (8, 512, 5, 5), "NC1HWC0", "int4", (8, 8, 5, 5, 64)),
    ShapeVector("NCHW", (8, 512, 5, 5), "NC1HWC0_C04", "float32", (8, 128, 5, 5, 4)),
    # GE, same file: FRACTAL_Z, NDC1HWC0, FRACTAL_Z_3D
    ShapeVector("NCHW", (48, 512, 5, 5), "FRACTAL_Z", "float32", (800, 3, 16, 16)),
    ShapeVector("NCHW", (48, 512, 5, 5), "FRACTAL_Z", "int4", (200, 3, 16, 64)),
    ShapeVector("NCDHW", (8, 512, 9, 5, 5), "NDC1HWC0", "float32", (8, 9, 32, 5, 5, 16)),
    ShapeVector("NCDHW", (48, 512, 3, 5, 5), "FRACTAL_Z_3D", "float32", (2400, 3, 16, 16)),
    # GE, format transfer tests: groups and FRACTAL_Z_C04
    ShapeVector("HWCN", (1, 1, 1, 2), "FRACTAL_Z", "float16", (1, 1, 16, 16), groups=2),
    ShapeVector("HWCN", (3, 3, 4, 8), "FRACTAL_Z", "float16", (9, 1, 16, 16), groups=2),
    ShapeVector("NCHW", (4, 2, 16, 16), "FRACTAL_Z_C04", "int8", (32, 1, 16, 32)),
    ShapeVector("NCHW", (32, 4, 144, 1), "FRACTAL_Z_C04", "int8", (18, 2, 16, 32)),
    # GE, empty tensors
    ShapeVector("NCHW", (0, 16, 1, 1), "NC1HWC0", "float16", (0, 1, 1, 1, 16)),
    ShapeVector("NHWC", (0, 1, 16, 16), "NC1HWC0", "float16", (0, 1, 1, 16, 16)),
    ShapeVector("NCHW", (0, 16, 1, 1), "FRACTAL_Z", "float16", (1, 0, 16, 16)),
    # reports of users: ragged columns, ragged rows, odd channel counts
    ShapeVector("ND", (16, 360), "FRACTAL_NZ", "float16", (23, 1, 16, 16)),
    ShapeVector("ND", (360, 360), "FRACTAL_NZ", "int8", (12, 23, 16, 32)),
    ShapeVector("ND", (4, 128), "FRACTAL_NZ", "bfloat16", (8, 1, 16, 16)),
    ShapeVector("ND", (13, 30), "FRACTAL_NZ", "float16", (2, 1, 16, 16)),
    ShapeVector("ND", (20, 40), "FRACTAL_NZ", "bool", (2, 2, 16, 32), c0=32),
    ShapeVector("ND", (16, 64), "FRACTAL_NZ", "uint8", (2, 1, 16, 32), c0=32),
    ShapeVector("ND", (16, 64), "FRACTAL_NZ", "uint8", (1, 1, 16, 64), c0=64),
    ShapeVector("NCHW", (1, 22, 46, 34), "NC1HWC0", "float32", (1, 2, 46, 34, 16)),
    ShapeVector("NCHW", (2, 32, 16, 16), "NC1HWC0", "float16", (2, 2, 16, 16, 16)),
    # zero-size axes
    ShapeVector("ND", (0, 20), "FRACTAL_NZ", "float16", (2, 0, 16, 16)),
    ShapeVector("ND", (20, 0), "FRACTAL_NZ", "float16", (0, 2, 16, 16)),
    ShapeVector("ND", (0, 0), "FRACTAL_NZ", "float16", (0, 0, 16, 16)),
    ShapeVector("ND", (3, 0, 20), "FRACTAL_NZ", "float16", (3, 2, 0, 16, 16)),
    ShapeVector("NCHW", (0, 3, 4, 4), "NC1HWC0", "float16", (0, 1, 4, 4, 16)),
    ShapeVector("NCHW", (2, 0, 4, 4), "NC1HWC0", "float16", (2, 0, 4, 4, 16)),
    ShapeVector("NCHW", (2, 3, 0, 4), "NC1HWC0", "float16", (2, 1, 0, 4, 16)),
)

#: The NCHW tensor of GE's nchw_to_5d_uint8 test: channels 1..16, 101..116, 201..216.
PIXELS_UINT8 = np.stack([np.arange(16) + start for start in (1, 101, 201)]).astype(np.uint8).reshape(1, 3, 4, 4)

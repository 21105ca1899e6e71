"""Pictures of layouts: which element of a tensor lies in which place of its storage, as text, SVG or PNG.

Read flat and as if it were NCHW, the storage of a small NC1HWC0 tensor seems to hold "a zero after every number";
a picture shows why: the zeros are the padding of the channels up to C0.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xascend._atomic import require_free, write_file
from xascend._plan import as_size
from xascend.formats import Format
from xascend.pictures._placement import place
from xascend.pictures._png import write_png
from xascend.pictures._scene import draw_scene
from xascend.pictures._svg import write_svg
from xascend.pictures._text import write_text

__all__ = ["save", "show", "text"]

FormatLike = Format | str | int
_MAX_C0 = 256  # padding is looked at place by place, in FRACTAL_ZZ c0 * c0 of them
_WRITERS = {".svg": write_svg, ".png": write_png}


def text(
    shape: Sequence[int],
    dst_format: FormatLike,
    *,
    src_format: FormatLike | None = None,
    dtype: Any = "float16",
    c0: int | None = None,
    groups: int = 1,
    max_blocks: int = 4,
    max_rows: int = 16,
    max_columns: int = 100,
) -> str:
    r"""Return a picture of a format's storage as plain text.

    First come the tensor's shape, the storage shape with the names of its axes, C0, and the share of padding; then
    the blocks of storage in the order of memory. Each place shows which element of the tensor it holds, counted in C
    order; a dot is padding. What does not fit is left out from the middle, so a tensor of any size can be shown.

    Parameters
    ----------
    shape
        The tensor's own sizes, in the axes of `src_format`.
    dst_format
        Format to show.
    src_format
        Format in whose plain axes `shape` is given; by default those of `dst_format`: NCHW, NCDHW,
        ``(*batch, m, n)``, or its own where it is plain.
    dtype
        Dtype of any array library, or a name; it chooses the C0 where `c0` does not.
    c0
        Block of the channel (or column) axis, in elements, at most 256; by default `default_c0` of `dtype`.
    groups
        Convolution groups of FRACTAL_Z; C is then the number of channels per group, N counts all outputs.
    max_blocks, max_rows
        The most blocks, and rows of each, at least 3.
    max_columns
        The most characters of a row of elements, at least 40; a row shows 3 places in any case.

    Returns
    -------
    str
        Lines of text without a newline at the end.

    Raises
    ------
    TypeError
        The dtype is not supported.
    ValueError
        A format, size, C0 or group count does not fit, or a limit is too small.

    Notes
    -----
    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> from xascend import pictures
    >>> print(pictures.text((1, 3, 1, 2), "NC1HWC0", c0=4))
    tensor   NCHW (N, C, H, W) = (1, 3, 1, 2), float16, 6 elements
    storage  NC1HWC0 (N, C1, H, W, C0) = (1, 1, 1, 2, 4), C0 = 4, 8 places
    padding  2 of 8 places, 25.0%
    <BLANKLINE>
    A number is an element of the tensor x, counted in C order from 0; a dot is padding.
    Blocks are stored one after the other, row by row; offset is where one begins, in elements.
    <BLANKLINE>
    block 0   offset 0   x[0, 0, 0, 0] … x[0, 2, 0, 1]
    H,W\C0  0 1 2 3
       0,0  0 2 4 .
       0,1  1 3 5 .
    """
    limits = (
        as_size("max_blocks", max_blocks, 3),
        as_size("max_rows", max_rows, 3),
        as_size("max_columns", max_columns, 40),
    )
    placement = place(shape, dst_format, src_format, dtype, c0, groups)
    if placement.plan.dst_c0 > _MAX_C0:
        raise ValueError(f"`c0` must be at most {_MAX_C0} to be shown, got {placement.plan.dst_c0}")
    return write_text(placement, *limits)


def save(
    path: str | os.PathLike[str],
    shape: Sequence[int],
    dst_format: FormatLike,
    *,
    src_format: FormatLike | None = None,
    dtype: Any = "float16",
    c0: int | None = None,
    groups: int = 1,
    overwrite: bool = False,
) -> None:
    """Draw a tensor beside its storage and write the drawing to an SVG or PNG file.

    The same colour marks the same elements on both sides: one colour per block of storage, or per convolution group,
    paler from row to row. In an SVG, hovering over a place tells both its indices.

    Parameters
    ----------
    path
        File to write; its ending, ``.svg`` or ``.png``, decides the kind. PNG needs matplotlib (the extra ``plot``).
        It appears when it is complete.
    shape, dst_format, src_format, dtype, c0, groups
        As in `text`.
    overwrite
        Replace a file that exists.

    Raises
    ------
    ImportError
        PNG is asked for and matplotlib is missing.
    FileExistsError
        The file exists, and `overwrite` is not given.
    OSError
        The file cannot be written.
    TypeError
        The dtype is not supported.
    ValueError
        The ending is another, the storage has more than 4096 places or the tensor no element, or a format, size,
        C0 or group count does not fit.

    Notes
    -----
    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from xascend import pictures
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "nz.svg")
    ...     pictures.save(path, (20, 28), "FRACTAL_NZ")
    ...     path.read_text().count('class="padding"')
    464
    """
    path = Path(path)
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        raise ValueError(f"`path` must end in {' or '.join(_WRITERS)}, got {str(path)!r}")
    require_free(path, overwrite)
    write_file(path, write(draw_scene(place(shape, dst_format, src_format, dtype, c0, groups))), overwrite)


def show(
    shape: Sequence[int],
    dst_format: FormatLike,
    *,
    src_format: FormatLike | None = None,
    dtype: Any = "float16",
    c0: int | None = None,
    groups: int = 1,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    max_columns: int = 100,
) -> str:
    """Return what ``xascend show`` prints: the text, or where the drawing was saved.

    Parameters
    ----------
    shape, dst_format, src_format, dtype, c0, groups, max_columns
        As in `text`.
    out
        File to draw into as `save` does, instead of returning the text.
    overwrite
        Replace `out` if it exists.

    Returns
    -------
    str
        Lines to print, without a newline at the end.

    Raises
    ------
    ImportError, OSError, TypeError, ValueError
        As in `text` and `save`.

    Notes
    -----
    Formats: "Data formats" and "Key fractal formats" in the Ascend C developer guide.

    Examples
    --------
    >>> from xascend import pictures
    >>> pictures.show((16, 16), "NZ").splitlines()[2]
    'padding  none'
    """
    if out is None:
        return text(
            shape, dst_format, src_format=src_format, dtype=dtype, c0=c0, groups=groups, max_columns=max_columns
        )
    save(out, shape, dst_format, src_format=src_format, dtype=dtype, c0=c0, groups=groups, overwrite=overwrite)
    return f"saved {os.fspath(out)}"

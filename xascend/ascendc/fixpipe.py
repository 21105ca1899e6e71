"""Fixpipe: the cube unit's result on its way to memory, with quantisation, ReLU and a change of layout."""

from __future__ import annotations

import warnings
from typing import Any

from xascend._ranges import require_flag
from xascend.ascendc._fixpipe_checks import empty_count, plan_fixpipe
from xascend.ascendc._fixpipe_moves import run_layout
from xascend.ascendc._fixpipe_params import (
    CFG_COLUMN_MAJOR,
    CFG_NZ,
    CFG_ROW_MAJOR,
    CO2Layout,
    FixpipeConfig,
    FixpipeParamsC310,
    FixpipeParamsM300,
    FixpipeParamsM310,
    FixpipeParamsV220,
)
from xascend.ascendc.products import Product, require_product

__all__ = [
    "CFG_COLUMN_MAJOR",
    "CFG_NZ",
    "CFG_ROW_MAJOR",
    "CO2Layout",
    "FixpipeConfig",
    "FixpipeParamsC310",
    "FixpipeParamsM300",
    "FixpipeParamsM310",
    "FixpipeParamsV220",
    "fixpipe",
]


def fixpipe(
    dst: Any,
    src: Any,
    params: FixpipeParamsV220 | FixpipeParamsC310,
    *,
    config: FixpipeConfig = CFG_ROW_MAJOR,
    quant_tensor: Any = None,
    relu_tensor: Any = None,
    saturate: bool = False,
    product: Product | None = None,
) -> Any:
    """Move a matrix, or several, from the cube unit's buffer into `dst` as the instruction Fixpipe does, in place.

    The source is a matrix of `m_size` rows and `n_size` columns in blocks of 16 columns: element (j, n) is
    ``src[(n // 16 * src_stride + j) * 16 + n % 16]``. Each element goes through the arithmetic of `quant_pre` and
    `relu_en`, see `requantize`, and then to one place of `dst`:

    - ROW_MAJOR (NZ2ND): ``dst[i * dst_nd_stride + j * dst_stride + n]``, with `i` the matrix of `nd_num`, whose source
      begins ``i * src_nd_stride`` units further on.
    - NZ: ``dst[n // w * s + j * w + n % w]``, with `s` the distance between column blocks, `dst_stride` in its unit,
      and `w` the columns of a block: 16; 8 for float32 with `is_channel_split`; 32 for 8-bit results, which the
      hardware merges. Where 16 columns are left over from the merging, their block keeps ``w = 16``, at
      ``n_size // 32 * s``.
    - COLUMN_MAJOR (NZ2DN, on the 950): ``dst[i * dst_dn_matrix_stride + n * dst_stride + j]``, with `i` the matrix of
      `dn_num`, and source rows `src_nz_c0_stride` apart.

    Nothing else is written: rows of the source from `m_size` on never get into `dst`, and what lies between the rows,
    blocks and matrices of `dst` keeps its value.

    Parameters
    ----------
    dst : array, shape ``(elements,)``
        Contiguous stretch of global memory or of the Unified Buffer, of the result's dtype; written in place. It
        begins at a multiple of 32 bytes, with ROW_MAJOR anywhere.
    src : array of float32 or int32, shape ``(elements,)``
        Contiguous stretch of the L0C buffer that begins at a multiple of 64 bytes, of the library and device of `dst`,
        in memory of its own.
    params : FixpipeParamsV220, FixpipeParamsM300, FixpipeParamsM310 or FixpipeParamsC310
        Sizes, strides, quantisation; the class decides the units.
    config : FixpipeConfig, default CFG_ROW_MAJOR
        Layout of the result: `CFG_ROW_MAJOR`, `CFG_NZ` or `CFG_COLUMN_MAJOR`.
    quant_tensor : uint64 array, shape ``(n_size,)``, optional
        A word for each column, see `pack_quant_param`, with the vector modes and only with them. The host reads it,
        waiting for a GPU.
    relu_tensor : float32 array, shape ``(n_size,)``, optional
        With `relu_en`: a slope for each column, by which negative elements are multiplied *instead* of the scale. Cut
        to 19 bits like a scale. Without it negative elements become 0. With slopes or without, no result is -0.0.
    saturate : bool, default False
        Saturating mode in place of INF/NAN mode, see `requantize`.
    product : Product, optional
        Hold dtypes, `quant_pre`, `config` and the class of `params` against what this product supports. Of the Kirins
        the page tells dtypes alone: float32 to int8 (X90) and float16, and int32 as it is (X90).

    Returns
    -------
    array
        `dst`.

    Warns
    -----
    UserWarning
        If `n_size`, `m_size` or the number of matrices that goes with `config` is 0: nothing happens, and no array is
        looked at.

    Raises
    ------
    TypeError
        If an argument has a wrong type; dtypes do not go with each other, with `quant_pre`, with the sign bit of the
        words, with `is_channel_split` or with `product`; or the class of `params` does not go with `config`,
        `quant_pre` or `product`.
    ValueError
        If sizes, strides or numbers of matrices are out of the range of `config`; words or slopes are missing,
        superfluous or not one for each column; words differ in their sign bit, or a multiplier is NaN, infinite or
        subnormal; an array is not 1-D and contiguous, read-only, too short, not aligned or requires grad; `dst` and
        `src` share memory; or what is written would overlap. Nothing is written then.
    NotImplementedError
        If no public document settles what a mode or a dtype does: see `QuantMode`; 4-bit results; `relu_tensor` with
        int32 results.

    Notes
    -----
    Source: "Fixpipe", Ascend C API, in two editions, and its pages on NZ2ND, NZ2NZ, NZ2DN, channel split and channel
    merge. Where they leave a choice or disagree, beyond what `requantize` and the classes of parameters tell:

    - With the 950, `dst_stride` of NZ results counts elements; all others count data blocks of 32 bytes.
    - Channel merge: the page says that the last 16 columns stay as they are when 16 columns are left over, not
      where they go; they go where the next merged block would begin.
    - The older edition does not mention the channel merge; by the newer one it happens always.
    - Overlapping writes are undefined for the hardware and refused here.
    - 4-bit results: one page gives their blocks of 64 columns, but no mode of Fixpipe produces them.
    - ReLU: the page says ``max(0, x)``, here 0 for -inf too. With `relu_tensor` every element is multiplied, so that
      -inf with slope 0 gives NaN. Slopes are described for the C API of the 950 and in the golden scripts only.

    Examples
    --------
    A matrix of 16 rows and 20 columns in two blocks of 16, made a plain matrix:

    >>> import numpy as np
    >>> from xascend import ascendc
    >>> src = np.arange(512, dtype=np.float32)
    >>> dst = np.zeros(16 * 20, np.float16)
    >>> params = ascendc.FixpipeParamsV220(20, 16, 16, 20, ascendc.QuantMode.F322F16)
    >>> ascendc.fixpipe(dst, src, params).reshape(16, 20)[1, 14:]
    array([ 30.,  31., 272., 273., 274., 275.], dtype=float16)
    """
    if not isinstance(params, FixpipeParamsV220 | FixpipeParamsC310):
        raise TypeError(
            "`params` must be a FixpipeParamsV220, FixpipeParamsM300, FixpipeParamsM310 or FixpipeParamsC310, "
            f"got {type(params).__name__}"
        )
    if not isinstance(config, FixpipeConfig):
        raise TypeError(f"`config` must be a FixpipeConfig, for instance ascendc.CFG_NZ, got {config!r}")
    require_flag("saturate", saturate)
    if product is not None:
        require_product(product)
    empty = empty_count(params, config.format)
    if empty is not None:
        warnings.warn(f"`{empty}` is 0: nothing is moved", UserWarning, stacklevel=2)
        return dst
    layout, rule = plan_fixpipe(dst, src, params, config.format, quant_tensor, relu_tensor, bool(saturate), product)
    run_layout(dst, src, layout, rule)
    return dst

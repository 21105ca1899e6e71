"""`requantize`: the arithmetic of Fixpipe alone, on any array of any library."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat
import numpy as np

from xascend import _torch
from xascend._dispatch import array_dtype, array_namespace, array_shape, require_output, require_same_place
from xascend._outputs import empty_beside
from xascend._ranges import require_flag
from xascend.quant import _cuda, _native
from xascend.quant._arithmetic import apply_rule, result_dtype
from xascend.quant._modes import Mode, QuantMode, mode_of
from xascend.quant._rules import Numbers, Rule, make_rule, on_host
from xascend.quant._slabs import for_each_part
from xascend.quant._steps import Steps
from xascend.quant._words import require_word

__all__ = ["quantise_slabs", "read_column_words", "requantize"]


def requantize(
    x: Any, mode: QuantMode, quant: Any, *, relu: bool = False, saturate: bool = False, out: Any = None
) -> Any:
    """Quantise the cube unit's results as Fixpipe does on their way out, bit for bit.

    With `M` the scale of the word, cut to 19 bits, every step in float32:

    - NoQuant: the value itself.
    - (V)QF322B8_PRE, (V)REQ8: ``clip(rint(clip(x * M, -256, 255)) + offset, lo, hi)``, rounded half to even, with
      the limits of int8 or uint8. The order is that of the hardware: the product is rounded and clipped to 9
      bits *before* the offset is added.
    - F322F16, F322BF16: rounded half to even.
    - (V)DEQF16, and the 950's (V)QF322F16_PRE, (V)QF322BF16_PRE, (V)QS322BF16_PRE: ``x * M``, rounded half to even.

    An int32 becomes float32 first, which rounds those beyond 2**24 half to even. Where a word of (V)REQ8 or
    (V)DEQF16 has the shift bit, it is shifted right arithmetically and saturated to int16 before that. The 950 ignores
    that bit and does not shift: for its results pack the words without `shift`, since this function cannot tell the
    products apart. (`ascendc.fixpipe` can, by the class of its parameters.)

    Parameters
    ----------
    x : array of float32 or int32, shape ``(..., n)``
        Results of the cube unit; not changed.
    mode : QuantMode
        What to do; it decides which dtype `x` must have.
    quant : int, or uint64 array of shape ``(n,)``
        The quantisation parameter, see `pack_quant_param`: one word for the scalar modes; one for each column,
        that is for each index of the last axis, for the vector modes (an array of the library and device of `x`,
        which the host reads, waiting for a GPU); 0 where the mode takes none.
    relu : bool, default False
        Apply ``max(0, x)`` to the value *before* it is scaled. No result is then -0.0, whatever the sign of the scale.
    saturate : bool, default False
        What F322F16, F322BF16 and the float results of the 950 do with overflow and infinities: become infinities,
        NaN staying NaN (False, the INF/NAN mode), or the largest finite number, NaN becoming 0 (True).
        (V)DEQF16 and 8-bit results always saturate.
    out : array, optional
        Array to write into: same library and device as `x`, shape and dtype of the result, of any strides, apart from
        `x`. The fast way for large results, because the system has to clear the memory of a new array first.

    Returns
    -------
    array of the shape of `x`
        A new C-contiguous array, or `out`. Its dtype is that of the mode; int8 or uint8 by the sign bit of the words.

    Raises
    ------
    TypeError
        If an argument has a wrong type, the dtype of `x` is not the mode's, its library lacks the result's dtype, or
        `quant` is of another library or device; or `out` is, has another dtype, or cannot be written to (of Dask).
    ValueError
        If `quant` does not go with the mode or the last axis, holds a scale that is NaN, infinite or subnormal, has
        words of both signs, or has no word (``n = 0``) to tell int8 from uint8; or `x` has no axis, requires grad or
        is on PyTorch's device meta; or `out` has another shape, is read-only, or shares memory with `x`.
    NotImplementedError
        If no public document settles the mode's arithmetic.

    Notes
    -----
    Sources: "Fixpipe" and the pages on quantisation and on its combinations with ReLU, Ascend C API; the golden
    scripts of the vendor's example ``fixpipe_l0c2gm``. Where they leave a choice or disagree:

    - Two roundings of 8-bit results: so the golden scripts and those of the matmul operators. The simulator of
      the tile library rounds once, ``rint(x * M + offset)``, which differs at ties and beyond 9 bits.
    - ReLU looks at the sign of the input: so the pages and the golden scripts. The simulator applies it after
      the quantisation.
    - The golden scripts read the offset as unsigned and add it in (V)DEQF16 too, where the page calls it invalid;
      they also round (V)DEQF16 to a whole number. None of that is done here.
    - The right shift is unverified: no public golden data use it. The page numbers the field 1 to 16, as here;
      the golden scripts count from 0.
    - INF/NAN mode of F322F16 and F322BF16: "Fixpipe" says that both have it, the C API page for Atlas A2 says
      that neither has, and the one for the 950 grants it to F322F16 only.
    - The float results of the 950 follow the page's general sentences; no golden data for them are public.
    - NaN into 8 bits is documented nowhere. Its product counts as 0 here, then the offset is added.

    Examples
    --------
    >>> import numpy as np
    >>> from xascend import ascendc
    >>> x = np.array([0.5, 1.5, 2.5, -1.5, 300.0], np.float32)
    >>> ascendc.requantize(x, ascendc.QuantMode.QF322B8_PRE, ascendc.pack_quant_param(1.0, offset=-200))
    array([-128, -128, -128, -128,   55], dtype=int8)
    >>> words = ascendc.pack_quant_param(np.array([1.0, 0.25], np.float32))
    >>> ascendc.requantize(np.array([[3, 3], [-5, -70000]], np.int32), ascendc.QuantMode.VDEQF16, words)
    array([[ 3.00e+00,  7.50e-01],
           [-5.00e+00, -1.75e+04]], dtype=float16)
    >>> halves = np.empty(5, np.float16)  # for any number of results of this size
    >>> ascendc.requantize(x, ascendc.QuantMode.F322F16, 0, out=halves) is halves
    True
    """
    row = mode_of("mode", mode)
    require_flag("relu", relu)
    require_flag("saturate", saturate)
    _require_numbers(x)
    source = array_dtype(x).name
    if source not in row.results:
        raise TypeError(f"`x` must be {' or '.join(row.results)} for mode {mode.name}, got {source}")
    shape = array_shape("x", x)
    if not shape:
        raise ValueError("`x` must have at least one axis, whose last counts the columns; got a 0-d array")
    words = _read_words(x, shape[-1], mode, row, quant)
    rule = make_rule(mode, source, words, "quant", relu=bool(relu), saturate=bool(saturate))
    if out is not None:
        require_output("x", x, result_dtype(x, rule.result), shape, out)
    if compat.is_dask_array(x):
        return _run_on_blocks(x, rule)
    return _run(x, rule, out)


def _require_numbers(x: Any) -> None:
    """Refuse what is no array, and tensors without data or with a derivative, which rounding does not have."""
    array_namespace("x", x)
    if not compat.is_torch_array(x):
        return
    if x.device.type == "meta":
        raise ValueError("`x` is on the device meta and has no data")
    if x.requires_grad:
        raise ValueError("`x` requires grad, and quantisation has no derivative; pass `x.detach()`")


def _read_words(x: Any, columns: int, mode: QuantMode, row: Mode, quant: Any) -> Numbers:
    if row.words == 1:
        return read_column_words("x", x, "quant", quant, columns)
    if not isinstance(quant, int | np.integer):
        raise TypeError(
            f"`quant` must be an int for mode {mode.name}, {'one word' if row.words == 0 else '0'}, got {quant!r}"
        )
    word = require_word("quant", quant)
    if row.words is None and word:
        raise ValueError(f"`quant` must be 0 for mode {mode.name}, which takes no parameter, got {word}")
    return np.array([word], np.uint64)


def read_column_words(like_name: str, like: Any, name: str, words: Any, columns: int) -> Numbers:
    """Return the words of the columns on the host; raise where they are not `columns` words beside `like`."""
    if isinstance(words, int | np.integer):
        raise TypeError(f"`{name}` must be a uint64 array with a word for each of {columns} columns, got {words!r}")
    require_same_place(like_name, like, name, words)
    if array_dtype(words, name).name != "uint64":
        raise TypeError(f"`{name}` must be an array of uint64, got {words.dtype}")
    if tuple(words.shape) != (columns,):
        raise ValueError(f"`{name}` must have shape ({columns},), a word for each column, got {tuple(words.shape)}")
    return on_host(words)


def _run(x: Any, rule: Rule, out: Any = None) -> Any:
    xp = array_namespace("x", x)
    if not (isinstance(x, np.ndarray) or compat.is_torch_array(x) or compat.is_cupy_array(x)):
        with np.errstate(all="ignore"):  # libraries that may not write in place, but may be NumPy underneath
            y = apply_rule(x, rule, Steps(xp))
        if out is None:
            return xp.asarray(y, copy=True) if y is x else y
        out[...] = y
        return out
    if out is None:
        out = empty_beside(x, xp, tuple(x.shape), result_dtype(x, rule.result))
    if _cuda.takes(x, out):
        _cuda.quantise_rows(x, out, rule)
        return out
    memories = _native.host_memories(x, out)
    if memories is None:
        quantise_slabs(x, out, rule)
    else:
        _native.quantise_rows(*memories, rule)
        if memories[1] is not out:
            _torch.count_change(out)
    return out


def quantise_slabs(x: Any, out: Any, rule: Rule) -> None:
    """Quantise `x`, whose last axis counts columns, into `out` by the functions of its library, slab by slab."""

    def work(part: Any, steps: Steps) -> None:
        target = out[part]
        made = apply_rule(x[part], rule.columns(part[-1].start, part[-1].stop), steps, target)
        if made is not target:
            target[...] = made

    for_each_part(x, tuple(x.shape), 1, work)


def _run_on_blocks(x: Any, rule: Rule) -> Any:
    def run_block(block: Any, block_info: Any = None) -> Any:
        start, stop = block_info[0]["array-location"][-1]
        return _run(block, rule.columns(start, stop))

    dtype = result_dtype(x, rule.result)
    return x.map_blocks(run_block, dtype=dtype, meta=np.empty((0,) * x.ndim, dtype))

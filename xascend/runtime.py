"""What runs here: which executor takes a call and why, what the native library is, and how many threads it uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xascend._dispatch import array_dtype, array_namespace, array_shape, require_output
from xascend._execute import choose_executor
from xascend._native_library import load
from xascend._plan import as_shape, as_size, make_plan
from xascend._threads import get_num_threads, set_num_threads
from xascend.formats import Format, as_format

__all__ = ["BuildInfo", "Explanation", "build_info", "explain", "get_num_threads", "set_num_threads"]

Array = Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which executor takes a conversion.

    Attributes
    ----------
    executor
        ``"cuda"``, ``"native"`` (C++ library), ``"numpy"``, ``"dask"``, or ``"agnostic"`` (array-API functions alone).
    refused
        Why the executors before it do not take the call, by name.
    """

    executor: str
    refused: Mapping[str, str]

    def __str__(self) -> str:
        reasons = "; ".join(f"not {name}: {reason}" for name, reason in self.refused.items())
        return f"{self.executor} ({reasons})" if reasons else self.executor


@dataclass(frozen=True, slots=True)
class BuildInfo:
    """The native library of this installation.

    Attributes
    ----------
    native
        Whether it is there and used.
    path
        Its file; None where there is none.
    build
        What it says of its making: digest of its sources, compiler.
    reason
        Why it is not used; None where it is.
    """

    native: bool
    path: str | None
    build: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.path} ({self.build})" if self.native else f"not used: {self.reason}"


def build_info() -> BuildInfo:
    """Return which native library is used, or why none is.

    Without the library everything works all the same; arrays of NumPy are then converted by NumPy alone. The
    environment variable ``XASCEND_DISABLE_NATIVE=1`` does without it on purpose.

    Returns
    -------
    BuildInfo
        With ``native``, ``path``, ``build`` and ``reason``.

    Examples
    --------
    >>> import xascend as xa
    >>> info = xa.build_info()
    >>> info.native == (info.reason is None)
    True
    """
    library = load()
    path = None if library.path is None else str(library.path)
    return BuildInfo(library.reason is None, path, library.build, library.reason)


def explain(
    x: Array,
    src_format: Format | str | int,
    dst_format: Format | str | int,
    /,
    *,
    shape: Sequence[int] | None = None,
    c0: int | None = None,
    groups: int = 1,
    out: Array | None = None,
) -> Explanation:
    """Return which executor `trans_data` would take for the same arguments, and why; nothing is converted.

    Parameters
    ----------
    x, src_format, dst_format, shape, c0, groups, out
        As in `trans_data`.

    Returns
    -------
    Explanation
        With ``executor`` and ``refused``; its text is one line.

    Raises
    ------
    TypeError, ValueError
        As in `trans_data`.

    Examples
    --------
    >>> import numpy as np
    >>> import xascend as xa
    >>> xa.explain(np.zeros((20, 28), np.float16), "ND", "FRACTAL_NZ").executor in ("native", "numpy")
    True
    """
    array_namespace("x", x)
    plan = make_plan(
        as_format("src_format", src_format),
        as_format("dst_format", dst_format),
        array_shape("x", x),
        None if shape is None else as_shape("shape", shape),
        array_dtype(x).bits,
        None if c0 is None else as_size("c0", c0),
        as_size("groups", groups),
    )
    if out is not None:
        require_output("x", x, x.dtype, plan.dst_shape, out)
    return Explanation(*choose_executor(x, out))

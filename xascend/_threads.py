"""How many threads one conversion may use."""

from __future__ import annotations

import os
from typing import Any

from xascend._plan import as_size

__all__ = ["get_num_threads", "set_num_threads"]

_VARIABLE = "XASCEND_NUM_THREADS"
_MOST = 1024
_chosen: int | None = None


def set_num_threads(threads: int | None, /) -> None:
    """Set how many threads one conversion of arrays in memory may use; None: all processors this process may use.

    Threads are used from about one MiB per thread on. The environment variable ``XASCEND_NUM_THREADS`` sets the same
    from outside; this call comes before it.

    Parameters
    ----------
    threads
        1 to 1024, or None.

    Raises
    ------
    ValueError
        `threads` is no integer from 1 to 1024.

    Examples
    --------
    >>> import xascend as xa
    >>> xa.set_num_threads(1)
    >>> xa.get_num_threads()
    1
    >>> xa.set_num_threads(None)
    """
    global _chosen
    _chosen = None if threads is None else _as_threads("threads", threads)


def get_num_threads() -> int:
    """Return how many threads one conversion of arrays in memory may use.

    Returns
    -------
    int
        What `set_num_threads` set, else ``XASCEND_NUM_THREADS``, else the processors this process may use.

    Raises
    ------
    ValueError
        The environment variable is no integer from 1 to 1024.

    Examples
    --------
    >>> import xascend as xa
    >>> xa.get_num_threads() >= 1
    True
    """
    global _chosen
    if _chosen is None:
        _chosen = _from_environment()
    return _chosen


def _from_environment() -> int:
    text = os.environ.get(_VARIABLE, "")
    if not text:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(processors, _MOST)
    return _as_threads(_VARIABLE, int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text)


def _as_threads(name: str, value: Any) -> int:
    threads = as_size(name, value)
    if threads > _MOST:
        raise ValueError(f"`{name}` must be an integer of at most {_MOST}, got {value}")
    return threads

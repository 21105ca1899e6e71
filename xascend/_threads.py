"""How many threads one conversion may use."""

from __future__ import annotations

import os

from xascend._plan import as_size

__all__ = ["get_num_threads", "set_num_threads"]

_VARIABLE = "XASCEND_NUM_THREADS"
_chosen: int | None = None


def set_num_threads(threads: int | None, /) -> None:
    """Set how many threads one conversion of arrays in memory may use; None: all processors this process may use.

    Threads are used from about one MiB per thread on. The environment variable ``XASCEND_NUM_THREADS`` sets the same
    from outside; this call comes before it.

    Parameters
    ----------
    threads
        At least 1, or None.

    Raises
    ------
    ValueError
        `threads` is no integer of at least 1.

    Examples
    --------
    >>> import xascend as xa
    >>> xa.set_num_threads(1)
    >>> xa.get_num_threads()
    1
    >>> xa.set_num_threads(None)
    """
    global _chosen
    _chosen = None if threads is None else as_size("threads", threads)


def get_num_threads() -> int:
    """Return how many threads one conversion of arrays in memory may use.

    Returns
    -------
    int
        What `set_num_threads` set, else ``XASCEND_NUM_THREADS``, else the processors this process may use.

    Raises
    ------
    ValueError
        The environment variable is no integer of at least 1.

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
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return as_size(_VARIABLE, int(text) if text.isascii() and text.isdigit() else text)

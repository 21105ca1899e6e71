"""Throughput of conversions on this machine, held against a plain copy of as many bytes in the same run.

``xascend bench`` prints what `run` returns.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from xascend._dtypes import numpy_dtype
from xascend._plan import as_size
from xascend._threads import get_num_threads
from xascend.bench._cases import FAMILIES, SIZES, cases_for
from xascend.bench._chart import check_chart, save_chart
from xascend.bench._devices import open_device
from xascend.bench._machine import describe, device_name
from xascend.bench._measure import measure
from xascend.bench._results import CaseResult, Measurement, Report
from xascend.bench._table import markdown_table, terminal_tables

__all__ = [
    "SIZES",
    "CaseResult",
    "Measurement",
    "Report",
    "check_chart",
    "markdown_table",
    "run",
    "save_chart",
    "terminal_tables",
]

Progress = Callable[[int, int, str], None]


def run(
    *,
    families: Sequence[str] = (),
    dtypes: Sequence[str] = ("float16",),
    sizes: Sequence[int] = (SIZES["dram"],),
    device: str = "cpu",
    threads: int | None = None,
    rounds: int = 9,
    progress: Progress | None = None,
) -> Report:
    """Measure conversions here: ours, what people use today, and plain copies, in turn.

    Parameters
    ----------
    families
        Of ``nz``, ``nz-ragged``, ``5hd``, ``5hd-ragged``, ``5hd-nhwc``, ``fz``, ``requantize``; all by default.
    dtypes
        Element types; ``requantize`` has its own.
    sizes
        Bytes of the tensor, at least 1; `SIZES` has names for four. Shapes come near to that, from 465 elements on.
    device
        ``cpu``, or ``cuda`` or ``cuda:N`` through CuPy, where time is taken by events.
    threads
        What "all threads" are; by default `xascend.get_num_threads`.
    rounds
        How often every contender is measured, at least 1.
    progress
        Is told the number of cases that are done, that of all, and the next one in words.

    Returns
    -------
    Report
        With a `CaseResult` for every case, and in it a `Measurement` for every contender.

    Raises
    ------
    TypeError
        An element type is not supported.
    ValueError
        A family is not known, a number is out of range, or the device is not there.

    Examples
    --------
    >>> from xascend import bench
    >>> report = bench.run(families=["nz"], sizes=[1024], threads=1, rounds=1)
    >>> [case.title for case in report.cases]
    ['nz: ND -> FRACTAL_NZ, float16, 16 x 32', 'nz: FRACTAL_NZ -> ND, float16, 16 x 32']
    >>> report.cases[0].find("copy", 1).ratio
    1.0
    """
    known = [family.name for family in FAMILIES]
    for family in families:
        if family not in known:
            raise ValueError(f"`families` must be of {', '.join(known)}, got {family!r}")
    names = [numpy_dtype(dtype).name for dtype in dtypes]
    sizes = [as_size("sizes", size) for size in sizes]
    threads = get_num_threads() if threads is None else as_size("threads", threads)
    rounds = as_size("rounds", rounds)
    place = open_device(device)
    cases = list(cases_for(families or known, names, sizes))
    machine = describe()
    results = []
    with place.current():
        for done, case in enumerate(cases):
            if progress is not None:
                progress(done, len(cases), str(case))
            results.append(measure(case, place, threads, rounds))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Report(today, device_name(place), threads, rounds, machine, tuple(results))

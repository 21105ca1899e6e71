"""A report as a bar chart, drawn by matplotlib."""

from __future__ import annotations

import io
import os
from pathlib import Path

from xascend._atomic import require_free, write_file
from xascend.bench._results import Report

__all__ = ["check_chart", "save_chart"]

_ENDINGS = (".png", ".svg")
_COLOURS = {
    "idiom": "#9aa0a6",
    "torch": "#e8710a",
    "oneDNN": "#129eaf",
    "xascend numpy": "#8ab4f8",
    "xascend native": "#1a73e8",
    "xascend": "#1a73e8",
    "xascend without out": "#9334e6",
}
_BAR, _GAP = 0.16, 0.16  # inches


def check_chart(path: str | os.PathLike[str], /) -> None:
    """Raise what would keep `save_chart` from writing `path`, before anything is measured.

    Parameters
    ----------
    path
        File that is to be written.

    Raises
    ------
    FileNotFoundError
        Its folder is not there.
    ImportError
        matplotlib is missing.
    ValueError
        The ending is neither ``.png`` nor ``.svg``.
    """
    path = Path(path)
    if path.suffix.lower() not in _ENDINGS:
        raise ValueError(f"`path` must end in {' or '.join(_ENDINGS)}, got {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "No such folder", str(path.parent))
    try:
        import matplotlib.figure  # noqa: F401 - only to see whether it is there
    except ImportError as error:
        raise ImportError(
            "drawing a chart needs matplotlib: install the extra `plot` (pip install 'xascend[plot]')"
        ) from error


def save_chart(report: Report, path: str | os.PathLike[str], /, *, overwrite: bool = False) -> None:
    """Draw the ratios to the copy as bars, one group for each case, with lines between the quartiles.

    Parameters
    ----------
    report
        What was measured.
    path
        File to write; its ending, ``.png`` or ``.svg``, decides the kind.
    overwrite
        Replace the file if it exists.

    Raises
    ------
    FileNotFoundError, ImportError, ValueError
        As in `check_chart`.
    OSError
        The file cannot be written, or exists (FileExistsError).
    """
    check_chart(path)
    path = Path(path)
    require_free(path, overwrite)
    from matplotlib.figure import Figure

    tops: list[float] = []
    labels: list[str] = []
    figure = Figure(layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    named: set[str] = set()
    top = 0.0
    for case in report.cases:
        shown = [each for each in case.measurements if each.contender in _COLOURS]
        for number, each in enumerate(shown):
            name = each.contender + (f", {each.threads} threads" if each.threads > 1 else "")
            name += "" if each.baseline == "copy" else f" (of a {each.baseline})"
            axes.barh(
                top + number * _BAR,
                each.ratio,
                _BAR,
                xerr=[[each.ratio - each.ratio_low], [each.ratio_high - each.ratio]],
                color=_COLOURS[each.contender],
                hatch=None if each.threads == 1 else "////",
                edgecolor="white",
                ecolor="#3c4043",
                label="" if name in named else name,
            )
            named.add(name)
        tops.append(top + (len(shown) - 1) * _BAR / 2)
        labels.append(f"{case.src} → {case.dst}\n{case.dtype} {'x'.join(map(str, case.shape))}{case.in_cache}")
        top += len(shown) * _BAR + _GAP
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(tops, labels, fontsize="small")
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlabel("speed as a multiple of a plain copy (line: as fast as a copy)")
    machine = report.machine
    axes.set_title(
        f"{machine['processor']}, {machine['cores']} cores, {report.device}, {report.date}", fontsize="medium"
    )
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")
    figure.set_size_inches(8, max(3.0, top + 1.8))
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=144, format=path.suffix[1:].lower())
    write_file(path, drawn.getvalue(), overwrite)

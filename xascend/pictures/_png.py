"""A scene as a PNG file, painted by matplotlib."""

from __future__ import annotations

import io
from typing import Any

from xascend.pictures._scene import INK, Rect, Scene

__all__ = ["write_png"]

_PX_PER_INCH, _DPI = 96, 144
_POINTS = 72 / _PX_PER_INCH  # of one pixel
_ALIGN = {"start": "left", "middle": "center", "end": "right"}


def write_png(scene: Scene) -> bytes:
    """Return the PNG image; ImportError with the extra's name where matplotlib is missing."""
    try:
        from matplotlib.collections import PatchCollection
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle
    except ImportError as error:
        raise ImportError(
            "drawing PNG needs matplotlib: install the extra `plot` (pip install 'xascend[plot]'), or draw SVG"
        ) from error

    figure = Figure(figsize=(scene.width / _PX_PER_INCH, scene.height / _PX_PER_INCH), dpi=_DPI, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, scene.width), ylim=(scene.height, 0))
    axes.axis("off")
    filled = [rect for rect in scene.rects if rect.fill]
    hatched = [rect for rect in scene.rects if not rect.fill]
    looks: tuple[tuple[list[Rect], dict[str, Any]], ...] = (
        (filled, {"facecolors": [rect.fill for rect in filled], "edgecolors": "white", "linewidths": _POINTS}),
        (hatched, {"facecolors": "#fafafa", "edgecolors": "#d5d8dd", "hatch": "//////", "linewidths": 0}),
        (hatched, {"facecolors": "none", "edgecolors": "white", "linewidths": _POINTS}),  # edges over the hatching
    )
    for rects, look in looks:
        shapes = [Rectangle((rect.x, rect.y), rect.width, rect.height) for rect in rects]
        axes.add_collection(PatchCollection(shapes, **look))
    for arrow in scene.arrows:
        style = {"arrowstyle": "-|>,head_width=.3,head_length=.6", "color": INK, "alpha": 0.4, "linewidth": 4 * _POINTS}
        axes.annotate("", arrow.end, arrow.start, arrowprops=style)
    for label in scene.labels:
        axes.text(
            label.x,
            label.y,
            label.text,
            size=label.size * _POINTS,
            color=label.colour,
            weight="bold" if label.bold else "normal",
            ha=_ALIGN[label.anchor],
            va="center_baseline",
        )
    image = io.BytesIO()
    figure.savefig(image, format="png")
    return image.getvalue()

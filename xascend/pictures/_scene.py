"""The geometry of a drawing: the tensor beside its storage, as rectangles, words and lines that any writer can paint.

A colour is a block of the storage (or a convolution group), paler from row to row, on both sides: so the same shade
marks the same elements in the tensor and in memory. Lengths are pixels of 1/96 inch, y grows downwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from xascend.pictures._panel import LETTER, ROW_HEIGHT, Panel, lay_out
from xascend.pictures._placement import PADDING, Placement, Stack

__all__ = ["DIM", "INK", "MAX_PLACES", "PALE", "Arrow", "Label", "Rect", "Scene", "draw_scene"]

MAX_PLACES = 4096
INK, DIM, PALE = "#1f2430", "#6b7280", "#9aa1ad"

# Okabe and Ito's colours, which people with any colour vision can tell apart; the last stands for their black
_HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c")
_STRONGEST, _PALEST = 0.72, 0.22  # share of the hue in the first and in the last row of a block

_MARGIN, _PANEL_GAP = 28.0, 56.0
_WIDEST = 1900.0  # past this the storage is drawn below the tensor
_BESIDE, _BELOW = 48, 64  # columns of cells that share a line


@dataclass(frozen=True, slots=True)
class Rect:
    """A cell; `fill` None means hatched. `kind` is source, element or padding, `title` what hovering tells."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Label:
    """A line of text; `y` is the middle of its height, `anchor` the end of it that is at `x`."""

    x: float
    y: float
    text: str
    size: float = 9.0
    anchor: str = "middle"
    colour: str = INK
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """A step of the order of memory."""

    start: tuple[float, float]
    end: tuple[float, float]


@dataclass(slots=True)
class Scene:
    """What there is to paint, in this order."""

    title: str
    width: float = 0.0
    height: float = 0.0
    rects: list[Rect] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def write(self, x: float, y: float, text: str, size: float, colour: str = INK, *, bold: bool = False) -> None:
        """Add a line of text that begins at x, and make room for it."""
        self.labels.append(Label(x, y, text, size, "start", colour, bold))
        self.grow(x + 0.56 * size * len(text), y)

    def grow(self, x: float, y: float) -> None:
        """Make room up to a point."""
        self.width, self.height = max(self.width, x + _MARGIN), max(self.height, y + _MARGIN)


@dataclass(frozen=True, slots=True)
class _Cell:
    fill: str | None
    kind: str
    text: str
    title: str


def draw_scene(placement: Placement) -> Scene:
    """Return the drawing of a placement; ValueError where it would be too large to read, or empty."""
    source, storage, plan = placement.source, placement.storage, placement.plan
    if storage.size > MAX_PLACES:
        raise ValueError(
            f"`shape` must make at most {MAX_PLACES} places of storage to be drawn, got {storage.size} for "
            f"{source.shape} in {plan.dst_format.value}; draw a smaller shape, or print the text, which abridges"
        )
    if not source.size:
        raise ValueError(f"`shape` must have at least one element to be drawn, got {source.shape}")
    ordinals = [placement.ordinal(offset) for offset in range(storage.size)]
    paint_tensor, paint_storage = _painters(placement, ordinals)
    follows_blocks = plan.dst_format.is_blocked and plan.dst_format.layout.is_matrix and storage.blocks > 1

    scene = Scene(f"{plan.src_format.value} {source.shape} stored as {plan.dst_format.value}, {placement.dtype}")
    y = _draw_heading(scene, placement, follows_blocks)
    cell = 9 + 6.5 * max(2, len(str(source.size - 1)))
    tensor = lay_out(source, _MARGIN, y, cell, _BESIDE)
    memory = lay_out(storage, tensor.right + _PANEL_GAP, y, cell, _BESIDE)
    if memory.right > _WIDEST:
        memory = lay_out(storage, _MARGIN, tensor.bottom + _PANEL_GAP, cell, _BELOW)
    for panel, name, paint in ((tensor, "Tensor x", paint_tensor), (memory, "Storage y", paint_storage)):
        scene.write(panel.x, panel.y - 18, f"{name}: {_axes_in_words(panel.stack)}", 13, bold=True)
        _draw_panel(scene, panel, paint, show_offset=panel is memory)
    if follows_blocks:
        scene.arrows = _arrows(tensor, storage, ordinals)
    return scene


def _painters(placement: Placement, ordinals: list[int]) -> tuple[Callable[[int], _Cell], Callable[[int], _Cell]]:
    """Return how to paint the place at an offset of the tensor, and of the storage."""
    source, storage, grouped = placement.source, placement.storage, placement.plan.groups > 1
    stored_at = {ordinal: offset for offset, ordinal in enumerate(ordinals) if ordinal != PADDING}

    def paint_element(ordinal: int, kind: str) -> _Cell:
        offset = stored_at[ordinal]
        block, row = divmod(offset // storage.columns, storage.rows)
        hue = _HUES[(placement.group(ordinal) if grouped else block) % len(_HUES)]
        share = _STRONGEST - (_STRONGEST - _PALEST) * row / max(1, storage.rows - 1)
        title = f"x[{_join(source.index(ordinal))}] → y[{_join(storage.index(offset))}], offset {offset}"
        return _Cell(_mix(hue, share), kind, str(ordinal), title)

    def paint_tensor(offset: int) -> _Cell:
        return paint_element(offset, "source")

    def paint_storage(offset: int) -> _Cell:
        if ordinals[offset] != PADDING:
            return paint_element(ordinals[offset], "element")
        return _Cell(None, "padding", "", f"y[{_join(storage.index(offset))}] is padding, offset {offset}")

    return paint_tensor, paint_storage


def _mix(hue: str, share: float) -> str:
    parts = (int(hue[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - part)):02x}" for part in parts)


def _join(items: tuple[object, ...]) -> str:
    return ", ".join(map(str, items))


def _axes_in_words(stack: Stack) -> str:
    outer = f"blocks {_join(stack.names[stack.outer_axes])}; " if stack.outer_axes.stop and stack.blocks > 1 else ""
    return f"{outer}rows {_join(stack.names[stack.row_axes])}; columns {stack.names[-1]}"


def _draw_heading(scene: Scene, placement: Placement, follows_blocks: bool) -> float:
    """Draw title, sizes and legend; return where the first panel begins."""
    y = _MARGIN + 4
    scene.write(_MARGIN, y, scene.title, 18, bold=True)
    y += 12
    for subject, text in placement.facts():
        y += 18
        scene.write(_MARGIN, y, subject, 12, DIM)
        scene.write(_MARGIN + 62, y, text, 12)
    owner = "convolution group" if placement.plan.groups > 1 else "block of storage"
    legend = [
        f"One colour is one {owner}, paler from row to row; hatched places are padding.",
        "A number is an element of x, counted in C order. Memory runs along the rows, block after block.",
    ]
    if follows_blocks:
        legend.append("Arrows lead from block to block as they lie in memory.")
    y += 6
    for text in legend:
        y += 17
        scene.write(_MARGIN, y, text, 11, DIM)
    return y + 52


def _draw_panel(scene: Scene, panel: Panel, paint: Callable[[int], _Cell], *, show_offset: bool) -> None:
    stack = panel.stack
    for block, (x, y) in enumerate(panel.corners):
        name, start = stack.name_block(block), f"offset {stack.offset(block, 0, 0)}"
        width = stack.columns * panel.cell
        scene.labels.append(Label(x, y - 23, name, 11, "start", bold=True))
        if show_offset and LETTER * (len(name) + len(start)) < width:
            scene.labels.append(Label(x + width, y - 23, start, 9, "end", DIM))
        for column in range(stack.columns):
            scene.labels.append(Label(x + (column + 0.5) * panel.cell, y - 8, str(column), 7.5, colour=PALE))
        for row in range(stack.rows):
            scene.labels.append(Label(x - 5, y + (row + 0.5) * ROW_HEIGHT, stack.name_row(row), 7.5, "end", PALE))
    for offset in range(stack.size):
        (x, y), cell = panel.spot(offset), paint(offset)
        scene.rects.append(Rect(x, y, panel.cell, ROW_HEIGHT, cell.fill, cell.kind, cell.title))
        if cell.text:
            scene.labels.append(Label(x + panel.cell / 2, y + ROW_HEIGHT / 2, cell.text))
    scene.grow(panel.right, panel.bottom)


def _arrows(tensor: Panel, storage: Stack, ordinals: list[int]) -> list[Arrow]:
    """Return the way that memory takes through the tensor, from the middle of one block's elements to the next."""
    middles = []
    per_block = storage.rows * storage.columns
    for start in range(0, storage.size, per_block):
        spots = [tensor.spot(ordinal) for ordinal in ordinals[start : start + per_block] if ordinal != PADDING]
        x, y = (sum(axis) / len(spots) for axis in zip(*spots, strict=True))
        middles.append((x + tensor.cell / 2, y + ROW_HEIGHT / 2))
    return [Arrow(start, end) for start, end in itertools.pairwise(middles)]

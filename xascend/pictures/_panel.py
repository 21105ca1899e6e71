"""Where the blocks and cells of one array lie on the page."""

from __future__ import annotations

from dataclasses import dataclass

from xascend.pictures._placement import Stack

__all__ = ["LETTER", "ROW_HEIGHT", "Panel", "lay_out"]

ROW_HEIGHT = 18.0
_GAP = 18.0
_ABOVE = 30.0  # room for a block's name and the numbers of its columns
LETTER = 7.2  # width of a letter of those names


@dataclass(frozen=True, slots=True)
class Panel:
    """A stack laid out from (x, y) on, with the upper left corner of every block and the width of a cell."""

    stack: Stack
    x: float
    y: float
    cell: float
    corners: tuple[tuple[float, float], ...]

    @property
    def right(self) -> float:
        """Where the last column of the widest line ends."""
        return max(x for x, _ in self.corners) + self.stack.columns * self.cell

    @property
    def bottom(self) -> float:
        """Where the last row ends."""
        return max(y for _, y in self.corners) + self.stack.rows * ROW_HEIGHT

    def spot(self, offset: int) -> tuple[float, float]:
        """Return the upper left corner of a cell."""
        row, column = divmod(offset, self.stack.columns)
        block, row = divmod(row, self.stack.rows)
        x, y = self.corners[block]
        return x + column * self.cell, y + row * ROW_HEIGHT


def lay_out(stack: Stack, x: float, y: float, cell: float, line_cells: int) -> Panel:
    """Return the panel whose lines hold up to `line_cells` columns of cells.

    The last of the axes that count blocks runs along the lines and is broken evenly where it is too long.
    """
    counts = stack.shape[stack.outer_axes]
    run = counts[-1] if counts else 1
    fit = max(1, line_cells // stack.columns)
    if run <= fit:
        run = per_line = fit // run * run  # whole runs share a line
    else:
        per_line = -(-run // -(-run // fit))
    lines_per_run = -(-run // per_line)

    left = 10 + LETTER * len(stack.name_row(stack.rows - 1))
    name = LETTER * max(len(stack.name_block(block)) for block in range(stack.blocks))
    width = max(left + stack.columns * cell, name) + _GAP
    height = _ABOVE + stack.rows * ROW_HEIGHT + _GAP
    corners = []
    for block in range(stack.blocks):
        outer, inner = divmod(block, run)
        line, column = divmod(inner, per_line)
        corners.append((x + left + column * width, y + _ABOVE + (outer * lines_per_run + line) * height))
    return Panel(stack, x, y, cell, tuple(corners))

"""The picture of a placement for a terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from xascend.pictures._placement import PADDING, Placement

__all__ = ["write_text"]

_SKIPPED = "…"
_LEGEND = (
    "A number is an element of the tensor x, counted in C order from 0; a dot is padding.",
    "Blocks are stored one after the other, row by row; offset is where one begins, in elements.",
)


def _elide(count: int, slots: int) -> list[int | None]:
    """Return the numbers below `count`, or as many as fit from both ends, with None for what is left out."""
    if count <= slots:
        return list(range(count))
    kept = slots - 1
    return [*range(kept - kept // 2), None, *range(count - kept // 2, count)]


def write_text(placement: Placement, max_blocks: int, max_rows: int, max_columns: int) -> str:
    """Return the sizes and then the blocks in the order of memory."""
    lines = [f"{subject:<9}{text}" for subject, text in placement.facts()]
    if not placement.storage.size:
        return "\n".join([*lines, "", "No element is stored."])
    lines += ["", *_LEGEND]
    blocks = _elide(placement.storage.blocks, max_blocks)
    for block in blocks:
        if block is None:
            lines += ["", f"{_SKIPPED} {placement.storage.blocks - len(blocks) + 1} more blocks {_SKIPPED}"]
        else:
            lines += ["", _heading(placement, block), *_table(placement, block, max_rows, max_columns)]
    return "\n".join(lines)


def _heading(placement: Placement, block: int) -> str:
    start, stop = (placement.storage.offset(b, 0, 0) for b in (block, block + 1))
    first = _first_element(placement, range(start, stop))
    last = _first_element(placement, reversed(range(start, stop)))
    held = f"{first} {_SKIPPED} {last}" if first else "padding only"
    parts = [f"block {block}", placement.storage.name_block(block), f"offset {start}", held]
    return "   ".join(part for part in parts if part)


def _first_element(placement: Placement, offsets: Iterable[int]) -> str:
    """Return the first element met, as ``x[i, j]``, or nothing."""
    for offset in offsets:
        ordinal = placement.ordinal(offset)
        if ordinal != PADDING:
            return f"x[{', '.join(map(str, placement.source.index(ordinal)))}]"
    return ""


def _table(placement: Placement, block: int, max_rows: int, max_columns: int) -> list[str]:
    storage = placement.storage
    rows = _labelled_rows(placement, block, max_rows)
    corner = f"{','.join(storage.names[storage.row_axes])}\\{storage.names[-1]}"
    margin = max(len(corner), *(len(label) for label, _ in rows))
    width = max(len(str(placement.source.size - 1)), len(str(storage.columns - 1)))
    columns = _elide(storage.columns, max(3, (max_columns - margin - 1) // (width + 1)))

    def line(label: str, cells: list[str]) -> str:
        return f"{label:>{margin}} {''.join(f' {cell:>{width}}' for cell in cells)}"

    def cell(row: int | None, column: int | None) -> str:
        if row is None or column is None:
            return _SKIPPED
        ordinal = placement.ordinal(storage.offset(block, row, column))
        return "." if ordinal == PADDING else str(ordinal)

    header = line(corner, [_SKIPPED if column is None else str(column) for column in columns])
    return [header, *(line(label, [cell(row, column) for column in columns]) for label, row in rows)]


def _labelled_rows(placement: Placement, block: int, max_rows: int) -> list[tuple[str, int | None]]:
    """Return the rows to show; rows of nothing but padding all look alike, so one line stands for a run of them."""
    storage = placement.storage

    def is_padding(row: int | None) -> bool:
        return row is not None and all(
            placement.ordinal(storage.offset(block, row, column)) == PADDING for column in range(storage.columns)
        )

    rows: list[tuple[str, int | None]] = []
    for padded, run in itertools.groupby(_elide(storage.rows, max_rows), is_padding):
        labelled = [(_SKIPPED if row is None else storage.name_row(row), row) for row in run]
        if padded and len(labelled) > 1:
            (first, row), (last, _) = labelled[0], labelled[-1]
            labelled = [(f"{first}{_SKIPPED}{last}", row)]
        rows += labelled
    return rows

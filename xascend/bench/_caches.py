"""The caches of a core, as far as the system tells them, and which of them holds what is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["host_caches", "smallest_holding"]

_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")


def host_caches() -> dict[str, int]:
    """Return the bytes of the first core's caches for data by name (``L1``), small to large; none where none tells."""
    found = {}
    for folder in sorted(_FOLDER.glob("index*")):
        size = re.match(r"\d+(?=K)", _word(folder / "size"))  # some virtual machines tell all but the size
        if size and _word(folder / "type") != "Instruction":
            found[f"L{_word(folder / 'level')}"] = int(size[0]) << 10
    return found


def smallest_holding(caches: Mapping[str, int], nbytes: int, /) -> str | None:
    """Return the name of the smallest cache of at least `nbytes`, or None."""
    return min((name for name, size in caches.items() if size >= nbytes), key=caches.__getitem__, default=None)


def _word(path: Path) -> str:
    return path.read_text(encoding="ascii").strip() if path.is_file() else ""

"""The index of a checkpoint in shards: which file holds which tensor.

Source: "Sharded checkpoints" in the documentation of Transformers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["index_text", "is_index_of", "require_covered", "shards_of"]


def _read(index: Path) -> dict[str, Any]:
    try:
        fields = json.loads(index.read_text(encoding="utf-8"))
        outside = [shard for shard in fields["weight_map"].values() if Path(shard).name != shard]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{index} is not a readable index: {error!s}") from error
    if outside:
        raise ValueError(f"{index} names {outside[0]!r}, which is no plain file name")
    return dict(fields)


def shards_of(index: Path, /) -> tuple[Path, ...]:
    """Return the files that an index names, which must exist."""
    shards = tuple(index.parent / shard for shard in sorted(set(_read(index)["weight_map"].values())))
    for shard in shards:
        if not shard.is_file():
            raise FileNotFoundError(2, f"{index.name} names a shard that is not there", str(shard))
    return shards


def require_covered(index: Path, held: Mapping[Path, frozenset[str]], /) -> None:
    """Refuse an index that puts a tensor where it is not; `held` has the tensor names of every file."""
    shards_of(index)
    for name, shard in _read(index)["weight_map"].items():
        if name not in held.get(index.parent / shard, frozenset()):
            raise ValueError(f"{index} puts {name} into {shard}, which does not hold it")


def index_text(index: Path, nbytes: Mapping[tuple[str, str], int], /) -> str:
    """Return the index for converted shards; `nbytes` has the bytes of each (shard, tensor)."""
    fields = _read(index)
    total = sum(nbytes[shard, name] for name, shard in fields["weight_map"].items())
    fields["metadata"] = {**(fields.get("metadata") or {}), "total_size": total}
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def is_index_of(out: Path, index: Path, /) -> bool:
    """Say whether a file is what `index_text` makes of an index, apart from the total."""
    try:
        made, fields = _read(out), _read(index)
    except ValueError:
        return False
    for either in (made, fields):
        either["metadata"] = {**(either.get("metadata") or {}), "total_size": 0}
    return made == fields

"""Tables of a configuration: keys in snake_case or in the C++ spelling, every one of them known, none missing."""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any, TypeVar

import numpy as np

__all__ = ["as_member", "as_plain", "as_snake_case", "make_params", "read_table", "shown_params"]

Member = TypeVar("Member", bound=enum.Enum)
Params = TypeVar("Params")

_RENAMED = {"repeat_time": "repeat_times"}  # Brcb's own spelling of what all other instructions call repeatTimes


def as_plain(where: str, value: Any, /) -> Any:
    """Return a value as a TOML file would hold it: members by name, arrays and tuples as lists, no NumPy numbers."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [as_plain(where, entry) for entry in value]
    if not isinstance(value, Mapping):
        return value
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"{where} must have keys of text, got {key!r}")
    return {key: as_plain(where, entry) for key, entry in value.items()}


def as_snake_case(key: str, /) -> str:
    """Return ``dst_rep_stride`` for ``dstRepStride``."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
    return _RENAMED.get(snake, snake)


def read_table(where: str, table: Any, required: Iterable[str] = (), optional: Iterable[str] = (), /) -> dict[str, Any]:
    """Return a table with its keys in snake_case; ValueError where one is unknown, doubled or missing."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} must be a table, got {table!r}")  # noqa: TRY004 - a wrong file, not a wrong call
    required, known = tuple(required), (*required, *optional)
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = as_snake_case(key)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise ValueError(f"{where} has the unknown key `{key}` = {value!r}; accepted are {', '.join(known)}{hint}")
        if name in values:
            raise ValueError(f"{where} has the key `{name}` twice, the second time as `{key}` = {value!r}")
        values[name] = value
    missing = [name for name in required if name not in values]
    if missing:
        got = ", ".join(table) or "none"
        raise ValueError(f"{where} lacks the key `{missing[0]}`; it must have {', '.join(required)}, got {got}")
    return values


def as_member(name: str, kind: type[Member], value: Any, /) -> Member:
    """Return the member of an enumeration that a name, or its number, means."""
    if isinstance(value, str) and value in kind.__members__:
        return kind.__members__[value]
    numbers = {member.value: member for member in kind if isinstance(member, int)}
    if type(value) is int and value in numbers:
        return numbers[value]
    accepted = ", ".join(f"{m.name} {m.value}" if isinstance(m, int) else m.name for m in kind)
    raise ValueError(f"`{name}` must be one of {accepted}; got {value!r}")


def make_params(kind: type[Params], table: Any, convert: Mapping[str, Callable[[Any], Any]] | None = None, /) -> Params:
    """Return a parameter object made from the table ``[params]``; `convert` makes fields of what a table can hold."""
    known: Any = kind
    has_default = {field.name: field.default is not MISSING for field in fields(known)}
    required = [name for name, optional in has_default.items() if not optional]
    values = read_table("[params]", table, required, [name for name, optional in has_default.items() if optional])
    for name, function in (convert or {}).items():
        if name in values:
            values[name] = function(values[name])
    return kind(**values)


def shown_params(params: Any, /) -> dict[str, Any]:
    """Return all fields of a parameter object as JSON holds them."""
    return {name: value.name if isinstance(value, enum.Enum) else value for name, value in asdict(params).items()}

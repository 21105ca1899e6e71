"""What happens to each tensor of a file: converted from what to what, or copied unchanged, and why."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any

import numpy as np

from xascend._dtypes import resolve_dtype
from xascend._plan import Plan, make_plan
from xascend.files.record import Record
from xascend.files.tensor import StoredTensor, with_dtype
from xascend.formats import Format

__all__ = ["NOT_CHOSEN", "Choice", "Request", "choose"]

Shape = tuple[int, ...]

NOT_CHOSEN = "not chosen by include and exclude"


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller asks for, checked: the arguments of `convert` that decide about tensors."""

    src_format: Format | None = None
    dst_format: Format | None = None
    shape: Shape | None = None
    c0: int | None = None
    groups: int = 1
    dtype: np.dtype[Any] | None = None
    with_order: bool = False  # whether `dtype` was given with a byte order
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def selects(self, name: str, /) -> bool:
        """Say whether the globs choose a tensor."""
        included = not self.include or any(fnmatch.fnmatchcase(name, glob) for glob in self.include)
        return included and not any(fnmatch.fnmatchcase(name, glob) for glob in self.exclude)

    def to_json(self) -> dict[str, Any]:
        """Return the request as JSON holds it."""
        return {
            "from": self.src_format and self.src_format.value,
            "to": self.dst_format and self.dst_format.value,
            "shape": None if self.shape is None else list(self.shape),
            "c0": self.c0,
            "groups": self.groups,
            "dtype": self.dtype and (self.dtype.str if self.with_order else self.dtype.name),
            "include": list(self.include),
            "exclude": list(self.exclude),
        }


@dataclass(frozen=True, slots=True)
class Choice:
    """The decision on one tensor.

    Attributes
    ----------
    tensor
        The tensor, seen as the type that was asked for.
    plan
        The conversion; None means that the tensor is copied unchanged.
    reason
        Why it is copied.
    record
        What to remember of it in the output.
    """

    tensor: StoredTensor
    plan: Plan | None
    reason: str
    record: Record | None

    @property
    def shape(self) -> Shape:
        """Sizes of the array in the output."""
        return self.tensor.shape if self.plan is None else self.plan.dst_shape


def choose(tensor: StoredTensor, request: Request, others_recorded: bool, /) -> Choice:
    """Return the decision on a tensor; `others_recorded` tells whether the input holds any converted tensor.

    A request that contradicts the tensor's record is a ValueError.
    """
    record = tensor.record
    if not request.selects(tensor.name):
        return Choice(tensor, None, NOT_CHOSEN, record)
    if request.dtype is not None:
        if record is not None and record.dtype != request.dtype.name:
            raise ValueError(
                f"`dtype` must be left out or {record.dtype}, which {tensor.name} is recorded as, "
                f"got {request.dtype.name}"
            )
        tensor = with_dtype(tensor, request.dtype, request.with_order)
    src = request.src_format or (Format(record.format) if record is not None else None)
    dst = request.dst_format or (Format(record.plain_format) if record is not None and record.is_blocked else None)
    undoing = others_recorded and (request.src_format is None or request.src_format.is_blocked)
    if undoing and (record is None or not record.is_blocked):
        return Choice(tensor, None, "no record of a conversion", record)
    if src is None and dst is not None and dst.is_blocked and dst.layout.is_matrix:
        src = Format.ND  # no guess: these formats take all plain axes as they lie
    if src is None or dst is None:
        missing = "src_format (--from)" if src is None else "dst_format (--to)"
        raise ValueError(f"`{missing}` is needed: nothing recorded of {tensor.name} in {tensor.path} tells it")
    if record is not None:
        _require_consistent(tensor.name, record, request, src, dst)
    reason = _reason_not_held(tensor, record, src, dst)
    if reason is not None:
        return Choice(tensor, None, reason, record)
    plan = _plan(tensor, record, request, src, dst)
    return Choice(tensor, plan, "", _new_record(plan, record, tensor))


def _require_consistent(name: str, record: Record, request: Request, src: Format, dst: Format) -> None:
    stored, plain = Format(record.format), Format(record.plain_format)
    shown = f"{name} is {stored.value} already" if stored.is_blocked else f"{name} is {stored.value}"
    made = f"{shown}, made from {plain.value} {record.shape}" if stored.is_blocked else shown
    if src is not stored and (stored.is_blocked or src.is_blocked or Format.ND not in (src, stored)):
        raise ValueError(f"`src_format` must be left out or {stored.value}: {made}; got {src.value}")
    if stored.is_blocked and dst.is_blocked and request.src_format is None:
        raise ValueError(f"{made}; to convert it on to {dst.value} say so with `src_format` {stored.value} (--from)")
    if stored.layout.is_matrix and stored.is_blocked and plain is not Format.ND:
        kept = dst in (plain, Format.ND) or dst.layout.is_matrix or dst.layout.axes == plain.value
        if not kept:
            raise ValueError(
                f"`dst_format` must be ND or {plain.value}: {made}, and {dst.value} takes other axes; "
                "convert back first"
            )
    if request.groups not in (1, record.groups) and stored.layout.grouped:
        raise ValueError(f"`groups` must be left out or {record.groups}: {made}; got {request.groups}")


def _reason_not_held(tensor: StoredTensor, record: Record | None, src: Format, dst: Format, /) -> str | None:
    """Return why the formats cannot hold a tensor, or None where they can."""
    if tensor.raw:
        return f"type {tensor.raw} is not converted"
    try:
        resolve_dtype(tensor.dtype)
    except TypeError as error:
        return str(error)
    rank = len(record.shape if record is not None else tensor.shape)
    if src.is_blocked and record is None:
        stored = len(src.layout.stored)
        fits = rank >= stored - 1 if src.layout.is_matrix else rank == stored
        return None if fits else f"{src.value} has {stored - src.layout.is_matrix} axes, not {rank}"
    named = [fmt for fmt in (dst, src) if not fmt.layout.is_matrix]
    if not named:
        return None if rank >= 2 else f"{dst.value} takes 2 axes or more, not {rank}"
    axes = named[0].layout.axes
    if rank == 2 and any(fmt.layout.grouped for fmt in named) and (len(named) == 1 or record is not None):
        return None
    if rank != len(axes):
        return f"{named[0].value} takes {len(axes)} axes, not {rank}"
    if dst.layout.fused and not src.is_blocked:
        channels = tensor.shape["NCHW".index("C") if src.layout.is_matrix else src.layout.axes.index("C")]
        if channels > 4:
            return f"{dst.value} takes up to 4 channels, not {channels}"
    return None


def _plan(tensor: StoredTensor, record: Record | None, request: Request, src: Format, dst: Format) -> Plan:
    shape, groups = request.shape, request.groups
    if record is not None and src.is_blocked:
        shape = _recorded_shape(record, src, dst)
        if request.shape not in (None, shape):
            raise ValueError(
                f"`shape` must be left out or {shape}, which {tensor.name} is recorded with, got {request.shape}"
            )
        groups = record.groups if src.layout.grouped else groups
    try:
        plan = make_plan(src, dst, tensor.shape, shape, resolve_dtype(tensor.dtype).bits, request.c0, groups)
        plan.require_addressable(tensor.dtype.itemsize)
    except ValueError as error:
        raise ValueError(f"{tensor.name}: {error}") from error
    return plan


def _recorded_shape(record: Record, src: Format, dst: Format) -> Shape:
    """Return the recorded sizes in the axes that a conversion of a blocked source takes `shape` in."""
    axes = dst.layout.axes if not dst.is_blocked and not dst.layout.is_matrix else src.layout.axes
    recorded = Format(record.plain_format).layout.axes
    if set(recorded) != set(axes):  # ND, whose axes are taken as they lie, or a matrix format
        recorded = Format(record.format).layout.axes
    if len(recorded) != len(record.shape) or set(recorded) != set(axes):
        return record.shape
    sizes = dict(zip(recorded, record.shape, strict=True))
    return tuple(sizes[axis] for axis in axes)


def _new_record(plan: Plan, old: Record | None, tensor: StoredTensor) -> Record:
    src, dst = plan.src_format, plan.dst_format
    plain, shape = src, plan.sizes
    if not dst.is_blocked:
        plain, shape = dst, plan.dst_shape
    elif src.is_blocked:
        as_it_lies = len(shape) == 2 or src.layout.is_matrix or (old is not None and old.plain_format == "ND")
        plain = Format.ND if as_it_lies else src.plain
        if src.layout.is_matrix and old is not None:
            plain = Format(old.plain_format)
        elif (
            old is not None
            and not (as_it_lies or dst.layout.is_matrix)
            and set(Format(old.plain_format).layout.axes) == set(src.layout.axes)
        ):
            plain = Format(old.plain_format)  # the way back leads to where the first conversion came from
            sizes = dict(zip(src.layout.axes, shape, strict=True))
            shape = tuple(sizes[axis] for axis in plain.layout.axes)
    groups = plan.groups if dst.layout.grouped else 1
    return Record(dst.value, plain.value, shape, resolve_dtype(tensor.dtype).name, plan.dst_c0 or None, groups)

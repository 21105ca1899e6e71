"""Who takes part: one table for each kind of work and device."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from xascend.bench import _copies, _own, _peers
from xascend.bench._cases import Case
from xascend.bench._devices import Device, Host
from xascend.bench._problem import Problem

__all__ = ["Contender", "contenders_for"]

Ready = Callable[[Problem, int], AbstractContextManager[Callable[[], Any]]]
_ONE, _EACH = "one thread", "one thread and all threads"


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do a conversion.

    Attributes
    ----------
    name
        As reports show it.
    threads
        How many threads of the host it may use; 1 where a CUDA device does the work.
    ready
        Context that gives, for a problem and that many threads, a call without arguments. The call returns its
        result, or None where that lies in ``out``. UnavailableError says why the contender does not take part.
    baseline
        The copy that its ratio is to.
    """

    name: str
    threads: int
    ready: Ready
    baseline: str = "copy"

    @property
    def key(self) -> tuple[str, int]:
        """What tells contenders apart."""
        return self.name, self.threads


_COPIES = (("copy", _EACH, _copies.copy, "copy"), ("new copy", _ONE, _copies.new_copy, "copy"))
_HOST = (
    *_COPIES,
    ("loops", _ONE, _peers.loops, "copy"),
    ("idiom", _ONE, _peers.idiom, "copy"),
    ("torch", _EACH, _peers.torch, "copy"),
    ("oneDNN", _EACH, _peers.onednn, "copy"),
    ("xascend numpy", _ONE, _own.numpy, "copy"),
    ("xascend native", _EACH, _own.native, "copy"),
    ("xascend without out", _EACH, _own.into_new, "new copy"),
)
_CUDA = (
    *_COPIES,
    ("idiom", _ONE, _peers.idiom, "copy"),
    ("torch", _ONE, _peers.torch, "copy"),
    ("xascend", _ONE, _own.into_out, "copy"),
    ("xascend without out", _ONE, _own.into_new, "new copy"),
)
_QUANTISED = (
    *_COPIES,
    ("idiom", _ONE, _peers.quantised_idiom, "copy"),
    ("xascend", _EACH, _own.quantised, "copy"),
)


def contenders_for(case: Case, device: Device, threads: int, /) -> tuple[Contender, ...]:
    """Return who takes part in `case`, where all threads are `threads`; copies come first."""
    on_host = isinstance(device, Host)
    table = _QUANTISED if not case.family.is_layout else _HOST if on_host else _CUDA
    most = threads if on_host else 1
    counts = {_ONE: [1], _EACH: sorted({1, most})}
    return tuple(
        Contender(name, count, ready, baseline) for name, which, ready, baseline in table for count in counts[which]
    )

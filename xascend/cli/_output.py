"""What a command prints, held back until its work is done: a failure to print is none of the work."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from xascend.cli._values import shown_text

__all__ = ["HeldBack", "print_line", "print_out"]

_NOT_PRINTED = 3  # exit status: everything was done, but not shown
_READER_GONE = 141  # as a shell shows an end by SIGPIPE


class HeldBack(io.StringIO):
    """A stream that keeps what is written for another one, and looks like it to those who ask."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def isatty(self) -> bool:
        """Return whether the text will go to a terminal."""
        return self._stream.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding that the text must get through."""
        return self._stream.encoding


def print_out(text: str, status: int, /) -> int:
    """Print what a command held back, and return the exit status: that of its work, unless nobody got the text."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has gone, as with `| head`
        _give_up()
        return status or _READER_GONE
    except OSError as error:
        _give_up()
        print_line("error", f"done, but the output cannot be printed: {error.strerror or error}")
        return status or _NOT_PRINTED
    return status


def print_line(kind: str, text: str, /) -> None:
    """Print an error or a warning; where even that fails, the exit status has to do."""
    with suppress(OSError):
        print(f"xascend: {kind}: {shown_text(text)}", file=sys.stderr)


def _give_up() -> None:
    """Let what is left to flush go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)

"""``python -m xascend`` and the command ``xascend``."""

from __future__ import annotations

import io
import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until signals are taken care of: an end without a traceback
    _prepare_streams()
    from xascend.cli import run

    sys.exit(run(sys.argv[1:]))


def _prepare_streams() -> None:
    """Let whatever is printed have a place to go, and every character a spelling.

    A stream that the caller closed is None, and its number would go to the next file that is opened.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - for as long as the process lives
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()

"""The commands put together, and what becomes of errors: one line and an exit status, never a traceback."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Annotated, Any

import typer

import xascend
from xascend.cli._output import HeldBack, print_line, print_out
from xascend.cli._values import shown_text
from xascend.cli.bench import bench
from xascend.cli.convert import convert
from xascend.cli.formats import formats
from xascend.cli.golden import compare_command, golden_command
from xascend.cli.info import info
from xascend.cli.locate import locate
from xascend.cli.show import show

__all__ = ["Interrupted", "run"]

_ClickException: Any = (typer.BadParameter.__base__ or Exception).__base__  # of click, or of typer's own copy of it
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

app = typer.Typer(
    name="xascend",
    help="Convert tensors and model files between the storage formats of Ascend processors, bit for bit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS: dict[str, Callable[..., int]] = {
    "convert": convert,
    "info": info,
    "formats": formats,
    "show": show,
    "locate": locate,
    "compare": compare_command,
    "golden": golden_command,
    "bench": bench,
}
for name, command in _COMMANDS.items():
    app.command(name)(command)


class Interrupted(BaseException):
    """The process was told to stop by a signal; `status` is the exit status that a shell expects.

    No KeyboardInterrupt, which typer would turn into its own exit.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"xascend {xascend.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Convert tensors and model files between the storage formats of Ascend processors, bit for bit."""


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Turn the first signal to stop into an exception, so that temporary files go; further ones change nothing.

    They are ignored from the end of the work until the exit. Not before: of two that came together, the handler of
    one runs while the other is still waiting for its own, and Python complains where that has become SIG_IGN.
    """
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    caught = [number for number, handler in before.items() if handler is not signal.SIG_IGN]

    stopping = False

    def stop(number: int, _frame: object) -> None:
        nonlocal stopping
        if not stopping:
            stopping = True
            raise Interrupted(number)

    for number in caught:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_IGN if stopping else before[number])


def run(arguments: Sequence[str], /) -> int:
    """Run a command line and return its exit status.

    0 done, 1 some tensors failed (compare: different), 2 wrong usage or unusable files, 3 done but the output cannot
    be printed, 141 done but its reader has gone, 128 + N stopped by signal N.
    """
    held = HeldBack(sys.stdout)
    try:
        with _signals_raise():
            with redirect_stdout(held):
                status = _run(arguments)
            return print_out(held.getvalue(), status)
    except Interrupted as stopped:
        held = HeldBack(sys.stdout)
        with redirect_stdout(held):
            status = _fail(arguments, f"stopped by {signal.Signals(stopped.status - 128).name}", stopped.status)
        return print_out(held.getvalue(), status)


def _run(arguments: Sequence[str]) -> int:
    try:
        return int(app(list(arguments), standalone_mode=False) or 0)
    except _ClickException as error:
        return _fail(arguments, error.format_message(), 2)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _fail(arguments, f"{error.strerror or error}{where}", 2)
    except RecursionError:
        return _fail(arguments, "the input is nested too deeply", 2)
    except (ValueError, TypeError, MemoryError) as error:
        return _fail(arguments, str(error) or "out of memory", 2)


def _fail(arguments: Sequence[str], message: str, status: int) -> int:
    line = shown_text(" ".join(message.split()))
    if "--json" in arguments:
        print(json.dumps({"status": status, "error": line}))
    if line:  # empty where the help was shown instead
        print_line("error", line)
    return status

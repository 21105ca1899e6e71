"""The command line: a shell over the library, one module per command."""

from xascend.cli._app import run

__all__ = ["run"]

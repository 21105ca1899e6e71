"""``python -m xascend`` and the command ``xascend``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        from xascend.cli import run
    except KeyboardInterrupt:  # from then on signals are taken care of
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()

"""What a contender says that cannot take part."""

from __future__ import annotations

__all__ = ["UnavailableError"]


class UnavailableError(Exception):
    """Why a contender does not take part in a case; the report says it."""

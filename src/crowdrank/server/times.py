"""Times as the API writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def as_date(seconds: float) -> str:
    """Seconds since 1970 as a date in UTC.

    >>> as_date(0.0)
    '1970-01-01T00:00:00.000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

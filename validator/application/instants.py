"""Instants on the wire: ISO 8601 with offset, and nothing that could mean something else."""

import re
from datetime import UTC, datetime

from validator.application.errors import Malformed

_FORM = re.compile(
    r"(?:19[7-9]\d|20\d\d|2100)-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?"
    r"(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)",
    re.ASCII,
)


def read_instant(text: str, field: str) -> datetime:
    """Read an instant, from 1970 to 2100, in UTC. What is finer than a microsecond is cut off.

    In UTC, since to compare or subtract two instants of different offsets takes five times as long.

    Raises:
        Malformed: anything but `YYYY-MM-DDTHH:MM:SS[.fraction](Z|+hh:mm)`; a naive text, a second 60 too.
    """
    if _FORM.fullmatch(text) is not None:
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except ValueError:
            pass
    raise not_an_instant(field)


def not_an_instant(field: str) -> Malformed:
    """What to send where something else stood."""
    return Malformed(
        field,
        "Envie o instante em ISO 8601 com fuso, de 1970 a 2100, como 2026-03-02T07:15:02.123-03:00.",
        "Send the instant in ISO 8601 with its offset, from 1970 to 2100, such as 2026-03-02T07:15:02.123-03:00.",
    )

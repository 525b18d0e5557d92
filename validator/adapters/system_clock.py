"""The clock of the machine, and the two that a demonstration may put in its place."""

import mmap
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from validator.records.packing import from_micros

_FILE_BYTES = 8


def system_clock() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def shifted_clock(offset_s: float) -> Callable[[], datetime]:
    """The machine's clock moved by some seconds: for demonstrations only."""
    offset = timedelta(seconds=offset_s)
    return lambda: datetime.now(UTC) + offset


def file_clock(path: Path) -> Callable[[], datetime]:
    """The instant in a file, in microseconds since 1970 (8 bytes, the machine's order): for demonstrations only.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is shorter.
    """
    with path.open("rb") as file:
        cell = memoryview(mmap.mmap(file.fileno(), _FILE_BYTES, access=mmap.ACCESS_READ)).cast("q")
    return lambda: from_micros(cell[0])

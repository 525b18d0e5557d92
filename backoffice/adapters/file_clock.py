"""A clock that stands in a file: for demonstrations only, named by CATRACA_DEMO_CLOCK_FILE."""

import mmap
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from validator.records.packing import from_micros

_BYTES = 8


def file_clock(path: Path) -> Callable[[], datetime]:
    """The instant that stands in a file: microseconds since 1970, 8 bytes in the byte order of the machine.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is shorter.
    """
    with path.open("rb") as file:
        cell = memoryview(mmap.mmap(file.fileno(), _BYTES, access=mmap.ACCESS_READ)).cast("q")
    return lambda: from_micros(cell[0])

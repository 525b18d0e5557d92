"""The demonstration's clock: an instant in a file of 8 bytes, which every process reads and only this one writes."""

import mmap
from datetime import datetime
from pathlib import Path

from validator.records.packing import from_micros, to_micros

_BYTES = 8


class DemoClock:
    """A clock that stands still until it is set. Microseconds since 1970, in the byte order of the machine."""

    def __init__(self, path: Path, at: datetime) -> None:
        self.path = path
        path.write_bytes(bytes(_BYTES))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _BYTES)
        self._cell = memoryview(self._map).cast("q")
        self.set(at)

    def set(self, at: datetime) -> None:
        """Move the clock; it never goes back."""
        micros = to_micros(at)
        assert micros >= self._cell[0], "the demonstration's clock goes forward only"
        self._cell[0] = micros

    def now(self) -> datetime:
        """The instant, in UTC."""
        return from_micros(self._cell[0])

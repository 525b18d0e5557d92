"""Which sequences of an epoch are rows: all up to `durable_seq`, and up to `top_seq` all but the missing ones."""

import bisect
from collections.abc import Iterable

from validator.records.snapshot import DurableRecord

MAX_REPORTED_RANGES = 64
"""Missing ranges that a durable record names; above the last of them nothing is called durable, so nothing is lost."""


class SequenceRanges:
    """The sequences from 1 on that are rows; grows only.

    Attributes:
        top_seq: Highest sequence that is a row, 0 for none.
    """

    def __init__(self, top_seq: int = 0, missing: Iterable[tuple[int, int]] = ()) -> None:
        """`missing` are ranges (first, last), both inclusive, ascending, all below `top_seq`."""
        self.top_seq = top_seq
        self._missing = list(missing)

    @property
    def durable_seq(self) -> int:
        """Every sequence up to it is a row."""
        return self._missing[0][0] - 1 if self._missing else self.top_seq

    @property
    def missing(self) -> tuple[tuple[int, int], ...]:
        """Ranges below `top_seq` that are no rows."""
        return tuple(self._missing)

    def __contains__(self, seq: int) -> bool:
        if seq > self.top_seq:
            return False
        place = bisect.bisect_right(self._missing, seq, key=lambda gap: gap[0]) - 1
        return place < 0 or seq > self._missing[place][1]

    def add(self, seq: int) -> bool:
        """Count a sequence as a row; False where it was one already."""
        if seq > self.top_seq:
            if seq > self.top_seq + 1:
                self._missing.append((self.top_seq + 1, seq - 1))
            self.top_seq = seq
            return True
        place = bisect.bisect_right(self._missing, seq, key=lambda gap: gap[0]) - 1
        if place < 0 or seq > self._missing[place][1]:
            return False
        first, last = self._missing[place]
        self._missing[place : place + 1] = [
            gap for gap in ((first, seq - 1), (seq + 1, last)) if gap[0] <= gap[1]
        ]
        return True

    def record(self) -> DurableRecord:
        """What a validator may know; where there are too many gaps, less than is true, never more."""
        if len(self._missing) <= MAX_REPORTED_RANGES:
            return DurableRecord(self.durable_seq, self.top_seq, tuple(self._missing))
        reported = self._missing[:MAX_REPORTED_RANGES]
        return DurableRecord(self.durable_seq, self._missing[MAX_REPORTED_RANGES][0] - 1, tuple(reported))

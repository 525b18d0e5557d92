"""The target table: what is measured, in which unit, what must hold (floor) and what is aimed at (goal)."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """One row of the target table.

    Attributes:
        key: Name for `--only` and for the history.
        name: What is measured, in words.
        unit: `ratio`, or the unit of the value.
        floor: What must hold.
        goal: What is aimed at.
        higher_is_better: False where less is better.
    """

    key: str
    name: str
    unit: str
    floor: float
    goal: float
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Measured:
    """The samples of one row; its value is their median."""

    key: str
    samples: Sequence[float]
    note: str = ""

    @property
    def value(self) -> float:
        """The median of the samples."""
        return statistics.median(self.samples)

    @property
    def spread(self) -> tuple[float, float, float]:
        """Least, median and greatest sample."""
        return (min(self.samples), self.value, max(self.samples))


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A row without a figure, and why."""

    key: str
    why: str


Outcome = Measured | NotMeasured

TARGETS = (
    Target(
        "single_vs_null", "single boarding, req/s, vs null POST through the same shim", "ratio", 0.40, 0.60
    ),
    Target("single_p99_vs_null", "its p99 at 64 connections vs the null's", "ratio", 3.0, 2.0, False),
    Target("single_vs_row_lock", "single boarding vs FastAPI + SQLAlchemy + row lock", "ratio", 20, 40),
    Target("batch_500", "batch of 500 with decide, one worker", "taps/s", 80_000, 150_000),
    Target("decide", "decide, median", "us", 8.0, 5.0, False),
    Target("holder_bytes", "hot memory per holder, snapshot + usage", "bytes", 500, 350, False),
    Target("tap_bytes", "hot memory per tap that is not durable yet", "bytes", 450, 320, False),
    Target("many_holders", "req/s with many holders vs with 1,000", "ratio", 0.90, 0.97),
    Target("hot_holder", "64 connections on one holder vs spread load", "ratio", 0.15, 0.30),
    Target("ingest_vs_peak", "ingest into PostgreSQL vs the single-endpoint peak", "ratio", 1.0, 2.0),
    Target(
        "ingest_vs_copy", "ingest into PostgreSQL vs raw binary COPY of the same rows", "ratio", 0.25, 0.75
    ),
    Target("ingest_sqlite", "ingest into SQLite", "rows/s", 40_000, 100_000),
    Target(
        "closing_vs_stream",
        "rating and closing vs streaming the rows and a bare decide",
        "ratio",
        2.0,
        1.3,
        False,
    ),
    Target("closing_memory", "memory of rating and closing", "MB", 1_000, 500, False),
    Target("cold_start", "cold start of a worker until it answers", "s", 2.0, 1.0, False),
    Target("rebuild", "rebuild of an empty Redis", "s", 180, 60, False),
    Target(
        "overload_goodput", "goodput at 1.2 x capacity offered, open loop, vs capacity", "ratio", 0.7, 0.9
    ),
    Target("overload_refusal", "p99 of refusals at 1.2 x capacity", "ms", 250, 100, False),
    Target(
        "overload_retry_after",
        "goodput at 2 x offered by devices that honour Retry-After",
        "ratio",
        0.8,
        0.95,
    ),
    Target("fsync_always", "appendfsync always vs everysec, single boarding", "ratio", 0.5, 0.8),
)
"""All rows, in the order in which they are printed."""

BY_KEY = {target.key: target for target in TARGETS}


def meets(target: Target, value: float, limit: float) -> bool:
    """Whether a value is at least as good as a limit of its row."""
    return value >= limit if target.higher_is_better else value <= limit

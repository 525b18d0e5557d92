"""How far the journal and the outbox are behind: numbers for the metrics page, without personal data."""

from collections.abc import Mapping
from datetime import datetime

from redis import RedisError
from sqlalchemy import Engine, func, select

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.journal_stream import waiting
from backoffice.adapters.redis_link import RedisLink
from backoffice.persistence.base import reading
from backoffice.persistence.journal import DeviceEpochRow, ForkRow, RejectedRow
from backoffice.persistence.outbox import OutboxRow

GAUGES: Mapping[str, str] = {
    "catraca_redis_up": "1 where Redis answers.",
    "catraca_redis_verified": "1 where this Redis process has been compared with SQL.",
    "catraca_shards_fenced": "Shards of the hot state that answer nothing until they are rebuilt.",
    "catraca_journal_waiting_entries": "Journal entries that are not in SQL yet.",
    "catraca_journal_behind_seconds": "Age of the oldest journal entry that is not in SQL yet.",
    "catraca_outbox_waiting_rows": "Changes that are not in Redis yet.",
    "catraca_outbox_behind_seconds": "Age of the oldest change that is not in Redis yet.",
    "catraca_rejected_rows": "Entries that could not be read, conflicts and declared losses.",
    "catraca_fork_rows": "Second, different entries under used sequences.",
    "catraca_epochs_with_gaps": "Epochs of devices with sequences that never came.",
    "catraca_epochs_broken": "Epochs of devices with a signed head that the rows contradict.",
}
"""Name of each number, and what it says."""


def lag(engine: Engine, redis_url: str, now: datetime) -> dict[str, float]:
    """The numbers of `GAUGES`; those of Redis are left out where it does not answer.

    Raises:
        sqlalchemy.exc.OperationalError: the database is away.
    """
    numbers: dict[str, float] = {"catraca_redis_up": 0}
    try:
        with RedisLink(redis_url, timeout_s=2.0) as link:
            hot = HotState(link)
            behind = waiting(link)
            numbers |= {
                "catraca_redis_up": 1,
                "catraca_redis_verified": int(hot.verified()),
                "catraca_shards_fenced": sum(state.fenced for state in hot.shard_states()),
                "catraca_journal_waiting_entries": behind.entries,
                "catraca_journal_behind_seconds": behind.seconds,
            }
    except RedisError:
        pass  # catraca_redis_up says so
    with reading(engine) as session:
        unsettled = select(func.count(), func.min(OutboxRow.created_at)).where(
            OutboxRow.published_at.is_(None)
        )
        rows, first = session.execute(unsettled).one()
        oldest: datetime | None = first  # the driver's NULL, which SQLAlchemy's type of min() leaves out
        gaps = DeviceEpochRow.durable_seq < DeviceEpochRow.top_seq
        numbers |= {
            "catraca_outbox_waiting_rows": rows,
            "catraca_outbox_behind_seconds": 0 if oldest is None else max(0, (now - oldest).total_seconds()),
            "catraca_rejected_rows": session.scalar(select(func.count()).select_from(RejectedRow)) or 0,
            "catraca_fork_rows": session.scalar(select(func.count()).select_from(ForkRow)) or 0,
            "catraca_epochs_with_gaps": session.scalar(
                select(func.count()).select_from(DeviceEpochRow).where(gaps)
            )
            or 0,
            "catraca_epochs_broken": session.scalar(
                select(func.count()).select_from(DeviceEpochRow).where(DeviceEpochRow.broken)
            )
            or 0,
        }
    return numbers


def as_metrics(numbers: Mapping[str, float]) -> str:
    """The numbers in Prometheus' text form."""
    lines = []
    for name, number in numbers.items():
        lines += [f"# HELP {name} {GAUGES[name]}", f"# TYPE {name} gauge", f"{name} {number:g}"]
    return "\n".join([*lines, ""])

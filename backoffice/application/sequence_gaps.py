"""Sequences of a device's epoch that are no rows yet, and the declaration that some of them are lost."""

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from backoffice.application.ingest_ranges import SequenceRanges
from backoffice.persistence.base import Base, WriteSession
from backoffice.persistence.bulk import insert_rows
from backoffice.persistence.journal import DeviceEpochRow, TapKeyRow
from validator.records.codes import EntryKind

MAX_DECLARED = 100_000
"""Sequences that one declaration may cover; more than that is a mistake in typing."""


def load_ranges(session: Session, device: str, epoch: int, *, durable_seq: int = 0) -> SequenceRanges:
    """The sequences that are rows; `durable_seq` says up to where all are known to be."""
    rows = (
        select(
            TapKeyRow.seq,
            func.lag(TapKeyRow.seq, 1, durable_seq).over(order_by=TapKeyRow.seq).label("before"),
        )
        .where(TapKeyRow.device == device, TapKeyRow.epoch == epoch, TapKeyRow.seq > durable_seq)
        .subquery()
    )
    gaps = session.execute(
        select(rows.c.before + 1, rows.c.seq - 1).where(rows.c.seq > rows.c.before + 1).order_by(rows.c.seq)
    )
    missing = [(first, last) for first, last in gaps]
    top = session.scalar(
        select(func.max(TapKeyRow.seq)).where(TapKeyRow.device == device, TapKeyRow.epoch == epoch)
    )
    return SequenceRanges(max(top or 0, durable_seq), missing)


def missing_ranges(session: Session, device: str, epoch: int) -> tuple[tuple[int, int], ...]:
    """Ranges (first, last) of sequences below the highest one that are no rows: gaps that a closing must name."""
    known = session.get(DeviceEpochRow, (device, epoch))
    durable_seq = 0 if known is None else known.durable_seq
    return load_ranges(session, device, epoch, durable_seq=durable_seq).missing


def declare_lost(
    session: WriteSession, device: str, epoch: int, first: int, last: int, *, by: str, at: datetime
) -> int:
    """Write a row `DECLARED_LOST` for each sequence from `first` to `last` that is no row, so that nothing sticks.

    An entry that turns up afterwards becomes a fork: evidence, never billed.

    Args:
        session: A writing session.
        device, epoch: The epoch.
        first, last: Range of sequences, both inclusive.
        by: Who declares it, for the record; a role or a name of login, no personal data of riders.
        at: Instant of the declaration.

    Returns the number of rows written.

    Raises:
        ValueError: an empty range, or one that is too long.
    """
    if not 1 <= first <= last or last - first >= MAX_DECLARED:
        raise ValueError(f"a range of 1 to {MAX_DECLARED} sequences is needed, not {first} to {last}")
    lock_epoch(session, device, epoch)
    state = session.get_one(DeviceEpochRow, (device, epoch), populate_existing=True)
    ranges = load_ranges(session, device, epoch, durable_seq=state.durable_seq)
    lost = [seq for seq in range(first, last + 1) if ranges.add(seq)]
    kind = EntryKind.DECLARED_LOST.name
    keys = [{"device": device, "epoch": epoch, "seq": seq, "kind": kind} for seq in lost]
    note = f"declarado perdido por {by} em {at.isoformat()}"
    rows = [{**key, "note": note, "received_at": at, "flags": 0} for key in keys]
    insert_rows(session, Base.metadata.tables["tap_keys"], keys)
    insert_rows(session, Base.metadata.tables["rejected"], rows)
    state.durable_seq, state.top_seq = ranges.durable_seq, ranges.top_seq
    return len(lost)


def lock_epoch(session: WriteSession, device: str, epoch: int) -> None:
    """Hold what SQL knows of an epoch until the transaction ends; its row is made where there is none."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    empty = {
        "device": device,
        "epoch": epoch,
        "durable_seq": 0,
        "top_seq": 0,
        "covered_seq": 0,
        "broken": False,
        "closed": False,
    }
    session.execute(dialect.insert(DeviceEpochRow).values(**empty).on_conflict_do_nothing())
    session.execute(
        select(DeviceEpochRow.device)
        .where(DeviceEpochRow.device == device, DeviceEpochRow.epoch == epoch)
        .with_for_update()
    )

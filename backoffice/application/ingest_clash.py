"""A sequence that comes twice: the same entry again, or another one."""

from typing import Literal

from sqlalchemy import delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from backoffice.application.ingest_plan import Decoded
from backoffice.application.ingest_rows import Row, Unfit, boarding_row, fork_row, key_of
from backoffice.persistence.base import WriteSession
from backoffice.persistence.journal import BoardingRow, ForkRow, RejectedRow, TapKeyRow
from validator.records.codes import EntryKind

Settled = Literal["SAME", "FORK", "TAKEN_OVER"]

_RIDES = (EntryKind.BOARDING, EntryKind.REFUSAL)


def settle_clash(session: WriteSession, clash: Decoded) -> Settled:
    """Settle an entry whose sequence is a row already.

    The same digest adds nothing. Another digest is a fork, unless the row is only a conflict and the entry is the
    tap that the conflict was about: shards arrive in any order, and the tap must stand whichever comes first.
    """
    item, entry = clash.item, clash.entry
    assert entry is not None
    key = key_of(entry)
    standing = session.execute(
        select(TapKeyRow.digest, TapKeyRow.kind).where(
            TapKeyRow.device == key[0], TapKeyRow.epoch == key[1], TapKeyRow.seq == key[2]
        )
    ).one()
    if standing.digest == entry.digest:
        return "SAME"
    if standing.kind == EntryKind.CONFLICT.name and entry.kind in _RIDES:
        try:
            row = boarding_row(item, entry)
        except Unfit:
            row = None
        if row is not None and _take_over(session, row):
            return "TAKEN_OVER"
    _keep_fork(session, fork_row(item, entry, _stands_as(standing.kind)))
    return "FORK"


def _take_over(session: WriteSession, row: Row) -> bool:
    """Put a tap in the place of a conflict, which becomes a fork; False where its boarding id is taken."""
    taken = select(TapKeyRow.seq).where(TapKeyRow.boarding_id == row["boarding_id"])
    if session.execute(taken).first() is not None:
        return False
    conflict = session.execute(
        select(RejectedRow.__table__).where(
            RejectedRow.device == row["device"],
            RejectedRow.epoch == row["epoch"],
            RejectedRow.seq == row["seq"],
        )
    ).one()
    kept = ("device", "epoch", "seq", "digest", "kind", "boarding_id", "received_at", "raw")
    columns = (*kept, "holder", "effects", "shard", "generation", "commit_no")
    fork = {name: getattr(conflict, name) for name in columns}
    fork["raw"] = fork["raw"] or b""
    fork["received_at"] = fork["received_at"] or row["received_at"]
    _keep_fork(session, {**fork, "note": _stands_as(row["kind"])})
    session.execute(delete(RejectedRow).where(RejectedRow.id == conflict.id))
    session.execute(insert(BoardingRow), [row])
    session.execute(
        update(TapKeyRow)
        .where(
            TapKeyRow.device == row["device"], TapKeyRow.epoch == row["epoch"], TapKeyRow.seq == row["seq"]
        )
        .values(kind=row["kind"], digest=row["digest"], boarding_id=row["boarding_id"], month=row["month"])
    )
    return True


def _stands_as(kind: str) -> str:
    return f"sequence stands as {kind} with another digest"


def _keep_fork(session: WriteSession, row: Row) -> None:
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    session.execute(dialect.insert(ForkRow).values(**row).on_conflict_do_nothing())

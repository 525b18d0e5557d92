"""Which entries of a round the database does not take: asked only after a round was refused."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Engine, select

from backoffice.application.ingest_plan import Decoded, row_for
from backoffice.application.ingest_rows import ROW_OF, Key, Row, Unfit, month_at
from backoffice.persistence.base import Base, reading, writing
from backoffice.persistence.bulk import DuplicateRow, UnfitRow, insert_rows
from backoffice.persistence.journal import TapKeyRow
from validator.records.codes import EntryKind

_CHUNK = 400
_LATEST_MICROS = timedelta(days=1) // timedelta(microseconds=1)
_OLDEST_MICROS = timedelta(days=100) // timedelta(microseconds=1)


def months_of(decoded: Sequence[Decoded]) -> set[str]:
    """Civil months that deserve a partition: those of boardings dated within reason of their arrival."""
    months: set[str] = set()
    for one in decoded:
        entry = one.entry
        if entry is None or entry.kind > EntryKind.REFUSAL:
            continue
        dated = entry.dated_micros if entry.dated_micros is not None else entry.occurred_micros
        if dated is not None and -_LATEST_MICROS <= entry.received_micros - dated <= _OLDEST_MICROS:
            try:
                months.add(month_at(dated))
            except Unfit:
                continue
    return months


def taken_ids(engine: Engine, decoded: Sequence[Decoded]) -> set[bytes]:
    """Boarding ids of these entries that stand in SQL under another sequence."""
    mine: dict[str, set[Key]] = {}
    for _, table, row in _rows(decoded):
        if table == "boardings":
            mine.setdefault(row["boarding_id"], set()).add((row["device"], row["epoch"], row["seq"]))
    taken: set[bytes] = set()
    ids = sorted(mine)
    with reading(engine) as session:
        for start in range(0, len(ids), _CHUNK):
            standing = select(TapKeyRow.boarding_id, TapKeyRow.device, TapKeyRow.epoch, TapKeyRow.seq)
            for boarding_id, *key in session.execute(
                standing.where(TapKeyRow.boarding_id.in_(ids[start : start + _CHUNK]))
            ):
                if boarding_id is not None and tuple(key) not in mine[boarding_id]:
                    taken.add(UUID(boarding_id).bytes)
    return taken


def refused_places(engine: Engine, decoded: Sequence[Decoded]) -> set[tuple[int, int, int]]:
    """Places of entries whose rows the database does not take by themselves; nothing is written."""
    refused: set[tuple[int, int, int]] = set()
    with writing(engine) as session:
        for place, table, row in _rows(decoded):
            try:
                with session.begin_nested() as point:
                    insert_rows(session, Base.metadata.tables[table], [row])
                    point.rollback()
            except UnfitRow:
                refused.add(place)
            except DuplicateRow:
                continue
        session.rollback()
    return refused


def _rows(decoded: Collection[Decoded]) -> list[tuple[tuple[int, int, int], str, Row]]:
    found = []
    for one in decoded:
        if one.entry is None or EntryKind(one.entry.kind) not in ROW_OF:
            continue
        try:
            found.append((one.item.place, *row_for(one.item, one.entry)))
        except Unfit:
            continue
    return found

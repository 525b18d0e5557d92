"""How far ingest is, in SQL: of each shard's stream, and of each device's epoch.

On PostgreSQL the rows of a round are one statement with an array for each column: psycopg sends others one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ARRAY, ColumnElement, CursorResult, bindparam, func, select, tuple_, update
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from backoffice.application.ingest_plan import Epoch
from backoffice.persistence.base import Base, WriteSession
from backoffice.persistence.journal import DeviceEpochRow, ShardRow

_CHUNK = 10_000
_SHARDS = Base.metadata.tables[ShardRow.__tablename__]
_EPOCHS = Base.metadata.tables[DeviceEpochRow.__tablename__]


class OtherIngester(RuntimeError):
    """Another process moved the shards' progress; this one must stop."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a shard is in SQL: last stream id, commit and generation."""

    stream_id: str
    commit_no: int
    generation: int


def locked_epochs(session: WriteSession, epochs: Sequence[Epoch]) -> dict[Epoch, Any]:
    """The rows of `device_epochs` of these epochs, which nobody else may change before the end of the transaction."""
    device, epoch = _EPOCHS.c.device, _EPOCHS.c.epoch
    found = select(_EPOCHS).order_by(device, epoch).with_for_update()
    rows: dict[Epoch, Any] = {}
    for start in range(0, len(epochs), _CHUNK):
        wanted = found.where(is_among(session, device, epoch, epochs[start : start + _CHUNK]))
        rows |= {(row.device, row.epoch): row for row in session.execute(wanted)}
    return rows


def is_among(session: Session, device: Any, epoch: Any, epochs: Sequence[Epoch]) -> ColumnElement[bool]:
    """Whether two columns name one of some epochs."""
    key = tuple_(device, epoch)
    if session.get_bind().dialect.name != "postgresql":
        return key.in_(epochs)
    given = _unnest((device, epoch), epochs)
    return key.in_(select(given.c[device.name], given.c[epoch.name]))


def note_epochs(session: WriteSession, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write rows of `device_epochs`, their values in the order of the columns, over those that stand."""
    if not rows:
        return
    connection, names = session.connection(), _EPOCHS.c.keys()
    keys = [column.name for column in _EPOCHS.primary_key]
    if connection.dialect.name == "postgresql":
        given = _unnest(tuple(_EPOCHS.c), rows)
        many = postgresql.insert(_EPOCHS).from_select(names, select(given))
        changed = {name: many.excluded[name] for name in names if name not in keys}
        connection.execute(many.on_conflict_do_update(index_elements=keys, set_=changed))
        return
    one = sqlite.insert(_EPOCHS)
    changed = {name: one.excluded[name] for name in names if name not in keys}
    statement = one.on_conflict_do_update(index_elements=keys, set_=changed)
    connection.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])


def move_shards(session: WriteSession, before: Mapping[int, Position], after: Mapping[int, Position]) -> None:
    """Move the progress, and notice another process that did.

    Raises:
        OtherIngester: the progress in SQL is not `before`.
    """
    moved = [
        (number, before[number].stream_id, position.stream_id, position.commit_no)
        for number, position in after.items()
        if position != before[number]
    ]
    if not moved:
        return
    connection, table = session.connection(), _SHARDS
    columns = (table.c.number, table.c.stream_id.label("old"), table.c.stream_id, table.c.commit_no)
    if connection.dialect.name == "postgresql":
        given = _unnest(columns, moved)
        statement = (
            update(table)
            .where(table.c.number == given.c.number, table.c.stream_id == given.c.old)
            .values(stream_id=given.c.stream_id, commit_no=given.c.commit_no)
        )
        result = connection.execute(statement)
    else:
        statement = (
            update(table)
            .where(table.c.number == bindparam("_number"), table.c.stream_id == bindparam("_old"))
            .values(stream_id=bindparam("_stream_id"), commit_no=bindparam("_commit_no"))
        )
        names = [f"_{column.name}" for column in columns]
        result = connection.execute(statement, [dict(zip(names, row, strict=True)) for row in moved])
    if cast("CursorResult[Any]", result).rowcount != len(moved):
        raise OtherIngester("another ingester has moved the shards' progress; this one stops")


def _unnest(columns: Sequence[Any], rows: Sequence[tuple[Any, ...]]) -> Any:
    """Rows as a table of PostgreSQL, with the names and types of columns."""
    arrays = (
        sql_cast([row[place] for row in rows], ARRAY(column.type)) for place, column in enumerate(columns)
    )
    return func.unnest(*arrays).table_valued(*(column.name for column in columns)).render_derived()

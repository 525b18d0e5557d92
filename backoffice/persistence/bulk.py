"""Many rows at once: COPY on PostgreSQL, one prepared statement elsewhere."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import psycopg
from psycopg.types.string import BytesBinaryDumper
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    ColumnElement,
    Integer,
    LargeBinary,
    String,
    Table,
    Uuid,
    any_,
    cast,
    insert,
)
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.orm import Session

from backoffice.persistence.base import Instant, WriteSession
from validator.records.packing import to_micros

DuplicateRow = (IntegrityError, psycopg.IntegrityError)
"""A row that contradicts another one."""

UnfitRow = (DataError, psycopg.DataError)
"""A value that a column does not take."""


DatabaseAway = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
"""The database is gone, or gave a transaction up; COPY raises the driver's own. Try again later."""


class Wire(NamedTuple):
    """How a database's driver wants values that Python has two forms of.

    Attributes:
        origin_micros: Instants are whole microseconds since this many microseconds after 1970.
        as_id: A UUID's form, from its 16 bytes.
    """

    origin_micros: int
    as_id: Callable[[bytes], Any]


_SQLITE_WIRE = Wire(0, bytes.hex)
_POSTGRESQL_WIRE = Wire(to_micros(datetime(2000, 1, 1, tzinfo=UTC)), bytes)
"""Binary COPY: `timestamptz` is the 64-bit number of microseconds since 2000, and `uuid` its bytes."""


def wire_of(dialect: str) -> Wire:
    """The form of values for `insert_values`."""
    return _POSTGRESQL_WIRE if dialect == "postgresql" else _SQLITE_WIRE


def one_of(session: Session, column: Any, values: Sequence[Any]) -> ColumnElement[bool]:
    """Whether a column holds one of many values: on PostgreSQL one array, which costs less than so many parameters."""
    on_postgresql = session.get_bind().dialect.name == "postgresql"
    given = any_(cast(list(values), ARRAY(column.type)))
    found: ColumnElement[bool] = column == given if on_postgresql else column.in_(values)
    return found


def insert_values(session: WriteSession, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows whose values stand in the order of the table's columns and in the form of `wire_of`; the fastest way.

    Raises:
        Exception: as `insert_rows`.
    """
    if not rows:
        return
    connection = session.connection()
    if connection.dialect.name != "postgresql":
        connection.exec_driver_sql(str(insert(table).compile(dialect=connection.dialect)), list(rows))
        return
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    statement = _copy(table.name, table.c.keys(), binary=True)
    with driver.cursor() as cursor:
        # Of several the one registered last is used, and psycopg's own last one is in Python.
        cursor.adapters.register_dumper(bytes, BytesBinaryDumper)
        with cursor.copy(statement) as copy:
            copy.set_types([_binary_type(column.type) for column in table.c])
            for row in rows:
                copy.write_row(row)


def _binary_type(kind: Any) -> str:
    """The PostgreSQL type whose binary form a column's values have."""
    forms = (
        ((Instant, BigInteger), "int8"),
        (Integer, "int4"),
        (Boolean, "bool"),
        ((LargeBinary, Uuid), "bytea"),
        (String, "text"),
    )
    return next(form for kinds, form in forms if isinstance(kind, kinds))


def _copy(table: str, columns: Sequence[str], *, binary: bool = False) -> psycopg.sql.Composed:
    return psycopg.sql.SQL("COPY {} ({}) FROM STDIN{}").format(
        psycopg.sql.Identifier(table),
        psycopg.sql.SQL(", ").join(psycopg.sql.Identifier(name) for name in columns),
        psycopg.sql.SQL(" (FORMAT BINARY)" if binary else ""),
    )


def insert_rows(session: WriteSession, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows; all have the same columns.

    Raises:
        Exception: one of `DuplicateRow` or `UnfitRow`; the transaction must then be given up.
    """
    if not rows:
        return
    if session.get_bind().dialect.name != "postgresql":
        session.execute(insert(table), rows)
        return
    columns = list(rows[0])
    driver = session.connection().connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    with driver.cursor() as cursor, cursor.copy(_copy(table.name, columns)) as copy:
        for row in rows:
            copy.write_row([row[name] for name in columns])

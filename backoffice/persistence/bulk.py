"""Many rows at once: COPY on PostgreSQL, one prepared statement elsewhere."""

from collections.abc import Sequence
from typing import Any

import psycopg
from sqlalchemy import Table, insert
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, OperationalError

from backoffice.persistence.base import WriteSession

DuplicateRow = (IntegrityError, psycopg.IntegrityError)
"""A row that contradicts another one."""

UnfitRow = (DataError, psycopg.DataError)
"""A value that a column does not take."""


DatabaseAway = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
"""The database is gone, or gave a transaction up; COPY raises the driver's own. Try again later."""


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
    statement = psycopg.sql.SQL("COPY {} ({}) FROM STDIN").format(
        psycopg.sql.Identifier(table.name),
        psycopg.sql.SQL(", ").join(psycopg.sql.Identifier(name) for name in columns),
    )
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row([row[name] for name in columns])

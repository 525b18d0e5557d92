"""What all tables share: names of constraints, column types, engines and the two kinds of session.

Tables that concern money or rights are append-only: a correction is a new row that cites the old one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Annotated, Any, NewType

from sqlalchemy import BigInteger, Date, DateTime, Engine, Integer, MetaData, String, create_engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column
from sqlalchemy.types import TypeDecorator, TypeEngine

from validator.records.packing import from_micros, to_micros


class Instant(TypeDecorator[datetime]):
    """An instant with offset: `timestamptz` on PostgreSQL, UTC microseconds since 1970 on SQLite, which has no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column's type in a dialect."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(BigInteger())
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuse an instant without offset; hand it over in UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant needs an offset")
        return to_micros(value) if dialect.name == "sqlite" else value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """An instant in UTC, whatever the session's zone."""
        if value is None:
            return None
        return from_micros(value) if dialect.name == "sqlite" else value.astimezone(UTC)


class Base(DeclarativeBase):
    """Base of all tables."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: Instant(), date: Date()}  # noqa: RUF012 - SQLAlchemy reads it from the class


BigId = Annotated[int, mapped_column(BigInteger().with_variant(Integer(), "sqlite"), primary_key=True)]
Code = Annotated[str, mapped_column(String(64))]

ReadSession = NewType("ReadSession", Session)
"""A session that only reads."""

WriteSession = NewType("WriteSession", Session)
"""A session whose transaction writes; on SQLite it holds the write lock from its beginning."""


def make_engine(url: str) -> Engine:
    """An engine for a database URL (`sqlite:///file` or `postgresql://...`).

    An error of the database says its statement and never the values: they are names and CPFs, and errors are logged.
    """
    if url.startswith("sqlite"):
        engine = create_engine(url, connect_args={"timeout": 30}, hide_parameters=True)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    return create_engine(url, pool_pre_ping=True, hide_parameters=True)


_SQLITE_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "foreign_keys=ON",
    "busy_timeout=30000",
    "cache_size=-65536",
    "wal_autocheckpoint=16000",
)
"""The cache (64 MB at most) holds what a round of ingest writes; with SQLite's own 2 MB it is written twice."""


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy emits BEGIN itself, below
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Any) -> None:
    """Take the write lock at once where the transaction is going to write, so that two writers never deadlock."""
    writes = connection.get_execution_options().get("catraca_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[ReadSession]:
    """A session for reading, on one consistent view."""
    options = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    with Session(engine.execution_options(**options)) as session:
        yield ReadSession(session)


@contextmanager
def writing(engine: Engine) -> Iterator[WriteSession]:
    """A session whose work is committed at the end, or not at all when an error is raised."""
    with Session(engine.execution_options(catraca_writes=True)) as session, session.begin():
        yield WriteSession(session)

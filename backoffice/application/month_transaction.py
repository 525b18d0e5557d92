"""Where a closing reads, and where it writes: all of it or nothing, on one consistent view, alone among closings.

PostgreSQL: the lock of closings first, then one transaction into which verdicts go while the next are found. Ingest and
desks go on. SQLite has one writer, so there the verdicts wait in a temporary file, and the database is locked only
while they are put in; a closing that was overtaken by another one begins again.
"""

import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import IO, Any, Protocol

import msgspec
from sqlalchemy import Engine, func, select, text
from sqlalchemy.orm import Session

from backoffice.persistence.base import Base, ReadSession, WriteSession, reading, writing
from backoffice.persistence.bulk import Wire, insert_values, wire_of
from backoffice.persistence.claims import ClosingRow, EndStateRow, RatedRow

Rows = list[tuple[Any, ...]]

_RATED = Base.metadata.tables[RatedRow.__tablename__]
_END_STATES = Base.metadata.tables[EndStateRow.__tablename__]
_LENGTH_BYTES = 8
_rows = msgspec.msgpack.Decoder(tuple[Rows, Rows])


class Overtaken(Exception):
    """Another closing was written while this one was prepared."""


class MonthTransaction(Protocol):
    """The transaction of one closing.

    Attributes:
        view: What it reads.
        wire: The form of values that `put` takes.
    """

    view: ReadSession
    wire: Wire

    def begin(self, closing: ClosingRow) -> None:
        """Give the closing its id."""

    def put(self, verdicts: Rows, end_states: Rows) -> None:
        """Take rows of `rated_boardings` and `holder_end_states`, their values in the order of the columns."""

    def finish(self) -> WriteSession:
        """Write the closing and all rows; the session is for its claims, and ends with the transaction.

        Raises:
            Overtaken: begin again.
        """


@contextmanager
def month_transaction(engine: Engine) -> Iterator[MonthTransaction]:
    """One closing's transaction; committed at the end, or nothing of it when an error is raised."""
    with ExitStack() as stack:
        if engine.dialect.name == "postgresql":
            yield _Streamed(engine, stack)
        else:
            yield _Spooled(engine, stack)


class _Streamed:
    """Writes while the caller goes on."""

    def __init__(self, engine: Engine, stack: ExitStack) -> None:
        levelled = engine.execution_options(catraca_writes=True, isolation_level="REPEATABLE READ")
        session = stack.enter_context(Session(levelled))
        stack.enter_context(session.begin())
        # Before the first query, so that the view is younger than the lock.
        session.execute(text("LOCK TABLE month_closings IN SHARE ROW EXCLUSIVE MODE"))
        snapshot: str = session.execute(text("SELECT pg_export_snapshot()")).scalar_one()
        self._session = WriteSession(session)
        self.view = stack.enter_context(reading(engine))
        self.view.execute(text(f"SET TRANSACTION SNAPSHOT '{snapshot}'"))
        self.wire = wire_of(engine.dialect.name)
        self._writer = stack.enter_context(ThreadPoolExecutor(1))
        self._writing: Future[None] | None = None

    def begin(self, closing: ClosingRow) -> None:
        self._session.add(closing)
        self._session.flush()
        self._session.expunge(closing)

    def put(self, verdicts: Rows, end_states: Rows) -> None:
        self._wait()
        self._writing = self._writer.submit(_insert, self._session, verdicts, end_states)

    def finish(self) -> WriteSession:
        self._wait()
        return self._session

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()


class _Spooled:
    """Keeps all rows in a temporary file until the end."""

    def __init__(self, engine: Engine, stack: ExitStack) -> None:
        self._engine = engine
        self._stack = stack
        self.view = stack.enter_context(reading(engine))
        self.wire = wire_of(engine.dialect.name)
        self._file: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        self._closing: ClosingRow | None = None

    def begin(self, closing: ClosingRow) -> None:
        closing.id = _last_closing(self.view) + 1
        self._closing = closing

    def put(self, verdicts: Rows, end_states: Rows) -> None:
        packed = msgspec.msgpack.encode((verdicts, end_states))
        self._file.write(len(packed).to_bytes(_LENGTH_BYTES) + packed)

    def finish(self) -> WriteSession:
        assert self._closing is not None
        session = self._stack.enter_context(writing(self._engine))
        if _last_closing(session) + 1 != self._closing.id:
            raise Overtaken
        session.add(self._closing)
        session.flush()
        session.expunge(self._closing)
        self._file.seek(0)
        while length := self._file.read(_LENGTH_BYTES):
            _insert(session, *_rows.decode(self._file.read(int.from_bytes(length))))
        return session


def _insert(session: WriteSession, verdicts: Rows, end_states: Rows) -> None:
    insert_values(session, _RATED, verdicts)
    insert_values(session, _END_STATES, end_states)


def _last_closing(session: Session) -> int:
    return session.scalar(select(func.max(ClosingRow.id))) or 0

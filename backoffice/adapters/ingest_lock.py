"""One ingester at a time: an advisory lock on PostgreSQL, a locked file beside an SQLite database.

Both are released when the process dies, however it dies, so that another takes over at once. The advisory lock
belongs to a session: a pooler in transaction mode must not stand between. Should it ever fail, the shards' progress
is moved only from where it was read, so that two ingesters cannot write the same round twice.
"""

import fcntl
import os
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

_NUMBER = 0x69_6E_67_65_73_74


class IngestLock:
    """The lock; `acquire` may be called again after `release`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._file: int | None = None

    def acquire(self) -> bool:
        """Take the lock; False where another process has it.

        Raises:
            sqlalchemy.exc.OperationalError: the database is away.
        """
        self.release()
        if self._engine.dialect.name == "postgresql":
            return self._acquire_advisory()
        return self._acquire_file()

    def held(self) -> bool:
        """Whether the lock is still ours."""
        if self._file is not None:
            return True
        if self._connection is None:
            return False
        try:
            self._connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            return False
        return True

    def release(self) -> None:
        """Give the lock back."""
        if self._connection is not None:
            try:
                self._connection.execute(text("SELECT pg_advisory_unlock(:number)"), {"number": _NUMBER})
            except SQLAlchemyError:
                pass  # the session is gone, and with it the lock
            self._connection.invalidate()  # a session that might still hold the lock never goes back to the pool
            self._connection.close()
            self._connection = None
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _acquire_advisory(self) -> bool:
        connection = self._engine.connect()
        try:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if connection.scalar(text("SELECT pg_try_advisory_lock(:number)"), {"number": _NUMBER}):
                self._connection = connection
                return True
        finally:
            if self._connection is None:
                connection.close()
        return False

    def _acquire_file(self) -> bool:
        database = self._engine.url.database
        if not database or database == ":memory:":
            raise ValueError("an SQLite database in memory has no ingester")
        file = os.open(f"{database}.ingest-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

"""Bring a database to the tables of this program, or say how it differs.

On PostgreSQL a migration waits at most 5 s for a lock, so that it never stands in front of all other work, and one
statement runs at most a minute; of several processes one migrates and the others wait for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

LOCK_TIMEOUT_S = 5
STATEMENT_TIMEOUT_S = 60

_ADVISORY_LOCK = 1_055_1991
"""One number for all processes that migrate: the law's."""


def migrate(engine: Engine) -> None:
    """Bring the database to the newest tables; nothing changes where it has them."""
    with _connection(engine) as connection:
        command.upgrade(_config(connection), "head")


def check_tables(engine: Engine) -> None:
    """Compare the database with the tables of the program.

    Raises:
        alembic.util.exc.CommandError: they differ; the message says how.
    """
    with _connection(engine) as connection:
        command.check(_config(connection))


def is_current(engine: Engine) -> bool:
    """Whether the database has the tables of this program."""
    with engine.connect() as connection:
        config = _config(connection)
        head = ScriptDirectory.from_config(config).get_current_head()
        return MigrationContext.configure(connection).get_current_revision() == head


@contextmanager
def _connection(engine: Engine) -> Iterator[Connection]:
    with engine.execution_options(catraca_writes=True).connect() as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            # The advisory lock comes first: waiting for another process that migrates is no lock timeout.
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s'")
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT_S}s'")
        yield connection


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("file_template", "%%(year)d_%%(month).2d_%%(day).2d_%%(slug)s")
    config.attributes["connection"] = connection
    return config

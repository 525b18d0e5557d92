"""The file of the journal: its tables, and how it is opened so that a loss of power costs nothing."""

import os
import sqlite3
from pathlib import Path

_SCHEMA_VERSION = 1

_TABLES = """
CREATE TABLE installations (
  epoch INTEGER PRIMARY KEY, device_id TEXT NOT NULL, private_key BLOB NOT NULL, token TEXT NOT NULL,
  opened_micros INTEGER NOT NULL, durable_seq INTEGER NOT NULL DEFAULT 0,
  base_seq INTEGER NOT NULL DEFAULT 0, base_head BLOB NOT NULL, closed INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE pending (one INTEGER PRIMARY KEY CHECK (one = 1), private_key BLOB NOT NULL);
CREATE TABLE entries (
  epoch INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, boarding_id TEXT NOT NULL,
  exact BLOB NOT NULL, head BLOB NOT NULL, written_micros INTEGER NOT NULL, PRIMARY KEY (epoch, seq)
) WITHOUT ROWID;
CREATE TABLE heads (
  epoch INTEGER NOT NULL, seq INTEGER NOT NULL, head BLOB NOT NULL, signature BLOB NOT NULL,
  closing INTEGER NOT NULL, signed_micros INTEGER NOT NULL, PRIMARY KEY (epoch, seq, closing)
) WITHOUT ROWID;
CREATE TABLE rides (
  boarding_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, seq INTEGER NOT NULL, holder TEXT,
  effect BLOB, occurred_micros INTEGER NOT NULL, ride_class TEXT, online INTEGER NOT NULL,
  known_micros INTEGER, undone INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX rides_of_holder ON rides (holder, occurred_micros);
CREATE INDEX rides_unknown ON rides (epoch, seq) WHERE known_micros IS NULL;
CREATE INDEX rides_order ON rides (epoch, seq);
"""


class JournalError(RuntimeError):
    """The journal cannot be used; the message says what to do. The file is left as it is."""


def open_journal_file(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """A connection for writing and one for reading, to a file with its tables.

    Raises:
        JournalError: the file is damaged or of a later program.
    """
    _touch_private(path)
    try:
        writer, reader = _connect(path), _connect(path)
        _prepare(writer)
    except sqlite3.DatabaseError as error:
        raise JournalError(f"{path}: o diário não pode ser aberto ({error}); guarde o arquivo") from error
    return writer, reader


def _touch_private(path: Path) -> None:
    """The file holds the device's private key: only its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-4000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables in one transaction, or find them."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == _SCHEMA_VERSION:
        return
    if version != 0:
        raise JournalError(f"o diário é da versão {version}; este programa lê a {_SCHEMA_VERSION}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _TABLES.split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise

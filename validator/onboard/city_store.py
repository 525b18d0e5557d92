"""The city and its list on the device's disk: replaced whole by a bundle, or left as it was.

A file of its own beside the journal: it can be fetched again, the journal cannot.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from validator.onboard.listed import ListReader
from validator.records.bundle import (
    HotRecord,
    ListedRecord,
    ListHead,
    OfferMessage,
    StepRecord,
    unpack_listed,
)
from validator.records.city import CityView, view_city
from validator.records.packing import RecordError, from_micros, pack, to_micros, unpack

_SCHEMA_VERSION: Final = 2
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (hot_id BLOB PRIMARY KEY, entry BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE chips (chip BLOB PRIMARY KEY, hot_id BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX chips_of_holder ON chips (hot_id);
CREATE TABLE hot (number INTEGER PRIMARY KEY, lowest_issue INTEGER NOT NULL, blocked INTEGER NOT NULL);
CREATE TABLE chunks (digest TEXT PRIMARY KEY, piece BLOB NOT NULL);
CREATE TABLE trust (key_id INTEGER PRIMARY KEY, public_key BLOB NOT NULL);
"""

_head = msgspec.msgpack.Decoder(ListHead)


class StoreDamaged(RuntimeError):
    """The file of the city cannot be used; deleting it loses nothing, since it is fetched again."""


@dataclass(frozen=True, slots=True)
class CityList:
    """The city as of one version.

    Attributes:
        version: Version of the bundle.
        issued_at: The last instant at which the city said that this version is current.
        max_age_hours: How old it may grow.
        view: Rules, fares, lines, keys.
        reader: Turns entries into holders.
        half_budget: Half fares that the device may let in unheard.
    """

    version: int
    issued_at: datetime
    max_age_hours: int
    view: CityView
    reader: ListReader
    half_budget: int


@dataclass(frozen=True, slots=True)
class CardLines:
    """What the list says of a card: its place on the hotlist, and its holder's entry."""

    hot: HotRecord | None
    entry: ListedRecord | None


class CityStore:
    """The store. Threads may share it; a reader never sees half a bundle."""

    def __init__(self, path: Path) -> None:
        """Open the store, or make it.

        Raises:
            StoreDamaged: the file is damaged or of another program.
        """
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._writer = _connect(path)
            self._reader = _connect(path)
            _prepare(self._writer)
        except sqlite3.DatabaseError as error:
            raise StoreDamaged(f"{path}: a lista não pode ser aberta ({error}); apague o arquivo") from error
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        self._current: CityList | None = None

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
        self._writer.close()

    # Reading

    def current(self) -> CityList | None:
        """The city as of the version on disk; None before the first bundle.

        Raises:
            StoreDamaged: what stands there cannot be read.
        """
        with self._reading:
            return self._load()

    def card(self, hot_id: str, number: int) -> tuple[CityList | None, CardLines]:
        """The city, and what its list says of a card, both of one version."""
        with self._reading:
            self._reader.execute("BEGIN")
            try:
                current = self._load()
                row = self._reader.execute(
                    "SELECT entry FROM entries WHERE hot_id = ?", (bytes.fromhex(hot_id),)
                ).fetchone()
                hot = self._reader.execute(
                    "SELECT number, lowest_issue, blocked FROM hot WHERE number = ?", (number,)
                ).fetchone()
            finally:
                self._reader.execute("COMMIT")
        try:
            entry = None if row is None else unpack_listed(row[0])
        except RecordError as error:
            raise StoreDamaged(f"{self.path}: entrada danificada ({error}); apague o arquivo") from error
        return current, CardLines(None if hot is None else HotRecord(hot[0], hot[1], bool(hot[2])), entry)

    def chip(self, name: bytes) -> str | None:
        """The hot id of the holder of a chip, by the chip's name in the list; None for one that is in no list."""
        with self._reading:
            row = self._reader.execute("SELECT hot_id FROM chips WHERE chip = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0]).hex()

    def trusted(self, key_id: int, at: datetime) -> bytes | None:
        """The public key that may sign a bundle issued at an instant: one of the current bundle, else of enrolment."""
        current = self.current()
        if current is not None:
            key = current.view.card_keys.get(key_id)
            if key is None or (key.until_micros is not None and to_micros(at) >= key.until_micros):
                return None
            return key.public_key
        with self._reading:
            row = self._reader.execute("SELECT public_key FROM trust WHERE key_id = ?", (key_id,)).fetchone()
        return None if row is None else bytes(row[0])

    def size(self) -> tuple[int, int]:
        """How many entries and how many hot cards there are."""
        with self._reading:
            entries = self._reader.execute("SELECT COUNT(*) FROM entries").fetchone()[0]
            hot = self._reader.execute("SELECT COUNT(*) FROM hot").fetchone()[0]
        return int(entries), int(hot)

    def _load(self) -> CityList | None:
        facts = dict(
            self._reader.execute("SELECT name, value FROM facts WHERE name IN ('version', 'issued')")
        )
        if "version" not in facts:
            return None
        version, issued_at = int(facts["version"]), from_micros(int(facts["issued"]))
        known = self._current
        if known is not None and (known.version, known.issued_at) == (version, issued_at):
            return known
        rest = dict(self._reader.execute("SELECT name, value FROM facts"))
        try:
            head = unpack(rest["head"], _head)
            view = known.view if known is not None and known.version == version else view_city(rest["city"])
        except (RecordError, ValueError, KeyError) as error:
            raise StoreDamaged(f"{self.path}: cidade danificada ({error}); apague o arquivo") from error
        self._current = CityList(
            version, issued_at, int(rest["max_age"]), view, ListReader(head, view.city), head.half_budget
        )
        return self._current

    # Writing

    def trust(self, keys: Iterable[tuple[int, bytes]]) -> None:
        """Believe these keys of the city until the first bundle; said at enrolment."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM trust")
            connection.executemany("INSERT INTO trust VALUES (?, ?)", keys)

    def missing_chunks(self, wanted: list[str]) -> list[str]:
        """Which of these chunks are not on disk yet, in order; chunks that nobody wants any more are dropped."""
        with self._transaction() as connection:
            have = {row[0] for row in connection.execute("SELECT digest FROM chunks")}
            connection.executemany(
                "DELETE FROM chunks WHERE digest = ?", [(digest,) for digest in have - set(wanted)]
            )
        return [digest for digest in dict.fromkeys(wanted) if digest not in have]

    def keep_chunk(self, digest: str, piece: bytes) -> None:
        """Keep a chunk that has arrived whole."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO chunks VALUES (?, ?)", (digest, piece))

    def chunk(self, digest: str) -> bytes:
        """A chunk that was kept.

        Raises:
            StoreDamaged: it is not there.
        """
        with self._reading:
            row = self._reader.execute("SELECT piece FROM chunks WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            raise StoreDamaged(f"{self.path}: falta um pedaço da lista")
        return bytes(row[0])

    def apply(self, offer: OfferMessage, issued_at: datetime, steps: Iterable[StepRecord]) -> None:
        """Take a bundle: all its steps in one transaction. A loss of power leaves the old one or the new one.

        Raises:
            RecordError: its city cannot be read; nothing was changed.
        """
        with self._transaction() as connection:
            fresh = offer.have == 0
            if fresh and offer.steps:
                connection.execute("DELETE FROM entries")
                connection.execute("DELETE FROM chips")
                connection.execute("DELETE FROM hot")
            for step in steps:
                _apply_step(connection, step)
            facts = {"version": offer.version, "issued": to_micros(issued_at), "max_age": offer.max_age_hours}
            connection.executemany(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", [(n, str(v).encode()) for n, v in facts.items()]
            )
            connection.execute("DELETE FROM chunks")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise


def _apply_step(connection: sqlite3.Connection, step: StepRecord) -> None:
    if step.city is not None:
        try:
            view_city(step.city)
        except ValueError as error:
            raise RecordError(f"the bundle's city cannot be read: {error}") from error
        connection.execute("INSERT OR REPLACE INTO facts VALUES ('city', ?)", (step.city,))
    connection.execute("INSERT OR REPLACE INTO facts VALUES ('head', ?)", (pack(step.head),))
    connection.executemany(
        "INSERT OR REPLACE INTO hot VALUES (?, ?, ?)",
        [(card.number, card.lowest_issue, int(card.blocked)) for card in step.hot],
    )
    connection.executemany("DELETE FROM hot WHERE number = ?", [(number,) for number in step.cold])
    connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", step.entries)
    connection.executemany("DELETE FROM entries WHERE hot_id = ?", [(hot_id,) for hot_id in step.gone])
    changed = [(hot_id,) for hot_id, _ in step.entries] + [(hot_id,) for hot_id in step.gone]
    connection.executemany("DELETE FROM chips WHERE hot_id = ?", changed)
    connection.executemany(
        "INSERT OR REPLACE INTO chips VALUES (?, ?)",
        ((name, hot_id) for hot_id, entry in step.entries for name, _ in unpack_listed(entry).chips),
    )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "cache_size=-8000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == _SCHEMA_VERSION:
        return
    if version != 0:
        raise sqlite3.DatabaseError(f"versão {version}")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
    connection.execute("COMMIT")

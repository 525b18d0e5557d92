"""The device's journal on disk: entries appended in one numbered chain, durable before the turnstile is released.

SQLite in WAL mode with `synchronous=FULL`: a commit that has returned survives a loss of power, and one that has not
returned is there whole or not at all. Nothing of an entry is kept in memory only, so a restart goes on where it was:
each number and each head follows from the last row inside the writing transaction itself.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from validator.onboard.journal_file import JournalError, open_journal_file
from validator.records.device_messages import chain_next, chain_start, digest_of
from validator.records.packing import to_micros

KEPT_FOR: Final = timedelta(days=30)
"""How long a durable entry stays on disk."""

KEPT_ENTRIES: Final = 500_000
"""How many of the newest entries of an epoch stay on disk, durable and younger than `KEPT_FOR` or not."""

_CHECKED_AT_START = 1_000
_PRUNED_AT_ONCE = 2_000


class EntryWord(StrEnum):
    """Kind of a journal entry, as the device knows it."""

    TAP = "tap"
    RELEASE = "release"
    ANNULMENT = "annulment"


@dataclass(frozen=True, slots=True)
class Installation:
    """One installation of the device: the epoch that the service issued, bound to a key made on the device."""

    device_id: str
    epoch: int
    private_key: bytes
    token: str
    durable_seq: int = 0
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: its exact bytes, and the head of the chain after it."""

    epoch: int
    seq: int
    kind: EntryWord
    boarding_id: str
    exact: bytes
    head: bytes
    written_micros: int


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before it has a number. The boarding id is drawn already: a crash before the commit wastes it.

    Attributes:
        kind: What the entry is.
        boarding_id: The boarding that it is, releases or annuls.
        exact: The exact bytes under a sequence.
        also: What else is written in the same transaction, under the sequence.
    """

    kind: EntryWord
    boarding_id: str
    exact: Callable[[int], bytes]
    also: Callable[[sqlite3.Connection, int], None] | None = None


class Journal:
    """The journal of a device. One process writes it; its threads may share it."""

    def __init__(self, path: Path) -> None:
        """Open the journal, or make it.

        Raises:
            JournalError: the file is damaged or of a later program.
        """
        self.path = path
        self._writer, self._reader = open_journal_file(path)
        self._writing = threading.Lock()
        self._reading = threading.Lock()
        current = self.installation()
        if current is not None:
            self.check(current.epoch, newest=_CHECKED_AT_START)

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
        self._writer.close()

    # Installations

    def installation(self, epoch: int | None = None) -> Installation | None:
        """The installation of an epoch, or the current one; None where there is none yet."""
        where, values = ("", ()) if epoch is None else ("WHERE epoch = ?", (epoch,))
        with self._reading:
            row = self._reader.execute(
                "SELECT device_id, epoch, private_key, token, durable_seq, closed FROM installations "  # noqa: S608
                f"{where} ORDER BY epoch DESC LIMIT 1",
                values,
            ).fetchone()
        return None if row is None else Installation(row[0], row[1], row[2], row[3], row[4], bool(row[5]))

    def epochs(self) -> list[int]:
        """All epochs of this journal, oldest first."""
        with self._reading:
            return [row[0] for row in self._reader.execute("SELECT epoch FROM installations ORDER BY epoch")]

    def pending_key(self, new: Callable[[], bytes]) -> bytes:
        """The key of an installation that is under way: made once, kept until the installation has succeeded."""
        with self._transaction() as connection:
            row = connection.execute("SELECT private_key FROM pending").fetchone()
            if row is not None:
                return bytes(row[0])
            key = new()
            connection.execute("INSERT INTO pending VALUES (1, ?)", (key,))
            return key

    def install(self, installation: Installation, at: datetime) -> None:
        """Begin an epoch; its numbers begin at 1 and its chain where no other chain begins.

        The same installation again changes nothing but the token.

        Raises:
            JournalError: the epoch is not newer than the ones that are there.
        """
        with self._transaction() as connection:
            connection.execute("DELETE FROM pending")
            newest = connection.execute(
                "SELECT epoch, private_key FROM installations ORDER BY epoch DESC LIMIT 1"
            ).fetchone()
            if newest == (installation.epoch, installation.private_key):
                connection.execute(
                    "UPDATE installations SET token = ? WHERE epoch = ?",
                    (installation.token, installation.epoch),
                )
                return
            if newest is not None and newest[0] >= installation.epoch:
                raise JournalError(
                    f"o diário já tem a época {newest[0]}; uma nova instalação precisa de uma maior"
                )
            connection.execute(
                "INSERT INTO installations (epoch, device_id, private_key, token, opened_micros, base_head) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    installation.epoch,
                    installation.device_id,
                    installation.private_key,
                    installation.token,
                    to_micros(at),
                    chain_start(installation.device_id, installation.epoch),
                ),
            )

    def close_epoch(self, epoch: int) -> None:
        """Note that the service has the closing head of an epoch."""
        with self._transaction() as connection:
            connection.execute("UPDATE installations SET closed = 1 WHERE epoch = ?", (epoch,))

    # Entries

    def append(self, draft: Draft, at: datetime) -> Entry:
        """Write an entry under the next number of the current epoch. On return it survives a loss of power.

        Raises:
            JournalError: the device is not enrolled, or the epoch is closed.
            sqlite3.Error: nothing was written (a full disk, for example).
        """
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT epoch, device_id, base_seq, base_head, closed FROM installations "
                "ORDER BY epoch DESC LIMIT 1"
            ).fetchone()
            if row is None or row[4]:
                raise JournalError("o validador não está instalado; rode: catraca onboard enrol")
            epoch, device_id = row[0], row[1]
            last_seq, last_head = _last(connection, epoch) or (row[2], row[3])
            seq = last_seq + 1
            exact = draft.exact(seq)
            head = chain_next(last_head, digest_of(device_id, exact))
            entry = Entry(epoch, seq, draft.kind, draft.boarding_id, exact, head, to_micros(at))
            connection.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
                (epoch, seq, draft.kind.value, draft.boarding_id, exact, head, entry.written_micros),
            )
            if draft.also is not None:
                draft.also(connection, seq)
        return entry

    def last(self, epoch: int) -> tuple[int, bytes]:
        """Sequence and head of an epoch's last entry; 0 and the start of its chain where there is none."""
        with self._reading:
            base = self._base(epoch)
            return _last(self._reader, epoch) or (base[1], base[2])

    def newest(self, epoch: int) -> Entry | None:
        """The last entry of an epoch."""
        found = self.entries(epoch, after=self.last(epoch)[0] - 1, limit=1)
        return found[0] if found else None

    def entries(self, epoch: int, *, after: int, limit: int) -> list[Entry]:
        """Entries of an epoch behind a sequence, in order."""
        with self._reading:
            rows = self._reader.execute(
                "SELECT epoch, seq, kind, boarding_id, exact, head, written_micros FROM entries "
                "WHERE epoch = ? AND seq > ? ORDER BY seq LIMIT ?",
                (epoch, after, limit),
            ).fetchall()
        return [Entry(row[0], row[1], EntryWord(row[2]), *row[3:]) for row in rows]

    def check(self, epoch: int, *, newest: int | None = None) -> int:
        """Compute the chain of an epoch again, or of its newest entries; how many were looked at.

        Raises:
            JournalError: a number is missing or an entry was altered.
        """
        with self._reading:
            device_id, seq, head = self._base(epoch)
            if newest is not None:
                start = self._reader.execute(
                    "SELECT seq, head FROM entries WHERE epoch = ? ORDER BY seq DESC LIMIT 1 OFFSET ?",
                    (epoch, newest),
                ).fetchone()
                seq, head = (seq, head) if start is None else start
            first = seq
            rows = self._reader.execute(
                "SELECT seq, exact, head FROM entries WHERE epoch = ? AND seq > ? ORDER BY seq", (epoch, seq)
            )
            for found, exact, written in rows:
                if found != seq + 1:
                    raise JournalError(f"{self.path}: falta a sequência {seq + 1} da época {epoch}")
                seq, head = found, chain_next(head, digest_of(device_id, exact))
                if head != written:
                    raise JournalError(f"{self.path}: a sequência {seq} da época {epoch} foi alterada")
        return int(seq - first)

    # What the service has

    def durable(self, epoch: int, durable_seq: int) -> bool:
        """Note up to which sequence the service has everything in its database; it never goes back.

        Returns whether the journal can be right: False where the service has more than was ever written here, as when
        an older copy of the file was put back. Such a device must be installed again, under a new epoch.
        """
        with self._transaction() as connection:
            last = _last(connection, epoch)
            written = self._base_of(connection, epoch)[1] if last is None else last[0]
            known = min(durable_seq, written)
            connection.execute(
                "UPDATE installations SET durable_seq = ? WHERE epoch = ? AND durable_seq < ?",
                (known, epoch, known),
            )
        return durable_seq <= written

    def keep_head(
        self, epoch: int, seq: int, head: bytes, signature: bytes, at: datetime, closing: bool
    ) -> None:
        """Keep a head that the device has signed."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO heads VALUES (?, ?, ?, ?, ?, ?)",
                (epoch, seq, head, signature, int(closing), to_micros(at)),
            )

    def prune(self, now: datetime) -> int:
        """Drop durable entries that are older than `KEPT_FOR` or beyond the newest `KEPT_ENTRIES`; how many.

        An entry that the service has not reported durable is never dropped, whatever its age.

        Args:
            now: An instant that the service has confirmed; a clock that is wrong must drop nothing.
        """
        dropped = 0
        for epoch in self.epochs():
            while (some := self._prune_some(epoch, to_micros(now - KEPT_FOR))) > 0:
                dropped += some
        return dropped

    def _prune_some(self, epoch: int, before_micros: int) -> int:
        with self._transaction() as connection:
            durable = connection.execute(
                "SELECT durable_seq FROM installations WHERE epoch = ?", (epoch,)
            ).fetchone()[0]
            last = _last(connection, epoch)
            if last is None:
                return 0
            rows = connection.execute(
                "SELECT seq, head, written_micros FROM entries WHERE epoch = ? AND seq <= ? AND seq < ? "
                "ORDER BY seq LIMIT ?",
                (epoch, durable, last[0], _PRUNED_AT_ONCE),
            ).fetchall()
            ripe = [row for row in rows if row[2] < before_micros or row[0] <= last[0] - KEPT_ENTRIES]
            ripe = [row for place, row in enumerate(ripe) if row[0] == rows[place][0]]
            if ripe:
                seq, head, _ = ripe[-1]
                connection.execute("DELETE FROM entries WHERE epoch = ? AND seq <= ?", (epoch, seq))
                connection.execute(
                    "UPDATE installations SET base_seq = ?, base_head = ? WHERE epoch = ?", (seq, head, epoch)
                )
                connection.execute(
                    "DELETE FROM rides WHERE epoch = ? AND seq <= ? AND known_micros IS NOT NULL",
                    (epoch, seq),
                )
            return len(ripe)

    # Inside

    def read(self, statement: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
        """Rows of a query; for `rides`, whose table lives in the same file."""
        with self._reading:
            return self._reader.execute(statement, values).fetchall()

    def write(self, statement: str, values: tuple[object, ...]) -> None:
        """One statement as one transaction; for `rides`."""
        with self._transaction() as connection:
            connection.execute(statement, values)

    def _base(self, epoch: int) -> tuple[str, int, bytes]:
        return self._base_of(self._reader, epoch)

    def _base_of(self, connection: sqlite3.Connection, epoch: int) -> tuple[str, int, bytes]:
        row = connection.execute(
            "SELECT device_id, base_seq, base_head FROM installations WHERE epoch = ?", (epoch,)
        ).fetchone()
        if row is None:
            raise JournalError(f"o diário não tem a época {epoch}")
        return (row[0], row[1], row[2])

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


def _last(connection: sqlite3.Connection, epoch: int) -> tuple[int, bytes] | None:
    row: tuple[int, bytes] | None = connection.execute(
        "SELECT seq, head FROM entries WHERE epoch = ? ORDER BY seq DESC LIMIT 1", (epoch,)
    ).fetchone()
    return row

"""The boardings of a month as the journal has them, page by page, each with its release and its annulment.

A page holds some hundreds of holders, or what some thousands of boardings have of nobody, so that a month of any size
fits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Text, Uuid, and_, cast, func, not_, select, text, tuple_
from sqlalchemy.orm import Session

from backoffice.application.date_boarding import datings_until
from backoffice.persistence.bulk import one_of
from backoffice.persistence.journal import (
    IS_UNDATED,
    TAKES_BACK,
    AnnulmentRow,
    BoardingRow,
    ReleaseRow,
    TapKeyRow,
)
from validator.domain.service_time import Month, month_bounds
from validator.records.codes import Flag

HOLDERS_A_PAGE = 500
ROWS_A_PAGE = 20_000
"""Boardings of a month that are looked through at once for those of nobody."""


Revocations = Mapping[str, Sequence[tuple[datetime, int]]]
"""Since when a device is believed no more, and up to which epoch, by device."""


def before_revocation(
    row: type[ReleaseRow | AnnulmentRow], revoked: Revocations
) -> Iterator[ColumnElement[bool]]:
    """That a row came before its device was revoked, which may be recorded later than the row came."""
    for device, instants in revoked.items():
        for instant, last in instants:
            yield not_(and_(row.device == device, row.epoch <= last, row.received_at >= instant))


class JournalRow(NamedTuple):
    """One boarding of the journal; the words and numbers are those of `BoardingRow`, `ReleaseRow`, `AnnulmentRow`."""

    boarding_id: str
    month: str
    kind: str
    holder: str | None
    device: str
    epoch: int
    seq: int
    received_at: datetime
    batch: bool
    occurred_at: datetime | None
    dated_at: datetime
    line: str | None
    vehicle: str | None
    medium: str | None
    keyed: str | None
    tendered_cents: int | None
    card_number: int | None
    card_issue: int | None
    revision: int | None
    reason: str
    category: str | None
    turnstile: str | None
    continues: str | None
    flags: int
    release_device: str | None
    release_seq: int | None
    released: bool | None
    ride_class: str | None
    purse: str | None
    release_online: bool | None
    annulment_device: str | None
    annulment_seq: int | None
    annulled_at: datetime | None


class Key(NamedTuple):
    """Where a boarding stands in its month."""

    device: str
    epoch: int
    seq: int


_KEY = (BoardingRow.device, BoardingRow.epoch, BoardingRow.seq)
_COLUMNS: tuple[Any, ...] = (
    BoardingRow.boarding_id,
    BoardingRow.month,
    BoardingRow.kind,
    BoardingRow.holder,
    BoardingRow.device,
    BoardingRow.epoch,
    BoardingRow.seq,
    BoardingRow.received_at,
    BoardingRow.batch,
    BoardingRow.occurred_at,
    BoardingRow.dated_at,
    BoardingRow.line,
    BoardingRow.vehicle,
    BoardingRow.medium,
    BoardingRow.keyed,
    BoardingRow.tendered_cents,
    BoardingRow.card_number,
    BoardingRow.card_issue,
    BoardingRow.revision,
    BoardingRow.reason,
    BoardingRow.category,
    BoardingRow.turnstile,
    BoardingRow.continues,
    BoardingRow.flags,
    ReleaseRow.device,
    ReleaseRow.seq,
    ReleaseRow.released,
    ReleaseRow.ride_class,
    ReleaseRow.purse,
    ReleaseRow.online,
    AnnulmentRow.device,
    AnnulmentRow.seq,
    AnnulmentRow.occurred_at,
)
_COLUMNS_IN_TEXT = tuple(
    cast(column, Text) if isinstance(column.type, Uuid) else column for column in _COLUMNS
)
"""With ids as text, psycopg's own values are those of a `JournalRow`: SQLAlchemy has nothing left to convert."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A boarding that another one continues."""

    holder: str | None
    dated_at: datetime
    vehicle: str
    category: str | None


class JournalMonth:
    """The boardings of one month that were received until the instant of closing."""

    def __init__(self, session: Session, month: Month, closed_at: datetime, revoked: Revocations) -> None:
        self.month = month
        self._revoked = revoked
        self._session = session
        self._closed_at = closed_at
        self._postgres = session.get_bind().dialect.name == "postgresql"
        if self._postgres:
            session.execute(text("SET LOCAL TIME ZONE 'UTC'"))  # in which the driver then gives instants
            # A plan for any page, made once, would read the whole month for each.
            session.execute(text("SET LOCAL plan_cache_mode = force_custom_plan"))
        self._datings = {dating.boarding_id: dating for dating in datings_until(session, closed_at)}

    def count(self) -> int:
        """How many dated boardings there are."""
        counted = select(func.count()).where(BoardingRow.month == self.month, *self._in_time())
        return (self._session.scalar(counted) or 0) + len(self._dated_by_a_person)

    def holders(self) -> list[str]:
        """The hot ids of all holders with boardings in the month, in order."""
        rows = self._session.scalars(
            select(BoardingRow.holder)
            .where(BoardingRow.month == self.month, BoardingRow.holder.is_not(None), *self._in_time())
            .distinct()
        )
        dated = {row.holder for row in self._dated_by_a_person}
        return sorted(holder for holder in {*rows, *dated} if holder is not None)

    def of_holders(self, holders: list[str]) -> dict[str, list[JournalRow]]:
        """The boardings of some holders."""
        found: dict[str, list[JournalRow]] = {holder: [] for holder in holders}
        dated = [
            BoardingRow.month == self.month,
            one_of(self._session, BoardingRow.holder, holders),
            *self._in_time(),
        ]
        for row in (*self._read(self._statement(dated)), *self._dated_by_a_person):
            if row.holder in found:
                found[row.holder].append(row)
        return found

    def of_nobody(self) -> Iterator[list[JournalRow]]:
        """The boardings of nobody (cash, keys, documents, unreadable cards), in pages.

        A page is a stretch of the month's boardings in the order of their keys, of which those of nobody are read: its
        end is found in the index alone. Were the end sought among those of nobody, PostgreSQL would look through the
        whole month for each page.
        """
        after: Key | None = None
        while True:
            end = select(*_KEY).where(*self._stretch(after, None)).order_by(*_KEY).offset(ROWS_A_PAGE - 1)
            found = self._session.execute(end.limit(1)).one_or_none()
            upto = None if found is None else Key(*found)
            nobodys = [*self._stretch(after, upto), BoardingRow.holder.is_(None)]
            yield self._read(self._statement([*nobodys, *self._in_time()]))
            if upto is None:
                break
            after = upto
        dated = [row for row in self._dated_by_a_person if row.holder is None]
        if dated:
            yield dated

    def _stretch(self, after: Key | None, upto: Key | None) -> list[ColumnElement[bool]]:
        """The month's boardings after one key and up to another; None for the month's own ends.

        PostgreSQL is told the devices between which they lie as well: how few keys lie between two whole keys it cannot
        estimate, and would read the month. SQLite would then walk whole devices.
        """
        stretch = [BoardingRow.month == self.month]
        if after is not None:
            stretch.append(tuple_(*_KEY) > after)
        if upto is not None:
            stretch.append(tuple_(*_KEY) <= upto)
        if self._postgres:
            stretch += [] if after is None else [BoardingRow.device >= after.device]
            stretch += [] if upto is None else [BoardingRow.device <= upto.device]
        return stretch

    def undated(self) -> list[JournalRow]:
        """The boardings without a believable instant that were received in the month, whatever month they name."""
        first, after = month_bounds(self.month)
        received = [BoardingRow.received_at >= first, BoardingRow.received_at < after]
        rows = self._read(
            self._statement([IS_UNDATED, *received, BoardingRow.received_at <= self._closed_at])
        )
        return [row for row in rows if row.boarding_id not in self._datings]

    @cached_property
    def _dated_by_a_person(self) -> list[JournalRow]:
        """Boardings in quarantine that a person has dated into this month, with that instant in place of their own."""
        datings = [dating for dating in self._datings.values() if dating.month_dated == self.month]
        rows: list[JournalRow] = []
        for dating in datings:
            place = [
                BoardingRow.month == dating.month,
                BoardingRow.device == dating.device,
                BoardingRow.epoch == dating.epoch,
                BoardingRow.seq == dating.seq,
                BoardingRow.received_at <= self._closed_at,
            ]
            for row in self._read(self._statement(place)):
                flags = row.flags & ~Flag.CLOCK_QUARANTINE.value
                rows.append(row._replace(dated_at=dating.dated_at, month=self.month, flags=flags))
        return rows

    def cited(self, boarding_ids: Iterable[str]) -> dict[str, Cited]:
        """Boardings of any month by id; those that had not been received at the closing are left out."""
        ids = sorted(set(boarding_ids))
        if not ids:
            return {}
        same = and_(
            BoardingRow.month == TapKeyRow.month,
            BoardingRow.device == TapKeyRow.device,
            BoardingRow.epoch == TapKeyRow.epoch,
            BoardingRow.seq == TapKeyRow.seq,
        )
        rows = self._session.execute(
            select(
                BoardingRow.boarding_id,
                BoardingRow.holder,
                BoardingRow.dated_at,
                BoardingRow.vehicle,
                BoardingRow.category,
            )
            .join(BoardingRow, same)
            .select_from(TapKeyRow)
            .where(TapKeyRow.boarding_id.in_(ids), BoardingRow.received_at <= self._closed_at)
        )
        return {row[0]: Cited(row[1], row[2], row[3] or "", row[4]) for row in rows}

    def _in_time(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        """Dated rows only, and only what had been received at the closing."""
        return BoardingRow.received_at <= self._closed_at, ~IS_UNDATED

    def _statement(self, conditions: Iterable[ColumnElement[bool]]) -> Select[Any]:
        """Boardings with what cites them.

        A release or an annulment that a revoked device uploads says nothing: whoever has the device writes what he
        likes, and the boarding waits like one without a release, or stays as it was. That the citing device is the
        boarding's own is checked by `_own`: said here, it would lead SQLite to walk a device's whole journal for
        every boarding.
        """
        released = and_(
            ReleaseRow.boarding_id == BoardingRow.boarding_id,
            ReleaseRow.received_at <= self._closed_at,
            ReleaseRow.flags.bitwise_and(Flag.REVOKED_DEVICE.value) == 0,
            *before_revocation(ReleaseRow, self._revoked),
        )
        annulled = and_(
            AnnulmentRow.boarding_id == BoardingRow.boarding_id,
            AnnulmentRow.received_at <= self._closed_at,
            TAKES_BACK,
            *before_revocation(AnnulmentRow, self._revoked),
        )
        return (
            select(*(_COLUMNS_IN_TEXT if self._postgres else _COLUMNS))
            .outerjoin(ReleaseRow, released)
            .outerjoin(AnnulmentRow, annulled)
            .where(*conditions)
            .order_by(
                BoardingRow.device,
                BoardingRow.epoch,
                BoardingRow.seq,
                ReleaseRow.epoch,
                ReleaseRow.seq,
                AnnulmentRow.epoch,
                AnnulmentRow.seq,
            )
        )

    def _read(self, statement: Select[Any]) -> list[JournalRow]:
        """One row for each boarding: of several releases or annulments of one boarding the first stands."""
        rows: dict[str, JournalRow] = {}
        result = self._session.connection().execute(statement)
        for row in map(JournalRow._make, result.cursor.fetchall() if self._postgres else result):
            if row.release_device != row.device or row.annulment_device is not None:
                row = _own(row)
            known = rows.setdefault(row.boarding_id, row)
            if known is not row:
                rows[row.boarding_id] = _joined(known, row)
        return list(rows.values())


def _own(row: JournalRow) -> JournalRow:
    """The boarding without what another device says of it."""
    if row.release_device not in (None, row.device):
        row = row._replace(**_NO_RELEASE)
    if row.annulment_device not in (None, row.device):
        row = row._replace(**_NO_ANNULMENT)
    return row


def _joined(known: JournalRow, more: JournalRow) -> JournalRow:
    """A boarding with what a further row says of it, where nothing was said before."""
    if known.release_seq is None and more.release_seq is not None:
        known = known._replace(**{name: getattr(more, name) for name in _NO_RELEASE})
    if known.annulment_seq is None and more.annulment_seq is not None:
        known = known._replace(**{name: getattr(more, name) for name in _NO_ANNULMENT})
    return known


_NO_RELEASE: dict[str, Any] = dict.fromkeys(
    ("release_device", "release_seq", "released", "ride_class", "purse", "release_online")
)
_NO_ANNULMENT: dict[str, Any] = dict.fromkeys(("annulment_device", "annulment_seq", "annulled_at"))

"""The publisher: from the outbox into Redis. Each record is built from what is committed, never from the outbox.

The order of the outbox does not matter: a row that a slow transaction commits late is found late, and what is built
then is the newest state; the script never puts an older revision over a newer one. Two publishers do no harm.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import structlog
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from backoffice.adapters.hot_state import HotState, Publication
from backoffice.adapters.redis_link import RedisLink, Unavailable
from backoffice.application.changes import change_city
from backoffice.application.publish_records import (
    city_record,
    device_publications,
    holder_publications,
    packed_city,
    uid_publications,
)
from backoffice.persistence.base import reading, writing
from backoffice.persistence.bulk import DatabaseAway
from backoffice.persistence.city import CityRow
from backoffice.persistence.devices import DeviceRow
from backoffice.persistence.holders import HolderRow
from backoffice.persistence.outbox import OutboxKind, OutboxRow
from validator.domain.fares import FareError
from validator.domain.rules import RuleBook
from validator.domain.service_time import civil_date
from validator.records.city import unpack_city

_log = structlog.get_logger("catraca.publish")

BATCH = 500
"""Outbox rows taken at once."""

_MARK_CHUNK = 500
_AWAY_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Law:
    """The rule table: read, and as the mapping that its file holds."""

    book: RuleBook
    mapping: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Built:
    """What one look at the outbox found: its rows, and the records with what must be marked afterwards."""

    outbox: list[int]
    publications: list[Publication]
    holders: list[tuple[int, int]]
    devices: list[tuple[str, int]]
    city_revision: int | None


class Publisher:
    """Publishes what the outbox names, and the city on the first look at a new civil day or rule table."""

    def __init__(self, engine: Engine, law: Law, clock: Callable[[], datetime]) -> None:
        self._engine = engine
        self._law = law
        self._clock = clock
        self._day: date | None = None
        self._fault = ""

    def publish_waiting(self, hot: HotState) -> int:
        """Publish a batch of the outbox; returns how many of its rows were settled.

        Raises:
            redis.RedisError: Redis is away; the rows stay in the outbox.
            sqlalchemy.exc.OperationalError: the database is away.
        """
        self._notice_new_day(hot)
        built = self._build()
        if not built.outbox:
            return 0
        hot.publish(built.publications)
        self._mark(built)
        return len(built.outbox)

    def _notice_new_day(self, hot: HotState) -> None:
        """Lines and vehicles change hands at midnight without anybody touching them; the rule table, by a new file."""
        now = self._clock()
        if civil_date(now) == self._day:
            return
        held = hot.city()
        if held is not None:
            with reading(self._engine) as session:
                try:
                    changed = city_record(session, self._law.mapping, now) != unpack_city(held)
                except FareError:
                    changed = False
            if changed:
                with writing(self._engine) as session:
                    change_city(session, now)
        self._day = civil_date(now)

    def _build(self) -> _Built:
        now = self._clock()
        with reading(self._engine) as session:
            waiting = self._waiting(session)
            outbox = [row_id for row_id, _, _ in waiting]
            refs: dict[OutboxKind, set[str]] = {kind: set() for kind in OutboxKind}
            for _, kind, ref in waiting:
                refs[kind].add(ref)
            holder_ids = [int(ref) for ref in refs[OutboxKind.HOLDER]]
            holders = list(holder_publications(session, self._law.book, holder_ids, civil_date(now)))
            devices = list(device_publications(session, refs[OutboxKind.DEVICE]))
            publications = [one[2] for one in holders] + [one[2] for one in devices]
            # After the snapshots that they lead to.
            publications += [record for _, record in uid_publications(session, holder_ids)]
            city = self._build_city(session, now) if refs[OutboxKind.CITY] else None
            if city is not None:
                publications.append(city[1])
            elif refs[OutboxKind.CITY]:
                outbox = [row_id for row_id, kind, _ in waiting if kind is not OutboxKind.CITY]
        return _Built(
            outbox,
            publications,
            [one[:2] for one in holders],
            [one[:2] for one in devices],
            None if city is None else city[0],
        )

    def _waiting(self, session: Session) -> list[tuple[int, OutboxKind, str]]:
        """Outbox rows to settle: all of the city's, which may have to wait for a fare, and a batch of the others."""
        rows = select(OutboxRow.id, OutboxRow.kind, OutboxRow.ref).where(OutboxRow.published_at.is_(None))
        city = rows.where(OutboxRow.kind == OutboxKind.CITY)
        others = rows.where(OutboxRow.kind != OutboxKind.CITY).order_by(OutboxRow.id).limit(BATCH)
        return [(row[0], row[1], row[2]) for found in (city, others) for row in session.execute(found)]

    def _build_city(self, session: Session, now: datetime) -> tuple[int, Publication] | None:
        """The city's revision and record; None while its fares are incomplete, which is said once."""
        row = session.get(CityRow, 1)
        if row is None:
            return None
        try:
            record = city_record(session, self._law.mapping, now)
        except FareError as error:
            if str(error) != self._fault:
                _log.error("city_not_published", why=str(error))
                self._fault = str(error)
            return None
        self._fault = ""
        return row.revision, packed_city(record, row.revision)

    def _mark(self, built: _Built) -> None:
        now = self._clock()
        with writing(self._engine) as session:
            for start in range(0, len(built.outbox), _MARK_CHUNK):
                ids = built.outbox[start : start + _MARK_CHUNK]
                session.execute(
                    update(OutboxRow)
                    .where(OutboxRow.id.in_(ids), OutboxRow.published_at.is_(None))
                    .values(published_at=now)
                )
            mark_holders(session, built.holders)
            for device, revision in built.devices:
                session.execute(
                    update(DeviceRow)
                    .where(DeviceRow.id == device, DeviceRow.published_revision < revision)
                    .values(published_revision=revision)
                )
            if built.city_revision is not None:
                session.execute(
                    update(CityRow)
                    .where(CityRow.published_revision < built.city_revision)
                    .values(published_revision=built.city_revision, law_version=self._law.book.version)
                )


def mark_holders(session: Session, published: Sequence[tuple[int, int]]) -> None:
    """Note (`holders.id`, revision) that stand in Redis."""
    for holder_id, revision in published:
        session.execute(
            update(HolderRow)
            .where(HolderRow.id == holder_id, HolderRow.published_revision < revision)
            .values(published_revision=revision)
        )


def run_publish(
    engine: Engine,
    redis_url: str,
    law: Law,
    clock: Callable[[], datetime],
    stop: threading.Event,
    *,
    poll_s: float = 0.05,
) -> None:
    """Publish until `stop` is set; waits for Redis and for the database when they are away.

    Args:
        engine: The database.
        redis_url: Where Redis is.
        law: The rule table.
        clock: Tells the instant.
        stop: Ends the run.
        poll_s: Pause between looks at an empty outbox, in seconds.
    """
    publisher = Publisher(engine, law, clock)
    while not stop.is_set():
        try:
            with RedisLink(redis_url) as link:
                hot = HotState(link)
                hot.refuse_eviction()
                while not stop.is_set():
                    if publisher.publish_waiting(hot) == 0:
                        stop.wait(poll_s)
        except (*Unavailable, *DatabaseAway) as error:
            _log.warning("publisher_waits", why=str(error).splitlines()[0])
            stop.wait(_AWAY_PAUSE_S)

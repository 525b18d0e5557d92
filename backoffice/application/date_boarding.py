"""Boardings in quarantine: their device's clock was off, so a person dates them from evidence. The original stays."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backoffice.application.changes import log
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.register_fields import text_of
from backoffice.application.staff import CityOffice
from backoffice.persistence.base import WriteSession
from backoffice.persistence.datings import DatingRow
from backoffice.persistence.journal import IS_UNDATED, BoardingRow, TapKeyRow
from validator.domain.service_time import civil_date, month_of
from validator.records.codes import Flag


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A boarding in quarantine, with what may help to date it.

    Attributes:
        boarding_id, device, epoch, seq, line, vehicle: The boarding.
        occurred_at: What the device's clock said; None for what is no instant.
        received_at: When the service received it: it happened before.
        after, before: Instants of the nearest boardings of the device with a lower and a higher number that are not in
            doubt: it happened between them, if the device was not switched off.
        dated_at: What a person has found so far.
    """

    boarding_id: str
    device: str
    epoch: int
    seq: int
    line: str | None
    vehicle: str | None
    occurred_at: datetime | None
    received_at: datetime
    after: datetime | None
    before: datetime | None
    dated_at: datetime | None


def date_boarding(
    session: WriteSession,
    by: CityOffice,
    at: datetime,
    *,
    boarding_id: str,
    dated_at: datetime,
    evidence: str,
) -> DatingRow:
    """Date a boarding in quarantine. It is rated in the month of that instant at the next closing.

    Args:
        session: A writing session.
        by: The person of the Órgão Gestor who answers for it.
        at: The instant.
        boarding_id: The boarding.
        dated_at: When it happened.
        evidence: What that was found from.

    Raises:
        NotFound: there is no such boarding.
        Conflict: its clock is not in doubt.
        Invalid: the instant lies after its reception, or no evidence is named.
    """
    row = _boarding(session, boarding_id)
    if not row.flags & Flag.CLOCK_QUARANTINE:
        raise Conflict(
            "o relógio deste embarque não está em dúvida; ele já tem data",
            "this boarding's clock is not in doubt",
        )
    if dated_at > row.received_at:
        raise Invalid(
            f"o embarque foi recebido em {row.received_at.isoformat()}; ele aconteceu antes",
            "the boarding was received before that instant",
        )
    before = _last_dating(session, boarding_id)
    dating = DatingRow(
        boarding_id=boarding_id,
        month=row.month,
        device=row.device,
        epoch=row.epoch,
        seq=row.seq,
        dated_at=dated_at,
        month_dated=month_of(civil_date(dated_at)),
        evidence=text_of(evidence, "evidence", 500),
        dated_by=by.user_id,
        recorded_at=at,
        replaces_id=None if before is None else before.id,
    )
    session.add(dating)
    session.flush()
    log(session, by, "boarding.date", ("boarding", boarding_id), at, f"dated_at={dated_at.isoformat()}")
    return dating


def boardings_in_doubt(session: Session, *, waiting_only: bool = True, most: int = 500) -> list[Doubtful]:
    """Boardings in quarantine, oldest reception first; those that are dated already too if asked for."""
    rows = session.scalars(
        select(BoardingRow)
        .where(IS_UNDATED)
        .order_by(BoardingRow.received_at, BoardingRow.device, BoardingRow.epoch, BoardingRow.seq)
    )
    found: list[Doubtful] = []
    for row in rows:
        dating = _last_dating(session, row.boarding_id)
        if dating is not None and waiting_only:
            continue
        found.append(_doubtful(session, row, dating))
        if len(found) == most:
            break
    return found


def datings_until(session: Session, recorded_until: datetime) -> Iterator[DatingRow]:
    """The dating that counts of each boarding, of those recorded until an instant (inclusive)."""
    newest = (
        select(func.max(DatingRow.id))
        .where(DatingRow.recorded_at <= recorded_until)
        .group_by(DatingRow.boarding_id)
    )
    yield from session.scalars(select(DatingRow).where(DatingRow.id.in_(newest)).order_by(DatingRow.id))


def _boarding(session: Session, boarding_id: str) -> BoardingRow:
    key = session.scalar(select(TapKeyRow).where(TapKeyRow.boarding_id == boarding_id))
    row = None
    if key is not None and key.month is not None:
        row = session.get(BoardingRow, (key.month, key.device, key.epoch, key.seq))
    if row is None:
        raise NotFound(f"não há embarque {boarding_id}", f"there is no boarding {boarding_id}")
    return row


def _last_dating(session: Session, boarding_id: str) -> DatingRow | None:
    return session.scalar(
        select(DatingRow).where(DatingRow.boarding_id == boarding_id).order_by(DatingRow.id.desc()).limit(1)
    )


def _doubtful(session: Session, row: BoardingRow, dating: DatingRow | None) -> Doubtful:
    return Doubtful(
        row.boarding_id,
        row.device,
        row.epoch,
        row.seq,
        row.line,
        row.vehicle,
        row.occurred_at,
        row.received_at,
        _neighbour(session, row, earlier=True),
        _neighbour(session, row, earlier=False),
        None if dating is None else dating.dated_at,
    )


def _neighbour(session: Session, row: BoardingRow, *, earlier: bool) -> datetime | None:
    """The instant of the nearest boarding of the device, by number, whose clock is not in doubt."""
    own = select(BoardingRow.dated_at).where(
        BoardingRow.device == row.device, BoardingRow.epoch == row.epoch, ~IS_UNDATED
    )
    if earlier:
        own = own.where(BoardingRow.seq < row.seq).order_by(BoardingRow.seq.desc())
    else:
        own = own.where(BoardingRow.seq > row.seq).order_by(BoardingRow.seq)
    return session.scalar(own.limit(1))

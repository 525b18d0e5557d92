"""Close a month: rate all of it, freeze the verdicts, and give each operator one numbered claim.

One transaction, for all operators at once. The first statement takes the lock of closings, so that of two clerks who
close together one does the work and the other gets the same claims. What had not been received at the instant of
closing is not in it, whenever the command runs; it remains for a complementary closing (`part` 2 and on).
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, func, select, text
from sqlalchemy.orm import Session

from backoffice.application.changes import log
from backoffice.application.claim_writing import write_claims
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.inspect_claims import boarding_months
from backoffice.application.month_register import MonthRegister, read_register
from backoffice.application.month_reversals import late_reversals, write_reversals
from backoffice.application.month_rides import JournalMonth
from backoffice.application.rate_month import MonthRating, MonthRide
from backoffice.application.staff import CityOffice
from backoffice.domain.claims import ClaimTally, printed_number
from backoffice.persistence.base import Base, WriteSession, reading
from backoffice.persistence.bulk import insert_rows
from backoffice.persistence.claims import ClaimRow, ClosingRow, EndStateRow, RatedRow
from validator.domain.boarding import FareUnknown
from validator.domain.fares import Fare
from validator.domain.rules import RuleBook
from validator.domain.service_time import SAO_PAULO, Month, month_bounds
from validator.records.usage import pack_usage

_RATED = Base.metadata.tables[RatedRow.__tablename__]
_END_STATES = Base.metadata.tables[EndStateRow.__tablename__]

Progress = Callable[[int, int], None]
"""Told how many boardings have been rated, and how many there are."""


@dataclass(frozen=True, slots=True)
class ClosedClaim:
    """One claim as it was closed. `document` is its canonical JSON."""

    number: str
    operator: str
    total_cents: int
    document: str


@dataclass(frozen=True, slots=True)
class ClosedMonth:
    """A closing with its claims, by operator.

    Attributes:
        month: The month.
        part: 1 for the month's own closing.
        closed_at: Its instant.
        claims: One claim for each operator with boardings.
        closed_before: Whether it had been closed already, so that nothing was done now.
    """

    month: Month
    part: int
    closed_at: datetime
    claims: tuple[ClosedClaim, ...]
    closed_before: bool


def close_month(
    engine: Engine,
    book: RuleBook,
    month: Month,
    *,
    at: datetime,
    by: CityOffice,
    progress: Progress | None = None,
) -> ClosedMonth:
    """Close a month, or give the claims that its closing gave.

    Args:
        engine: The database.
        book: The rule table.
        month: The month (competência).
        at: The instant of closing.
        by: Who closes; the claim names the login.
        progress: Told how far it is.

    Raises:
        Invalid: the month is not over at `at`.
        Conflict: an earlier month with boardings is still open, or a fare is missing.
        NotFound: no boarding of the month had been received.
    """
    _check_over(month, at)
    with _closing(engine) as session:
        before = session.scalar(select(ClosingRow).where(ClosingRow.month == month, ClosingRow.part == 1))
        if before is not None:
            return _as_closed(session, before, closed_before=True)
        _check_order(session, month)
        closed = _close(session, book, month, 1, at, by, progress)
        if not closed.claims:  # nothing is written: the raised error gives the transaction up
            raise NotFound(
                f"a competência {month} não tem embarques recebidos até {_moment(at)}; não há o que fechar",
                f"month {month} has no boardings",
            )
        return closed


def close_late(
    engine: Engine,
    book: RuleBook,
    month: Month,
    *,
    at: datetime,
    by: CityOffice,
    progress: Progress | None = None,
) -> ClosedMonth | None:
    """Close what has come, or has been settled, since a month was closed; None where nothing has.

    Raises:
        NotFound: the month was never closed.
        Conflict: a fare is missing.
    """
    with _closing(engine) as session:
        part = session.scalar(select(func.max(ClosingRow.part)).where(ClosingRow.month == month))
        if part is None:
            raise NotFound(
                f"a competência {month} ainda não foi fechada; feche-a primeiro: catraca claim close {month}",
                f"month {month} has not been closed yet",
            )
        closed = _close(session, book, month, part + 1, at, by, progress)
        if not closed.claims:
            session.rollback()
            return None
        return closed


def newest_part(engine: Engine, month: Month) -> int:
    """How many closings a month has had; 0 for an open one."""
    with reading(engine) as session:
        return session.scalar(select(func.max(ClosingRow.part)).where(ClosingRow.month == month)) or 0


@contextmanager
def _closing(engine: Engine) -> Iterator[WriteSession]:
    """A transaction on one consistent view, alone among closings; ingest and desks go on on PostgreSQL."""
    options = {"catraca_writes": True}
    postgres = engine.dialect.name == "postgresql"
    levelled = engine.execution_options(
        **(options | {"isolation_level": "REPEATABLE READ"} if postgres else options)
    )
    with Session(levelled) as session, session.begin():
        if postgres:  # before the first query, so that the view is younger than the lock
            session.execute(text("LOCK TABLE month_closings IN SHARE ROW EXCLUSIVE MODE"))
        yield WriteSession(session)


def _check_over(month: Month, at: datetime) -> None:
    after = month_bounds(month)[1]
    if at < after:
        raise Invalid(
            f"a competência {month} ainda não terminou em {_moment(at)}; feche-a a partir de {_moment(after)}",
            f"month {month} is not over at {at.isoformat()}",
        )


def _moment(instant: datetime) -> str:
    return f"{instant.astimezone(SAO_PAULO):%d/%m/%Y %H:%M}"


def _check_order(session: Session, month: Month) -> None:
    """Months are closed in their order, since each starts where the one before ended."""
    closed = set(session.scalars(select(ClosingRow.month)))
    left = [other for other in boarding_months(session, before=month) if other not in closed]
    if left:
        earliest = min(left)
        raise Conflict(
            f"a competência {earliest} tem embarques e ainda não foi fechada; feche-a primeiro: "
            f"catraca claim close {earliest}",
            f"month {earliest} has boardings and has not been closed yet",
        )


def _close(
    session: WriteSession,
    book: RuleBook,
    month: Month,
    part: int,
    at: datetime,
    by: CityOffice,
    progress: Progress | None,
) -> ClosedMonth:
    register = read_register(session, book, month, at)
    closing = ClosingRow(
        month=month,
        part=part,
        closed_at=at,
        closed_by=by.login,
        rules_version=book.version,
        fares_sha256=fares_sha256(register.city.fares),
    )
    session.add(closing)
    session.flush()
    session.expunge(closing)
    journal = JournalMonth(session, month, at)
    later = session.scalar(select(func.count()).where(ClosingRow.month > month))
    reversals = late_reversals(session, book, at)
    rating = MonthRating(session, month, journal, register, part > 1 or bool(later), reversals)
    try:
        tallies = _freeze(session, closing, rating, progress, journal.count() if progress else 0)
    except FareUnknown as error:
        raise _fare_missing(rating.journal, register) from error
    claims = write_claims(session, closing, tallies, register, reversals.adjustments())
    write_reversals(session, reversals.rows, claims)
    log(session, by, "month.close", ("month", month), at, f"part={part}")
    session.flush()
    return _as_closed(session, closing, closed_before=False)


def _freeze(
    session: WriteSession, closing: ClosingRow, rating: MonthRating, progress: Progress | None, total: int
) -> dict[str, ClaimTally]:
    """Rate everything and write the verdicts; the sums by operator."""
    tallies: dict[str, ClaimTally] = {}
    done = 0
    for page in rating.pages():
        insert_rows(session, _RATED, [_rated_row(closing, ride) for ride in page.rides])
        states = [
            {"holder": holder, "closing_id": closing.id, "usage": pack_usage(usage)}
            for holder, usage in sorted(page.end_states.items())
        ]
        insert_rows(session, _END_STATES, states)
        for ride in page.rides:
            tally = tallies.setdefault(ride.operator, ClaimTally(ride.operator))
            tally.add(ride.rated, turnstile=ride.turnstile, group=ride.group)
        done += page.read
        if progress is not None:
            progress(done, total)
    return tallies


def _rated_row(closing: ClosingRow, ride: MonthRide) -> dict[str, object]:
    rated = ride.rated
    tap = rated.ride.tap
    release = rated.ride.release
    return {
        "boarding_id": tap.boarding_id,
        "closing_id": closing.id,
        "month": closing.month,
        "holder": ride.holder,
        "operator": ride.operator,
        "device": rated.ride.device,
        "epoch": rated.ride.epoch,
        "seq": rated.ride.device_seq,
        "dated_at": tap.occurred_at,
        "line": tap.line,
        "vehicle": tap.vehicle,
        "verdict": rated.verdict.value,
        "reason": None if rated.reason is None else rated.reason.value,
        "category": None if rated.category is None else rated.category.value,
        "ride_class": None if release is None else release.ride_class.value,
        "rule": None if rated.rule is None else rated.rule.id,
        "turnstile": ride.turnstile.value,
        "fare_cents": rated.fare_cents,
        "rider_cents": rated.rider_cents,
        "city_cents": rated.city_cents,
        "operator_cents": rated.operator_cents,
        "purse": rated.purse,
        "pass_number": rated.pass_number,
        "counts_cap": rated.counts_cap,
        "personal": rated.personal,
        "took": rated.took,
        "waits": rated.reason is not None and rated.reason.may_be_settled,
    }


def _fare_missing(journal: JournalMonth, register: MonthRegister) -> Conflict:
    return Conflict(
        f"falta tarifa registrada para um embarque da competência {journal.month}; registre-a com o seu ato "
        "e feche de novo",
        f"a fare is missing for a boarding of {journal.month}",
    )


def fares_sha256(fares: tuple[Fare, ...]) -> str:
    """The version of the fares: SHA-256 over all that count, in their order."""
    rows = sorted(
        [
            fare.network.value,
            fare.first_day.isoformat(),
            "" if fare.last_day is None else fare.last_day.isoformat(),
            fare.line or "",
            "" if fare.medium is None else fare.medium.value,
            fare.cents,
            fare.act or "",
        ]
        for fare in fares
    )
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


def _as_closed(session: Session, closing: ClosingRow, *, closed_before: bool) -> ClosedMonth:
    claims = session.scalars(select(ClaimRow).where(ClaimRow.closing_id == closing.id))
    return ClosedMonth(
        Month(closing.month),
        closing.part,
        closing.closed_at,
        tuple(
            ClosedClaim(
                printed_number(row.operator, row.year, row.number),
                row.operator,
                row.total_cents,
                row.document,
            )
            for row in sorted(claims, key=lambda row: row.operator)
        ),
        closed_before,
    )

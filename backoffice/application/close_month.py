"""Close a month: rate all of it, freeze the verdicts, and give each operator one numbered claim.

One transaction, for all operators at once (`month_transaction`): of two clerks who close together one does the work and
the other gets the same claims. What had not been received at the instant of closing is not in it, whenever the command
runs; it remains for a complementary closing (`part` 2 and on).
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from backoffice.application.changes import log
from backoffice.application.claim_writing import write_claims
from backoffice.application.collector import no_search_for_cycles
from backoffice.application.date_boarding import datings_until
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.inspect_claims import boarding_months
from backoffice.application.month_register import read_register
from backoffice.application.month_reversals import late_reversals, write_reversals
from backoffice.application.month_rides import JournalMonth
from backoffice.application.month_transaction import MonthTransaction, Overtaken, month_transaction
from backoffice.application.month_verdicts import end_state_values, verdict_values
from backoffice.application.rate_month import MonthRating
from backoffice.application.staff import CityOffice
from backoffice.domain.claims import ClaimTally, printed_number
from backoffice.persistence.base import reading
from backoffice.persistence.claims import ClaimRow, ClosingRow
from validator.domain.boarding import FareUnknown
from validator.domain.fares import Fare
from validator.domain.rules import RuleBook
from validator.domain.service_time import SAO_PAULO, Month, month_bounds

T = TypeVar("T")

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

    def prepared(transaction: MonthTransaction) -> ClosedMonth:
        session = transaction.view
        before = session.scalar(select(ClosingRow).where(ClosingRow.month == month, ClosingRow.part == 1))
        if before is not None:
            return _as_closed(session, before, closed_before=True)
        _check_order(session, month, at)
        closed = _close(transaction, book, month, 1, at, by, progress)
        if not closed.claims:  # nothing is written: the raised error gives the transaction up
            raise NotFound(
                f"a competência {month} não tem embarques recebidos até {_moment(at)}; não há o que fechar",
                f"month {month} has no boardings",
            )
        return closed

    return _alone(engine, prepared)


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

    def prepared(transaction: MonthTransaction) -> ClosedMonth | None:
        newest = select(func.max(ClosingRow.part)).where(ClosingRow.month == month)
        part = transaction.view.scalar(newest)
        if part is None:
            raise NotFound(
                f"a competência {month} ainda não foi fechada; feche-a primeiro: catraca claim close {month}",
                f"month {month} has not been closed yet",
            )
        closed = _close(transaction, book, month, part + 1, at, by, progress)
        if not closed.claims:
            raise _NothingLate
        return closed

    try:
        return _alone(engine, prepared)
    except _NothingLate:
        return None


class _NothingLate(Exception):
    pass


def _alone(engine: Engine, work: Callable[[MonthTransaction], T]) -> T:
    """Do the work in a transaction of its own, again where another closing came in between."""
    while True:
        with suppress(Overtaken), month_transaction(engine) as transaction:
            return work(transaction)


def newest_part(engine: Engine, month: Month) -> int:
    """How many closings a month has had; 0 for an open one."""
    with reading(engine) as session:
        return session.scalar(select(func.max(ClosingRow.part)).where(ClosingRow.month == month)) or 0


def _check_over(month: Month, at: datetime) -> None:
    after = month_bounds(month)[1]
    if at < after:
        raise Invalid(
            f"a competência {month} ainda não terminou em {_moment(at)}; feche-a a partir de {_moment(after)}",
            f"month {month} is not over at {at.isoformat()}",
        )


def _moment(instant: datetime) -> str:
    return f"{instant.astimezone(SAO_PAULO):%d/%m/%Y %H:%M}"


def _check_order(session: Session, month: Month, at: datetime) -> None:
    """Months are closed in their order, since each starts where the one before ended.

    A boarding that a person has dated into an earlier month stands in that month.
    """
    closed = set(session.scalars(select(ClosingRow.month)))
    dated = {dating.month_dated for dating in datings_until(session, at) if dating.month_dated < month}
    left = {*boarding_months(session, before=month, received_until=at), *dated} - closed
    if left:
        earliest = min(left)
        raise Conflict(
            f"a competência {earliest} tem embarques e ainda não foi fechada; feche-a primeiro: "
            f"catraca claim close {earliest}",
            f"month {earliest} has boardings and has not been closed yet",
        )


def _close(
    transaction: MonthTransaction,
    book: RuleBook,
    month: Month,
    part: int,
    at: datetime,
    by: CityOffice,
    progress: Progress | None,
) -> ClosedMonth:
    view = transaction.view
    register = read_register(view, book, month, at)
    closing = ClosingRow(
        month=month,
        part=part,
        closed_at=at,
        closed_by=by.login,
        rules_version=book.version,
        fares_sha256=fares_sha256(register.city.fares),
    )
    transaction.begin(closing)
    journal = JournalMonth(view, month, at, register.revoked)
    later = view.scalar(select(func.count()).where(ClosingRow.month > month))
    reversals = late_reversals(view, book, at, register.revoked)
    rating = MonthRating(view, month, journal, register, part > 1 or bool(later), reversals)
    total = journal.count() if progress else 0
    with no_search_for_cycles():
        try:
            tallies = _rate(transaction, closing, rating, progress, total)
        except FareUnknown as error:
            raise _fare_missing(month, error) from error
        session = transaction.finish()
        claims = write_claims(session, closing, tallies, register, reversals.adjustments())
    write_reversals(session, reversals.rows, claims)
    log(session, by, "month.close", ("month", month), at, f"part={part}")
    session.flush()
    return _as_closed(session, closing, closed_before=False)


def _rate(
    transaction: MonthTransaction,
    closing: ClosingRow,
    rating: MonthRating,
    progress: Progress | None,
    total: int,
) -> dict[str, ClaimTally]:
    """Rate everything and hand the verdicts over; the sums by operator."""
    tallies: dict[str, ClaimTally] = {}
    done = 0
    for page in rating.pages():
        transaction.put(
            verdict_values(closing, page.rides, transaction.wire), end_state_values(closing, page.end_states)
        )
        for ride in page.rides:
            tally = tallies.get(ride.operator)
            if tally is None:
                tally = tallies[ride.operator] = ClaimTally(ride.operator)
            tally.add(ride.rated, turnstile=ride.turnstile, group=ride.group)
        done += page.read
        if progress is not None:
            progress(done, total)
    return tallies


def _fare_missing(month: Month, missing: FareUnknown) -> Conflict:
    return Conflict(
        f"falta a tarifa da linha {missing.line} em {missing.day:%d/%m/%Y}, para um embarque da competência {month}; "
        "registre-a com o seu ato (catraca fare add) e feche de novo",
        f"line {missing.line} has no fare on {missing.day}, for a boarding of {month}; register it and close again",
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

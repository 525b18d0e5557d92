"""Looking at claims, and at which months are closed. An operator's people see their own claims only."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session, defer

from backoffice.application.errors import NotFound
from backoffice.application.staff import ClaimReader
from backoffice.domain.claims import printed_number
from backoffice.persistence.claims import ClaimKind, ClaimRow, ClaimState, ClaimStateRow, ClosingRow
from backoffice.persistence.journal import IS_UNDATED, BoardingRow
from backoffice.persistence.operators import OperatorRow

_NUMBER = re.compile(r"([a-z0-9-]{1,32})-([0-9]{4})-([0-9]{4,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ClaimSheet:
    """A claim at a glance; amounts in centavos.

    Attributes:
        number: As it is printed.
        operator: Code of the operator.
        month: The month (competência).
        kind: The month's own, or for what came later.
        state: Where it is on its way.
        closed_at: When it was closed.
        closed_by: Login of who closed it.
        total_cents: What it asks for.
        annex_sha256: SHA-256 of its annex.
    """

    number: str
    operator: str
    month: str
    kind: ClaimKind
    state: ClaimState
    closed_at: datetime
    closed_by: str
    total_cents: int
    annex_sha256: str


@dataclass(frozen=True, slots=True)
class MonthSheet:
    """A month with boardings.

    Attributes:
        month: The month (competência).
        state: DRAFT while it is open, CLOSED from its first closing on.
        parts: How many closings it has had.
    """

    month: str
    state: ClaimState
    parts: int


def own_operator(session: Session, by: ClaimReader) -> str | None:
    """Code of the only operator whose claims somebody may see; None for all."""
    if by.operator_id is None:
        return None
    return session.scalars(select(OperatorRow.code).where(OperatorRow.id == by.operator_id)).one()


def list_claims(
    session: Session, by: ClaimReader, *, month: str | None = None, operator: str | None = None
) -> list[ClaimSheet]:
    """Closed claims by month, operator and number."""
    query = (
        select(ClaimRow, ClosingRow)
        .join(ClosingRow, ClosingRow.id == ClaimRow.closing_id)
        .options(defer(ClaimRow.document))
    )
    for column, wanted in (
        (ClaimRow.month, month),
        (ClaimRow.operator, operator),
        (ClaimRow.operator, own_operator(session, by)),
    ):
        if wanted is not None:
            query = query.where(column == wanted)
    states = _states(session)
    found = session.execute(query).all()
    return sorted(
        (_sheet(claim, closing, states) for claim, closing in found),
        key=lambda sheet: (sheet.month, sheet.operator, sheet.closed_at, sheet.number),
    )


def list_months(session: Session, by: ClaimReader) -> list[MonthSheet]:
    """All months with boardings, the open ones among them."""
    del by  # the permission is all that is asked of the reader
    parts = dict(
        session.execute(select(ClosingRow.month, func.max(ClosingRow.part)).group_by(ClosingRow.month)).all()
    )
    months = {*boarding_months(session), *parts}
    return [
        MonthSheet(month, ClaimState.CLOSED if month in parts else ClaimState.DRAFT, parts.get(month, 0))
        for month in sorted(months)
    ]


def boarding_months(
    session: Session, *, before: str = "9999-99", received_until: datetime | None = None
) -> Iterator[str]:
    """The months before one that have boardings with a date, the latest first; no scan of the boardings.

    Args:
        session: Where to look.
        before: The month.
        received_until: The last instant of receipt that counts; None for all.
    """
    wanted = [~IS_UNDATED]
    if received_until is not None:
        wanted.append(BoardingRow.received_at <= received_until)
    month: str | None = before
    while month is not None:
        month = session.scalar(select(func.max(BoardingRow.month)).where(BoardingRow.month < month))
        dated = select(BoardingRow.seq).where(BoardingRow.month == month, *wanted).limit(1)
        if month is not None and session.scalar(dated) is not None:
            yield month


def claim_of(session: Session, by: ClaimReader, number: str) -> ClaimRow:
    """The claim of a printed number, such as `azul-2026-0003`.

    Raises:
        NotFound: there is none, or it is another operator's.
    """
    found = _NUMBER.fullmatch(number)
    row = None
    if found is not None and own_operator(session, by) in (None, found[1]):
        row = session.scalar(
            select(ClaimRow).where(
                ClaimRow.operator == found[1],
                ClaimRow.year == int(found[2]),
                ClaimRow.number == int(found[3]),
            )
        )
    if row is None:
        raise NotFound("não há fatura com este número", "there is no claim of this number")
    return row


def _states(session: Session) -> dict[int, ClaimState]:
    """The last step of each claim."""
    rows = session.execute(select(ClaimStateRow.claim_id, ClaimStateRow.state).order_by(ClaimStateRow.id))
    return dict(rows.all())


def _sheet(claim: ClaimRow, closing: ClosingRow, states: dict[int, ClaimState]) -> ClaimSheet:
    return ClaimSheet(
        number=printed_number(claim.operator, claim.year, claim.number),
        operator=claim.operator,
        month=claim.month,
        kind=claim.kind,
        state=states[claim.id],
        closed_at=closing.closed_at,
        closed_by=closing.closed_by,
        total_cents=claim.total_cents,
        annex_sha256=claim.annex_sha256,
    )

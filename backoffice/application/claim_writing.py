"""Write the claims of a closing: numbers, lines, entries, the annex's hash and the document that is kept for ever."""

import contextlib
from collections.abc import Generator
from typing import Any

from sqlalchemy import String, func, insert, literal, select, type_coerce
from sqlalchemy.orm import Session

from backoffice.adapters.claim_files import AnnexRide, annex_digest
from backoffice.application.claim_document import ClaimHeading, canonical, claim_document
from backoffice.application.month_completeness import journal_states
from backoffice.application.month_register import MonthRegister
from backoffice.domain.claims import Adjustment, ClaimTally
from backoffice.domain.rides import Verdict
from backoffice.persistence.base import WriteSession
from backoffice.persistence.claims import (
    ClaimEntryRow,
    ClaimKind,
    ClaimLineRow,
    ClaimRow,
    ClaimState,
    ClaimStateRow,
    ClosingRow,
    EntryKindWord,
    RatedRow,
)
from backoffice.persistence.lines import LineRow
from backoffice.persistence.operators import OperatorRow
from validator.domain.service_time import Month, civil_date

NOBODYS = ""
"""Stands for the operator where the register names none."""

CLASS_WORDS = {"FREE": "gratuita", "HALF": "meia", "PURSE": "carteira", "FULL": "inteira"}


def write_claims(
    session: WriteSession,
    closing: ClosingRow,
    tallies: dict[str, ClaimTally],
    register: MonthRegister,
    adjustments: dict[str, list[Adjustment]],
) -> dict[str, int]:
    """Write one claim for each operator, in the order of their codes; their ids by operator.

    Boardings of a device and a vehicle that nobody has registered are in no claim; their verdicts are kept.
    """
    names = {row[0]: row[1] for row in session.execute(select(LineRow.code, LineRow.name))}
    written = {}
    for operator in sorted({*tallies, *adjustments} - {NOBODYS}):
        tally = tallies.get(operator) or ClaimTally(operator)
        heading = _heading(session, closing, operator)
        with contextlib.closing(annex_rides(session, closing.id, operator)) as rides:
            digest = annex_digest(rides)
        journals = journal_states(session, tally.journals, register.covered, closing.closed_at)
        document = claim_document(
            heading,
            tally,
            line_names=names,
            journals=journals,
            adjustments=adjustments.get(operator, []),
            annex={"rows": digest.rows, "sha256": digest.sha256, "file": annex_name(heading.printed)},
        )
        totals = document["totals"]
        claim = ClaimRow(
            closing_id=closing.id,
            operator=operator,
            year=heading.year,
            number=heading.number,
            month=closing.month,
            kind=ClaimKind.MAIN if closing.part == 1 else ClaimKind.COMPLEMENTARY,
            lines_cents=totals["lines_cents"],
            adjustments_cents=totals["adjustments_cents"],
            total_cents=totals["total_cents"],
            annex_sha256=digest.sha256,
            document=canonical(document),
        )
        session.add(claim)
        session.flush()
        _write_lines(session, claim, tally)
        _write_bills(session, claim)
        session.add(
            ClaimStateRow(
                claim_id=claim.id,
                state=ClaimState.CLOSED,
                at=closing.closed_at,
                by=closing.closed_by,
                note=None,
            )
        )
        written[operator] = claim.id
    return written


def annex_name(number: str) -> str:
    """Name of the file of a claim's annex."""
    return f"fatura-{number}-anexo.csv"


def annex_rides(session: Session, closing_id: int, operator: str) -> Generator[AnnexRide]:
    """The boardings of a claim's annex, billed and excluded, in the order of instant, device and sequence."""
    binary = "C" if session.get_bind().dialect.name == "postgresql" else "BINARY"
    ordered = (
        select(*_ANNEX_COLUMNS)
        .where(
            RatedRow.closing_id == closing_id,
            RatedRow.operator == operator,
            RatedRow.verdict != Verdict.STATISTICAL,
        )
        .order_by(RatedRow.dated_at, RatedRow.device.collate(binary), RatedRow.epoch, RatedRow.seq)
        .execution_options(yield_per=5_000)
    )
    riders: dict[str, int] = {}
    with session.connection().execute(ordered) as rows:
        for holder, ride_class, reason, *cells in rows:
            rider = None if holder is None else riders.setdefault(holder, len(riders) + 1)
            yield AnnexRide._make((*cells, CLASS_WORDS.get(ride_class or "", ""), rider, reason or ""))


_ANNEX_COLUMNS: tuple[Any, ...] = (
    RatedRow.holder,
    type_coerce(RatedRow.ride_class, String),
    type_coerce(RatedRow.reason, String),
    RatedRow.boarding_id,
    RatedRow.dated_at,
    RatedRow.line,
    RatedRow.vehicle,
    RatedRow.device,
    RatedRow.epoch,
    RatedRow.seq,
    RatedRow.fare_cents,
    RatedRow.rider_cents,
    RatedRow.city_cents,
    RatedRow.operator_cents,
    type_coerce(RatedRow.verdict, String),
)
"""Three that are told in other words, then the fields of `AnnexRide` in their order; words as they are stored."""


def _heading(session: Session, closing: ClosingRow, operator: str) -> ClaimHeading:
    year = civil_date(closing.closed_at).year
    last = session.scalar(
        select(func.max(ClaimRow.number)).where(ClaimRow.operator == operator, ClaimRow.year == year)
    )
    row = session.scalars(select(OperatorRow).where(OperatorRow.code == operator)).one()
    return ClaimHeading(
        operator=operator,
        name=row.name,
        document=row.document,
        year=year,
        number=(last or 0) + 1,
        month=Month(closing.month),
        part=closing.part,
        closed_at=closing.closed_at,
        closed_by=closing.closed_by,
        rules_version=closing.rules_version,
        fares_sha256=closing.fares_sha256,
    )


def _write_lines(session: WriteSession, claim: ClaimRow, tally: ClaimTally) -> None:
    for position, line in enumerate(tally.lines(), start=1):
        session.add(
            ClaimLineRow(
                claim_id=claim.id,
                position=position,
                category=line.rule.category,
                rule=line.rule.id,
                line=line.line,
                fare_cents=line.fare_cents,
                rider_cents=line.rider_cents,
                city_cents=line.city_cents,
                operator_cents=line.operator_cents,
                quantity=line.quantity,
                total_cents=line.total_cents,
            )
        )


def _write_bills(session: WriteSession, claim: ClaimRow) -> None:
    """One BILL for each billed boarding; a second one of the same boarding breaks the closing."""
    billed = select(
        literal(claim.id), RatedRow.boarding_id, literal(EntryKindWord.BILL.value), RatedRow.city_cents
    ).where(
        RatedRow.closing_id == claim.closing_id,
        RatedRow.operator == claim.operator,
        RatedRow.verdict == Verdict.BILLABLE,
    )
    session.execute(insert(ClaimEntryRow).from_select(["claim_id", "boarding_id", "kind", "cents"], billed))

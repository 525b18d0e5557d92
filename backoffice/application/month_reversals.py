"""Rides taken back after their month was closed: a closed claim never changes, so the next closing carries a reversal.

An annulment that comes late is one of a device without network: by the device's own clock it was in time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import and_, exists, select
from sqlalchemy.orm import Session, aliased

from backoffice.application.month_rides import Revocations, before_revocation
from backoffice.domain.claims import Adjustment, printed_number
from backoffice.domain.exclusions import ExclusionReason
from backoffice.persistence.base import WriteSession
from backoffice.persistence.claims import (
    ClaimEntryRow,
    ClaimRow,
    ClosingRow,
    EntryKindWord,
    RatedRow,
)
from backoffice.persistence.journal import TAKES_BACK, AnnulmentRow, BoardingRow, TapKeyRow
from validator.domain.money import Cents
from validator.domain.rules import RuleBook
from validator.domain.service_time import Month, civil_date
from validator.domain.usage import Effects, LastBoarding, Usage
from validator.domain.vocabulary import Category


@dataclass(frozen=True, slots=True)
class Reversal:
    """One billed boarding that is taken back.

    Attributes:
        boarding_id: The boarding.
        operator: Operator of the claim that billed it, and of the one that takes it back.
        claim: Printed number of that claim.
        month: Its month.
        cents: What it billed.
        holder: Hot holder id, or None.
        effects: What the holder gets back: the pass, and the place in that month's cap.
    """

    boarding_id: str
    operator: str
    claim: str
    month: str
    cents: Cents
    holder: str | None
    effects: Effects


@dataclass(slots=True)
class Reversals:
    """All reversals of one closing."""

    rows: list[Reversal]
    _by_holder: dict[str, list[Effects]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Sort what is given back by holder."""
        for row in self.rows:
            if row.holder is not None:
                self._by_holder.setdefault(row.holder, []).append(row.effects)

    def given_back(self, holder: str, usage: Usage) -> Usage:
        """A holder's usage after what he gets back."""
        for effects in self._by_holder.get(holder, ()):
            usage = usage.annulled(effects)
        return usage

    @property
    def boardings(self) -> frozenset[str]:
        """What is taken back."""
        return frozenset(row.boarding_id for row in self.rows)

    def holders(self) -> set[str]:
        """Who gets something back."""
        return set(self._by_holder)

    def adjustments(self) -> dict[str, list[Adjustment]]:
        """The adjustments of each operator's claim, one for each claim that is corrected."""
        sums: dict[tuple[str, str, str], list[Reversal]] = {}
        for row in self.rows:
            sums.setdefault((row.operator, row.month, row.claim), []).append(row)
        found: dict[str, list[Adjustment]] = {}
        for (operator, month, claim), rows in sorted(sums.items()):
            cents = Cents(-sum(row.cents for row in rows))
            reason = ExclusionReason.ANNULLED.sentence
            adjustment = Adjustment(claim, month, EntryKindWord.REVERSAL.value, reason, len(rows), cents)
            found.setdefault(operator, []).append(adjustment)
        return found


def late_reversals(session: Session, book: RuleBook, closed_at: datetime, revoked: Revocations) -> Reversals:
    """Billed boardings whose annulment came after their closing and until this one, in the order of their ids."""
    again = aliased(ClaimEntryRow)
    reversed_before = exists().where(
        again.boarding_id == ClaimEntryRow.boarding_id, again.kind == EntryKindWord.REVERSAL
    )
    rows = session.execute(
        select(RatedRow, ClaimRow, BoardingRow.occurred_at, AnnulmentRow.occurred_at)
        .select_from(AnnulmentRow)
        .join(
            ClaimEntryRow,
            and_(
                ClaimEntryRow.boarding_id == AnnulmentRow.boarding_id,
                ClaimEntryRow.kind == EntryKindWord.BILL,
            ),
        )
        .join(ClaimRow, ClaimRow.id == ClaimEntryRow.claim_id)
        .join(ClosingRow, ClosingRow.id == ClaimRow.closing_id)
        .join(
            RatedRow,
            and_(
                RatedRow.boarding_id == ClaimEntryRow.boarding_id, RatedRow.closing_id == ClaimRow.closing_id
            ),
        )
        .join(TapKeyRow, TapKeyRow.boarding_id == RatedRow.boarding_id)
        .join(
            BoardingRow,
            and_(
                BoardingRow.month == TapKeyRow.month,
                BoardingRow.device == TapKeyRow.device,
                BoardingRow.epoch == TapKeyRow.epoch,
                BoardingRow.seq == TapKeyRow.seq,
            ),
        )
        .where(
            AnnulmentRow.received_at > ClosingRow.closed_at,
            AnnulmentRow.received_at <= closed_at,
            AnnulmentRow.device == RatedRow.device,
            TAKES_BACK,
            *before_revocation(AnnulmentRow, revoked),
            ~reversed_before,
        )
    ).all()
    found = {
        rated.boarding_id: _reversal(rated, claim)
        for rated, claim, boarded, annulled in rows
        if _in_time(book, boarded, annulled)
    }
    return Reversals([found[key] for key in sorted(found)])


def _in_time(book: RuleBook, boarded: datetime | None, annulled: datetime | None) -> bool:
    if boarded is None or annulled is None:
        return True
    limit = timedelta(seconds=book.parameter_on("annul_seconds", civil_date(boarded)))
    return timedelta(0) <= annulled - boarded <= limit


def _reversal(rated: RatedRow, claim: ClaimRow) -> Reversal:
    boarding = LastBoarding(
        rated.boarding_id, rated.dated_at, rated.vehicle or "", rated.category or Category.FULL
    )
    return Reversal(
        boarding_id=rated.boarding_id,
        operator=claim.operator,
        claim=printed_number(claim.operator, claim.year, claim.number),
        month=claim.month,
        cents=Cents(rated.city_cents),
        holder=rated.holder,
        effects=Effects(Month(rated.month), rated.purse, rated.counts_cap, boarding, rated.personal),
    )


def write_reversals(session: WriteSession, reversals: Iterable[Reversal], claims: dict[str, int]) -> None:
    """One REVERSAL entry for each, in the claim of its operator."""
    for row in reversals:
        session.add(
            ClaimEntryRow(
                claim_id=claims[row.operator],
                boarding_id=row.boarding_id,
                kind=EntryKindWord.REVERSAL,
                cents=-row.cents,
                reason=ExclusionReason.ANNULLED.value,
            )
        )

"""Where a rating starts: what earlier closings froze of each holder."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.domain.exclusions import ExclusionReason
from backoffice.domain.rides import Place, Placed, Verdict
from backoffice.persistence.bulk import one_of
from backoffice.persistence.claims import ClaimEntryRow, EndStateRow, EntryKindWord, RatedRow
from validator.domain.service_time import Month
from validator.domain.usage import Effects, LastBoarding, Usage
from validator.domain.vocabulary import Category
from validator.records.usage import unpack_usage

_BY_PURSE = (Category.PREPAID, Category.VT)


@dataclass(slots=True)
class FrozenRides:
    """What earlier closings of the same month say of one holder's boardings.

    Attributes:
        settled: Boardings whose verdict is final.
        verdicts: The last verdict and reason of every boarding.
        places: What those hold that could not be billed yet.
        placed: Settled rides that a later one may go on from; from those by a personal right passback is measured.
        half_fares: Places of the month's cap that are taken.
    """

    settled: set[str] = field(default_factory=set)
    verdicts: dict[str, tuple[Verdict, ExclusionReason | None]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    placed: list[Placed] = field(default_factory=list)
    half_fares: int = 0

    def add(self, row: RatedRow, *, taken_back: bool = False) -> None:
        """Take in the last verdict of a boarding; of one that was taken back only that it is settled."""
        self.verdicts[row.boarding_id] = (row.verdict, row.reason)
        holds = row.took and not taken_back
        self.half_fares += holds and row.counts_cap
        if not row.waits:
            self.settled.add(row.boarding_id)
            category = row.category
            if holds and category is not None and (row.personal or category in _BY_PURSE):
                boarding = LastBoarding(row.boarding_id, row.dated_at, row.vehicle or "", category)
                self.placed.append(Placed(boarding, row.personal))
        elif row.took:
            self.places[row.boarding_id] = Place(row.purse, row.pass_number, row.counts_cap)


def opening_states(session: Session, holders: Iterable[str]) -> dict[str, Usage]:
    """What each holder had consumed after the latest closing; holders without a state are left out."""
    rows = session.execute(
        select(EndStateRow.holder, EndStateRow.usage)
        .where(one_of(session, EndStateRow.holder, list(holders)))
        .order_by(EndStateRow.closing_id)
    )
    latest = {row[0]: row[1] for row in rows}
    return {holder: unpack_usage(usage) for holder, usage in latest.items()}


def frozen_rides(
    session: Session, month: Month, holders: Iterable[str], *, now_back: frozenset[str]
) -> dict[str, FrozenRides]:
    """What earlier closings of the month say of some holders; `now_back` are boardings that this one takes back."""
    rows = session.scalars(
        select(RatedRow)
        .where(RatedRow.holder.in_(list(holders)), RatedRow.month == month)
        .order_by(RatedRow.closing_id)
    )
    last = {row.boarding_id: row for row in rows}
    back = _taken_back(session, month, holders) | now_back
    frozen: dict[str, FrozenRides] = {}
    for row in last.values():
        if row.holder is not None:
            of = frozen.setdefault(row.holder, FrozenRides())
            of.add(row, taken_back=row.boarding_id in back)
    return frozen


def _taken_back(session: Session, month: Month, holders: Iterable[str]) -> set[str]:
    """The boardings of some holders in a month that a reversal has taken back."""
    return set(
        session.scalars(
            select(RatedRow.boarding_id)
            .join(ClaimEntryRow, ClaimEntryRow.boarding_id == RatedRow.boarding_id)
            .where(
                RatedRow.holder.in_(list(holders)),
                RatedRow.month == month,
                ClaimEntryRow.kind == EntryKindWord.REVERSAL,
            )
        )
    )


def frozen_of_nobody(session: Session, boarding_ids: Iterable[str]) -> FrozenRides:
    """What earlier closings say of boardings of nobody."""
    rows = session.scalars(
        select(RatedRow).where(RatedRow.boarding_id.in_(list(boarding_ids))).order_by(RatedRow.closing_id)
    )
    frozen = FrozenRides()
    for row in {row.boarding_id: row for row in rows}.values():
        frozen.add(row)
    return frozen


def reopened(opening: Usage, month: Month, frozen: FrozenRides) -> Usage:
    """A holder's state for the late rides of a closed month: passes as they are now, the month's cap as it was left."""
    return replace(
        opening,
        half_fare={month: frozen.half_fares},
        last=None,
        before=None,
        by_purse=None,
        by_purse_before=None,
    )


def rejoined(usage: Usage, opening: Usage, month: Month) -> Usage:
    """The state after late rides, with what later months had left in it: their counts and the last boardings."""
    joined = replace(usage, half_fare=opening.half_fare)
    for boarding in (opening.last, opening.before):
        if boarding not in (None, joined.last, joined.before):
            joined = joined.after(Effects(month, None, False, boarding, True))
    for boarding in (opening.by_purse, opening.by_purse_before):
        if boarding not in (None, joined.by_purse, joined.by_purse_before):
            joined = joined.after(Effects(month, None, False, boarding, False))
    return joined

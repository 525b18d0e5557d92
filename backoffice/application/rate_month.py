"""Rate a month from the database, holder by holder, in bounded memory.

Whatever the order of arrival, the engine or the number of runs, the verdicts are the same: holders are taken in the
order of their pseudonyms, and `rate_holder` orders the rides of each.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy.orm import Session

from backoffice.application.holder_state import holder_ids_of, holders_as_recorded
from backoffice.application.month_judgement import HolderAsRecorded, Judgement, judgement_of
from backoffice.application.month_places import (
    FrozenRides,
    frozen_of_nobody,
    frozen_rides,
    opening_states,
    rejoined,
    reopened,
)
from backoffice.application.month_register import MonthRegister
from backoffice.application.month_reversals import Reversals
from backoffice.application.month_rides import HOLDERS_A_PAGE, JournalMonth, JournalRow
from backoffice.domain.claims import ELDER_UNKNOWN
from backoffice.domain.rating import rate_holder
from backoffice.domain.rides import Rated
from validator.domain.service_time import Month, civil_date
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, Turnstile


@dataclass(frozen=True, slots=True)
class MonthRide:
    """One rated boarding of the month.

    Attributes:
        rated: The ride with its verdict.
        holder: Hot holder id, or None.
        operator: Whose ride it was.
        turnstile: What the turnstile did.
        group: The name under which a statistical ride is counted, None for its category.
    """

    rated: Rated
    holder: str | None
    operator: str
    turnstile: Turnstile
    group: str | None


@dataclass(frozen=True, slots=True)
class RatedPage:
    """Some hundreds of holders, or some thousands of boardings of nobody.

    Attributes:
        rides: Their boardings.
        end_states: What each holder has consumed after them, where that has changed.
        read: Boardings read, those included that are no rides or were rated before.
    """

    rides: list[MonthRide]
    end_states: dict[str, Usage]
    read: int


@dataclass(frozen=True, slots=True)
class MonthRating:
    """All that rating a month reads.

    Attributes:
        session: The transaction of the closing.
        month: The month.
        journal: Its boardings.
        register: Its register.
        late: Whether the month was closed before, so that only what remains is rated.
        reversals: What holders get back of rides in closed months, before anything is rated.
    """

    session: Session
    month: Month
    journal: JournalMonth
    register: MonthRegister
    late: bool
    reversals: Reversals

    def pages(self) -> Iterator[RatedPage]:
        """Rate everything, page by page.

        Raises:
            FareUnknown: a ride has a price and no fare is registered for its line and day.
        """
        holders = self.journal.holders()
        for start in range(0, len(holders), HOLDERS_A_PAGE):
            yield self._of_holders(holders[start : start + HOLDERS_A_PAGE])
        others = sorted(self.reversals.holders() - set(holders))
        if others:
            yield self._of_others(others)
        for rows in self.journal.of_nobody():
            yield self._of_nobody(rows)
        yield self._of_nobody(self.journal.undated())

    def _of_holders(self, hot_ids: list[str]) -> RatedPage:
        boardings = self.journal.of_holders(hot_ids)
        ids = holder_ids_of(self.session, hot_ids)
        recorded = holders_as_recorded(self.session, ids.values())
        openings = opening_states(self.session, hot_ids)
        frozen = {}
        if self.late:
            back = self.reversals.boardings
            frozen = frozen_rides(self.session, self.month, hot_ids, now_back=back)
        page = RatedPage([], {}, sum(map(len, boardings.values())))
        for hot_id in hot_ids:
            rows = recorded.get(ids.get(hot_id, 0))
            holder = None if rows is None else HolderAsRecorded(rows, self.register.city.book)
            opening = openings.get(hot_id, Usage())
            before = frozen.get(hot_id, FrozenRides())
            start = self.reversals.given_back(hot_id, opening)
            usage = self._one_holder(holder, boardings[hot_id], start, before, page.rides)
            if usage != opening:
                page.end_states[hot_id] = usage
        self.session.expunge_all()
        return page

    def _one_holder(
        self,
        holder: HolderAsRecorded | None,
        rows: list[JournalRow],
        opening: Usage,
        frozen: FrozenRides,
        found: list[MonthRide],
    ) -> Usage:
        left = [row for row in rows if row.boarding_id not in frozen.settled]
        if not left:
            return opening
        cited = self.journal.cited(row.continues for row in left if row.continues is not None)
        places = frozen.places
        judged = {
            row.boarding_id: (
                row,
                judgement_of(row, holder, self.register, cited, places.get(row.boarding_id)),
            )
            for row in left
        }
        result = rate_holder(
            self.month,
            (judgement.ride for _, judgement in judged.values()),
            self.register.city,
            opening=reopened(opening, self.month, frozen) if self.late else opening,
            placed=frozen.placed,
        )
        for rated in result.rated:
            row, judgement = judged[rated.ride.tap.boarding_id]
            if frozen.verdicts.get(row.boarding_id) != (rated.verdict, rated.reason):
                found.append(_month_ride(rated, row, judgement, holder))
        return rejoined(result.usage, opening, self.month) if self.late else result.usage

    def _of_others(self, hot_ids: list[str]) -> RatedPage:
        """Holders without boardings in the month who get back something of an earlier one."""
        openings = opening_states(self.session, hot_ids)
        states = {hot: self.reversals.given_back(hot, openings.get(hot, Usage())) for hot in hot_ids}
        return RatedPage([], states, 0)

    def _of_nobody(self, rows: list[JournalRow]) -> RatedPage:
        ids = [row.boarding_id for row in rows]
        frozen = frozen_of_nobody(self.session, ids) if self.late else FrozenRides()
        page = RatedPage([], {}, len(rows))
        for row in rows:
            if row.boarding_id in frozen.settled:
                continue
            judgement = judgement_of(row, None, self.register, {})
            for rated in rate_holder(self.month, (judgement.ride,), self.register.city).rated:
                if frozen.verdicts.get(row.boarding_id) != (rated.verdict, rated.reason):
                    page.rides.append(_month_ride(rated, row, judgement, None))
        self.session.expunge_all()
        return page


def _month_ride(
    rated: Rated, row: JournalRow, judgement: Judgement, holder: HolderAsRecorded | None
) -> MonthRide:
    group = None
    if rated.category is Category.ELDER:
        group = ELDER_UNKNOWN if holder is None else holder.elder_group(civil_date(row.dated_at))
    return MonthRide(rated, row.holder, judgement.operator, _turnstile(rated, row), group)


def _turnstile(rated: Rated, row: JournalRow) -> Turnstile:
    """What the turnstile did: by the rule of the category, else as answered; who rode over a refusal turned it."""
    if rated.rule is not None:
        return rated.rule.turnstile
    return Turnstile.NOT_TURNED if row.turnstile == Turnstile.NOT_TURNED else Turnstile.TURN

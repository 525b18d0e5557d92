"""Rate a month from the database, holder by holder, in bounded memory.

Whatever the order of arrival, the engine or the number of runs, the verdicts are the same: holders are taken in the
order of their pseudonyms, and `rate_holder` orders the rides of each.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from sqlalchemy.orm import Session

from backoffice.application.holder_state import HolderRows, holder_ids_of, holders_as_recorded
from backoffice.application.month_judgement import (
    HolderAsRecorded,
    Judgement,
    is_no_ride,
    judgement_of,
    ridden_as,
)
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
from backoffice.application.month_rides import HOLDERS_A_PAGE, Cited, JournalMonth, JournalRow
from backoffice.application.read_ahead import read_ahead
from backoffice.domain.claims import ELDER_UNKNOWN
from backoffice.domain.rating import rate_holder
from backoffice.domain.rides import Rated
from validator.domain.service_time import Month, civil_date
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, Turnstile


class MonthRide(NamedTuple):
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
class _HoldersRead:
    """What was read of some holders: by hot id, but `recorded` by `holders.id`, and `cited` by boarding id."""

    boardings: dict[str, list[JournalRow]]
    ids: dict[str, int]
    recorded: dict[int, HolderRows]
    openings: dict[str, Usage]
    frozen: dict[str, FrozenRides]
    cited: dict[str, Cited]


@dataclass(frozen=True, slots=True)
class MonthRating:
    """All that rating a month reads.

    Attributes:
        session: What it is read with; the pages are read by another thread.
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
        """Rate everything, page by page; the next page is read while one is rated.

        Not on SQLite, whose driver gives Python's lock away for every row: a reader would wait for it as often.

        Raises:
            FareUnknown: a ride has a price and no fare is registered for its line and day.
        """
        pages = self._read()
        on_sqlite = self.session.get_bind().dialect.name == "sqlite"
        for rate in pages if on_sqlite else read_ahead(pages):
            yield rate()

    def _read(self) -> Iterator[Callable[[], RatedPage]]:
        """Pages that have been read and are still to be rated."""
        holders = self.journal.holders()
        for start in range(0, len(holders), HOLDERS_A_PAGE):
            yield partial(self._of_holders, self._holders_read(holders[start : start + HOLDERS_A_PAGE]))
        others = sorted(self.reversals.holders() - set(holders))
        if others:
            yield partial(self._of_others, opening_states(self.session, others), others)
        for rows in self._of_nobody_read():
            ids = [row.boarding_id for row in rows]
            frozen = frozen_of_nobody(self.session, ids) if self.late else FrozenRides()
            self.session.expunge_all()
            yield partial(self._of_nobody, rows, frozen)

    def _of_nobody_read(self) -> Iterator[list[JournalRow]]:
        yield from self.journal.of_nobody()
        yield self.journal.undated()

    def _holders_read(self, hot_ids: list[str]) -> _HoldersRead:
        boardings = self.journal.of_holders(hot_ids)
        ids = holder_ids_of(self.session, hot_ids)
        back = self.reversals.boardings
        read = _HoldersRead(
            boardings,
            ids,
            holders_as_recorded(self.session, ids.values()),
            opening_states(self.session, hot_ids),
            frozen_rides(self.session, self.month, hot_ids, now_back=back) if self.late else {},
            self.journal.cited(
                row.continues for rows in boardings.values() for row in rows if row.continues is not None
            ),
        )
        self.session.expunge_all()
        return read

    def _of_holders(self, read: _HoldersRead) -> RatedPage:
        page = RatedPage([], {}, sum(map(len, read.boardings.values())))
        cited = self._ridden(read)
        for hot_id, boardings in read.boardings.items():
            rows = read.recorded.get(read.ids.get(hot_id, 0))
            holder = None if rows is None else HolderAsRecorded(rows, self.register.city.book)
            opening = read.openings.get(hot_id, Usage())
            before = read.frozen.get(hot_id, FrozenRides())
            start = self.reversals.given_back(hot_id, opening)
            usage = self._one_holder(holder, boardings, cited, start, before, page.rides)
            if usage != opening:
                page.end_states[hot_id] = usage
        return page

    def _ridden(self, read: _HoldersRead) -> dict[str, Cited]:
        """What is cited, as this month shows that it was ridden, less what it shows to have been no ride."""
        if not read.cited:
            return read.cited
        cited = dict(read.cited)
        for row in (row for rows in read.boardings.values() for row in rows if row.boarding_id in cited):
            if is_no_ride(row, self.register):
                del cited[row.boarding_id]
            else:
                cited[row.boarding_id] = replace(cited[row.boarding_id], category=ridden_as(row))
        return cited

    def _one_holder(
        self,
        holder: HolderAsRecorded | None,
        rows: list[JournalRow],
        cited: Mapping[str, Cited],
        opening: Usage,
        frozen: FrozenRides,
        found: list[MonthRide],
    ) -> Usage:
        left = [row for row in rows if row.boarding_id not in frozen.settled]
        if not left:
            return opening
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

    def _of_others(self, openings: dict[str, Usage], hot_ids: list[str]) -> RatedPage:
        """Holders without boardings in the month who get back something of an earlier one."""
        states = {hot: self.reversals.given_back(hot, openings.get(hot, Usage())) for hot in hot_ids}
        return RatedPage([], states, 0)

    def _of_nobody(self, rows: list[JournalRow], frozen: FrozenRides) -> RatedPage:
        """Rides of nobody are rated all at once: they leave no usage behind, so none sees another."""
        judged = {
            row.boarding_id: (row, judgement_of(row, None, self.register, {}))
            for row in rows
            if row.boarding_id not in frozen.settled
        }
        page = RatedPage([], {}, len(rows))
        rides = (judgement.ride for _, judgement in judged.values())
        for rated in rate_holder(self.month, rides, self.register.city).rated:
            row, judgement = judged[rated.ride.tap.boarding_id]
            if frozen.verdicts.get(row.boarding_id) != (rated.verdict, rated.reason):
                page.rides.append(_month_ride(rated, row, judgement, None))
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

"""The city as `decide` sees it: rules, fares and lines, gathered once per civil day."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from validator.domain.decision import Accepted
from validator.domain.fares import Fare, fare_on
from validator.domain.money import ZERO, Cents
from validator.domain.reasons import Reason
from validator.domain.rules import RuleBook, RuleRow
from validator.domain.service_time import Month, civil_date, day_after, first_instant, month_of
from validator.domain.vocabulary import Category, FareMedium, MediumKind, Network

_MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class LawOfDay:
    """All that the law says on one civil day.

    Attributes:
        day: The civil day.
        first: Its first instant.
        until: First instant of the next.
        month: Its civil month.
        rules: The rule in force of each category that has one.
        reuse: Time within which a personal right may not be used again on one vehicle.
        continuation: Time within which a ride cut short by a breakdown may be continued (Lei art. 48, VI).
        student_cap: Half-fare boardings of a person in the month, None for no cap (Decreto art. 70, d; art. 73).
        max_change_fares: Largest change, in fares (Decreto art. 72).
        uid_rights: Whether a chip known by its uid alone proves a right.
        refusals: What was worked out before: why a category may not ride on a kind of medium, None where it may.
        given: The same: a boarding accepted, by pass and its price, or by right and fare.
    """

    day: date
    first: datetime
    until: datetime
    month: Month
    rules: Mapping[Category, RuleRow]
    reuse: timedelta
    continuation: timedelta
    student_cap: int | None
    max_change_fares: int
    uid_rights: bool
    _fares: tuple[Fare, ...]
    _priced: dict[tuple[Network | None, str, FareMedium], Cents | None] = field(default_factory=dict)
    refusals: dict[tuple[MediumKind, Category], Reason | None] = field(
        default_factory=dict, compare=False, repr=False
    )
    given: dict[tuple[object, ...], Accepted] = field(default_factory=dict, compare=False, repr=False)

    def keep(self, ride: tuple[object, ...], given: Accepted) -> Accepted:
        """Note what the law gives for a kind of ride, so that it is worked out once a day."""
        if len(self.given) > _MOST_KEPT:
            self.given.clear()
        self.given[ride] = given
        return given

    def fare_cents(self, network: Network | None, line: str, medium: FareMedium) -> Cents | None:
        """The fare of a ride in centavos; None where nobody knows it.

        A line that nobody knows is free only on a day on which every network is.
        """
        key = (network, line, medium)
        try:
            return self._priced[key]
        except KeyError:
            pass
        if len(self._priced) > _MOST_KEPT:
            self._priced.clear()
        price = self._priced[key] = self._price(network, line, medium)
        return price

    def _price(self, network: Network | None, line: str, medium: FareMedium) -> Cents | None:
        if network is None:
            free = all(self._price(known, line, medium) == 0 for known in Network)
            return ZERO if free else None
        fare = fare_on(self._fares, network, line, medium, self.day)
        return None if fare is None else fare.cents


@dataclass(frozen=True, slots=True)
class City:
    """Rules and fares of a city, in any number of dated versions.

    Attributes:
        book: Rule table and parameters.
        fares: All fares.
    """

    book: RuleBook
    fares: tuple[Fare, ...]
    _days: dict[date, LawOfDay] = field(default_factory=dict, compare=False, repr=False)
    _latest: list[LawOfDay] = field(default_factory=list, compare=False, repr=False)

    def on(self, day: date) -> LawOfDay:
        """The law of one civil day; gathered once and kept."""
        law = self._days.get(day)
        if law is None:
            if len(self._days) > 1_000:
                self._days.clear()
            law = self._days[day] = self._gather(day)
        return law

    def at(self, instant: datetime) -> LawOfDay:
        """The law of an instant's civil day; most often it is the day that was asked for before.

        Raises:
            ValueError: the instant carries no offset.
        """
        if instant.tzinfo is not None:
            for law in self._latest:  # none or one
                if law.first <= instant < law.until:
                    return law
        law = self.on(civil_date(instant))
        self._latest[:] = [law]
        return law

    def _gather(self, day: date) -> LawOfDay:
        rows = ((category, self.book.row_on(category, day)) for category in Category)
        begun = self.book.art70_effective_from is not None and self.book.art70_effective_from <= day
        cap = self.book.parameter_on("student_boarding_cap", day) if begun else 0
        return LawOfDay(
            day=day,
            first=first_instant(day),
            until=first_instant(day_after(day)),
            month=month_of(day),
            rules={category: row for category, row in rows if row is not None},
            reuse=timedelta(minutes=self.book.parameter_on("reuse_minutes", day)),
            continuation=timedelta(minutes=self.book.parameter_on("continuation_minutes", day)),
            student_cap=cap or None,
            max_change_fares=self.book.parameter_on("max_change_fares", day),
            uid_rights=bool(self.book.parameter_on("uid_rights", day)),
            _fares=self.fares,
        )

    def out_of_force(self, category: Category, day: date) -> Reason:
        """Why a category has no rule on a civil day: its first has not begun, or its last has ended."""
        rows = self.book.rows_of(category)
        return Reason.RIGHT_NOT_STARTED if rows and day < rows[0].first_day else Reason.RIGHT_ENDED


def city_of(book: RuleBook, fares: Iterable[Fare]) -> City:
    """A city from its rules and fares."""
    return City(book, tuple(fares))

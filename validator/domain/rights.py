"""Rights: which category a holder may travel as on a civil day."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from validator.domain.reasons import Reason
from validator.domain.rules import RuleBook, RuleRow
from validator.domain.service_time import anniversary, day_after
from validator.domain.vocabulary import AGE_RIGHTS, Category


@dataclass(frozen=True, slots=True)
class Period:
    """Civil days [first, until); `until` None for open."""

    first: date
    until: date | None

    def holds_on(self, day: date) -> bool:
        """Whether a civil day lies inside."""
        return self.first <= day and (self.until is None or day < self.until)


@dataclass(frozen=True, slots=True)
class Right:
    """A registered entitlement: in force from its first day until the first day without it, unless suspended."""

    category: Category
    period: Period
    suspended: tuple[Period, ...] = ()

    def refusal_on(self, day: date) -> Reason | None:
        """Why the right does not hold on a civil day; None when it does. Ended comes before suspended."""
        if day < self.period.first:
            return Reason.RIGHT_NOT_STARTED
        if not self.period.holds_on(day):
            return Reason.RIGHT_ENDED
        for pause in self.suspended:
            if pause.holds_on(day):
                return Reason.RIGHT_SUSPENDED
        return None


@dataclass(frozen=True, slots=True)
class AgeRight:
    """A right that follows from the birth date alone: the days on which the age test holds for this person."""

    category: Category
    period: Period


def refusal_of(rights: Iterable[Right], day: date) -> Reason | None:
    """Judge several rights of one category: any in force suffices, else the latest that has begun is named."""
    begun: list[tuple[date, bool, Reason]] = []
    for right in rights:
        refusal = right.refusal_on(day)
        if refusal is None:
            return None
        if refusal is not Reason.RIGHT_NOT_STARTED:
            begun.append((right.period.first, refusal is Reason.RIGHT_ENDED, refusal))
    return max(begun)[2] if begun else Reason.RIGHT_NOT_STARTED


def age_rights(birth: date, book: RuleBook) -> tuple[AgeRight, ...]:
    """The rights of age that a birth date gives under every dated rule, oldest first.

    Decreto art. 69, I (child) and Lei art. 48, IX (elder); a birthday counts from its 00:00.
    """
    rows = (row for row in book.rows if row.category in AGE_RIGHTS)
    rights = (
        AgeRight(row.category, period) for row in rows if (period := _age_period(birth, row)) is not None
    )
    return tuple(sorted(rights, key=lambda right: right.period.first))


def _age_period(birth: date, row: RuleRow) -> Period | None:
    first = max(row.first_day, birth)
    if row.age_from is not None:
        first = max(first, anniversary(birth, row.age_from))
    ends = [] if row.last_day is None else [day_after(row.last_day)]
    if row.age_through is not None:
        ends.append(anniversary(birth, row.age_through + 1))
    until = min(ends, default=None)
    return None if until is not None and until <= first else Period(first, until)

"""Acquisition of student passes at the desk: windows and the year's ceiling (Decreto 1.827, art. 70, b and d).

A window opens with an acquisition on day D and runs to the day of the same number one or two months later
(Civil Code, art. 132, par. 3). More purchases inside it are allowed up to its cap and do not move it; the next window
opens with the first acquisition on or after its end. Nothing is stored: windows are derived by walking the history.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from validator.domain.rights import Period
from validator.domain.rules import RuleBook
from validator.domain.service_time import add_months


class Plan(StrEnum):
    """The two plans of art. 70, d: 50 passes for a month, or 100 for two."""

    MONTH = "MONTH"
    TWO_MONTHS = "TWO_MONTHS"


_MONTHS = {Plan.MONTH: 1, Plan.TWO_MONTHS: 2}


class NotSoldReason(StrEnum):
    """Why a request is refused whole."""

    INVALID_QUANTITY = "INVALID_QUANTITY"
    WINDOW_FULL = "WINDOW_FULL"
    YEAR_FULL = "YEAR_FULL"

    @property
    def sentence(self) -> str:
        """The Portuguese sentence for the desk."""
        return _SENTENCES[self]


_SENTENCES = {
    NotSoldReason.INVALID_QUANTITY: "A quantidade de passes deve ser um número inteiro a partir de 1.",
    NotSoldReason.WINDOW_FULL: "O período de aquisição não comporta essa quantidade (Decreto 1.827, art. 70, d).",
    NotSoldReason.YEAR_FULL: "O limite do ano letivo não comporta essa quantidade (Decreto 1.827, art. 70, b).",
}


@dataclass(frozen=True, slots=True)
class Purchase:
    """Student passes bought, or asked for, on one civil day.

    Attributes:
        on: Civil day of the purchase.
        plan: The plan that it names; it counts only where it opens a window.
        units: Number of passes.
    """

    on: date
    plan: Plan
    units: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What art. 70 allows one student.

    Attributes:
        month: Passes of a monthly window.
        two_months: Passes of a two-month window.
        year: Passes of a civil year: school days x 2 and what an act adds (art. 70, b).
        since: First day of art. 70 (art. 73); purchases before it are free and open no window. None for never.
    """

    month: int
    two_months: int
    year: int
    since: date | None

    def of(self, plan: Plan) -> int:
        """Passes of one window of a plan."""
        return self.month if plan is Plan.MONTH else self.two_months


def limits_on(
    book: RuleBook, day: date, *, school_days: int | None = None, authorised_extra: int = 0
) -> Limits:
    """The limits that the parameters of the law set on a civil day.

    Args:
        book: The rule table.
        day: The civil day of the request.
        school_days: School days of the student's school and year; None for the default of the law.
        authorised_extra: Passes that an act adds to the year's ceiling.
    """
    days = book.parameter_on("school_days_default", day) if school_days is None else school_days
    return Limits(
        month=book.parameter_on("window_passes_month", day),
        two_months=book.parameter_on("window_passes_two_months", day),
        year=days * book.parameter_on("passes_per_school_day", day) + authorised_extra,
        since=book.art70_effective_from,
    )


@dataclass(frozen=True, slots=True)
class Sold:
    """The request may be sold.

    Attributes:
        window: The civil days [first, first after) of its window; None where art. 70 does not apply.
        remaining: Passes that may still be bought in the window after it; None where art. 70 does not apply.
    """

    window: Period | None
    remaining: int | None


@dataclass(frozen=True, slots=True)
class NotSold:
    """The request is refused whole.

    Attributes:
        reason: Why.
        remaining: Passes that could be bought on that day; None where art. 70 does not apply.
        next_on: First civil day on which the number asked for could be bought; None where it never could.
    """

    reason: NotSoldReason
    remaining: int | None
    next_on: date | None


@dataclass(frozen=True, slots=True)
class _Window:
    days: Period
    passes: int


def acquire(history: Iterable[Purchase], request: Purchase, limits: Limits) -> Sold | NotSold:
    """Judge one request of a student against all purchases so far (Decreto 1.827, art. 70).

    The plan of an open window governs every request made in it. A purchase dated after the request, which only a
    correction can cause, counts against the window and the year that it falls in.

    Args:
        history: Every student pass bought so far, in any order, units of refunds already taken off.
        request: What is asked for.
        limits: Windows and ceiling on the day of the request.
    """
    if limits.since is None or request.on < limits.since:
        if request.units < 1:
            return NotSold(NotSoldReason.INVALID_QUANTITY, None, None)
        return Sold(None, None)
    since = limits.since
    bought = sorted((p for p in history if p.on >= since), key=lambda purchase: purchase.on)
    window = _window_for(request, bought, limits)
    window_leaves = _window_leaves(window, bought)
    year_leaves = _year_leaves(request.on, bought, limits)
    remaining = min(window_leaves, year_leaves)
    if request.units < 1:
        return NotSold(NotSoldReason.INVALID_QUANTITY, remaining, None)
    if request.units <= remaining:
        return Sold(window.days, remaining - request.units)
    reason = NotSoldReason.WINDOW_FULL if request.units > window_leaves else NotSoldReason.YEAR_FULL
    return NotSold(reason, remaining, _next_on(request, bought, limits))


def _window_for(request: Purchase, bought: Sequence[Purchase], limits: Limits) -> _Window:
    """The window open on the day of the request, or the fresh one that it would open."""
    windows = _windows([purchase for purchase in bought if purchase.on <= request.on], limits)
    if windows and windows[-1].days.holds_on(request.on):
        return windows[-1]
    return _opened_by(request, limits)


def _windows(bought: Iterable[Purchase], limits: Limits) -> list[_Window]:
    """All windows that purchases in order of day have opened."""
    windows: list[_Window] = []
    for purchase in bought:
        if not windows or not windows[-1].days.holds_on(purchase.on):
            windows.append(_opened_by(purchase, limits))
    return windows


def _opened_by(purchase: Purchase, limits: Limits) -> _Window:
    until = add_months(purchase.on, _MONTHS[purchase.plan])
    return _Window(Period(purchase.on, until), limits.of(purchase.plan))


def _window_leaves(window: _Window, bought: Iterable[Purchase]) -> int:
    return max(0, window.passes - sum(p.units for p in bought if window.days.holds_on(p.on)))


def _year_leaves(day: date, bought: Iterable[Purchase], limits: Limits) -> int:
    return max(0, limits.year - sum(p.units for p in bought if p.on.year == day.year))


def _next_on(request: Purchase, bought: Sequence[Purchase], limits: Limits) -> date | None:
    """The first later day on which the same request would be sold, if nothing else is bought until then.

    What is left grows only where a window ends or a civil year begins, so no other day need be tried. The ceiling of
    the next year is taken to be this year's.
    """
    ends = {window.days.until for window in _windows(bought, limits)}
    years = {date(day.year + 1, 1, 1) for day in (request.on, *(p.on for p in bought))}
    for day in sorted(day for day in {*ends, *years} if day is not None and day > request.on):
        later = Purchase(day, request.plan, request.units)
        leaves = min(
            _window_leaves(_window_for(later, bought, limits), bought), _year_leaves(day, bought, limits)
        )
        if request.units <= leaves:
            return day
    return None

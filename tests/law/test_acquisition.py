"""Acquisition at the desk where the golden cases cannot reach: parameters, art. 73, and corrections."""

from datetime import date, timedelta

import pytest

from backoffice.domain.acquisition import (
    Limits,
    NotSold,
    NotSoldReason,
    Plan,
    Purchase,
    Sold,
    acquire,
    limits_on,
)
from tests.law.laws import BOOK, law_data, parameter
from validator.domain.rights import Period
from validator.domain.rules import parse_rule_book

MONTH, TWO = Plan.MONTH, Plan.TWO_MONTHS
LIMITS = Limits(50, 100, 400, date(1994, 12, 29))


def bought(on: str, units: int, plan: Plan = MONTH) -> Purchase:
    return Purchase(date.fromisoformat(on), plan, units)


def test_the_limits_are_parameters_of_the_law():
    assert limits_on(BOOK, date(2026, 3, 2)) == LIMITS
    assert limits_on(BOOK, date(2026, 3, 2), school_days=180, authorised_extra=60).year == 420


def test_an_act_changes_the_windows_from_its_day():
    data = law_data()
    data["parameter"].append(
        {**parameter(data, "window_passes_month"), "value": 60, "from": date(2026, 7, 1), "act": "Portaria"}
    )
    book = parse_rule_book(data)

    assert limits_on(book, date(2026, 6, 30)).month == 50
    assert limits_on(book, date(2026, 7, 1)).month == 60


@pytest.mark.parametrize("since", [None, date(2026, 4, 1)])
def test_without_art_70_a_purchase_has_no_window_and_no_ceiling(since: date | None):
    limits = Limits(50, 100, 400, since)

    assert acquire([bought("2026-03-01", 600)], bought("2026-03-02", 70), limits) == Sold(None, None)
    assert acquire([], bought("2026-03-02", 0), limits) == NotSold(NotSoldReason.INVALID_QUANTITY, None, None)


def test_purchases_before_art_70_open_no_window():
    limits = Limits(50, 100, 400, date(2026, 4, 1))

    answer = acquire([bought("2026-03-20", 600)], bought("2026-04-02", 50), limits)

    assert answer == Sold(Period(date(2026, 4, 2), date(2026, 5, 2)), 0)


def test_a_purchase_dated_after_the_request_counts_in_its_window_and_year():
    history = [bought("2026-03-10", 30)]

    assert acquire(history, bought("2026-03-02", 20), LIMITS) == Sold(
        Period(date(2026, 3, 2), date(2026, 4, 2)), 0
    )
    assert acquire(history, bought("2026-03-02", 21), LIMITS) == NotSold(
        NotSoldReason.WINDOW_FULL, 20, date(2026, 4, 10)
    )


def test_the_next_day_is_the_first_on_which_the_request_is_sold():
    """`next_on` against a search of every day, over histories of many shapes."""
    history: list[Purchase] = []
    day = date(2026, 1, 29)
    for number in range(24):
        request = Purchase(day, (MONTH, TWO)[number % 2], 15 + 7 * (number % 5))
        answer = acquire(history, request, LIMITS)
        if isinstance(answer, NotSold):
            assert answer.next_on == first_day_sold(history, request)
        else:
            history.append(request)
        day += timedelta(days=5 + number % 17)


def first_day_sold(history: list[Purchase], request: Purchase) -> date | None:
    for days in range(1, 800):
        later = Purchase(request.on + timedelta(days=days), request.plan, request.units)
        if isinstance(acquire(history, later, LIMITS), Sold):
            return later.on
    return None


def test_the_desk_is_told_why_in_portuguese():
    assert all(reason.sentence.endswith(".") for reason in NotSoldReason)

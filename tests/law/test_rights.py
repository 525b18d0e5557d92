"""Rights: which category a holder may travel as on a civil day."""

from datetime import date

import pytest

from tests.law.laws import BOOK
from validator.domain.reasons import Reason
from validator.domain.rights import Period, Right, age_rights, refusal_of
from validator.domain.vocabulary import Category

STUDENT = Category.STUDENT_50
LAST_YEAR = Right(STUDENT, Period(date(2025, 2, 1), date(2025, 12, 20)))
THIS_YEAR = Right(STUDENT, Period(date(2026, 2, 1), None))
PAUSED = Right(STUDENT, Period(date(2026, 2, 1), None), (Period(date(2026, 5, 10), date(2026, 5, 20)),))
STRUCK = Right(STUDENT, Period(date(2026, 2, 1), date(2026, 5, 1)))


@pytest.mark.parametrize(
    ("rights", "day", "refusal"),
    [
        ([], date(2026, 3, 2), Reason.RIGHT_NOT_STARTED),
        ([THIS_YEAR], date(2026, 1, 31), Reason.RIGHT_NOT_STARTED),
        ([THIS_YEAR], date(2026, 2, 1), None),
        ([LAST_YEAR], date(2025, 12, 19), None),
        ([LAST_YEAR], date(2025, 12, 20), Reason.RIGHT_ENDED),
        ([LAST_YEAR, THIS_YEAR], date(2026, 1, 15), Reason.RIGHT_ENDED),
        ([LAST_YEAR, THIS_YEAR], date(2026, 3, 2), None),
        ([PAUSED], date(2026, 5, 9), None),
        ([PAUSED], date(2026, 5, 10), Reason.RIGHT_SUSPENDED),
        ([PAUSED], date(2026, 5, 20), None),
        ([LAST_YEAR, PAUSED], date(2026, 5, 10), Reason.RIGHT_SUSPENDED),
        ([PAUSED, STRUCK], date(2026, 5, 10), Reason.RIGHT_ENDED),
        ([STRUCK, PAUSED], date(2026, 5, 10), Reason.RIGHT_ENDED),
    ],
)
def test_any_right_in_force_suffices_else_the_latest_that_has_begun_is_named(
    rights: list[Right], day: date, refusal: Reason | None
):
    assert refusal_of(rights, day) is refusal
    assert refusal_of(reversed(rights), day) is refusal


@pytest.mark.parametrize(
    ("birth", "periods"),
    [
        (
            date(2020, 2, 29),
            {Category.CHILD: [(date(2020, 2, 29), date(2028, 2, 29))], Category.ELDER: [(date(2080, 2, 29), None)]},
        ),
        (
            date(1985, 1, 1),
            {
                Category.CHILD: [(date(1991, 10, 16), date(1993, 1, 1))],
                Category.ELDER: [(date(2045, 1, 1), None)],
            },
        ),
        (
            date(1986, 3, 2),
            {
                Category.CHILD: [
                    (date(1991, 7, 22), date(1991, 10, 16)),
                    (date(1991, 10, 16), date(1994, 3, 2)),
                ],
                Category.ELDER: [(date(2046, 3, 2), None)],
            },
        ),
        (date(1928, 2, 29), {Category.ELDER: [(date(1993, 3, 1), date(2005, 1, 6)), (date(2005, 1, 6), None)]}),
        (date(1943, 1, 1), {Category.ELDER: [(date(2005, 1, 6), None)]}),
    ],
)  # fmt: skip
def test_a_birth_date_gives_the_days_of_its_rights_of_age(
    birth: date, periods: dict[Category, list[tuple[date, date | None]]]
):
    found: dict[Category, list[tuple[date, date | None]]] = {}
    for right in age_rights(birth, BOOK):
        found.setdefault(right.category, []).append((right.period.first, right.period.until))

    assert found == periods

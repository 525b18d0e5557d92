"""Civil time: days, months and anniversaries as Brazilian law counts them."""

from datetime import UTC, date, datetime, timedelta

import pytest

from validator.domain.service_time import (
    SAO_PAULO,
    add_months,
    anniversary,
    civil_date,
    day_after,
    first_instant,
    month_bounds,
    month_of,
    next_month,
    parse_month,
)


@pytest.mark.parametrize(
    ("instant", "day"),
    [
        ("2026-04-01T02:59:59Z", date(2026, 3, 31)),
        ("2026-04-01T03:00:00Z", date(2026, 4, 1)),
        ("2026-04-01T00:30:00+02:00", date(2026, 3, 31)),
        ("2018-11-04T02:59:59Z", date(2018, 11, 3)),
        ("2018-11-04T03:00:00Z", date(2018, 11, 4)),
        ("2019-02-17T02:30:00Z", date(2019, 2, 16)),
        ("2019-11-04T00:30:00-02:00", date(2019, 11, 3)),
        ("1991-10-20T02:59:59Z", date(1991, 10, 19)),
    ],
)
def test_the_civil_date_is_that_of_the_city(instant: str, day: date):
    assert civil_date(datetime.fromisoformat(instant)) == day


def test_an_instant_needs_an_offset():
    with pytest.raises(ValueError, match="needs an offset"):
        civil_date(datetime(2026, 3, 2, 7, 15))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("day", "months", "expected"),
    [
        (date(2026, 1, 28), 1, date(2026, 2, 28)),
        (date(2026, 1, 29), 1, date(2026, 3, 1)),
        (date(2026, 1, 30), 1, date(2026, 3, 1)),
        (date(2026, 1, 31), 1, date(2026, 3, 1)),
        (date(2028, 1, 29), 1, date(2028, 2, 29)),
        (date(2028, 1, 31), 1, date(2028, 3, 1)),
        (date(2026, 3, 31), 1, date(2026, 5, 1)),
        (date(2026, 12, 31), 1, date(2027, 1, 31)),
        (date(2026, 12, 31), 2, date(2027, 3, 1)),
        (date(2026, 11, 30), 1, date(2026, 12, 30)),
        (date(2026, 3, 2), 12, date(2027, 3, 2)),
        (date(2026, 3, 2), 0, date(2026, 3, 2)),
    ],
)
def test_a_month_ends_on_the_day_of_the_same_number_or_the_day_after(day: date, months: int, expected: date):
    assert add_months(day, months) == expected


@pytest.mark.parametrize(
    ("birth", "years", "expected"),
    [
        (date(2020, 2, 29), 5, date(2025, 3, 1)),
        (date(2020, 2, 29), 8, date(2028, 2, 29)),
        (date(2017, 2, 28), 7, date(2024, 2, 28)),
        (date(1964, 2, 29), 60, date(2024, 2, 29)),
        (date(2040, 2, 29), 60, date(2100, 3, 1)),
        (date(1928, 2, 29), 65, date(1993, 3, 1)),
        (date(1966, 12, 31), 60, date(2026, 12, 31)),
    ],
)
def test_born_on_29_february_completes_a_year_on_1_march(birth: date, years: int, expected: date):
    assert anniversary(birth, years) == expected


def test_every_birthday_is_the_day_of_the_same_number_but_for_29_february():
    day = date(1999, 12, 31)
    while (day := day_after(day)) < date(2004, 1, 1):
        born = anniversary(day, 65)

        assert (born.month, born.day) == ((3, 1) if (day.month, day.day) == (2, 29) else (day.month, day.day))


def test_a_month_is_written_with_four_digits_and_two():
    assert parse_month("2026-03") == "2026-03"
    assert month_of(date(2026, 3, 31)) == "2026-03"
    assert next_month(parse_month("2026-12")) == "2027-01"


@pytest.mark.parametrize(
    "text", ["2026-3", "2026-13", "2026-00", "202603", "2026-03-01", "", "٢٠٢٦-٠٣", "26-03-1"]
)
def test_any_other_way_to_write_a_month_is_refused(text: str):
    with pytest.raises(ValueError, match="AAAA-MM"):
        parse_month(text)


def test_the_first_instant_of_a_day_whose_midnight_did_not_exist():
    assert first_instant(date(2018, 11, 4)) == datetime(2018, 11, 4, 3, tzinfo=UTC)
    assert civil_date(first_instant(date(2018, 11, 4)) - timedelta(seconds=1)) == date(2018, 11, 3)


def test_a_month_is_as_long_as_it_was_with_summer_time():
    first, after = month_bounds(parse_month("2018-11"))

    assert first == datetime(2018, 11, 1, 3, tzinfo=UTC)
    assert after == datetime(2018, 12, 1, 2, tzinfo=UTC)


def test_every_day_begins_at_its_first_instant_and_not_before():
    day = date(1991, 1, 1)
    while (day := day_after(day)) < date(2020, 1, 1):
        first = first_instant(day)

        assert civil_date(first) == day
        assert civil_date(first - timedelta(microseconds=1)) == day - timedelta(days=1)
        assert first.astimezone(SAO_PAULO).hour in (0, 1)

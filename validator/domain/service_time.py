"""Civil time of the city: days, months and anniversaries as Brazilian law counts them.

Age, right, fare, rule, cap and claim month follow the civil date in America/Sao_Paulo of the instant of the tap.
"""

from datetime import UTC, date, datetime, timedelta
from typing import NewType
from zoneinfo import ZoneInfo

Month = NewType("Month", str)
"""A civil month as `AAAA-MM`."""

SAO_PAULO = ZoneInfo("America/Sao_Paulo")


def civil_date(instant: datetime) -> date:
    """The civil date of an instant in the city.

    Raises:
        ValueError: the instant carries no offset.
    """
    if instant.tzinfo is None:
        raise ValueError("an instant needs an offset, such as 2026-03-02T07:15:02-03:00")
    return instant.astimezone(SAO_PAULO).date()


def month_of(day: date) -> Month:
    """The civil month of a date."""
    return Month(day.isoformat()[:7])


def parse_month(text: str) -> Month:
    """Read a month written `AAAA-MM`.

    Raises:
        ValueError: anything else.
    """
    if len(text) != 7 or text[4] != "-" or not (text[:4] + text[5:]).isascii():
        raise ValueError(f"a month is written AAAA-MM, such as 2026-03, not {text!r}")
    try:
        date.fromisoformat(f"{text}-01")
    except ValueError:
        raise ValueError(f"a month is written AAAA-MM, such as 2026-03, not {text!r}") from None
    return Month(text)


def next_month(month: Month) -> Month:
    """The civil month after `month`."""
    return month_of(add_months(date.fromisoformat(f"{month}-01"), 1))


def first_instant(day: date) -> datetime:
    """The first instant of a civil day, in UTC; right also on days whose midnight did not exist."""
    return datetime(day.year, day.month, day.day, tzinfo=SAO_PAULO).astimezone(UTC)


def month_bounds(month: Month) -> tuple[datetime, datetime]:
    """The instants [first, first after) of a civil month, in UTC."""
    first = date.fromisoformat(f"{month}-01")
    return first_instant(first), first_instant(add_months(first, 1))


def add_months(day: date, months: int) -> date:
    """The day of the same number `months` later, or the day after the month's end where there is none.

    Civil Code, art. 132, par. 3: 31 January and one month is 1 March.
    """
    index = day.year * 12 + day.month - 1 + months
    return _corresponding_day(index // 12, index % 12 + 1, day.day)


def anniversary(birth: date, years: int) -> date:
    """The day on which somebody completes `years`; born on 29 February, 1 March of a common year (CC 132, par. 3)."""
    return _corresponding_day(birth.year + years, birth.month, birth.day)


def _corresponding_day(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        return date(year + month // 12, month % 12 + 1, 1)


def day_after(day: date) -> date:
    """The next civil day."""
    return day + timedelta(days=1)

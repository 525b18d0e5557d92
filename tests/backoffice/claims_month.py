"""A month with something of everything, and how tests close it and read its claims."""

import json
from datetime import UTC, date, datetime
from typing import Any

from backoffice.application.close_month import ClosedMonth, close_late, close_month
from backoffice.application.staff import CityOffice, as_city, staff_by_login
from backoffice.persistence.base import reading
from tests.backoffice.claims_city import BOOK, CLOSING, QUARANTINED, ClaimsCity, at
from validator.domain.service_time import Month

MARCH = Month("2026-03")


def closer(city: ClaimsCity) -> CityOffice:
    with reading(city.engine) as session:
        return as_city(staff_by_login(session, "clerk", CLOSING))


def close(city: ClaimsCity, month: Month = MARCH, when: datetime = CLOSING) -> ClosedMonth:
    return close_month(city.engine, BOOK, month, at=when, by=closer(city))


def documents(closed: ClosedMonth) -> dict[str, Any]:
    return {claim.operator: json.loads(claim.document) for claim in closed.claims}


def excluded(document: dict[str, Any]) -> dict[str, int]:
    return {row["reason"]: row["quantity"] for row in document["excluded"]}


def a_month(city: ClaimsCity) -> None:
    """A month with something of everything."""
    first, second = city.student(), city.student(units=3, face=365)
    teacher = city.holder(("TEACHER", "2020-02-01", None), birth=date(1980, 3, 1))
    elder = city.holder(birth=date(1950, 3, 1))
    special = city.holder(("SPECIAL_ED", "2020-02-01", None), birth=date(2012, 3, 1))
    prepaid = city.holder(birth=date(1990, 3, 1), lots=(("PREPAID", "INTERIOR", 5, 700, 700),))
    for day in range(1, 28):
        for hour in (7, 17):
            city.tap(at(f"2026-03-{day:02} {hour:02}:00"), holder=first, offline=day % 5 == 0)
    for day in range(2, 7):
        city.tap(at(f"2026-03-{day:02} 08:10"), holder=second, device="d-verde", line="202", vehicle="2201")
        free = {"ride_class": "FREE"}
        city.tap(at(f"2026-03-{day:02} 09:00"), holder=teacher, category="TEACHER", **free)
        city.tap(at(f"2026-03-{day:02} 09:00:30"), holder=elder, category="ELDER", **free)
        city.tap(
            at(f"2026-03-{day:02} 09:01"),
            holder=special,
            category="SPECIAL_ED",
            line="901",
            vehicle="1202",
            **free,
        )
        paid = {"category": "PREPAID", "ride_class": "PURSE", "purse": "PREPAID/INTERIOR"}
        city.tap(at(f"2026-03-{day:02} 09:02"), holder=prepaid, line="901", vehicle="1202", **paid)
        city.cash(at(f"2026-03-{day:02} 10:00"))
        city.tap(
            at(f"2026-03-{day:02} 10:05"), category="CHILD", ride_class="FREE", medium="key", keyed="CHILD"
        )
        city.tap(at(f"2026-03-{day:02} 10:09"), holder=first, refused="PASSBACK", released=False)
    city.tap(at("2026-03-30 08:00"), holder=teacher, category="TEACHER", ride_class="FREE", annulled_after=20)
    city.tap(
        datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC),
        holder=first,
        offline=True,
        received=at("2026-03-05 08:00"),
        flags=QUARANTINED,
    )


def close_rest(city: ClaimsCity, when: datetime, month: Month = MARCH) -> ClosedMonth | None:
    return close_late(city.engine, BOOK, month, at=when, by=closer(city))

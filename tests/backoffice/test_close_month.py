"""Closing a month on real databases: the law's numbers, frozen claims, and the same bytes whatever happens."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
from sqlalchemy import func, select

from backoffice.application.close_month import ClosedMonth, close_month
from backoffice.persistence.base import reading
from backoffice.persistence.claims import ClaimEntryRow, ClaimLineRow, RatedRow
from tests.backoffice.claims_city import BOOK, CLOSING, QUARANTINED, ClaimsCity, at, make_claims_city
from validator.domain.service_time import Month

MARCH = Month("2026-03")


@pytest.fixture
def city(database_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(database_url)
    yield made
    made.engine.dispose()


@pytest.fixture
def sqlite_city(sqlite_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(sqlite_url)
    yield made
    made.engine.dispose()


def close(city: ClaimsCity, month: Month = MARCH, when: datetime = CLOSING) -> ClosedMonth:
    return close_month(city.engine, BOOK, month, at=when, by="clerk")


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


def test_a_month_is_billed_to_the_centavo(city: ClaimsCity) -> None:
    a_month(city)
    city.store()

    closed = close(city)

    found = documents(closed)
    azul = found["azul"]
    assert [(row["category"], row["line"], row["quantity"], row["total_cents"]) for row in azul["lines"]] == [
        ("SPECIAL_ED", "901", 5, 5 * 700),
        ("TEACHER", "101", 5, 5 * 450),
        ("STUDENT_50", "101", 50, 50 * 225),
    ]
    assert azul["totals"]["total_cents"] == 5 * 700 + 5 * 450 + 50 * 225
    assert azul["totals"]["total_words"] == "cento e setenta reais"
    assert excluded(azul) == {"OVER_CAP": 4, "ANNULLED": 1, "CLOCK_INVALID": 1}
    assert {row["category"]: row["quantity"] for row in azul["statistical"]} == {
        "CHILD": 5,
        "ELDER_65": 5,
        "PREPAID": 5,
        "FULL": 5,
    }
    verde = found["verde"]
    assert [
        (row["line"], row["quantity"], row["fare_cents"], row["city_cents"]) for row in verde["lines"]
    ] == [("202", 3, 365, 183)]
    assert excluded(verde) == {"NO_PASSES": 2}
    assert [claim.number for claim in closed.claims] == ["azul-2026-0001", "verde-2026-0001"]


def test_claim_lines_entries_and_boardings_have_one_sum(city: ClaimsCity) -> None:
    a_month(city)
    city.store()

    closed = close(city)

    total = sum(claim.total_cents for claim in closed.claims)
    with reading(city.engine) as session:
        sums = [
            session.scalar(select(func.sum(column)))
            for column in (ClaimLineRow.total_cents, ClaimEntryRow.cents, RatedRow.city_cents)
        ]
        unequal = session.scalar(
            select(func.count()).where(
                RatedRow.fare_cents != RatedRow.rider_cents + RatedRow.city_cents + RatedRow.operator_cents
            )
        )
    assert sums == [total, total, total]
    assert unequal == 0

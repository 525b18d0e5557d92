"""What the closing makes of rides that go on after a breakdown. Both databases are met in other tests."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from sqlalchemy import select

from backoffice.persistence.base import reading
from backoffice.persistence.claims import RatedRow
from tests.backoffice.claims_city import ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import close, documents, excluded

RIDE = "2026-03-10 07:00"


@pytest.fixture
def city(sqlite_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(sqlite_url)
    yield made
    made.engine.dispose()


def closed(city: ClaimsCity) -> dict[str, Any]:
    city.store()
    document: dict[str, Any] = documents(close(city))["azul"]
    return document


def test_a_ride_that_goes_on_after_a_breakdown_costs_nobody_anything(city: ClaimsCity) -> None:
    first, free = _on_a_bus_that_breaks_down(city)
    city.tap(at("2026-03-10 07:30"), vehicle="1202", continues=first, **free)
    city.tap(at("2026-03-11 07:00"), **free)
    city.tap(at("2026-03-11 07:30"), vehicle="1202", continues=first, **free)

    document = closed(city)

    assert document["totals"]["rides"] == 3
    assert document["statistical"] == [{"category": "TEACHER", "label": "Professor", "quantity": 1}]


def test_one_ride_goes_on_once_after_a_breakdown_and_the_next_is_a_ride_of_its_own(city: ClaimsCity) -> None:
    first, free = _on_a_bus_that_breaks_down(city)
    city.tap(at("2026-03-10 07:30"), vehicle="1202", continues=first, **free)
    city.tap(at("2026-03-10 07:40"), vehicle="1202", continues=first, **free)

    document = closed(city)

    assert document["totals"]["rides"] == 2
    assert document["statistical"] == [{"category": "TEACHER", "label": "Professor", "quantity": 1}]


def _on_a_bus_that_breaks_down(city: ClaimsCity, **what: object) -> tuple[str, dict[str, object]]:
    """A teacher's boarding there, and what all of the teacher's boardings have in common."""
    teacher = city.holder(("TEACHER", "2020-02-01", None), birth=date(1980, 3, 1))
    free = {"category": "TEACHER", "ride_class": "FREE", "holder": teacher}
    city.register(
        "breakdowns",
        vehicle="1201",
        from_at=at("2026-03-10 07:10"),
        declared_by=1,
        recorded_at=at("2026-03-10 07:10"),
    )
    return city.tap(at(RIDE), **what, **free), free


@pytest.mark.parametrize(
    ("released", "category"),
    [
        ({"ride_class": "HALF"}, "STUDENT_50"),
        ({"ride_class": "PURSE", "purse": "PREPAID"}, "PREPAID"),
        ({"ride_class": "PURSE"}, "PREPAID"),
    ],
)
def test_a_ride_over_a_refusal_goes_on_as_the_service_lets_it(
    city: ClaimsCity, released: dict[str, str], category: str
) -> None:
    holder = city.student(units=10)
    city.sale(1, "PREPAID", "URBAN", 10, 450, 450)
    broken = at("2026-03-10 07:10")
    city.register("breakdowns", vehicle="1201", from_at=broken, declared_by=1, recorded_at=broken)
    refused = city.tap(at(RIDE), holder=holder, refused="NO_PASSES", **released)
    on = {"holder": holder, "category": category, **released}
    city.tap(at("2026-03-10 07:30"), vehicle="1202", continues=refused, **on)
    city.store()
    close(city)

    with reading(city.engine) as session:
        rows = session.scalars(select(RatedRow).order_by(RatedRow.dated_at)).all()

    first, second = rows
    assert first.pass_number == 1
    assert (second.category, second.verdict, second.reason) == (category, "statistical", None)
    assert (second.pass_number, second.rider_cents, second.city_cents) == (None, 0, 0)


def test_nobody_goes_on_from_a_boarding_that_the_device_held(city: ClaimsCity) -> None:
    held, free = _on_a_bus_that_breaks_down(city, released=False)
    city.tap(at("2026-03-10 07:30"), vehicle="1202", continues=held, **free)

    document = closed(city)

    assert document["totals"]["rides"] == 1
    assert document["statistical"] == []


def test_a_copied_chip_that_names_a_teachers_ride_is_excluded_and_the_card_goes_on(city: ClaimsCity) -> None:
    """Whatever the device did and the service answered: here both let the copy through, as they once did."""
    first, free = _on_a_bus_that_breaks_down(city)
    city.tap(at("2026-03-10 07:20"), vehicle="1202", continues=first, medium="uid", **free)
    city.tap(at("2026-03-10 07:22"), vehicle="1202", continues=first, **free)
    city.tap(at("2026-03-10 07:40"), vehicle="1202", **free)

    document = closed(city)

    assert document["totals"]["rides"] == 2
    assert document["statistical"] == [{"category": "TEACHER", "label": "Professor", "quantity": 1}]
    assert excluded(document) == {"NO_RIGHT": 1}


def test_a_ride_that_was_paid_goes_on_by_the_chip(city: ClaimsCity) -> None:
    payer = city.holder(lots=(("PREPAID", "URBAN", 1, 450, 450),), birth=date(1980, 3, 1))
    paid = {"category": "PREPAID", "ride_class": "PURSE", "holder": payer, "medium": "uid"}
    first, _ = _on_a_bus_that_breaks_down(city)
    first = city.tap(at("2026-03-10 07:01"), purse="PREPAID", **paid)
    city.tap(at("2026-03-10 07:30"), vehicle="1202", continues=first, **paid)

    document = closed(city)

    assert excluded(document) == {}
    assert {row["category"]: row["quantity"] for row in document["statistical"]} == {"PREPAID": 2}

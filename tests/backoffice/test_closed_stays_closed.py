"""What was closed stays as it was: whatever the calendar, the fares or the database's own zone say afterwards."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import IntegrityError

from backoffice.persistence.base import Base, reading, writing
from tests.backoffice.claims_city import CLOSING, ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import a_month, close, close_rest, documents

AFTER = CLOSING + timedelta(days=3)


@pytest.fixture
def city(database_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(database_url)
    yield made
    made.engine.dispose()


@pytest.mark.parametrize(
    "fare",
    [
        {"first_day": date(2026, 3, 1), "cents": 600},
        {"first_day": date(2026, 3, 8), "last_day": date(2026, 3, 8), "cents": 0},
    ],
    ids=["a retroactive rise", "a holiday decreed afterwards"],
)
def test_a_fare_that_reaches_back_into_a_closed_month_bills_nothing_again(
    city: ClaimsCity, fare: dict[str, Any]
):
    a_month(city)
    city.store()
    closed = close(city)

    city.register("fares", id=3, network="URBAN", act_id=1, recorded_at=AFTER, **fare)
    again = close(city, when=AFTER + timedelta(days=1))
    late = close_rest(city, AFTER + timedelta(days=1))

    assert [claim.document for claim in again.claims] == [claim.document for claim in closed.claims]
    assert late is None


def test_a_late_ride_has_the_fare_that_its_day_has_now(city: ClaimsCity):
    """The riders of the closed claim are not charged again; a ride that comes now is judged by the act in force."""
    teacher = city.holder(("TEACHER", "2020-02-01", None), birth=date(1980, 3, 1))
    free = {"category": "TEACHER", "ride_class": "FREE", "holder": teacher, "offline": True}
    city.tap(at("2026-03-10 07:00"), **free)
    city.store()
    first = documents(close(city))["azul"]
    city.register(
        "fares", id=3, network="URBAN", act_id=1, recorded_at=AFTER, first_day=date(2026, 3, 1), cents=600
    )
    city.tap(at("2026-03-11 07:00"), received=AFTER, **free)
    city.store()

    late = close_rest(city, AFTER + timedelta(days=1))

    assert late is not None
    assert first["totals"]["total_cents"] == 450
    assert documents(late)["azul"]["totals"]["total_cents"] == 600


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "Pacific/Honolulu"])
def test_the_zone_of_the_database_session_moves_no_ride(postgres_url: str, zone: str):
    city = make_claims_city(f"{postgres_url}?options=-c%20timezone%3D{zone}")
    holder = city.student()
    for when in ("2026-02-28 23:59:59", "2026-03-01 00:00:00", "2026-03-31 23:59:59", "2026-04-01 00:00:00"):
        city.tap(at(when), holder=holder, vehicle="1202" if when.endswith("59:59") else "1201")
    city.store()
    with city.engine.connect() as connection:
        assert connection.execute(text("SHOW timezone")).scalar() == zone

    months = {}
    for month, when in (("2026-02", CLOSING), ("2026-03", CLOSING), ("2026-04", at("2026-05-02 12:00"))):
        months[month] = documents(close(city, month, when))["azul"]["events"]  # type: ignore[arg-type]
    city.engine.dispose()

    assert months == {
        "2026-02": {"first_at": "2026-02-28T23:59:59-03:00", "last_at": "2026-02-28T23:59:59-03:00"},
        "2026-03": {"first_at": "2026-03-01T00:00:00-03:00", "last_at": "2026-03-31T23:59:59-03:00"},
        "2026-04": {"first_at": "2026-04-01T00:00:00-03:00", "last_at": "2026-04-01T00:00:00-03:00"},
    }


@pytest.mark.parametrize(
    ("amounts", "constraint"),
    [
        ({"fare_cents": 450, "rider_cents": 225, "city_cents": 450, "operator_cents": 0}, "parts"),
        ({"fare_cents": 450, "rider_cents": 0, "city_cents": 451, "operator_cents": -1}, "not_negative"),
    ],
    ids=["the city is charged the full fare of a half", "a negative part"],
)
def test_the_database_itself_refuses_amounts_that_do_not_make_up_the_fare(
    city: ClaimsCity, amounts: dict[str, int], constraint: str
):
    city.tap(at("2026-03-10 07:00"), holder=city.student())
    city.store()
    close(city)
    table = Base.metadata.tables["rated_boardings"]

    with reading(city.engine) as session:
        row = dict(session.execute(table.select()).mappings().one())

    with pytest.raises(IntegrityError, match=constraint), writing(city.engine) as session:
        session.execute(insert(table), [row | {"boarding_id": str(UUID(int=1))} | amounts])

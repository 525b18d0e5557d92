"""Closing a month on real databases: the law's numbers, frozen claims, and the same bytes whatever happens."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from backoffice.application import month_rides, rate_month
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.persistence.base import reading
from backoffice.persistence.claims import ClaimEntryRow, ClaimLineRow, ClaimRow, RatedRow
from tests.backoffice.claims_city import CLOSING, ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import a_month, close, documents, excluded
from validator.domain.service_time import Month
from validator.records.codes import Flag


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


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_pages_of_any_size_leave_nothing_out(
    city: ClaimsCity, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(month_rides, "ROWS_A_PAGE", size)
    monkeypatch.setattr(rate_month, "HOLDERS_A_PAGE", size)
    a_month(city)
    city.store()

    found = documents(close(city))

    assert found["azul"]["totals"]["total_cents"] == 5 * 700 + 5 * 450 + 50 * 225
    assert {row["category"]: row["quantity"] for row in found["azul"]["statistical"]} == {
        "CHILD": 5,
        "ELDER_65": 5,
        "PREPAID": 5,
        "FULL": 5,
    }
    assert excluded(found["azul"]) == {"OVER_CAP": 4, "ANNULLED": 1, "CLOCK_INVALID": 1}
    assert excluded(found["verde"]) == {"NO_PASSES": 2}


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


def test_closing_twice_gives_the_same_bytes(city: ClaimsCity) -> None:
    a_month(city)
    city.store()

    first = close(city)
    second = close(city, when=CLOSING + timedelta(days=9))

    assert second.claims == first.claims
    assert second.closed_at == CLOSING
    assert (first.closed_before, second.closed_before) == (False, True)


def test_both_databases_and_any_order_of_arrival_give_the_same_bytes(
    sqlite_url: str, postgres_url: str
) -> None:
    found = set()
    for url, seed in ((sqlite_url, None), (postgres_url, 7), (sqlite_url.replace("catraca", "other"), 8)):
        city = make_claims_city(url)
        a_month(city)
        city.store(shuffled=seed)
        found.add(close(city).claims)
        city.engine.dispose()

    assert len(found) == 1


def test_of_two_clerks_who_close_together_one_does_the_work(city: ClaimsCity) -> None:
    a_month(city)
    city.store()

    with ThreadPoolExecutor(2) as clerks:
        closed = [future.result() for future in [clerks.submit(close, city) for _ in range(2)]]

    assert closed[0].claims == closed[1].claims
    assert sorted(one.closed_before for one in closed) == [False, True]
    with reading(city.engine) as session:
        assert session.scalar(select(func.count()).select_from(ClaimRow)) == 2


def test_two_months_that_are_closed_together_are_numbered_without_gap(city: ClaimsCity) -> None:
    holder = city.student()
    city.tap(at("2026-03-02 07:00"), holder=holder)
    city.tap(at("2026-04-02 07:00"), holder=holder)
    city.store()
    close(city)

    april = close(city, Month("2026-04"), CLOSING + timedelta(days=40))

    assert [claim.number for claim in april.claims] == ["azul-2026-0002"]


def test_the_number_begins_anew_with_the_year_of_closing(city: ClaimsCity) -> None:
    holder = city.student()
    for month in ("10", "11", "12"):
        city.tap(at(f"2026-{month}-05 07:00"), holder=holder)
    city.store()

    numbers = [
        close(city, Month(f"2026-{month}"), when).claims[0].number
        for month, when in (
            ("10", at("2026-11-03 09:00")),
            ("11", at("2026-12-31 23:59:59")),
            ("12", at("2027-01-01 00:00")),
        )
    ]

    assert numbers == ["azul-2026-0001", "azul-2026-0002", "azul-2027-0001"]


def test_a_month_that_is_not_over_is_not_closed(sqlite_city: ClaimsCity) -> None:
    sqlite_city.tap(at("2026-03-02 07:00"), holder=sqlite_city.student())
    sqlite_city.store()

    with pytest.raises(
        Invalid, match="ainda não terminou em 31/03/2026 23:59; feche-a a partir de 01/04/2026"
    ):
        close(sqlite_city, when=at("2026-03-31 23:59:59"))


def test_an_earlier_month_with_boardings_is_closed_first(sqlite_city: ClaimsCity) -> None:
    holder = sqlite_city.student()
    for month in ("01", "02", "03"):
        sqlite_city.tap(at(f"2026-{month}-02 07:00"), holder=holder)
    sqlite_city.store()

    with pytest.raises(Conflict, match="2026-01 tem embarques"):
        close(sqlite_city)


def test_an_earlier_month_whose_boardings_came_after_the_instant_of_closing_does_not_hold_it_up(
    sqlite_city: ClaimsCity,
) -> None:
    """Closed as of that instant it would have nothing to close."""
    holder = sqlite_city.student()
    sqlite_city.tap(
        at("2026-02-27 07:00"), holder=holder, offline=True, received=CLOSING + timedelta(hours=1)
    )
    sqlite_city.tap(at("2026-03-02 07:00"), holder=holder)
    sqlite_city.store()

    assert documents(close(sqlite_city))["azul"]["totals"]["rides"] == 1


def test_a_month_of_sales_without_rides_has_no_claim(sqlite_city: ClaimsCity) -> None:
    sqlite_city.student()

    with pytest.raises(NotFound, match="não tem embarques"):
        close(sqlite_city)


def test_a_missing_fare_is_named_and_nothing_is_closed(sqlite_city: ClaimsCity) -> None:
    teacher = sqlite_city.holder(("TEACHER", "2000-02-01", None), birth=date(1980, 3, 1))
    sqlite_city.tap(at("2017-03-02 07:00"), holder=teacher, category="TEACHER", ride_class="FREE", line="901")
    sqlite_city.store()

    with pytest.raises(Conflict, match="falta a tarifa da linha 901 em 02/03/2017"):
        close(sqlite_city, Month("2017-03"))


def test_a_missing_fare_of_a_ride_in_money_is_named_too(sqlite_city: ClaimsCity) -> None:
    sqlite_city.cash(at("2017-03-02 07:00"), line="901")
    sqlite_city.store()

    with pytest.raises(Conflict, match="falta a tarifa da linha 901 em 02/03/2017"):
        close(sqlite_city, Month("2017-03"))


@pytest.mark.parametrize("paid", ["cash", "card"])
def test_what_a_revoked_device_sends_of_a_day_without_a_fare_stops_no_closing(
    sqlite_city: ClaimsCity, paid: str
) -> None:
    stolen = {"line": "901", "flags": int(Flag.REVOKED_DEVICE)}
    teacher = sqlite_city.holder(("TEACHER", "2000-02-01", None), birth=date(1980, 3, 1))
    if paid == "cash":
        sqlite_city.cash(at("2017-03-02 07:00"), **stolen)
    else:
        free = {"category": "TEACHER", "ride_class": "FREE", "holder": teacher}
        sqlite_city.tap(at("2017-03-02 07:00"), **free, **stolen)
    sqlite_city.store()

    document = documents(close(sqlite_city, Month("2017-03")))["azul"]

    assert excluded(document) == {"DEVICE_REVOKED": 1}
    assert document["totals"]["total_cents"] == 0


def test_a_month_ends_at_midnight_of_the_city(city: ClaimsCity) -> None:
    holder = city.student()
    for when in ("2025-12-31 23:59:59", "2026-01-01 00:00:00", "2026-02-28 21:30", "2026-03-01 00:00"):
        city.tap(at(when), holder=holder)
    city.store()
    closing = at("2026-04-02 08:00")

    billed = {
        month: [
            document["totals"]["rides"] for document in documents(close(city, Month(month), closing)).values()
        ]
        for month in ("2025-12", "2026-01", "2026-02", "2026-03")
    }

    # The right began on 1 February 2026.
    assert billed == {"2025-12": [0], "2026-01": [0], "2026-02": [1], "2026-03": [1]}


def test_passes_are_taken_first_in_first_out_over_months(city: ClaimsCity) -> None:
    holder = city.student(units=2, face=365)
    city.sale(1, "STUDENT", "URBAN", 5, 450, 225)
    for when in ("2026-02-02 07:00", "2026-03-02 07:00", "2026-03-03 07:00"):
        city.tap(at(when), holder=holder)
    city.store()

    close(city, Month("2026-02"))
    march = documents(close(city))["azul"]

    assert [(row["fare_cents"], row["city_cents"], row["quantity"]) for row in march["lines"]] == [
        (365, 183, 1),
        (450, 225, 1),
    ]


def test_what_was_received_after_the_instant_of_closing_is_not_in_it(city: ClaimsCity) -> None:
    holder = city.student()
    city.tap(at("2026-03-02 07:00"), holder=holder)
    city.tap(at("2026-03-30 07:00"), holder=holder, offline=True, received=at("2026-04-04 06:00"))
    city.store()

    azul = documents(close(city))["azul"]

    assert azul["totals"]["rides"] == 1


def test_the_database_refuses_a_second_bill_of_a_boarding(city: ClaimsCity) -> None:
    boarding = city.tap(at("2026-03-02 07:00"), holder=city.student())
    city.store()
    close(city)

    with pytest.raises(IntegrityError):
        city.register("claim_entries", claim_id=1, boarding_id=boarding, kind="BILL", cents=225)


def test_an_operator_whose_rides_are_all_free_of_charge_has_an_empty_claim(city: ClaimsCity) -> None:
    city.cash(at("2026-03-02 07:00"))
    city.store()

    azul = documents(close(city))["azul"]

    assert (azul["lines"], azul["totals"]["total_words"]) == ([], "zero reais")
    assert azul["statistical"] == [{"category": "FULL", "label": "Passagem inteira", "quantity": 1}]

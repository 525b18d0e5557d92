"""After a closing: complementary claims for what came or was settled later, reversals of what was taken back."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from sqlalchemy import func, select

from backoffice.application.close_month import ClosedMonth
from backoffice.application.errors import NotFound
from backoffice.persistence.base import reading
from backoffice.persistence.claims import ClaimEntryRow, EndStateRow, RatedRow
from tests.backoffice.claims_city import CLOSING, HASH, ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import MARCH, close, close_rest, documents, excluded
from validator.domain.service_time import Month
from validator.records.codes import Flag
from validator.records.usage import unpack_usage

LATER = at("2026-04-10 09:00")
MAY = at("2026-05-04 09:00")
APRIL = Month("2026-04")


@pytest.fixture
def city(database_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(database_url)
    yield made
    made.engine.dispose()


def azul_of(closed: ClosedMonth | None) -> dict[str, Any]:
    assert closed is not None
    document: dict[str, Any] = documents(closed)["azul"]
    return document


def billed_once(city: ClaimsCity) -> bool:
    with reading(city.engine) as session:
        count, of = session.execute(
            select(func.count(), func.count(ClaimEntryRow.boarding_id.distinct())).where(
                ClaimEntryRow.kind == "BILL"
            )
        ).one()
    return bool(count == of)


def release(city: ClaimsCity, boarding: str, holder: str, received: str) -> None:
    city.seqs["d-azul"] += 1
    city.add(
        "releases",
        device="d-azul",
        epoch=1,
        seq=city.seqs["d-azul"],
        boarding_id=boarding,
        digest=HASH,
        received_at=at(received),
        released=True,
        ride_class="HALF",
        purse=None,
        online=True,
        holder=holder,
        flags=0,
        shard=0,
        generation=1,
        commit_no=1,
    )


def annul(
    city: ClaimsCity, boarding: str, holder: str, happened: str, received: str, *, flags: int = 0
) -> None:
    city.seqs["d-azul"] += 1
    city.add(
        "annulments",
        device="d-azul",
        epoch=1,
        seq=city.seqs["d-azul"],
        boarding_id=boarding,
        digest=HASH,
        received_at=at(received),
        batch=True,
        occurred_at=at(happened),
        holder=holder,
        flags=flags,
        shard=0,
        generation=1,
        commit_no=1,
    )


def test_a_late_ride_goes_to_a_complementary_claim_and_the_closed_one_stays(city: ClaimsCity) -> None:
    holder = city.student()
    city.tap(at("2026-03-02 07:00"), holder=holder)
    city.store()
    first = close(city)
    city.tap(at("2026-03-30 07:00"), holder=holder, offline=True, received=at("2026-04-04 06:00"))
    city.store()

    rest = azul_of(close_rest(city, LATER))

    assert (rest["number"], rest["kind"], rest["totals"]["rides"]) == ("azul-2026-0002", "COMPLEMENTARY", 1)
    assert close(city).claims == first.claims
    assert close_rest(city, MAY) is None
    assert billed_once(city)


def test_late_rides_take_the_places_that_remain(city: ClaimsCity) -> None:
    holder = city.student()
    for day in range(1, 25):
        city.tap(at(f"2026-03-{day:02} 07:00"), holder=holder)
        city.tap(at(f"2026-03-{day:02} 17:00"), holder=holder)
    city.store()
    close(city)
    for day in range(1, 5):
        city.tap(at(f"2026-03-{day:02} 12:00"), holder=holder, offline=True, received=at("2026-04-04 06:00"))
    city.store()

    rest = azul_of(close_rest(city, LATER))

    assert (rest["totals"]["rides"], excluded(rest)) == (2, {"OVER_CAP": 2})


def test_the_next_months_places_are_untouched_by_late_rides(city: ClaimsCity) -> None:
    holder = city.student(units=60)
    for day in range(1, 26):
        city.tap(at(f"2026-04-{day:02} 07:00"), holder=holder)
        city.tap(at(f"2026-04-{day:02} 17:00"), holder=holder)
    city.tap(at("2026-03-02 07:00"), holder=holder)
    city.store()
    close(city)
    city.tap(at("2026-03-30 07:00"), holder=holder, offline=True, received=at("2026-04-04 06:00"))
    city.store()
    close_rest(city, LATER)

    april = azul_of(close(city, APRIL, MAY))

    assert (april["totals"]["rides"], excluded(april)) == (50, {})


def test_a_late_ride_near_a_frozen_one_is_passback_on_both_sides(city: ClaimsCity) -> None:
    teacher = city.holder(("TEACHER", "2020-02-01", None), birth=date(1980, 3, 1))
    free = {"category": "TEACHER", "ride_class": "FREE", "holder": teacher}
    city.tap(at("2026-03-10 07:00"), **free)
    city.store()
    close(city)
    for minute in ("06:54", "06:56", "07:04", "07:05"):
        city.tap(at(f"2026-03-10 {minute}"), offline=True, received=at("2026-04-04 06:00"), **free)
    city.store()

    rest = azul_of(close_rest(city, LATER))

    assert (rest["totals"]["rides"], excluded(rest)) == (2, {"PASSBACK": 2})


@pytest.mark.parametrize("last_is_late", [False, True])
def test_a_ride_by_purse_goes_on_once_whether_the_second_to_name_it_comes_before_or_after_the_closing(
    city: ClaimsCity, last_is_late: bool
) -> None:
    holder = city.student()
    city.sale(1, "PREPAID", "URBAN", 10, 450, 450)
    prepaid = {"category": "PREPAID", "ride_class": "PURSE", "purse": "PREPAID", "holder": holder}
    broken = at("2026-03-10 07:10")
    city.register("breakdowns", vehicle="1201", from_at=broken, declared_by=1, recorded_at=broken)
    first = city.tap(at("2026-03-10 07:00"), **prepaid)
    city.tap(at("2026-03-10 07:20"), vehicle="1202", continues=first, **prepaid)
    if last_is_late:
        city.store()
        close(city)
    late = {"offline": True, "received": at("2026-04-04 06:00")} if last_is_late else {}
    city.tap(at("2026-03-10 07:40"), vehicle="1202", continues=first, holder=holder, **late)
    city.store()

    document = azul_of(close_rest(city, LATER) if last_is_late else close(city))

    assert [(row["category"], row["city_cents"]) for row in document["lines"]] == [("STUDENT_50", 225)]


def test_a_late_ride_leaves_the_last_two_as_they_were(city: ClaimsCity) -> None:
    holder = city.student()
    for day in (2, 3, 4):
        city.tap(at(f"2026-03-0{day} 07:00"), holder=holder)
    city.store()
    close(city)
    city.tap(at("2026-03-01 07:00"), holder=holder, offline=True, received=at("2026-04-04 06:00"))
    city.store()
    close_rest(city, LATER)

    with reading(city.engine) as session:
        rows = session.scalars(select(EndStateRow.usage).order_by(EndStateRow.closing_id)).all()

    last, before = unpack_usage(rows[-1]).last, unpack_usage(rows[-1]).before
    assert last is not None
    assert before is not None
    assert (len(rows), last.occurred_at, before.occurred_at) == (
        2,
        at("2026-03-04 07:00"),
        at("2026-03-03 07:00"),
    )


def test_a_ride_that_waited_is_billed_once_with_the_pass_that_it_took(city: ClaimsCity) -> None:
    holder = city.student(units=1, face=365)
    city.sale(1, "STUDENT", "URBAN", 5, 450, 225)
    waiting = city.tap(at("2026-03-02 07:00"), holder=holder, released=None)
    city.tap(at("2026-03-03 07:00"), holder=holder)
    city.store()
    march = azul_of(close(city))
    release(city, waiting, holder, "2026-04-05 06:00")
    city.store()

    rest = azul_of(close_rest(city, LATER))

    assert excluded(march) == {"NO_RELEASE": 1}
    assert [(row["fare_cents"], row["quantity"]) for row in march["lines"]] == [(450, 1)]
    assert [(row["fare_cents"], row["city_cents"], row["quantity"]) for row in rest["lines"]] == [
        (365, 183, 1)
    ]
    assert billed_once(city)


def test_a_line_that_the_register_settles_is_billed_in_a_complementary_claim(city: ClaimsCity) -> None:
    city.tap(at("2026-03-02 07:00"), holder=city.student(), line="202")
    city.store()
    close(city)
    city.register(
        "line_operators",
        line_id=3,
        operator_id=1,
        from_day=date(2026, 3, 1),
        runs=True,
        recorded_at=LATER,
    )

    assert azul_of(close_rest(city, LATER))["totals"]["total_cents"] == 225


def test_nothing_new_gives_no_complementary_claim_and_no_rows(city: ClaimsCity) -> None:
    city.tap(at("2026-03-02 07:00"), holder=city.student(), released=None)
    city.store()
    close(city)

    assert close_rest(city, LATER) is None
    with reading(city.engine) as session:
        assert session.scalar(select(func.count()).select_from(RatedRow)) == 1


def test_a_complementary_claim_needs_a_closed_month(city: ClaimsCity) -> None:
    with pytest.raises(NotFound, match="ainda não foi fechada"):
        close_rest(city, LATER)


def test_an_annulment_after_the_closing_is_reversed_in_the_next_claim(city: ClaimsCity) -> None:
    holder = city.student(units=2)
    first = city.tap(at("2026-03-02 07:00"), holder=holder)
    city.tap(at("2026-03-03 07:00"), holder=holder)
    city.tap(at("2026-04-06 07:00"), holder=holder)
    city.store()
    march = close(city)
    annul(city, first, holder, "2026-03-02 07:00:30", "2026-04-05 06:00")
    city.store()

    april = azul_of(close(city, APRIL, MAY))

    # The pass of the ride that never was is free again, and pays the ride of April.
    assert april["totals"]["rides"] == 1
    assert [(row["claim"], row["month"], row["quantity"], row["cents"]) for row in april["adjustments"]] == [
        (march.claims[0].number, MARCH, 1, -225)
    ]
    assert april["totals"]["total_cents"] == 0
    assert april["totals"]["total_words"] == "zero reais"
    assert close(city).claims == march.claims


@pytest.mark.parametrize("known", [True, False], ids=["flagged", "recorded later"])
def test_an_annulment_that_a_revoked_device_uploads_reverses_nothing(city: ClaimsCity, known: bool) -> None:
    """A thief who has a device's key could else take back every ride that it ever billed."""
    holder = city.student()
    boarding = city.tap(at("2026-03-02 07:00"), holder=holder)
    city.tap(at("2026-04-03 07:00"), holder=holder)
    city.store()
    close(city)
    flags = int(Flag.REVOKED_DEVICE) if known else 0
    annul(city, boarding, holder, "2026-03-02 07:00:30", "2026-04-05 06:00", flags=flags)
    city.store()
    city.register(
        "device_revocations",
        device_id="d-azul",
        epoch=1,
        revoked_at=at("2026-04-04 20:00"),
        reason="furto",
        recorded_at=at("2026-04-06 09:00"),
        revision=2,
    )

    april = azul_of(close(city, APRIL, MAY))

    assert (april["totals"]["rides"], april["adjustments"]) == (1, [])


def test_a_reversal_gives_the_place_in_the_months_cap_back_to_late_rides(city: ClaimsCity) -> None:
    holder = city.student()
    for day in range(1, 26):
        first = city.tap(at(f"2026-03-{day:02} 07:00"), holder=holder)
        city.tap(at(f"2026-03-{day:02} 17:00"), holder=holder)
    city.store()
    close(city)
    annul(city, first, holder, "2026-03-25 07:00:10", "2026-04-05 06:00")
    for day in (28, 29):
        city.tap(at(f"2026-03-{day} 07:00"), holder=holder, offline=True, received=at("2026-04-04 06:00"))
    city.store()

    rest = azul_of(close_rest(city, LATER))

    assert rest["totals"]["adjustments_cents"] == -225
    assert (rest["totals"]["rides"], excluded(rest)) == (1, {"OVER_CAP": 1})


def test_a_reversal_is_made_once(city: ClaimsCity) -> None:
    holder = city.student()
    first = city.tap(at("2026-03-02 07:00"), holder=holder)
    for month in ("04", "05"):
        city.tap(at(f"2026-{month}-06 07:00"), holder=holder)
    city.store()
    close(city)
    annul(city, first, holder, "2026-03-02 07:00:30", "2026-04-05 06:00")
    city.store()

    april = azul_of(close(city, APRIL, MAY))
    may = azul_of(close(city, Month("2026-05"), at("2026-06-02 09:00")))

    assert [len(document["adjustments"]) for document in (april, may)] == [1, 0]


def test_an_undated_ride_is_listed_once_in_the_month_of_receipt(city: ClaimsCity) -> None:
    city.tap(at("2026-03-02 07:00"), holder=city.student())
    city.tap(
        at("2031-01-01 07:00"),
        offline=True,
        received=at("2026-03-05 08:00"),
        flags=16,
        holder=None,
        medium="card",
    )
    city.store()

    march = azul_of(close(city))

    assert excluded(march) == {"CLOCK_INVALID": 1}
    assert close_rest(city, LATER) is None


def test_a_month_whose_rides_came_after_a_later_month_was_closed_can_still_be_closed(
    city: ClaimsCity,
) -> None:
    holder = city.student(units=2)
    city.tap(at("2026-03-02 07:00"), holder=holder)
    city.store()
    close(city)
    city.tap(at("2026-02-27 07:00"), holder=holder, offline=True, received=at("2026-04-04 06:00"))
    city.tap(at("2026-02-27 09:00"), holder=holder, offline=True, received=at("2026-04-04 06:00"))
    city.store()

    february = azul_of(close(city, Month("2026-02"), LATER))

    assert (february["totals"]["rides"], excluded(february)) == (1, {"NO_PASSES": 1})


def test_the_documents_of_a_closing_hold_no_pseudonym_of_the_hot_state(city: ClaimsCity) -> None:
    holder = city.student()
    city.tap(at("2026-03-02 07:00"), holder=holder)
    city.store()

    closed = close(city, when=CLOSING)

    assert all(holder not in claim.document for claim in closed.claims)

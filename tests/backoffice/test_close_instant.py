"""The instant of closing is an argument: whatever is recorded or received after it changes nothing."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest

from backoffice.application.close_month import ClosedMonth
from backoffice.application.errors import Conflict
from tests.backoffice.claims_city import CLOSING, HASH, LONG_AGO, ClaimsCity, at, make_claims_city
from tests.backoffice.claims_month import close, documents
from validator.domain.service_time import Month

RIDE = "2026-03-10 07:00"
AFTER = CLOSING + timedelta(seconds=1)


@pytest.fixture
def city(sqlite_url: str) -> Iterator[ClaimsCity]:
    made = make_claims_city(sqlite_url)
    yield made
    made.engine.dispose()


def _transfer(city: ClaimsCity, recorded: Any) -> None:
    day = {"from_day": date(2026, 3, 1), "recorded_at": recorded}
    city.register("vehicle_operators", vehicle="1201", operator_id=2, **day)
    city.register("line_operators", line_id=1, operator_id=2, runs=True, **day)


def _end_operator(city: ClaimsCity, recorded: Any) -> None:
    ending = {"operator_id": 1, "ended_on": date(2026, 3, 2), "act_id": 1, "recorded_at": recorded}
    city.register("operator_endings", **ending)


def _revoke(city: ClaimsCity, recorded: Any) -> None:
    revoked = {"revoked_at": at("2026-03-02 00:00"), "reason": "furto", "recorded_at": recorded}
    city.register("device_revocations", device_id="d-azul", epoch=1, revision=2, **revoked)


def _break_down(city: ClaimsCity, recorded: Any) -> None:
    broken = {"from_at": at("2026-03-10 07:10"), "declared_by": 1, "recorded_at": recorded}
    city.register("breakdowns", vehicle="1201", **broken)


def _rides_of(city: ClaimsCity, change: Any, recorded: Any) -> dict[str, int]:
    """Rides by operator in claims of a city in which something changed."""
    teacher = city.holder(("TEACHER", "2020-02-01", None), birth=date(1980, 3, 1))
    free = {"category": "TEACHER", "ride_class": "FREE", "holder": teacher}
    first = city.tap(at(RIDE), **free)
    city.tap(at("2026-03-10 07:30"), vehicle="1202", continues=first, **free)
    change(city, recorded)
    city.store()
    return {operator: claim["totals"]["rides"] for operator, claim in documents(close(city)).items()}


@pytest.mark.parametrize("change", [_transfer, _end_operator, _revoke, _break_down])
def test_what_is_recorded_after_the_closing_does_not_change_it(city: ClaimsCity, change: Any) -> None:
    assert _rides_of(city, change, AFTER) == {"azul": 2}


@pytest.mark.parametrize("change", [_transfer, _end_operator, _revoke, _break_down])
def test_the_same_recorded_before_it_does(city: ClaimsCity, change: Any) -> None:
    """So that the test above can fail."""
    assert _rides_of(city, change, LONG_AGO) != {"azul": 2}


def test_a_boarding_that_comes_after_the_closing_is_continued_by_none_in_it(city: ClaimsCity) -> None:
    teacher = city.holder(("TEACHER", "2020-02-01", None), birth=date(1980, 3, 1))
    free = {"category": "TEACHER", "ride_class": "FREE", "holder": teacher}
    first = city.tap(at(RIDE), received=AFTER, offline=True, **free)
    city.tap(at("2026-03-10 07:30"), vehicle="1202", continues=first, **free)
    _break_down(city, LONG_AGO)
    city.store()

    assert documents(close(city))["azul"]["totals"]["rides"] == 1


def _annul(city: ClaimsCity, boarding: str) -> None:
    city.add(
        "annulments",
        device="d-verde",
        epoch=1,
        seq=900,
        boarding_id=boarding,
        digest=HASH,
        received_at=AFTER,
        batch=True,
        occurred_at=at(RIDE) + timedelta(seconds=5),
        flags=0,
        shard=0,
        generation=1,
        commit_no=1,
    )


def _april(city: ClaimsCity) -> ClosedMonth:
    return close(city, Month("2026-04"), at("2026-05-03 12:00"))


def test_a_reversal_finds_its_claim_though_the_operator_had_no_ride_since(city: ClaimsCity) -> None:
    verde = {"device": "d-verde", "line": "202", "vehicle": "2201"}
    boarding = city.tap(at(RIDE), holder=city.student(), **verde)
    city.store()
    close(city)
    _annul(city, boarding)
    city.cash(at("2026-04-10 07:00"))
    city.store()

    found = documents(_april(city))

    assert found["verde"]["totals"]["total_cents"] == -225
    assert found["verde"]["adjustments"][0]["cents"] == -225
    assert found["verde"]["totals"]["total_words"].startswith("menos ")


def test_a_closing_that_fails_uses_up_no_number(city: ClaimsCity) -> None:
    """The first attempt stops at a ride without a fare, after others were rated; the number is the next attempt's."""
    city.tap(at("2026-03-09 07:00"), holder=city.student())
    elder = {"medium": "document", "keyed": "ELDER", "category": "ELDER", "ride_class": "FREE"}
    city.tap(at("2018-06-16 07:00"), line="901", vehicle="1202", **elder)
    city.store()
    with pytest.raises(Conflict, match="falta a tarifa da linha 901 em 16/06/2018"):
        close(city, Month("2018-06"))
    city.register(
        "fares",
        id=3,
        network="INTERIOR",
        first_day=date(2018, 1, 1),
        cents=600,
        act_id=1,
        recorded_at=LONG_AGO,
    )

    first, second = close(city, Month("2018-06")), close(city)

    numbers = [claim.number for closed in (first, second) for claim in closed.claims]
    assert [number.rsplit("/", 1)[0][-1] for number in numbers] == ["1", "2"], numbers

"""What truly happened counts, in whatever order it is told: found by the simulator (`tests/simulation`)."""

from datetime import date, timedelta
from uuid import UUID

import pytest

from tests.validator.conftest import Service, running_service
from tests.validator.seeded_city import NOW, SeededCity, iso, student
from validator.domain.fares import Fare
from validator.domain.money import Cents
from validator.domain.usage import Usage
from validator.domain.vocabulary import Network
from validator.records.city import fare_record
from validator.records.codes import CardState, EntryKind, Flag

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"
ADDRESS = f"/v1/boardings/{UUID(int=1)}/annul"


@pytest.mark.parametrize(("released", "spent"), [(True, 1), (False, 0)])
async def test_a_release_that_overtook_its_tap_waits_for_it(
    city: SeededCity, service: Service, released: bool, spent: int
):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    device.release(1, released=released, **{"class": "HALF"})
    later = device.batch(device.entries[1:], first_seq=2)

    overtaken = (await service.batch(device, later)).json()
    await service.batch(device, device.batch(device.entries[:1]))
    after = (await service.batch(device, later)).json()

    assert overtaken["items"] == [{"device_seq": 2, "recorded": False, "retry": True}]
    assert overtaken["head_recorded"] is False
    assert after["items"][0]["recorded"] is True
    assert city.usage().spent("STUDENT") == spent
    (entry,) = [entry for entry in city.journal() if entry.kind == EntryKind.RELEASE]
    assert not entry.flags & Flag.SEEN_GONE


async def test_an_annulment_that_overtook_its_tap_waits_for_it(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    raw = device.annul(1, occurred_at=iso(NOW + timedelta(seconds=9)))

    overtaken = await service.post(device, ADDRESS, raw)
    await service.batch(device)

    assert (overtaken.status_code, overtaken.json()["type"]) == (503, "urn:catraca:problem:boarding-pending")
    assert city.usage().spent("STUDENT") == 0


@pytest.mark.parametrize("annulled_first", [True, False])
async def test_who_was_let_through_over_a_refusal_and_did_not_turn_has_not_ridden(
    city: SeededCity, service: Service, annulled_first: bool
):
    device, card = city.device(), city.student(passes=0)
    await service.board(device, device.tap(1, card.medium))
    device.release(1, **{"class": "HALF", "purse": "STUDENT"})
    raw = device.annul(1, occurred_at=iso(NOW + timedelta(seconds=9)))

    if annulled_first:
        assert (await service.post(device, ADDRESS, raw)).json()["outcome"] == "annulled"
    await service.batch(device)

    assert (city.usage().spent("STUDENT"), city.usage().half_fare, city.usage().last) == (0, {}, None)
    annulments = [entry for entry in city.journal() if entry.kind == EntryKind.ANNULMENT]
    assert {entry.flags for entry in annulments} == {0}


@pytest.mark.parametrize(
    "release",
    [
        {"class": "HALF", "purse": "STUDENT"},
        {"class": "PURSE", "purse": "PREPAID/INTERIOR"},
        {"class": "FREE"},
    ],
)
@pytest.mark.parametrize("state", [CardState.LIVE, CardState.BLOCKED])
async def test_a_day_without_fare_consumes_nothing_whatever_the_device_released_on(
    city: SeededCity, redis_url: str, release: dict[str, object], state: CardState
):
    city.publish(fare_cents=0)
    device, card = city.device(), city.student()
    city.holder(HOLDER, student(), cards=[card.record(state)])
    device.tap(1, card.medium)
    device.release(1, mode="offline", **release)

    async with running_service(redis_url) as service:
        await service.batch(device)

    assert EntryKind.RELEASE in {entry.kind for entry in city.journal()}
    assert city.usage() == Usage()


async def test_a_line_without_fare_consumes_nothing_whatever_the_device_released_on(
    city: SeededCity, redis_url: str
):
    priced = [
        Fare(Network.URBAN, date(1991, 1, 1), None, Cents(450), act="Decreto 1"),
        Fare(Network.INTERIOR, date(1991, 1, 1), None, Cents(750), act="Decreto 1"),
        Fare(Network.URBAN, date(1991, 1, 1), None, Cents(0), line="102", act="Decreto 2"),
    ]
    city.publish(fares=tuple(fare_record(fare) for fare in priced))
    device, card = city.device(), city.student()
    device.tap(1, card.medium, line="102")
    device.release(1, mode="offline", **{"class": "PURSE", "purse": "PREPAID"})

    async with running_service(redis_url) as service:
        await service.batch(device)

    assert EntryKind.RELEASE in {entry.kind for entry in city.journal()}
    assert city.usage() == Usage()

"""Annulments: the turnstile did not turn."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import NOW, SeededCity, iso
from validator.domain.usage import Usage
from validator.records.codes import EntryKind, Flag

pytestmark = pytest.mark.hot_state

ADDRESS = f"/v1/boardings/{UUID(int=1)}/annul"


@pytest.mark.parametrize(
    ("after_s", "outcome", "spent"),
    [(0, "annulled", 0), (60, "annulled", 0), (61, "refused", 1), (-1, "refused", 1)],
)
async def test_within_sixty_seconds_of_the_devices_own_clock(
    city: SeededCity, service: Service, after_s: int, outcome: str, spent: int
):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))

    answer = await service.post(
        device, ADDRESS, device.annul(1, occurred_at=iso(NOW + timedelta(seconds=after_s)))
    )

    assert (answer.status_code, answer.json()["outcome"]) == (200, outcome)
    assert city.usage().spent("STUDENT") == spent
    entry = next(e for e in city.journal() if e.kind == EntryKind.ANNULMENT)
    assert entry.flags == (0 if outcome == "annulled" else Flag.ANNUL_LATE)


async def test_it_restores_the_last_boarding_so_that_the_rider_may_tap_again(
    city: SeededCity, service: Service
):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    await service.post(device, ADDRESS, device.annul(1))

    again = (await service.board(device, device.tap(2, card.medium))).json()

    assert (again["outcome"], again["remaining"]) == ("accepted", {"month_boardings": 49, "passes": 9})


async def test_a_repeated_annulment_is_no_late_one_and_gives_back_once(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    raw = device.annul(1)

    answers = [(await service.post(device, ADDRESS, raw)).json()["outcome"] for _ in range(3)]

    assert answers == ["annulled"] * 3
    assert city.usage().returned == {"STUDENT": 1}


async def test_the_answer_of_an_annulled_boarding_is_still_its_answer(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)
    first = (await service.board(device, raw)).json()
    await service.post(device, ADDRESS, device.annul(1))

    assert (await service.board(device, raw)).json() == first | {"replayed": True}


async def test_another_device_may_not(city: SeededCity, service: Service):
    device, other, card = city.device(), city.device("val-2"), city.student()
    await service.board(device, device.tap(1, card.medium))

    answer = await service.post(other, ADDRESS, other.annul(1))

    assert answer.json()["outcome"] == "refused"
    assert city.usage().used == {"STUDENT": 1}


async def test_a_boarding_nobody_knows_is_a_row_and_a_refusal(city: SeededCity, service: Service):
    device = city.device()

    answer = await service.post(device, ADDRESS, device.annul(1))

    assert answer.json()["outcome"] == "refused"
    (entry,) = city.journal()
    assert entry.flags == Flag.SEEN_GONE


async def test_a_rider_who_was_refused_and_held_cannot_be_annulled(city: SeededCity, service: Service):
    device, card = city.device(), city.student(passes=0)
    device.tap(1, card.medium)
    device.release(1, released=False)
    await service.batch(device)

    answer = await service.post(device, ADDRESS, device.annul(1))

    assert answer.json()["outcome"] == "refused"
    assert city.usage() == Usage()


async def test_a_durable_annulment_is_recorded_already(city: SeededCity, service: Service):
    device = city.device()
    raw = device.annul(1)
    city.durable(device, 1)

    answer = await service.post(device, ADDRESS, raw)

    assert (answer.json()["outcome"], answer.json()["durable_seq"]) == ("recorded", 1)
    assert city.journal() == []


@pytest.mark.parametrize(
    ("address", "changes", "field"),
    [
        ("/v1/boardings/1/annul", {}, "boarding_id"),
        (f"/v1/boardings/{UUID(int=2)}/annul", {}, "annuls"),
        (ADDRESS, {"occurred_at": 5}, "occurred_at"),
        (ADDRESS, {"device_seq": 0}, "device_seq"),
        (ADDRESS, {"epoch": 9}, "epoch"),
        (ADDRESS, {"reason": "x"}, "$"),
    ],
)
async def test_an_annulment_that_breaks_the_form_is_422(
    city: SeededCity, service: Service, address: str, changes: dict[str, object], field: str
):
    device = city.device()

    answer = await service.post(device, address, device.annul(1, **changes))

    assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert city.journal() == []


async def test_in_a_batch_too(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    device.annul(1, occurred_at=iso(NOW + timedelta(seconds=5)))

    items = (await service.batch(device)).json()["items"]

    assert [item["verdict"] for item in items] == ["excluded", "excluded"]
    assert city.usage().spent("STUDENT") == 0

"""The single route: one tap, one answer."""

from uuid import UUID

import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import SeededCity

pytestmark = pytest.mark.hot_state


async def test_a_student_rides_at_half_fare(city: SeededCity, service: Service):
    device, card = city.device(), city.student(passes=10)

    answer = await service.board(device, device.tap(1, card.medium))

    assert answer.status_code == 200
    assert answer.json() == {
        "boarding_id": str(UUID(int=1)),
        "outcome": "accepted",
        "reason": {"code": 0, "name": "OK", "final": True},
        "class": "HALF",
        "fare_cents": 450,
        "rider_cents": 225,
        "change_cents": 0,
        "turnstile": "TURN",
        "remaining": {"month_boardings": 49, "passes": 9},
        "rules": answer.json()["rules"],
        "display": "MEIA 49 RESTAM",
        "message": "Embarque liberado.",
        "replayed": False,
        "durable_seq": 0,
        "missing": [],
    }
    (entry,) = city.journal()
    assert (entry.category, entry.city_cents, entry.seq) == (8, 225, 1)
    assert city.usage().used == {"STUDENT": 1}


async def test_a_batch_records_taps_and_releases_in_order(city: SeededCity, service: Service):
    device, card = city.device(), city.student(passes=10)
    device.tap(1, card.medium)
    device.release(1, **{"class": "HALF"})
    device.tap(2, {"kind": "cash", "tendered_cents": 1000})
    device.release(2, released=False)

    answer = await service.batch(device)

    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert [item["verdict"] for item in body["items"]] == ["billable", "billable", "excluded", "excluded"]
    assert body["head_recorded"] is True
    assert sorted(entry.kind for entry in city.journal()) == [0, 0, 2, 2, 7]


async def test_an_annulment_gives_back_pass_and_place(city: SeededCity, service: Service):
    device, card = city.device(), city.student(passes=10)
    await service.board(device, device.tap(1, card.medium))

    answer = await service.post(device, f"/v1/boardings/{UUID(int=1)}/annul", device.annul(1))

    assert answer.status_code == 200, answer.text
    assert answer.json()["outcome"] == "annulled"
    usage = city.usage()
    assert (dict(usage.half_fare), usage.returned) == ({}, {"STUDENT": 1})

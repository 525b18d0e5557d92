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

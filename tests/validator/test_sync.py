"""The sync routes: a signed offer and its chunks, for known devices only."""

import pytest

from tests.onboard.fleet import build
from tests.validator.conftest import Service
from tests.validator.seeded_city import SeededCity, SeededDevice
from validator.records.bundle import read_offer
from validator.records.codes import DeviceState

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"


def headers(device: SeededDevice) -> dict[str, str]:
    return {"Authorization": device.authorization}


async def test_a_device_is_offered_the_steps_from_its_version(
    city: SeededCity, service: Service, redis_url: str
):
    device = city.device()
    city.student(HOLDER)
    built = build(city, redis_url, [HOLDER])

    answer = await service.client.get("/v1/sync?have=0", headers=headers(device))

    assert answer.status_code == 200, answer.text
    offer = read_offer(answer.json()["offer"])
    assert (offer.version, offer.have, len(offer.steps)) == (built.version, 0, 1)
    chunk = await service.client.get(f"/v1/sync/chunks/{offer.steps[0].chunks[0]}", headers=headers(device))
    assert chunk.status_code == 200
    assert chunk.headers["content-type"] == "application/octet-stream"
    assert len(chunk.content) == built.full_bytes


async def test_a_version_that_no_steps_lead_from_is_offered_the_whole(
    city: SeededCity, service: Service, redis_url: str
):
    device = city.device()
    build(city, redis_url, [])

    answer = await service.client.get("/v1/sync?have=12345", headers=headers(device))

    assert read_offer(answer.json()["offer"]).have == 0


async def test_before_the_first_bundle_the_service_says_so(city: SeededCity, service: Service):
    answer = await service.client.get("/v1/sync", headers=headers(city.device()))

    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:catraca:problem:bundle-missing"


async def test_a_stranger_and_a_revoked_device_learn_nothing(
    city: SeededCity, service: Service, redis_url: str
):
    device = city.device()
    city.student(HOLDER)
    build(city, redis_url, [HOLDER])
    offer = read_offer((await service.client.get("/v1/sync", headers=headers(device))).json()["offer"])
    city.device(state=int(DeviceState.REVOKED))

    for path in ("/v1/sync", f"/v1/sync/chunks/{offer.steps[0].chunks[0]}"):
        assert (await service.client.get(path)).status_code == 401
        assert (await service.client.get(path, headers=headers(device))).status_code == 401


@pytest.mark.parametrize("have", ["-1", "1e3", "x", "9" * 16, "٣"])
async def test_a_version_that_is_no_number_is_a_problem(city: SeededCity, service: Service, have: str):
    answer = await service.client.get("/v1/sync", params={"have": have}, headers=headers(city.device()))

    assert answer.status_code == 422
    assert answer.json()["field"] == "have"


async def test_a_chunk_that_nobody_names_is_not_found(city: SeededCity, service: Service):
    answer = await service.client.get(f"/v1/sync/chunks/{'0' * 64}", headers=headers(city.device()))

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"

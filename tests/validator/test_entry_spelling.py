"""One entry, however it is spelt, has one fate: posted by itself, in a batch, at the end of the numbers, decomposed."""

import json
from uuid import UUID

import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import NOW, SeededCity, iso
from validator.records.codes import EntryKind
from validator.records.device_messages import MAX_SEQ

pytestmark = pytest.mark.hot_state


@pytest.mark.parametrize("name", ["medium", "occurred_at", "kind"])
async def test_a_name_with_an_escape_is_the_same_name_in_a_batch_too(
    city: SeededCity, service: Service, name: str
):
    device, card = city.device(), city.student()
    raw = json.loads(device.tap(1, card.medium).decode())
    spelt = json.dumps(raw).replace(f'"{name}"', f'"\\u{ord(name[0]):04x}{name[1:]}"')
    device.entries.clear()
    device.seq = 0
    device.chain(spelt.encode())

    alone = await service.board(device, spelt.encode())
    (item,) = (await service.batch(device, device.batch())).json()["items"]

    assert alone.json()["outcome"] == "accepted"
    assert item["verdict"] == "billable"
    assert city.usage().used == {"STUDENT": 1}


async def test_a_release_with_an_escape_is_a_release(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    released = {"epoch": 1, "device_seq": 2, "boarding_id": str(UUID(int=1)), "released": True}
    raw = json.dumps(released | {"mode": "online"}).replace('"released"', '"rel\\u0065ased"')
    device.seq += 1
    device.chain(raw.encode())

    await service.batch(device, device.batch())

    assert EntryKind.RELEASE in {entry.kind for entry in city.journal()}
    assert EntryKind.REJECTED not in {entry.kind for entry in city.journal()}


@pytest.mark.parametrize("document", ["Certidão", "Certida\u0303o", "RG", "CNH-e", "Carteira/OAB"])
async def test_an_elders_document_is_accepted_composed_or_decomposed(
    city: SeededCity, service: Service, document: str
):
    device = city.device()
    medium = {"kind": "document", "category": "ELDER", "document": document}

    answer = await service.board(device, device.tap(1, medium))

    assert answer.json()["class"] == "FREE"


async def test_a_batch_beyond_the_last_number_is_refused_whole(city: SeededCity, service: Service):
    """Otherwise an entry would be called recorded that no row can hold."""
    device, card = city.device(), city.student()
    tap = json.loads(device.tap(1, card.medium)) | {"device_seq": MAX_SEQ}

    beyond = await service.batch(device, device.batch([json.dumps(tap), "{}"], first_seq=MAX_SEQ))
    nothing = city.journal()
    last = await service.batch(device, device.batch([json.dumps(tap)], first_seq=MAX_SEQ))

    assert (beyond.status_code, beyond.json()["field"], nothing) == (422, "first_seq", [])
    assert last.json()["items"][0]["verdict"] == "billable"


@pytest.mark.parametrize(
    ("occurred_at", "reason"),
    [
        ("1970-01-01T00:00:00+14:00", "CLOCK_INVALID"),
        ("1970-01-01T00:00:00-00:00", "CLOCK_INVALID"),
        ("2100-12-31T23:59:59-14:00", "CLOCK_INVALID"),
        ("2016-12-31T20:59:59.999999999-03:00", "CLOCK_INVALID"),
        (iso(NOW).replace("+00:00", "Z"), "OK"),
        (iso(NOW).replace("+00:00", "-00:00"), "OK"),
        ("2026-03-02T23:15:02.000+13:00", "OK"),
        ("2026-03-01T20:15:02-14:00", "OK"),
    ],
)
async def test_an_instant_at_either_end_of_what_may_be_written(
    city: SeededCity, service: Service, occurred_at: str, reason: str
):
    device, card = city.device(), city.student()
    device.tap(1, card.medium, occurred_at=occurred_at)

    (item,) = (await service.batch(device, device.batch())).json()["items"]

    assert item["reason"]["name"] == reason
    assert city.usage().half_fare == ({"2026-03": 1} if reason == "OK" else {})

"""How many requests are taken on at once, and whom a slow sender holds up: nobody."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.validator.conftest import running_service
from tests.validator.seeded_city import SeededCity, iso, prepaid
from validator.api.admission import Admission
from validator.application.errors import Overloaded

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"


async def test_more_taps_than_are_taken_on_are_503_at_once(city: SeededCity, redis_url: str):
    device, card = city.device(), city.holder(HOLDER, prepaid(passes=100))
    async with running_service(redis_url, max_taps_in_flight=5) as service:
        await service.board(device, device.tap(1, card.medium))

        answers = await asyncio.gather(
            *[service.board(device, device.tap(n, card.medium)) for n in range(2, 42)]
        )

    busy = [answer for answer in answers if answer.status_code == 503]
    assert {answer.json()["type"] for answer in busy} == {"urn:catraca:problem:overloaded"}
    assert 0 < len(busy) < 40
    assert city.usage().used == {"PREPAID": 41 - len(busy)}


async def test_slow_bodies_take_no_place_from_others(city: SeededCity, redis_url: str):
    """A bus on a bad line sends for seconds; the others must not hear that the service is at its limit."""
    device, card = city.device(), city.holder(HOLDER, prepaid(passes=10))
    taps = [device.tap(n, card.medium) for n in range(1, 6)]
    go_on = asyncio.Event()

    async def trickling(raw: bytes) -> AsyncIterator[bytes]:
        yield raw[:10]
        await go_on.wait()
        yield raw[10:]

    async with running_service(redis_url, max_taps_in_flight=1, max_batches_in_flight=1) as service:
        headers = {
            "Authorization": device.authorization,
            "Content-Type": "application/json",
            "Catraca-Sent-At": iso(service.clock.now),
        }
        slow = [
            asyncio.create_task(service.client.post(path, content=trickling(raw), headers=headers))
            for path, raw in (
                ("/v1/boardings", taps[0]),
                ("/v1/boardings/batch", device.batch([taps[1].decode()], 2)),
                ("/v1/boardings/batch", device.batch([taps[2].decode()], 3)),
            )
        ]
        await asyncio.sleep(0.05)

        tap = await service.board(device, taps[3])
        batch = await service.batch(device, device.batch([taps[4].decode()], 5))
        go_on.set()
        late = [await task for task in slow]

    assert (tap.status_code, batch.status_code, late[0].status_code) == (200, 200, 200)
    assert 200 in [answer.status_code for answer in late[1:]]


async def test_the_body_of_a_batch_is_read_from_a_known_device_only(city: SeededCity, redis_url: str):
    read: list[bytes] = []

    async def watched() -> AsyncIterator[bytes]:
        read.append(b"{")
        yield b"{"

    async with running_service(redis_url) as service:
        answer = await service.client.post(
            "/v1/boardings/batch",
            content=watched(),
            headers={
                "Authorization": "Bearer nobody.secret",
                "Content-Type": "application/json",
                "Catraca-Sent-At": iso(service.clock.now),
            },
        )

    assert (answer.status_code, read) == (401, [])


async def test_a_device_that_floods_leaves_places_to_others(city: SeededCity, redis_url: str):
    """Once half of the places are taken, no device holds more than an eighth of them."""
    flood, quiet = city.device(), city.device("val-2")
    card = city.holder(HOLDER, prepaid(passes=200))
    async with running_service(redis_url, max_taps_in_flight=16) as service:
        await service.board(flood, flood.tap(1, card.medium))
        await service.board(quiet, quiet.tap(101, card.medium))

        flooded, heard = await asyncio.gather(
            asyncio.gather(*[service.board(flood, flood.tap(n, card.medium)) for n in range(2, 42)]),
            asyncio.gather(*[service.board(quiet, quiet.tap(n, card.medium)) for n in range(102, 104)]),
        )

    assert [answer.status_code for answer in heard] == [200, 200]
    assert [answer.status_code for answer in flooded].count(200) == 8


def test_nobody_is_taken_on_while_one_waits_for_too_long():
    admission = Admission(100, 0.15)
    admission.enter(b"a", 10.0)
    admission.enter(b"b", 10.1)

    admission.check(b"c", 10.1)
    with pytest.raises(Overloaded):
        admission.check(b"c", 10.2)
    admission.leave(b"a")
    admission.check(b"c", 10.2)

    assert admission.in_flight == 1


def test_a_device_that_holds_its_share_is_refused_before_its_tap_is_read():
    admission = Admission(16, 0.15)
    for sender in (b"a", b"a", b"b", b"c", b"d", b"e", b"f"):
        admission.enter(sender, 10.0)
    admission.check(b"a", 10.0)  # less than half of the places are taken
    admission.enter(b"g", 10.0)

    with pytest.raises(Overloaded):
        admission.check(b"a", 10.0)
    admission.check(b"b", 10.0)

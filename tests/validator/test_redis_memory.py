"""A Redis whose memory is short: full, or told at run time to drop keys."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from backoffice.adapters.embedded_redis import EmbeddedRedis
from tests.validator.conftest import Service, running_service
from tests.validator.seeded_city import SeededCity, prepaid
from tests.validator.test_hot_state import problem, until_ready
from validator.adapters.redis_lane import Limits
from validator.adapters.redis_state import RedisState

pytestmark = pytest.mark.hot_state


@pytest.fixture
def fragile(private_redis: EmbeddedRedis) -> Iterator[SeededCity]:
    """A published city in a server of this test's own."""
    with SeededCity(private_redis.url) as city:
        city.publish()
        yield city


async def test_a_full_redis_is_told_as_such_and_loses_nothing(city: SeededCity, service: Service):
    """Not as a damaged record, which nobody would answer by adding memory."""
    device, card = city.device(), city.holder("00000000000000aa", prepaid(passes=10))
    raw = device.tap(1, card.medium)
    before = await service.board(device, raw)
    late = device.tap(2, card.medium)
    city.redis.config_set("maxmemory", "1")

    full = await service.board(device, late)
    again = await service.board(device, raw)
    whole = await service.batch(device)
    city.redis.config_set("maxmemory", "0")
    after = await service.board(device, late)

    assert (full.status_code, problem(full), full.headers["retry-after"]) == (503, "hot-state-full", "10")
    assert (again.json()["outcome"], again.json()["replayed"]) == (before.json()["outcome"], True)
    assert ([item["recorded"] for item in whole.json()["items"]], whole.json()["head_recorded"]) == (
        [True, False],
        False,
    )
    assert (after.json()["outcome"], city.usage().used) == ("accepted", {"PREPAID": 2})


async def test_a_redis_told_to_drop_keys_is_answered_from_no_longer(
    private_redis: EmbeddedRedis, fragile: SeededCity
):
    device, card = fragile.device(), fragile.student()
    async with running_service(private_redis.url) as service:
        first = await service.board(device, device.tap(1, card.medium))
        fragile.redis.config_set("maxmemory-policy", "allkeys-lru")
        await until_not_ready(service)
        refused = await service.board(device, device.tap(2, card.medium))
        fragile.redis.config_set("maxmemory-policy", "noeviction")
        await until_ready(service)
        back = await service.board(device, device.tap(3, card.medium))

    assert (first.status_code, back.status_code) == (200, 200)
    assert (refused.status_code, problem(refused)) == (503, "hot-state-away")


async def test_a_redis_told_to_drop_keys_while_the_link_that_looks_is_down_is_left_too(
    private_redis: EmbeddedRedis, fragile: SeededCity
):
    """The link that looks is opened again and refused by itself; the lanes, which still stand, must learn of it."""
    state = RedisState(private_redis.url, Limits(look_s=0.2))
    await state.start()
    try:
        looking = await link_that_looked(fragile)
        with fragile.redis.pipeline() as at_once:
            at_once.config_set("maxmemory-policy", "allkeys-lru").client_kill_filter(_id=looking).execute()
        await until(lambda: not state.ready)
        fragile.redis.config_set("maxmemory-policy", "noeviction")
        await until(lambda: state.ready)
    finally:
        await state.stop()


async def link_that_looked(city: SeededCity) -> str:
    """The id of the connection whose last command asked for the memory's settings."""
    for _ in range(200):
        for connection in city.redis.client_list():
            if connection["cmd"].startswith("info"):
                return str(connection["id"])
        await asyncio.sleep(0.05)
    raise AssertionError("nobody looks at the settings of Redis")


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(100):
        if holds():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never came to hold")


async def until_not_ready(service: Service) -> None:
    for _ in range(200):
        if (await service.client.get("/v1/health/ready")).status_code == 503:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the service goes on answering")

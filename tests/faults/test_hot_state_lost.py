"""Redis dies under the validator: with its file, without it, with an older one. Nothing is ever answered from zero.

What the ingester does about a Redis that came back otherwise than it went is tested with the ingester; here stands
what the validator alone guarantees before anybody has looked.
"""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from backoffice.adapters.embedded_redis import EmbeddedRedis
from tests.validator.conftest import Service, running_service
from tests.validator.seeded_city import SeededCity, prepaid
from validator.records.keys import VERIFIED, commit_no_key, fence_key, holder_shard

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"
HOME = holder_shard(HOLDER)


@pytest.fixture
def city(private_redis: EmbeddedRedis) -> Iterator[SeededCity]:
    with SeededCity(private_redis.url) as seeded:
        seeded.publish()
        yield seeded


def verify(server: EmbeddedRedis) -> None:
    """What the ingester does when it has found nothing missing."""
    with redis.Redis.from_url(server.url) as client:
        client.set(VERIFIED, client.info("server")["run_id"])


async def until_ready(service: Service) -> None:
    for _ in range(200):
        if (await service.client.get("/v1/health/ready")).status_code == 200:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the service did not become ready")


def append_files(folder: Path) -> Path:
    return next(path for path in folder.rglob("appendonlydir"))


async def test_killed_with_its_file_it_goes_on_where_it_was(
    private_redis: EmbeddedRedis, city: SeededCity, tmp_path: Path
):
    device, card = city.device(), city.holder(HOLDER, prepaid(passes=100))
    async with running_service(private_redis.url, city_poll_ms=20) as service:
        raws = [device.tap(number, card.medium) for number in range(1, 31)]
        for raw in raws[:20]:
            assert (await service.board(device, raw)).status_code == 200
        await asyncio.sleep(1.1)  # everysec: what is a second old is on disk
        private_redis.kill()
        during = await service.board(device, raws[20])
        private_redis.start()
        unverified = await service.board(device, raws[20])
        verify(private_redis)
        await until_ready(service)
        answers = [(await service.board(device, raw)).json() for raw in raws]

    assert (during.status_code, unverified.status_code) == (503, 503)
    assert [answer["replayed"] for answer in answers] == [True] * 20 + [False] * 10
    assert city.usage(HOLDER).used == {"PREPAID": 30}
    assert len(city.journal()) == 30


async def test_killed_without_its_file_it_answers_nothing(
    private_redis: EmbeddedRedis, city: SeededCity, tmp_path: Path
):
    device, card = city.device(), city.holder(HOLDER, prepaid(passes=100))
    raws = [device.tap(number, card.medium) for number in range(1, 6)]
    async with running_service(private_redis.url, city_poll_ms=20) as service:
        for raw in raws[:3]:
            await service.board(device, raw)
        private_redis.kill()
        shutil.rmtree(append_files(tmp_path))
        private_redis.start()
        empty = [await service.board(device, raw) for raw in raws]
        verify(private_redis)  # even if somebody said that this empty server is fine
        await asyncio.sleep(0.5)
        claimed = [await service.board(device, raw) for raw in raws]

    assert {answer.status_code for answer in empty + claimed} == {503}
    with redis.Redis.from_url(private_redis.url) as client:
        assert client.keys("*journal") == []
        assert client.keys("*usage*") == []


async def test_back_with_an_older_file_the_shard_is_fenced_and_not_answered_from(
    private_redis: EmbeddedRedis, city: SeededCity, tmp_path: Path
):
    device, card = city.device(), city.holder(HOLDER, prepaid(passes=100))
    raws = [device.tap(number, card.medium) for number in range(1, 5)]
    async with running_service(private_redis.url, city_poll_ms=20) as service:
        await service.board(device, raws[0])
        await asyncio.sleep(1.2)
        older = tmp_path / "older"
        shutil.copytree(append_files(tmp_path), older)
        acknowledged = await service.board(device, raws[1])
        private_redis.kill()
        target = append_files(tmp_path)
        shutil.rmtree(target)
        shutil.copytree(older, target)
        private_redis.start()
        with redis.Redis.from_url(private_redis.url) as client:
            assert client.get(commit_no_key(HOME)) == b"1", (
                "the acknowledged tap must be absent after the restart"
            )
        verify(private_redis)  # an ingester that had not yet seen the second commit either
        await asyncio.sleep(0.3)  # the loop hears of the closed connections
        await until_ready(service)
        after = await service.board(device, raws[2])
        fence = city.redis.get(fence_key(HOME))

    assert acknowledged.status_code == 200
    assert (after.status_code, after.json()["type"]) == (503, "urn:catraca:problem:shard-fenced")
    assert fence == b"commit_no"

"""The read - decide - commit cycle on a real server: forgotten scripts, fences, poison, cut connections."""

import asyncio
from collections.abc import Iterator
from uuid import UUID

import pytest
import redis

from backoffice.adapters.embedded_redis import EmbeddedRedis
from tests.validator.conftest import Service, running_service
from tests.validator.seeded_city import SeededCity, city_record, prepaid
from validator.adapters.redis_link import EvictionPolicyRefused
from validator.bootstrap import create_app
from validator.domain.usage import Usage
from validator.records.city import pack_city
from validator.records.keys import (
    CITY,
    VERIFIED,
    commit_no_key,
    device_key,
    fence_key,
    generation_key,
    holder_key,
    holder_shard,
    journal_key,
    seen_key,
    usage_key,
)
from validator.settings import Settings

pytestmark = pytest.mark.hot_state

HOLDER, OTHER = "00000000000000aa", "0000000000000001"
HOME = holder_shard(HOLDER)


def problem(answer: object) -> str:
    return str(answer.json()["type"]).rsplit(":", maxsplit=1)[-1]  # type: ignore[attr-defined]


# Scripts


async def test_forgotten_scripts_are_loaded_again(city: SeededCity, service: Service):
    """NOSCRIPT after a restart or a failover: reload and go on, in the same request."""
    device, card = city.device(), city.student()
    city.redis.script_flush()

    answer = await service.board(device, device.tap(1, card.medium))

    assert answer.json()["outcome"] == "accepted"
    assert city.usage().used == {"STUDENT": 1}


async def test_commits_are_numbered_without_gaps_in_each_shard(city: SeededCity, service: Service):
    device, card, other = city.device(), city.holder(HOLDER, prepaid()), city.holder(OTHER, prepaid())
    for number in range(5):
        await service.board(device, device.tap(number * 2 + 1, card.medium))
        await service.board(device, device.tap(number * 2 + 2, other.medium))

    for shard in {HOME, holder_shard(OTHER)}:
        fields = [fields for _, fields in city.redis.xrange(journal_key(shard))]
        assert [fields[b"n"] for fields in fields] == [b"%d" % n for n in range(1, 6)]
        assert {fields[b"g"] for fields in fields} == {b"1"}
        assert city.redis.get(commit_no_key(shard)) == b"5"


async def test_large_numbers_stay_exact(city: SeededCity, service: Service):
    """Lua's numbers are doubles; a commit number past 10**15 must not become 1e+15."""
    device, card = city.device(), city.student()
    city.redis.set(commit_no_key(HOME), 2**52)

    await service.board(device, device.tap(1, card.medium))

    assert city.redis.get(commit_no_key(HOME)) == b"%d" % (2**52 + 1)


# Fences, generations, losses


async def test_a_fence_stops_its_shard_and_no_other(city: SeededCity, service: Service):
    device, card, other = city.device(), city.student(), city.holder(OTHER, prepaid())
    city.redis.set(fence_key(HOME), "test")

    fenced = await service.board(device, device.tap(1, card.medium))
    rides = await service.board(device, device.tap(2, other.medium))
    city.redis.delete(fence_key(HOME))
    after = await service.board(device, device.entries[0].encode())

    assert (fenced.status_code, problem(fenced), fenced.headers["retry-after"]) == (503, "shard-fenced", "1")
    assert rides.json()["outcome"] == "accepted"
    assert after.json()["outcome"] == "accepted"


async def test_an_answer_given_before_the_fence_is_still_replayed(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)
    await service.board(device, raw)
    city.redis.set(fence_key(HOME), "test")

    assert (await service.board(device, raw)).json()["replayed"] is True


async def test_a_rebuilt_shard_is_served_under_its_new_generation(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    city.redis.set(generation_key(HOME), 2)
    city.redis.set(commit_no_key(HOME), 0)

    answer = await service.board(device, device.tap(2, card.medium, vehicle="1208"))

    assert answer.json()["outcome"] == "accepted"
    (_, last) = city.redis.xrevrange(journal_key(HOME), count=1)[0]
    assert (last[b"g"], last[b"n"]) == (b"2", b"1")


async def test_a_shard_without_generation_answers_nothing(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    city.redis.delete(generation_key(HOME))

    answer = await service.board(device, device.tap(1, card.medium))

    assert (answer.status_code, problem(answer)) == (503, "shard-fenced")
    assert city.journal() == []


async def test_a_counter_that_went_back_means_lost_commits_and_fences_the_shard(
    city: SeededCity, service: Service
):
    """An older file, or a failover that lost the last second: never answered from."""
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    await service.board(device, device.tap(2, card.medium, vehicle="1208"))
    city.redis.set(commit_no_key(HOME), 1)

    answer = await service.board(device, device.tap(3, card.medium))

    assert (answer.status_code, problem(answer)) == (503, "shard-fenced")
    assert city.redis.get(fence_key(HOME)) == b"commit_no"
    assert city.usage().used == {"STUDENT": 2}


async def test_a_holder_without_usage_is_a_loss_and_never_zero(city: SeededCity, service: Service):
    device, card = city.device(), city.student(usage=Usage(half_fare={"2026-03": 50}))
    city.redis.delete(usage_key(HOLDER))

    answer = await service.board(device, device.tap(1, card.medium))
    next_one = await service.board(device, device.tap(2, card.medium, vehicle="1208"))

    assert (answer.status_code, problem(answer)) == (503, "usage-lost")
    assert next_one.status_code == 503
    assert city.redis.get(fence_key(HOME)) == b"usage"
    assert city.redis.get(usage_key(HOLDER)) is None


async def test_an_emptied_redis_answers_nothing_and_calls_nobody_unknown(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    city.redis.flushall()

    known = await service.board(device, device.tap(2, card.medium))
    cash = await service.board(device, device.tap(3, {"kind": "cash", "tendered_cents": 450}))
    other = city.devices.setdefault("val-2", type(device)("val-2"))
    unknown = await service.board(other, other.tap(4, card.medium))

    assert [answer.status_code for answer in (known, cash, unknown)] == [503, 503, 503]
    assert city.redis.keys("*journal") == []


async def test_a_redis_that_nobody_verified_is_not_answered_from(city: SeededCity, redis_url: str):
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)
    city.redis.set(VERIFIED, "another process")

    async with running_service(redis_url) as service:
        before = await service.board(device, raw)
        ready = await service.client.get("/v1/health/ready")
        city.verify()
        await until_ready(service)
        after = await service.board(device, raw)

    assert (before.status_code, problem(before)) == (503, "hot-state-away")
    assert (ready.status_code, "hot-state" in ready.json()["lacks"]) == (503, True)
    assert after.json()["outcome"] == "accepted"


async def until_ready(service: Service) -> None:
    for _ in range(100):
        if (await service.client.get("/v1/health/ready")).status_code == 200:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the service did not become ready")


# Poison


@pytest.mark.parametrize("value", [b"", b"\x02", b"\x01\xff", b"not a record"])
@pytest.mark.parametrize("key", [usage_key(HOLDER), holder_key(HOLDER), seen_key(HOME, UUID(int=1))])
async def test_a_poisoned_record_fails_alone(city: SeededCity, service: Service, key: bytes, value: bytes):
    device, card, other = city.device(), city.student(), city.holder(OTHER, prepaid(passes=100))
    city.redis.set(key, value)

    answers = await asyncio.gather(
        service.board(device, device.tap(1, card.medium)),
        *[service.board(device, device.tap(n, other.medium)) for n in range(2, 12)],
    )

    assert answers[0].status_code == 503
    assert [answer.json()["outcome"] for answer in answers[1:]] == ["accepted"] * 10


async def test_a_key_of_another_kind_fails_alone(city: SeededCity, service: Service):
    device, card, other = city.device(), city.student(), city.holder(OTHER, prepaid(passes=100))
    city.redis.set(journal_key(HOME), "no stream")

    answers = await asyncio.gather(
        service.board(device, device.tap(1, card.medium)),
        *[service.board(device, device.tap(n, other.medium)) for n in range(2, 12)],
    )

    assert (answers[0].status_code, problem(answers[0])) == (503, "damaged")
    assert [answer.json()["outcome"] for answer in answers[1:]] == ["accepted"] * 10
    assert city.usage().used == {}
    assert city.redis.get(commit_no_key(HOME)) is None


async def test_a_damaged_device_is_not_called_unknown(city: SeededCity, service: Service):
    device = city.device()
    city.redis.set(device_key(device.id), b"\x02")

    answer = await service.board(device, device.tap(1, {"kind": "cash", "tendered_cents": 450}))

    assert answer.status_code == 503


async def test_a_city_that_cannot_be_read_leaves_the_old_one_standing(city: SeededCity, redis_url: str):
    device, card = city.device(), city.student()
    async with running_service(redis_url, city_poll_ms=10) as service:
        await service.board(device, device.tap(1, card.medium))
        city.redis.set(CITY, b"\x01" + bytes(7) + b"\x09broken")
        for _ in range(100):
            metrics = (await service.client.get("/metrics")).text
            if "catraca_city_broken 1.0" in metrics:
                break
            await asyncio.sleep(0.02)

        answer = await service.board(device, device.tap(2, card.medium, vehicle="1208"))

    assert "catraca_city_broken 1.0" in metrics
    assert answer.json()["outcome"] == "accepted"


async def test_a_new_city_is_taken_within_a_poll(city: SeededCity, redis_url: str):

    device = city.device()
    async with running_service(redis_url, city_poll_ms=10) as service:
        city.redis.set(CITY, pack_city(city_record(fare_cents=500), 2))
        for number in range(1, 100):
            cash = device.tap(number, {"kind": "cash", "tendered_cents": 1000})
            answer = (await service.board(device, cash)).json()
            if answer["fare_cents"] == 500:
                break
            await asyncio.sleep(0.02)

    assert answer["fare_cents"] == 500
    assert city.journal()[-1].city_revision in (1, 2)


# Memory and policy


async def test_a_redis_that_may_drop_keys_is_refused_at_start(city: SeededCity, redis_url: str):
    city.redis.config_set("maxmemory-policy", "allkeys-lru")
    app = create_app(Settings(redis_url=redis_url, boarding_log=False))

    with pytest.raises(EvictionPolicyRefused, match="noeviction"):
        async with app.behind.router.lifespan_context(app.behind):
            pass


async def test_a_full_redis_refuses_and_stays_whole(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    city.redis.config_set("maxmemory", "1mb")

    answer = await service.board(device, device.tap(2, card.medium, vehicle="1208"))
    city.redis.config_set("maxmemory", "0")
    after = await service.board(device, device.entries[1].encode())

    assert answer.status_code == 503
    assert after.json()["outcome"] == "accepted"
    assert city.usage().used == {"STUDENT": 2}
    assert city.commits() == 2


# Connections


async def test_a_cut_connection_fails_only_what_was_on_it_and_heals(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    city.redis.client_kill_filter(_type="normal", skipme=True)
    await asyncio.sleep(0.05)

    await until_ready(service)
    answer = await service.board(device, device.tap(2, card.medium, vehicle="1208"))

    assert answer.json()["outcome"] == "accepted"


async def test_a_redis_that_hangs_is_a_503_in_time_and_the_retry_is_one_boarding(
    city: SeededCity, service: Service
):
    """The script may have run although nobody heard: the same bytes again find the answer, not a second ride."""
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)
    city.redis.execute_command("CLIENT", "PAUSE", "700", "ALL")

    answer = await service.board(device, raw)  # an answer of Redis itself would be accepted, after the pause
    await asyncio.sleep(0.8)
    await until_ready(service)
    after = await service.board(device, raw)

    assert (answer.status_code, problem(answer)) == (503, "hot-state-away")
    assert after.json()["outcome"] == "accepted"
    assert city.usage().used == {"STUDENT": 1}
    assert len(city.journal()) == 1


@pytest.fixture
def fragile(private_redis: EmbeddedRedis) -> Iterator[SeededCity]:
    """A published city in a server of this test's own."""
    with SeededCity(private_redis.url) as city:
        city.publish()
        yield city


async def test_redis_away_is_503_for_all(private_redis: EmbeddedRedis, fragile: SeededCity):
    device, card = fragile.device(), fragile.student()
    async with running_service(private_redis.url) as service:
        await service.board(device, device.tap(1, card.medium))
        private_redis.kill()
        await asyncio.sleep(0.05)

        answers = await asyncio.gather(
            *[service.board(device, device.tap(n, card.medium)) for n in range(2, 52)]
        )

    assert {answer.status_code for answer in answers} == {503}
    assert {answer.headers["retry-after"] for answer in answers} == {"1"}


async def test_a_start_without_redis_waits_for_it(private_redis: EmbeddedRedis, fragile: SeededCity):
    device, card = fragile.device(), fragile.student()
    url = private_redis.url
    private_redis.kill()

    async with running_service(url, city_poll_ms=20) as service:
        away = await service.board(device, device.tap(1, card.medium))
        private_redis.start()
        with redis.Redis.from_url(url) as client:
            client.set(VERIFIED, client.info("server")["run_id"])
        await until_ready(service)
        answer = await service.board(device, device.tap(2, card.medium))

    assert away.status_code == 503
    assert answer.json()["outcome"] == "accepted"

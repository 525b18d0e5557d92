"""Rounds of ingest: bounded, trimmed, by one process, also when Redis has no memory left."""

import gc
import threading

import pytest
from sqlalchemy import Engine, text

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.ingest_lock import IngestLock
from backoffice.adapters.journal_stream import Waiting, waiting
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.ingest import COUNT, Ingester, run_ingest
from backoffice.application.ingest_progress import OtherIngester
from backoffice.persistence.journal import (
    BoardingRow,
)
from tests.backoffice.journal_play import (
    SmallValidator,
    boarding,
    clock,
    count,
    database,
    durable,
    ingest_all,
    packaged,
)
from validator.records.keys import journal_key
from validator.records.snapshot import DurableRecord

HOLDER = "00000000000000aa"

pytestmark = pytest.mark.hot_state


def test_streams_are_trimmed_and_the_wait_is_told(
    ingester: Ingester, bus: SmallValidator, redis_url: str
) -> None:
    for seq in range(1, 120):
        bus.commit(boarding("v-1", seq))
    with RedisLink(redis_url) as link:
        before = waiting(link)
        assert before.entries == 119
        assert 0 <= before.seconds < 60
        ingest_all(ingester)
        assert waiting(link) == Waiting(0, 0)
    assert all(bus.redis.xlen(journal_key(number)) == 0 for number in range(64))


def test_a_long_pause_is_caught_up_in_bounded_portions(
    engine: Engine, ingester: Ingester, bus: SmallValidator, redis_url: str
) -> None:
    for seq in range(1, 3 * COUNT):
        bus.commit(boarding("v-1", seq))
    assert ingester.step() == COUNT
    with RedisLink(redis_url) as link:
        successor = Ingester(engine, HotState(link), packaged(), clock)
        successor.begin()
        assert ingest_all(successor) == 2 * COUNT - 1
    assert durable(bus, "v-1").durable_seq == 3 * COUNT - 1


def test_a_second_ingester_writes_nothing(
    engine: Engine, ingester: Ingester, bus: SmallValidator, redis_url: str
) -> None:
    """The lock failed, and two follow the same streams: the one that comes late stands back."""
    with RedisLink(redis_url) as link:
        other = Ingester(engine, HotState(link), packaged(), clock)
        other.begin()
        bus.commit(boarding("v-1", 1))
        ingest_all(other)
    bus.commit(boarding("v-1", 2))
    with pytest.raises(OtherIngester):
        ingest_all(ingester)
    assert count(engine, BoardingRow) == 1


def test_a_redis_without_memory_is_drained_and_told_later(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    bus.commit(boarding("v-1", 1))
    bus.redis.config_set("maxmemory", "1")
    ingest_all(ingester)
    assert count(engine, BoardingRow) == 1
    assert sum(bus.redis.xlen(journal_key(number)) for number in range(64)) == 0
    assert durable(bus, "v-1") == DurableRecord()

    bus.redis.config_set("maxmemory", "0")
    bus.commit(boarding("v-2", 1))
    ingest_all(ingester)
    assert durable(bus, "v-1") == DurableRecord(1, 1)


def test_only_one_ingester_at_a_time(engine: Engine) -> None:
    with IngestLock(engine) as first, IngestLock(engine) as second:
        assert first.acquire()
        assert not second.acquire()
        first.release()
        assert second.acquire()
        assert second.held()


def test_boardings_of_a_month_lie_in_its_partition(postgres_url: str, redis_url: str) -> None:
    engine = database(postgres_url)
    with RedisLink(redis_url) as link:
        ingester = Ingester(engine, HotState(link), packaged(), clock)
        ingester.begin()
        bus = SmallValidator(redis_url)
        bus.commit(boarding("v-1", 1))
        bus.commit(boarding("v-1", 2, dated_micros=0, occurred_micros=0))
        ingest_all(ingester)
    with engine.connect() as connection:
        where = connection.execute(
            text("SELECT seq, tableoid::regclass::text FROM boardings ORDER BY seq")
        ).all()
    assert [tuple(row) for row in where] == [(1, "boardings_2026_03"), (2, "boardings_default")]
    engine.dispose()


# A connection that is thrown out while SQLAlchemy is still setting it up is left to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_database_that_throws_everybody_out_is_waited_for(postgres_url: str, redis_url: str) -> None:
    engine, stop = database(postgres_url), threading.Event()
    runner = threading.Thread(
        target=run_ingest, args=(engine, redis_url, packaged(), clock, stop), kwargs={"poll_s": 0.01}
    )
    runner.start()
    bus = SmallValidator(redis_url)
    try:
        bus.wait_until_verified()
        for seq in range(1, 30):
            if seq % 15 == 7:
                with engine.connect() as connection:
                    connection.execute(
                        text(
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                        )
                    )
            bus.commit(boarding("v-1", seq))
            stop.wait(0.02)
        for _ in range(500):
            if durable(bus, "v-1").durable_seq == 29:
                break
            stop.wait(0.02)
    finally:
        stop.set()
        runner.join(30)
    assert durable(bus, "v-1") == DurableRecord(29, 29)
    assert count(engine, BoardingRow) == 29
    engine.dispose()
    gc.collect()

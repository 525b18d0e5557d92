"""A Redis that lost something is noticed and rebuilt from SQL before anybody is answered from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import text, update

from backoffice.adapters.hot_state import EvictingRedis, HotState
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.ingest import Ingester, OtherDatabase
from backoffice.application.publish import Publisher
from backoffice.application.rebuild import load_positions
from backoffice.application.rebuild_answers import kept_answers
from backoffice.persistence.base import reading, writing
from backoffice.persistence.holders import HolderRow
from backoffice.persistence.journal import ShardRow
from tests.backoffice.journal_play import (
    SmallValidator,
    annulment,
    answer,
    boarding,
    clock,
    packaged,
    release,
)
from tests.backoffice.register_city import RegisterCity
from validator.records.codes import EntryKind, Flag
from validator.records.journal import pack_answer, pack_entry, pack_id, unpack_answer
from validator.records.keys import (
    SHARDS,
    VERIFIED,
    commit_no_key,
    durable_key,
    fence_key,
    generation_key,
    holder_key,
    holder_shard,
    id_key,
    journal_key,
    seen_key,
    usage_key,
)
from validator.records.snapshot import UidHolderRecord, pack_uid_holder, unpack_durable
from validator.records.usage import unpack_usage

pytestmark = pytest.mark.hot_state


@dataclass
class Scene:
    """A city with two published holders, an ingester, and a small validator."""

    city: RegisterCity
    link: RedisLink
    url: str
    holders: list[str]
    bus: SmallValidator
    ingester: Ingester

    def connect_again(self) -> Ingester:
        self.ingester = Ingester(self.city.engine, HotState(self.link), packaged(), clock)
        self.ingester.begin()
        return self.ingester

    def ingest(self) -> None:
        while self.ingester.step():
            pass

    def hot_copy(self) -> dict[bytes, bytes]:
        """Usage, snapshots, chips, kept answers, durable records: what a rebuild must bring back."""
        wanted = (b"usage:", b"holder:", b"seen:", b"id:", b"durable:", b"device:", b"city:", b"uid:")
        keys = [key for key in self.link.client.keys("*") if any(part in key for part in wanted)]
        return {key: self.link.client.get(key) for key in keys}


@pytest.fixture
def scene(city: RegisterCity, redis_url: str) -> Iterator[Scene]:
    holder_ids = [city.student(), city.student()]
    for holder_id in holder_ids:
        city.sell(holder_id, 10)
        city.bind(city.card(holder_id).number, f"04{holder_id:012X}")
    with RedisLink(redis_url) as link:
        hot = HotState(link)
        ingester = Ingester(city.engine, hot, packaged(), clock)
        ingester.begin()
        publisher = Publisher(city.engine, packaged(), clock)
        while publisher.publish_waiting(hot):
            pass
        with reading(city.engine) as session:
            hot_ids = [session.get_one(HolderRow, holder_id).hot_id for holder_id in holder_ids]
        yield Scene(city, link, redis_url, hot_ids, SmallValidator(redis_url), ingester)


def ride(scene: Scene) -> None:
    """Boardings of both holders with a gap, a release that held the rider, and an annulment."""
    one, two = scene.holders
    taps = [boarding("v-1", seq, one if seq % 2 else two) for seq in range(1, 6)]
    for tap in taps:
        scene.bus.commit(tap)
    held = release("v-1", 6, taps[1], released=False, flags=int(Flag.HELD_OVER_ACCEPTANCE))
    scene.bus.commit(held)
    scene.bus.commit(annulment("v-1", 7, taps[2]))
    scene.bus.commit(boarding("v-1", 9, one))
    _keep_later_facts(scene, taps)


def _keep_later_facts(scene: Scene, taps: list) -> None:  # type: ignore[type-arg]
    """What a validator keeps of a release and an annulment in `seen`."""
    for tap, changes in ((taps[1], {"undone": True, "released": False}), (taps[2], {"undone": True})):
        record = answer(tap)
        fields = {name: getattr(record, name) for name in record.__struct_fields__} | changes
        key = seen_key(scene.bus.home(tap), UUID(bytes=tap.boarding))
        scene.link.client.set(key, pack_answer(type(record)(**fields)), keepttl=True)


def test_the_first_start_opens_every_shard(scene: Scene) -> None:
    client = scene.link.client
    assert client.get(VERIFIED).decode() == scene.link.run_id
    for number in range(SHARDS):
        assert client.get(generation_key(number)) == b"1"
        assert not client.exists(fence_key(number))
    assert len(load_positions(scene.city.engine)) == SHARDS


def test_a_wiped_redis_is_rebuilt_byte_for_byte(scene: Scene) -> None:
    ride(scene)
    scene.ingest()
    before = scene.hot_copy()
    commits = {n: int(scene.link.client.get(commit_no_key(n)) or 0) for n in range(SHARDS)}
    scene.link.client.flushall()

    scene.connect_again()

    assert scene.hot_copy() == before
    for number in range(SHARDS):
        assert scene.link.client.get(generation_key(number)) == b"2"
        assert int(scene.link.client.get(commit_no_key(number)) or 0) >= commits[number]


def test_a_chip_that_a_restarted_redis_lost_or_has_older_is_published_again(scene: Scene) -> None:
    before = scene.hot_copy()
    lost, older = sorted(key for key in before if b"uid:" in key)
    scene.link.client.delete(lost)
    scene.link.client.set(older, pack_uid_holder(UidHolderRecord(None), 0))
    scene.link.client.delete(VERIFIED)

    scene.connect_again()

    assert scene.hot_copy() == before


def test_reading_the_newest_answers_leaves_no_cursor_open(scene: Scene) -> None:
    ride(scene)
    scene.ingest()
    much_later = clock() + timedelta(days=9)
    with reading(scene.city.engine) as session:
        kept = [answers for answers in kept_answers(session, set(range(SHARDS)), much_later) if answers]
        assert kept, "the boarding above a gap is restored however old it is"
        if session.get_bind().dialect.name == "postgresql":
            assert session.scalar(text("SELECT count(*) FROM pg_cursors")) == 0


def test_a_redis_that_is_wiped_while_the_ingester_runs_is_noticed(scene: Scene) -> None:
    ride(scene)
    scene.ingest()
    before = scene.hot_copy()
    scene.link.client.flushall()
    scene.ingester._looked = 0.0
    scene.ingester.step()
    assert scene.hot_copy() == before
    assert HotState(scene.link).verified(), "a validator that starts now would wait for ever"


def test_fewer_commits_than_sql_has_is_a_loss(scene: Scene) -> None:
    ride(scene)
    scene.ingest()
    before = scene.hot_copy()
    number = holder_shard(scene.holders[0])
    scene.link.client.set(commit_no_key(number), 1)
    scene.link.client.set(usage_key(scene.holders[0]), b"older")
    scene.link.client.delete(VERIFIED)

    scene.connect_again()

    assert scene.hot_copy() == before
    assert scene.link.client.get(generation_key(number)) == b"2"
    assert scene.link.client.get(VERIFIED).decode() == scene.link.run_id


def test_a_commit_number_that_comes_twice_is_a_loss(scene: Scene) -> None:
    ride(scene)
    scene.ingest()
    number = holder_shard(scene.holders[0])
    tap = boarding("v-2", 1, scene.holders[0])
    scene.link.client.xadd(journal_key(number), {"e": pack_entry(tap), "n": 1, "g": 1})
    scene.ingest()
    assert scene.link.client.get(generation_key(number)) == b"2"
    assert unpack_durable(scene.link.client.get(durable_key("v-2", 1))).durable_seq == 1
    usage = unpack_usage(scene.link.client.get(usage_key(scene.holders[0])))
    assert usage.used["STUDENT"] == 5


def test_what_stands_in_the_stream_is_drained_before_the_fold(scene: Scene) -> None:
    scene.bus.commit(boarding("v-1", 1, scene.holders[0]))
    before = scene.hot_copy()
    scene.link.client.set(fence_key(holder_shard(scene.holders[0])), b"usage", nx=True)

    scene.ingester._looked = 0.0
    scene.ingester.step()

    after = scene.hot_copy()
    assert after.pop(durable_key("v-1", 1))
    assert after == before
    assert not scene.link.client.exists(fence_key(holder_shard(scene.holders[0])))


def test_a_snapshot_without_usage_is_a_loss_and_an_old_one_is_replaced(scene: Scene) -> None:
    ride(scene)
    scene.ingest()
    before = scene.hot_copy()
    scene.link.client.delete(usage_key(scene.holders[0]), holder_key(scene.holders[1]), VERIFIED)
    scene.connect_again()
    assert scene.hot_copy() == before


def test_a_holder_without_rows_gets_an_empty_usage(scene: Scene) -> None:
    before = scene.hot_copy()
    scene.link.client.flushall()
    scene.connect_again()
    assert scene.hot_copy() == before


def test_forks_and_second_ids_count_as_rides_in_a_fold(scene: Scene) -> None:
    """They are never billed, but the rider did ride: usage after a rebuild is what it was before."""
    holder = scene.holders[0]
    scene.bus.commit(boarding("v-1", 1, holder))
    scene.bus.commit(boarding("v-1", 1, holder, variant=1, boarding=UUID(int=5).bytes))
    scene.ingest()
    usage = scene.bus.usage(holder)
    scene.ingester.rebuild_all()
    assert scene.bus.usage(holder) == usage


def test_an_answer_restored_is_the_answer_given(scene: Scene) -> None:
    refusal = boarding(
        "v-1", 2, scene.holders[0], kind=int(EntryKind.REFUSAL), reason=15, effects=(), category=None,
        fare_cents=0, rider_cents=0, city_cents=0, month_boardings=None, passes=None, turnstile=1, flags=4,
    )  # fmt: skip
    scene.bus.commit(refusal)
    scene.ingest()
    scene.link.client.flushall()
    scene.connect_again()
    identity = UUID(bytes=refusal.boarding)
    home = scene.bus.home(refusal)
    restored = unpack_answer(scene.link.client.get(seen_key(home, identity)))
    assert scene.link.client.get(id_key(identity)) == pack_id(refusal.digest, home)
    assert (restored.reason, restored.flags, restored.vehicle) == (15, 4, "1207")


def test_rebuild_tells_its_progress(scene: Scene) -> None:
    told: list[tuple[int, int]] = []
    scene.ingester.rebuild_all(lambda done, total: told.append((done, total)))
    assert told == [(n, SHARDS) for n in range(1, SHARDS + 1)]


def test_an_empty_database_does_not_wipe_a_redis_that_counts(scene: Scene) -> None:
    with writing(scene.city.engine) as session:
        session.query(ShardRow).delete()
    with pytest.raises(OtherDatabase, match="outro banco"):
        scene.connect_again()


def test_a_redis_that_drops_keys_is_refused(scene: Scene) -> None:
    scene.link.client.config_set("maxmemory-policy", "allkeys-lru")
    with pytest.raises(EvictingRedis, match="noeviction"):
        scene.connect_again()


def test_a_rebuild_that_died_before_redis_was_told_begins_again(scene: Scene) -> None:
    ride(scene)
    scene.ingest()
    before = scene.hot_copy()
    with writing(scene.city.engine) as session:
        session.execute(update(ShardRow).where(ShardRow.number == 0).values(generation=7))
    scene.connect_again()
    assert scene.link.client.get(generation_key(0)) == b"8"
    assert scene.hot_copy() == before

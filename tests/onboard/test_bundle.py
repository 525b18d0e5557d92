"""The signed bundle: compact, telling no category, as large as the change, never half applied."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backoffice.adapters.offline_policy import policy_from
from backoffice.application.bundle import BundleNotBuilt
from backoffice.domain.offline_policy import PolicyError
from tests.onboard.fleet import RedisGet, TestSigner, build, fetch, new_store
from tests.validator.seeded_city import (
    CITY_KEY,
    FOREVER,
    NOW,
    SeededCard,
    SeededCity,
    city_record,
    elder,
    prepaid,
    student,
)
from validator.domain.holder import Holder
from validator.domain.rights import Period, Right
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category
from validator.onboard.city_store import CityStore
from validator.onboard.download import Synced
from validator.records.bundle import CHUNK_BYTES, offer_signed_bytes, unpack_listed
from validator.records.city import CardKeyRecord, pack_city
from validator.records.codes import CardState
from validator.records.keys import CITY, usage_key

pytestmark = pytest.mark.hot_state

IDS = [f"{n:016x}" for n in range(1, 6)]


@pytest.fixture
def city(redis_url: str) -> Iterator[SeededCity]:
    with SeededCity(redis_url) as seeded:
        seeded.publish()
        yield seeded


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CityStore]:
    store = new_store(tmp_path)
    yield store
    store.close()


def right(category: Category, first: date = date(2020, 1, 1), until: date | None = None) -> Holder:
    return Holder(rights=(Right(category, Period(first, until)),))


def entry_of(store: CityStore, hot_id: str) -> bytes:
    rows = store._reader.execute("SELECT entry FROM entries WHERE hot_id = ?", (bytes.fromhex(hot_id),))
    return bytes(rows.fetchone()[0])


def test_a_device_without_a_list_gets_the_whole(city: SeededCity, store: CityStore, redis_url: str):
    city.student(IDS[0])
    city.holder(IDS[1], elder())
    built = build(city, redis_url, IDS[:2])

    result, _ = fetch(store, RedisGet(city))

    current = store.current()
    assert result is Synced.TAKEN
    assert current is not None
    assert (current.version, current.issued_at, current.max_age_hours) == (built.version, NOW, 24)
    assert store.size() == (2, 0)
    assert set(current.view.networks) == {"102", "205", "900"}


def test_nothing_changed_makes_no_version_but_a_younger_list(
    city: SeededCity, store: CityStore, redis_url: str
):
    city.student(IDS[0])
    first = build(city, redis_url, IDS[:1])
    fetch(store, RedisGet(city))
    second = build(city, redis_url, IDS[:1], NOW + timedelta(hours=1))
    get = RedisGet(city)

    result, downloader = fetch(store, get)

    current = store.current()
    assert (second.version, second.new) == (first.version, False)
    assert result is Synced.CONFIRMED
    assert downloader.fetched_bytes == 0
    assert current is not None
    assert current.issued_at == NOW + timedelta(hours=1)


def test_a_step_is_as_large_as_the_change(city: SeededCity, store: CityStore, redis_url: str):
    ids = [f"{n:016x}" for n in range(1, 2001)]
    for hot_id in ids:
        city.student(hot_id)
    whole = build(city, redis_url, ids)
    fetch(store, RedisGet(city))
    city.student(ids[7], passes=3)
    changed = build(city, redis_url, ids, NOW + timedelta(minutes=10))

    result, downloader = fetch(store, RedisGet(city))

    assert result is Synced.TAKEN
    assert changed.new
    assert downloader.fetched_bytes == changed.step_bytes < whole.full_bytes / 20
    assert unpack_listed(entry_of(store, ids[7])).purses[0].left[0][1] == 3


def test_a_device_that_is_several_versions_back_takes_all_steps(
    city: SeededCity, tmp_path: Path, store: CityStore, redis_url: str
):
    ids = [f"{n:016x}" for n in range(1, 501)]
    for hot_id in ids:
        city.student(hot_id)
    build(city, redis_url, ids)
    fetch(store, RedisGet(city))
    for hour in range(1, 5):
        city.student(ids[hour], passes=hour)
        build(city, redis_url, ids, NOW + timedelta(hours=hour))
    other = new_store(tmp_path / "other")

    behind, fresh = fetch(store, RedisGet(city)), fetch(other, RedisGet(city))

    assert behind[0] is fresh[0] is Synced.TAKEN
    assert behind[1].fetched_bytes < fresh[1].fetched_bytes
    assert [entry_of(store, hot_id) for hot_id in ids] == [entry_of(other, hot_id) for hot_id in ids]
    assert store.current().version == other.current().version  # type: ignore[union-attr]
    other.close()


def test_a_holder_and_a_block_that_are_gone_leave_the_device(
    city: SeededCity, store: CityStore, redis_url: str
):
    card = SeededCard(IDS[0])
    city.holder(IDS[0], student(), cards=[card.record(CardState.BLOCKED)])
    city.student(IDS[1])
    build(city, redis_url, IDS[:2])
    fetch(store, RedisGet(city))
    assert store.size() == (2, 1)
    city.holder(IDS[0], student(), cards=[])

    build(city, redis_url, IDS[:2], NOW + timedelta(hours=1))
    fetch(store, RedisGet(city))

    assert store.size() == (1, 0)


def test_a_broken_download_goes_on_where_it_was(city: SeededCity, store: CityStore, redis_url: str):
    ids = [hashlib.sha256(b"%d" % n).hexdigest()[:16] for n in range(6000)]
    for hot_id in ids:
        city.student(hot_id, passes=int(hot_id, 16) % 90 + 1)
    built = build(city, redis_url, ids)
    asked: list[str] = []
    result = Synced.UNFINISHED
    for _ in range(50):
        get = RedisGet(city, breaks_after=2)
        result, _ = fetch(store, get)
        asked += [path for path in get.asked if "chunks" in path]
        if result is Synced.TAKEN:
            break
        assert store.current() is None

    assert result is Synced.TAKEN
    assert len(asked) == len(set(asked)) == -(-built.full_bytes // CHUNK_BYTES) > 2
    assert store.size() == (6000, 0)


def test_a_damaged_chunk_is_not_kept(city: SeededCity, store: CityStore, redis_url: str):
    city.student(IDS[0])
    build(city, redis_url, IDS[:1])
    get = RedisGet(city)
    get.alter = lambda path, body: body if "have" in path else body[:-1] + bytes([body[-1] ^ 1])

    result, downloader = fetch(store, get)

    assert result is Synced.UNFINISHED
    assert "alterado" in downloader.problem
    assert fetch(store, RedisGet(city))[0] is Synced.TAKEN


@pytest.mark.parametrize("place", [12, 60, 200])
def test_an_offer_that_was_altered_is_refused(city: SeededCity, store: CityStore, redis_url: str, place: int):
    city.student(IDS[0])
    build(city, redis_url, IDS[:1])
    get = RedisGet(city)

    def flip(_path: str, body: bytes) -> bytes:
        return body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]

    get.alter = flip

    assert fetch(store, get)[0] is Synced.REFUSED
    assert store.current() is None


def test_a_bundle_of_another_city_is_refused(city: SeededCity, store: CityStore, redis_url: str):
    city.student(IDS[0])
    build(city, redis_url, IDS[:1], signer=TestSigner(Ed25519PrivateKey.generate()))

    result, downloader = fetch(store, RedisGet(city))

    assert result is Synced.REFUSED
    assert "assinatura" in downloader.problem


def test_an_older_bundle_never_replaces_a_newer_one(city: SeededCity, store: CityStore, redis_url: str):
    city.student(IDS[0])
    build(city, redis_url, IDS[:1])
    old = RedisGet(city)("/v1/sync?have=0")
    city.student(IDS[1])
    build(city, redis_url, IDS[:2], NOW + timedelta(hours=1))
    fetch(store, RedisGet(city))
    get = RedisGet(city)
    get.alter = lambda _path, _body: old.body

    assert fetch(store, get)[0] is Synced.REFUSED
    assert store.size() == (2, 0)


def test_a_rotated_key_is_learnt_from_the_bundle_and_the_old_one_ends(
    city: SeededCity, store: CityStore, redis_url: str
):
    new_key = Ed25519PrivateKey.generate()
    keys = (
        CardKeyRecord(
            1, CITY_KEY.public_key().public_bytes_raw(), int(NOW.timestamp() * 1e6) + 3_600_000_000
        ),
        CardKeyRecord(2, new_key.public_key().public_bytes_raw()),
    )
    city.redis.set(CITY, pack_city(city_record(card_keys=keys), 2))
    build(city, redis_url, [])
    fetch(store, RedisGet(city))

    old = RedisGet(city)("/v1/sync?have=0").body
    build(city, redis_url, [], NOW + timedelta(hours=2), signer=TestSigner(new_key))
    assert fetch(store, RedisGet(city))[0] is Synced.CONFIRMED
    offer = msgspec.json.decode(old)
    retired = RedisGet(city)
    retired.alter = lambda _path, body: msgspec.json.encode(
        msgspec.json.decode(body)
        | {
            "signature": CITY_KEY.sign(offer_signed_bytes(msgspec.json.decode(body)["offer"])).hex(),
            "key_id": 1,
        }
    )
    assert offer["key_id"] == 1
    assert fetch(store, retired)[0] is Synced.REFUSED


def test_the_list_does_not_tell_who_is_in_special_education(
    city: SeededCity, store: CityStore, redis_url: str
):
    for hot_id, category in zip(
        IDS, [Category.SPECIAL_ED, Category.TEACHER, Category.FISCAL_MUN], strict=False
    ):
        city.holder(hot_id, right(category, until=date(2026, 12, 19)))
    build(city, redis_url, IDS[:3])
    fetch(store, RedisGet(city))

    assert len({entry_of(store, hot_id) for hot_id in IDS[:3]}) == 1


def test_a_policy_that_would_tell_is_refused(city: SeededCity, redis_url: str):
    policy = policy_from(None)
    telling = replace(policy, hours={**policy.hours, Category.SPECIAL_ED: 24})
    city.holder(IDS[0], right(Category.SPECIAL_ED))

    with pytest.raises(PolicyError, match="SPECIAL_ED"):
        build(city, redis_url, IDS[:1], policy=telling)


def test_a_redis_that_has_lost_a_holder_makes_no_bundle(city: SeededCity, redis_url: str):
    city.student(IDS[0])
    build(city, redis_url, IDS[:1])
    city.redis.delete(usage_key(IDS[0]))

    with pytest.raises(BundleNotBuilt, match="reconstrução"):
        build(city, redis_url, IDS[:1])
    with pytest.raises(BundleNotBuilt, match="reconstrução"):
        build(city, redis_url, IDS[:2])


def test_a_redis_that_has_lost_the_last_bundle_gets_a_whole_new_one_with_a_higher_version(
    city: SeededCity, store: CityStore, redis_url: str
):
    city.student(IDS[0])
    first = build(city, redis_url, IDS[:1])
    fetch(store, RedisGet(city))
    for key in city.redis.scan_iter("sync:*"):
        city.redis.delete(key)
    second = build(city, redis_url, IDS[:1], NOW + timedelta(hours=1))

    assert second.version > first.version
    assert fetch(store, RedisGet(city))[0] is Synced.TAKEN
    assert store.size() == (1, 0)


def test_passes_used_and_refunded_are_not_in_the_list(city: SeededCity, store: CityStore, redis_url: str):
    city.holder(
        IDS[0], student(10), Usage(used={"STUDENT": 4}, returned={"STUDENT": 1}, refunded={"STUDENT": 2})
    )
    city.holder(IDS[1], prepaid(5), Usage(used={"PREPAID": 5}))
    build(city, redis_url, IDS[:2])
    fetch(store, RedisGet(city))

    assert [units for _, units in unpack_listed(entry_of(store, IDS[0])).purses[0].left] == [5]
    assert unpack_listed(entry_of(store, IDS[1])).purses == ()


def test_a_suspended_right_keeps_its_pauses(city: SeededCity, store: CityStore, redis_url: str):
    pause = Period(date(2026, 3, 1), date(2026, 4, 1))
    city.holder(IDS[0], Holder(rights=(Right(Category.TEACHER, FOREVER, (pause,)),)))
    build(city, redis_url, IDS[:1])
    fetch(store, RedisGet(city))

    assert len(unpack_listed(entry_of(store, IDS[0])).options[0].pauses) == 1

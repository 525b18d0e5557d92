"""From committed changes into Redis: always, in order, never from a failed transaction, never older over newer."""

import hashlib
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import redis
from sqlalchemy import func, select, update

from backoffice.adapters.embedded_redis import EmbeddedRedis
from backoffice.adapters.hot_state import HotState, city_publication, holder_publication
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.changes import change_holder
from backoffice.application.publish import Publisher, run_publish
from backoffice.application.publish_records import NO_USAGE
from backoffice.application.register_acts import NewFare, register_fare
from backoffice.application.register_devices import enrol_device, reinstall_device, revoke_device
from backoffice.application.register_fleet import register_vehicle
from backoffice.application.staff import as_administrator, as_city
from backoffice.persistence.base import reading, writing
from backoffice.persistence.city import CityRow
from backoffice.persistence.fares import FareRow
from backoffice.persistence.holders import HolderRow
from backoffice.persistence.outbox import OutboxRow
from tests.backoffice.journal_play import packaged
from tests.backoffice.register_city import NOW, RegisterCity, make_city
from validator.domain.vocabulary import Category, Network
from validator.records.city import view_city
from validator.records.codes import CATEGORY_CODE, CardState, DeviceState
from validator.records.keys import CITY, device_key, holder_key, usage_key
from validator.records.packing import revision_of
from validator.records.snapshot import HolderRecord, pack_holder, unpack_device, unpack_holder

pytestmark = pytest.mark.hot_state


class Desk:
    """A publisher beside a city, and what Redis holds."""

    def __init__(self, city: RegisterCity, hot: HotState) -> None:
        self.city = city
        self.hot = hot
        self.now = NOW
        self.redis = hot.link.client
        self.publisher = Publisher(city.engine, packaged(), lambda: self.now)

    def publish(self) -> int:
        total = 0
        while settled := self.publisher.publish_waiting(self.hot):
            total += settled
        return total

    def hot_id(self, holder_id: int) -> str:
        with reading(self.city.engine) as session:
            return session.get_one(HolderRow, holder_id).hot_id

    def snapshot(self, holder_id: int) -> HolderRecord:
        return unpack_holder(self.redis.get(holder_key(self.hot_id(holder_id))))

    def waiting(self) -> int:
        with reading(self.city.engine) as session:
            unsettled = select(func.count()).select_from(OutboxRow).where(OutboxRow.published_at.is_(None))
            return session.scalar(unsettled) or 0


@pytest.fixture
def link(redis_url: str) -> Iterator[RedisLink]:
    with RedisLink(redis_url) as opened:
        yield opened


@pytest.fixture
def desk(city: RegisterCity, link: RedisLink) -> Desk:
    return Desk(city, HotState(link))


def test_what_is_registered_reaches_redis_without_personal_data(desk: Desk) -> None:
    holder_id = desk.city.student()
    desk.city.sell(holder_id, 10)
    card = desk.city.card(holder_id)

    desk.publish()

    record = desk.snapshot(holder_id)
    assert [right.category for right in record.rights] == [CATEGORY_CODE[Category.STUDENT_50]]
    assert [(p.bought, p.lots[0].units, p.lots[0].face_cents) for p in record.purses] == [(10, 10, 455)]
    assert [(c.issue, c.state) for c in record.cards] == [(1, CardState.LIVE)]
    assert card.number == record.cards[0].number
    packed = desk.redis.get(holder_key(desk.hot_id(holder_id)))
    assert b"Titular" not in packed
    assert b"52998224725" not in packed
    assert desk.redis.get(usage_key(desk.hot_id(holder_id))) == NO_USAGE
    assert desk.waiting() == 0


def test_the_city_is_published_with_its_fares_lines_and_keys(desk: Desk) -> None:
    desk.city.card(desk.city.student())
    desk.publish()
    view = view_city(desk.redis.get(CITY))
    assert view.networks == {"101": Network.URBAN, "901": Network.INTERIOR}
    assert view.line_operators["101"] == frozenset({"azul"})
    assert view.vehicle_operator == {"1201": "azul", "3301": "rural"}
    assert len(view.city.fares) == 2
    assert view.card_keys


def test_a_device_is_published_with_its_newest_key_until_it_is_revoked(desk: Desk) -> None:
    admin = as_administrator(desk.city.staff("admin"))
    with desk.city.writing() as session:
        first = enrol_device(
            session, admin, NOW, desk.city.chance, device_id="v-1", operator="azul", public_key=b"\x01" * 32
        )
    desk.publish()
    record = unpack_device(desk.redis.get(device_key("v-1")))
    assert (record.state, record.epoch, record.operator) == (DeviceState.ACTIVE, 1, "azul")
    assert record.token_hash == hashlib.sha256(first.token.encode()).digest()

    with desk.city.writing() as session:
        reinstall_device(session, admin, NOW, desk.city.chance, device_id="v-1", public_key=b"\x02" * 32)
    with desk.city.writing() as session:
        revoke_device(session, admin, NOW, device_id="v-1", revoked_at=NOW, reason="furtado")
    desk.publish()
    record = unpack_device(desk.redis.get(device_key("v-1")))
    assert (record.state, record.epoch, record.public_key) == (DeviceState.REVOKED, 2, b"\x02" * 32)
    assert record.revoked_micros is not None


def test_a_failed_transaction_publishes_nothing(desk: Desk) -> None:
    holder_id = desk.city.student()
    desk.publish()
    before = desk.redis.get(holder_key(desk.hot_id(holder_id)))

    def sale_that_fails() -> None:
        with writing(desk.city.engine) as session:
            change_holder(session, holder_id, NOW)
            raise RuntimeError("the desk's computer fails")

    with pytest.raises(RuntimeError):
        sale_that_fails()

    assert desk.publish() == 0
    assert desk.redis.get(holder_key(desk.hot_id(holder_id))) == before


def test_later_publications_never_touch_usage(desk: Desk) -> None:
    holder_id = desk.city.student()
    desk.publish()
    desk.redis.set(usage_key(desk.hot_id(holder_id)), b"counted meanwhile")
    desk.city.sell(holder_id, 10)
    desk.publish()
    assert desk.redis.get(usage_key(desk.hot_id(holder_id))) == b"counted meanwhile"

    desk.redis.delete(usage_key(desk.hot_id(holder_id)))
    desk.city.sell(holder_id, 10)
    desk.publish()
    assert desk.redis.get(usage_key(desk.hot_id(holder_id))) is None


def test_a_first_publication_told_twice_keeps_what_was_counted_in_between(desk: Desk) -> None:
    """The process died between Redis and the mark in SQL, and the holder has boarded since."""
    holder_id = desk.city.student()
    desk.publish()
    desk.redis.set(usage_key(desk.hot_id(holder_id)), b"counted meanwhile")
    with writing(desk.city.engine) as session:
        session.execute(update(HolderRow).values(published_revision=0))
        session.execute(update(OutboxRow).values(published_at=None))
    desk.publish()
    assert desk.redis.get(usage_key(desk.hot_id(holder_id))) == b"counted meanwhile"


@pytest.mark.parametrize("high", [2, 127, 128, 255, 256, 65_535, 2**40])
def test_an_older_revision_never_replaces_a_newer_one(link: RedisLink, high: int) -> None:
    hot = HotState(link)
    hot_id = "00000000000000aa"

    def published(revision: int) -> int:
        return hot.publish([holder_publication(hot_id, pack_holder(HolderRecord(), revision))])

    assert published(high) == 1
    assert published(high - 1) == 0
    assert revision_of(link.client.get(holder_key(hot_id))) == high
    assert published(high + 1) == 1
    assert revision_of(link.client.get(holder_key(hot_id))) == high + 1


def test_a_script_that_the_server_forgot_is_loaded_again(link: RedisLink) -> None:
    hot = HotState(link)
    link.client.script_flush()
    assert hot.publish([city_publication(pack_holder(HolderRecord(), 1))]) == 1


def test_transactions_that_commit_out_of_order_are_all_published(
    postgres_url: str, link: RedisLink, tmp_path: Path
) -> None:
    city = make_city(postgres_url, tmp_path)
    desk = Desk(city, HotState(link))
    slow, fast = city.student(), city.student()
    desk.publish()
    with writing(city.engine) as session:
        change_holder(session, slow, NOW)
        session.flush()
        with writing(city.engine) as other:
            change_holder(other, fast, NOW)
        assert desk.publish() == 1
    assert desk.publish() == 1
    for holder_id in (slow, fast):
        with reading(city.engine) as session:
            row = session.get_one(HolderRow, holder_id)
            assert (
                revision_of(desk.redis.get(holder_key(row.hot_id))) == row.revision == row.published_revision
            )
    city.engine.dispose()


def test_contradictory_fares_hold_back_the_city_and_nobody_else(
    sqlite_city: RegisterCity, link: RedisLink
) -> None:
    desk = Desk(sqlite_city, HotState(link))
    desk.publish()
    with writing(sqlite_city.engine) as session:
        office = as_city(sqlite_city.staff("city"))
        for row in session.scalars(select(FareRow)).all():
            ends = NewFare(row.network, row.cents, row.first_day, row.act_id, last_day=date(2026, 1, 31))
            register_fare(session, office, NOW, ends, corrects_id=row.id)
    holder_id = sqlite_city.student()
    before = desk.redis.get(CITY)

    desk.publish()

    assert desk.redis.get(CITY) == before
    assert desk.snapshot(holder_id).rights
    assert desk.waiting() > 0


def test_a_vehicle_that_changes_hands_at_midnight_is_published_by_itself(
    sqlite_city: RegisterCity, link: RedisLink
) -> None:
    desk = Desk(sqlite_city, HotState(link))
    with sqlite_city.writing() as session:
        office = as_city(sqlite_city.staff("city"))
        register_vehicle(session, office, NOW, number="1201", operator="rural", from_day=date(2026, 3, 3))
    desk.publish()
    assert view_city(desk.redis.get(CITY)).vehicle_operator["1201"] == "azul"
    assert desk.publish() == 0

    desk.now = datetime(2026, 3, 3, 3, 0, 1, tzinfo=UTC)
    desk.publish()
    assert view_city(desk.redis.get(CITY)).vehicle_operator["1201"] == "rural"
    with reading(sqlite_city.engine) as session:
        row = session.get_one(CityRow, 1)
        assert row.revision == row.published_revision


def test_the_loop_waits_for_a_redis_that_is_away(
    private_redis: EmbeddedRedis, sqlite_city: RegisterCity
) -> None:
    stop = threading.Event()
    law = packaged()
    runner = threading.Thread(
        target=run_publish, args=(sqlite_city.engine, private_redis.url, law, lambda: NOW, stop)
    )
    runner.start()
    try:
        private_redis.kill()
        holder_id = sqlite_city.student()
        private_redis.start()
        with redis.Redis.from_url(private_redis.url) as client:
            with reading(sqlite_city.engine) as session:
                key = holder_key(session.get_one(HolderRow, holder_id).hot_id)
            for _ in range(200):
                if client.exists(key):
                    break
                stop.wait(0.05)
            assert client.exists(key)
    finally:
        stop.set()
        runner.join(20)
    assert not runner.is_alive()

"""A chip from the desk to the rows: bound, published, tapped, bound to another, and the same after a lost Redis."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest
from sqlalchemy import select

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.bind_uid import unbind_uid
from backoffice.application.ingest import Ingester
from backoffice.application.publish import Publisher
from backoffice.application.register_devices import enrol_device
from backoffice.application.staff import as_administrator, as_desk
from backoffice.persistence.base import reading
from backoffice.persistence.holders import HolderRow
from backoffice.persistence.journal import BoardingRow
from tests.backoffice.journal_play import packaged
from tests.backoffice.register_city import NOW, RegisterCity
from tests.validator.conftest import Service, running_service
from tests.validator.seeded_city import SeededDevice, iso
from validator.domain.vocabulary import Product

pytestmark = pytest.mark.hot_state

UID = "04A2B3C4D5E680"


@dataclass
class Town:
    """A register, its publisher and its ingester, on one Redis."""

    city: RegisterCity
    link: RedisLink
    device: SeededDevice

    def __post_init__(self) -> None:
        self.look_at_redis()

    def look_at_redis(self) -> None:
        self.ingester = Ingester(self.city.engine, HotState(self.link), packaged(), lambda: NOW)
        self.ingester.begin()

    def publish(self) -> None:
        publisher = Publisher(self.city.engine, packaged(), lambda: NOW)
        while publisher.publish_waiting(HotState(self.link)):
            pass

    def ingest(self) -> None:
        while self.ingester.step():
            pass

    def payer(self) -> tuple[int, str, int]:
        """A pupil with student passes and five prepaid ones: number of the record, hot id, number of the card."""
        holder = self.city.student()
        self.city.sell(holder, 10)
        self.city.sell(holder, 5, Product.PREPAID)
        with reading(self.city.engine) as session:
            hot_id = session.get_one(HolderRow, holder).hot_id
        return holder, hot_id, self.city.card(holder).number

    def let_go(self, number: int) -> None:
        with self.city.writing() as session:
            desk = as_desk(self.city.staff("clerk"))
            unbind_uid(session, desk, NOW, number=number, uid=UID, reason="vendido")

    def tap(self, boarding: int) -> bytes:
        medium: dict[str, object] = {"kind": "uid", "uid": UID}
        return self.device.tap(boarding, medium, line="101", vehicle="1201", occurred_at=iso(NOW))

    async def said(self, service: Service, raw: bytes) -> tuple[str, int | None, bool]:
        answer = (await service.board(self.device, raw)).json()
        return answer["reason"]["name"], answer["remaining"]["passes"], answer["replayed"]


@pytest.fixture
def town(city: RegisterCity, redis_url: str) -> Iterator[Town]:
    device = SeededDevice("v-1")
    with city.writing() as session:
        enrolled = enrol_device(
            session,
            as_administrator(city.staff("admin")),
            NOW,
            city.chance,
            device_id="v-1",
            operator="azul",
            public_key=device.key.public_key().public_bytes_raw(),
        )
    device.token = enrolled.token
    with RedisLink(redis_url) as link:
        yield Town(city, link, device)


async def test_a_chip_that_changes_hands_never_charges_the_wrong_person(town: Town, redis_url: str):
    _, seller, first = town.payer()
    _, buyer, second = town.payer()
    taps = [town.tap(number) for number in range(1, 5)]
    town.city.bind(first, UID)
    town.publish()

    async with running_service(redis_url) as service:
        service.clock.now = NOW
        said = [await town.said(service, taps[0])]
        town.let_go(first)
        town.publish()
        said.append(await town.said(service, taps[1]))
        town.city.bind(second, UID)
        town.publish()
        said.append(await town.said(service, taps[2]))
        said += [await town.said(service, tap) for tap in taps[:2]]
        town.ingest()
        town.link.client.flushall()
        town.look_at_redis()

    async with running_service(redis_url) as service:
        service.clock.now = NOW
        after = [await town.said(service, tap) for tap in taps]
    town.ingest()

    assert said == [
        ("OK", 4, False),
        ("CARD_UNKNOWN", None, False),
        ("OK", 4, False),
        ("OK", 4, True),
        ("CARD_UNKNOWN", None, True),
    ]
    assert after == [("OK", 4, True), ("CARD_UNKNOWN", None, True), ("OK", 4, True), ("OK", 3, False)]
    with reading(town.city.engine) as session:
        rows = {UUID(row.boarding_id).int: row for row in session.scalars(select(BoardingRow))}
        kept = [(rows[n].medium, rows[n].holder, rows[n].card_number, rows[n].category) for n in range(1, 5)]
    assert kept == [
        ("uid", seller, first, "PREPAID"),
        ("uid", None, None, None),
        ("uid", buyer, second, "PREPAID"),
        ("uid", buyer, second, "PREPAID"),
    ]

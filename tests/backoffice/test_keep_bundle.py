"""From the register to the bus: what desks record is in the list that a device fetches, and nothing else."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.offline_policy import policy_from
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.bundle import Built, BundleNotBuilt
from backoffice.application.issue_cards import block_card, replace_card, rotate_city_key
from backoffice.application.keep_bundle import build_once, run_bundle
from backoffice.application.publish import Publisher
from backoffice.application.staff import as_city, as_desk
from tests.backoffice.journal_play import packaged
from tests.backoffice.register_city import NOW, RegisterCity
from tests.onboard.fleet import RedisGet, fetch
from validator.domain.reasons import Reason
from validator.onboard.city_store import CityStore
from validator.onboard.download import Synced
from validator.onboard.journal import Journal
from validator.onboard.keys import verify
from validator.onboard.offline import OfflineDesk, Seen, Verdict
from validator.onboard.rides import Rides
from validator.records.device_messages import CardMedium
from validator.records.keys import VERIFIED

pytestmark = pytest.mark.hot_state


class Fleet:
    """A city with its publisher, and one device without a network."""

    def __init__(self, city: RegisterCity, redis_url: str, folder: Path) -> None:
        self.city = city
        self.url = redis_url
        self.journal = Journal(folder / "journal.sqlite")
        self.store = CityStore(folder / "city.sqlite")
        self.desk = OfflineDesk(self.store, Rides(self.journal), verify)

    def publish(self) -> None:
        with RedisLink(self.url) as link:
            publisher = Publisher(self.city.engine, packaged(), lambda: NOW)
            while publisher.publish_waiting(HotState(link)):
                pass
            link.client.set(VERIFIED, link.run_id)

    def build(self, hours: int = 0) -> Built:
        return build_once(
            self.city.engine, self.url, policy_from(None), self.city.signer, NOW + timedelta(hours=hours)
        )

    def sync(self) -> Synced:
        with RedisLink(self.url) as link:
            return fetch(self.store, RedisGet(SimpleNamespace(redis=link.client)))[0]  # type: ignore[arg-type]

    def tap(self, token: str) -> Verdict:
        return self.desk.decide(Seen("b", NOW, "101", "1201", CardMedium(token)))


@pytest.fixture
def fleet(city: RegisterCity, redis_url: str, tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(city, redis_url, tmp_path / "device")
    yield fleet
    fleet.journal.close()
    fleet.store.close()


def trust(fleet: Fleet) -> None:
    fleet.store.trust([(1, fleet.city.signer.create(1))])


def test_what_the_desk_sells_rides_on_the_bus(fleet: Fleet) -> None:
    student = fleet.city.student()
    fleet.city.sell(student, 5)
    card = fleet.city.card(student)
    fleet.publish()
    built = fleet.build()
    trust(fleet)

    assert fleet.sync() is Synced.TAKEN
    verdict = fleet.tap(card.token)

    assert built.holders == 1
    assert (verdict.display, verdict.purse) == ("MEIA 49 RESTAM", "STUDENT")


def test_a_blocked_and_a_replaced_card_are_refused_after_the_next_list(fleet: Fleet) -> None:
    holders = [fleet.city.student(), fleet.city.student()]
    for holder in holders:
        fleet.city.sell(holder, 5)
    cards = [fleet.city.card(holder) for holder in holders]
    fleet.publish()
    fleet.build()
    trust(fleet)
    fleet.sync()
    desk = as_desk(fleet.city.staff("clerk"))
    with fleet.city.writing() as session:
        block_card(session, desk, NOW, number=cards[0].number, reason="perdido")
        newer = replace_card(session, desk, NOW, fleet.city.signer, number=cards[1].number, reason="quebrado")
    assert fleet.tap(cards[0].token).released

    fleet.publish()
    fleet.build(1)
    fleet.sync()

    assert fleet.tap(cards[0].token).reason is Reason.CARD_BLOCKED
    assert fleet.tap(cards[1].token).reason is Reason.CARD_REPLACED
    assert fleet.tap(newer.token).released


def test_a_rotated_key_reaches_the_bus_before_it_signs(fleet: Fleet) -> None:
    fleet.city.card(fleet.city.student())
    fleet.publish()
    fleet.build()
    trust(fleet)
    fleet.sync()
    with fleet.city.writing() as session:
        rotate_city_key(session, as_city(fleet.city.staff("city")), NOW, fleet.city.signer)
    other = fleet.city.student()
    fleet.city.sell(other, 1)
    card = fleet.city.card(other)

    fleet.publish()
    fleet.build(1)

    assert fleet.sync() is Synced.TAKEN
    assert fleet.tap(card.token).released


def test_nothing_is_built_before_the_city_is_published(fleet: Fleet) -> None:
    with pytest.raises(BundleNotBuilt, match="publish"):
        fleet.build()


def test_the_process_goes_on_while_nothing_can_be_built_and_ends_when_asked(fleet: Fleet) -> None:
    stop = threading.Event()
    arguments = (fleet.city.engine, fleet.url, policy_from(None), fleet.city.signer, lambda: NOW, 0.05, stop)
    keeper = threading.Thread(target=run_bundle, args=arguments)
    keeper.start()
    fleet.city.card(fleet.city.student())
    fleet.publish()
    trust(fleet)
    for _ in range(200):
        if fleet.sync() is Synced.TAKEN:
            break
        stop.wait(0.05)
    stop.set()
    keeper.join(10)

    assert fleet.store.current() is not None
    assert not keeper.is_alive()

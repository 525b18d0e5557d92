"""A chip tapped on a bus without a network: the list knows it by a name that tells nobody its uid."""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from tests.law.laws import uid_proves_rights
from tests.onboard.conftest import Bus, make_bus
from tests.onboard.fleet import RedisGet, build, fetch
from tests.validator.seeded_city import FOREVER, SeededCard, SeededCity, elder, prepaid, student
from tests.validator.served import served
from validator.domain.holder import Holder
from validator.domain.rights import AgeRight, Period, Right
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category
from validator.records.chip_uid import listed_uid
from validator.records.city import law_json
from validator.records.codes import CardState, EntryKind

pytestmark = pytest.mark.hot_state

PAYER, STUDENT, ELDER, TEACHER, LOST, RENEWED, NOBODY = (f"{n:016x}" for n in range(0xB1, 0xB8))
UIDS = {hot_id: f"04{int(hot_id, 16):012X}" for hot_id in (PAYER, STUDENT, ELDER, TEACHER, LOST, RENEWED)}


def card_of(hot_id: str, issue: int = 1) -> SeededCard:
    return SeededCard(hot_id, 10_000 + int(hot_id, 16), issue)


def seed(city: SeededCity, hot_id: str, holder: Holder, **changes: object) -> None:
    card = card_of(hot_id)
    record = {"cards": [card.record()], "chips": [card.chip(UIDS[hot_id])], **changes}
    city.holder(hot_id, holder, **record)  # type: ignore[arg-type]


@pytest.fixture
def city(redis_url: str) -> Iterator[SeededCity]:
    with SeededCity(redis_url) as seeded:
        seeded.publish()
        seed(seeded, PAYER, prepaid(passes=2))
        seed(seeded, STUDENT, student(passes=5))
        seed(seeded, ELDER, elder())
        seed(seeded, TEACHER, Holder(rights=(Right(Category.TEACHER, FOREVER),)))
        seed(seeded, LOST, prepaid(), cards=[card_of(LOST).record(CardState.BLOCKED)])
        seed(seeded, RENEWED, prepaid(), cards=[card_of(RENEWED, 2).record()])
        yield seeded


def give_list(city: SeededCity, redis_url: str, bus: Bus, *holders: str) -> None:
    build(city, redis_url, holders or list(UIDS), at=bus.now)
    fetch(bus.parts.store, RedisGet(city))


@pytest.fixture
def alone(city: SeededCity, redis_url: str, lonely_bus: Bus) -> Bus:
    """A bus without a network, with the list."""
    give_list(city, redis_url, lonely_bus)
    return lonely_bus


@pytest.mark.parametrize(
    ("holder", "shown"),
    [
        (PAYER, ("PASSE 1 RESTAM", "TURN", True, "PURSE")),
        (STUDENT, ("SEM PASSES", "HOLD", False, None)),
        (ELDER, ("SEM PASSES", "HOLD", False, None)),
        (TEACHER, ("SEM PASSES", "HOLD", False, None)),
        (LOST, ("CARTÃO BLOQUEADO", "HOLD", False, None)),
        (RENEWED, ("CARTÃO SUBSTITUÍDO", "HOLD", False, None)),
    ],
)
def test_a_chip_pays_from_a_full_fare_purse_and_proves_no_right(
    alone: Bus, holder: str, shown: tuple[object, ...]
):
    said = alone.tap(json.dumps({"tap": {"kind": "uid", "uid": UIDS[holder]}}))

    assert (said.display, said.turnstile, said.released, said.ride_class) == shown
    assert said.mode == "offline"


def test_a_chip_in_no_list_is_an_unknown_card(alone: Bus):
    assert alone.tap("04AABBCC").display == "CARTÃO DESCONHECIDO"


def test_chip_and_card_of_one_holder_share_the_purse(alone: Bus):
    card = card_of(PAYER).token.text()

    said = [alone.tap(line, after=timedelta(minutes=1)) for line in (UIDS[PAYER], card, UIDS[PAYER])]

    assert [shown.display for shown in said] == ["PASSE 1 RESTAM", "PASSE 0 RESTAM", "SEM PASSES"]


def test_a_purse_waits_for_a_younger_list_on_a_chip_too(alone: Bus):
    assert alone.tap(UIDS[PAYER], after=timedelta(hours=73)).display == "LISTA VENCIDA"


def test_the_next_list_moves_a_chip_to_its_new_holder_and_forgets_those_that_were_let_go(
    city: SeededCity, redis_url: str, alone: Bus
):
    alone.now += timedelta(minutes=5)
    seed(city, PAYER, prepaid(passes=2), chips=[])
    card = card_of(ELDER)
    city.holder(ELDER, prepaid(passes=8), cards=[card.record()], chips=[card.chip(UIDS[PAYER])])
    give_list(city, redis_url, alone)

    assert alone.tap(UIDS[PAYER]).display == "PASSE 7 RESTAM"
    assert alone.tap(UIDS[ELDER]).display == "CARTÃO DESCONHECIDO"

    alone.now += timedelta(minutes=5)
    give_list(city, redis_url, alone, STUDENT)

    assert alone.tap(UIDS[PAYER]).display == "CARTÃO DESCONHECIDO"
    assert alone.tap(UIDS[STUDENT]).display == "SEM PASSES"
    kept = [hot_id for hot_id, uid in UIDS.items() if alone.parts.store.chip(listed_uid(bytes.fromhex(uid)))]
    assert kept == [STUDENT], "the disk does not fill up with chips of yesterday"


def going_on(hot_id: str) -> str:
    return json.dumps({"tap": {"kind": "uid", "uid": UIDS[hot_id]}, "continues": str(UUID(int=7))})


@pytest.mark.parametrize("holder", [ELDER, TEACHER, STUDENT])
def test_a_ride_by_a_right_does_not_go_on_by_a_chip(alone: Bus, holder: str):
    said = alone.tap(going_on(holder))

    assert (said.display, said.turnstile, said.released) == ("SEM PASSES", "HOLD", False)
    tap, _ = alone.parts.journal.entries(1, after=0, limit=9)
    assert json.loads(tap.exact)["continues"] == str(UUID(int=7)), "the service judges the same"


@pytest.mark.parametrize("after", [timedelta(0), timedelta(hours=73)], ids=["new list", "old list"])
def test_a_ride_that_may_have_been_paid_goes_on_by_a_chip_whatever_the_age_of_the_list(
    city: SeededCity, redis_url: str, alone: Bus, after: timedelta
):
    seed(city, TEACHER, Holder((Right(Category.TEACHER, FOREVER),), purses=prepaid().purses))
    alone.now += timedelta(minutes=5)
    give_list(city, redis_url, alone)

    said = alone.tap(going_on(TEACHER), after=after)

    assert (said.display, said.released, said.ride_class) == ("CONTINUE A VIAGEM", True, None)


def test_who_has_no_right_yet_and_paid_with_the_last_pass_is_not_stranded(
    city: SeededCity, redis_url: str, alone: Bus
):
    soon_elder = (AgeRight(Category.ELDER, Period(date(2026, 3, 20), None)),)
    payer = Holder(ages=soon_elder, purses=prepaid(passes=1).purses)
    seed(city, PAYER, payer, usage=Usage(used={"PREPAID": 1}))
    alone.now += timedelta(minutes=5)
    give_list(city, redis_url, alone)

    assert alone.tap(UIDS[PAYER]).display == "SEM PASSES"
    assert alone.tap(going_on(PAYER)).display == "CONTINUE A VIAGEM"


def test_where_an_act_lets_a_uid_prove_rights_a_ride_by_a_right_goes_on_by_a_chip(
    city: SeededCity, redis_url: str, alone: Bus
):
    city.publish(law_json=law_json(uid_proves_rights()))
    alone.now += timedelta(minutes=5)
    give_list(city, redis_url, alone)

    assert alone.tap(going_on(ELDER)).display == "CONTINUE A VIAGEM"


def test_the_tap_is_journalled_as_the_service_takes_it(alone: Bus):
    alone.tap("04:00:00:00:00:00:b1")

    tap, _ = alone.parts.journal.entries(1, after=0, limit=9)
    assert json.loads(tap.exact)["medium"] == {"kind": "uid", "uid": UIDS[PAYER]}


def test_the_disk_of_a_stolen_device_has_no_uid(alone: Bus):
    for path in alone.folder.glob("city.sqlite*"):
        data = path.read_bytes()

        assert all(bytes.fromhex(uid) not in data for uid in UIDS.values())
        assert all(uid.encode() not in data for uid in UIDS.values())
    assert alone.parts.store.chip(listed_uid(bytes.fromhex(UIDS[PAYER]))) == PAYER


def test_a_ride_on_a_chip_without_a_network_is_paid_from_the_purse_when_it_is_uploaded(
    city: SeededCity, redis_url: str, tmp_path: Path
):
    city.device()
    with served(redis_url, tmp_path) as address:
        bus = make_bus(tmp_path / "bus", address)
        give_list(city, redis_url, bus)
        said = [bus.tap(UIDS[hot_id]) for hot_id in (PAYER, STUDENT, LOST)]
        bus.go_online()
        bus.parts.uplink.upload_all()
        online = bus.tap(UIDS[PAYER])
        bus.stop()

    assert [(shown.released, shown.mode) for shown in said] == [
        (True, "offline"),
        (False, "offline"),
        (False, "offline"),
    ]
    assert (online.display, online.mode) == ("PASSE 0 RESTAM", "online")
    assert city.usage(PAYER).used == {"PREPAID": 2}
    assert city.usage(STUDENT).used == city.usage(LOST).used == {}
    flags = [entry.flags for entry in city.journal() if entry.kind == EntryKind.RELEASE]
    assert flags == [0, 0, 0], "device and service agree"

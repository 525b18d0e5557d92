"""A chip that names a ride cut short by a breakdown: one that was paid goes on by it, one by a right does not."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.law.laws import uid_proves_rights
from tests.validator.conftest import running_service
from tests.validator.seeded_city import NOW, SeededCard, SeededCity, elder, prepaid, student
from validator.domain.holder import Holder
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import Category, MediumKind
from validator.records.city import BreakdownRecord, law_json
from validator.records.codes import MEDIUM_CODE
from validator.records.packing import to_micros

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000c1"
UID = "04A2B3C4D5E680"
CHIP = {"kind": "uid", "uid": UID}
FIRST = UUID(int=70)
BROKEN = (BreakdownRecord("1207", to_micros(NOW - timedelta(minutes=5))),)


def rode(city: SeededCity, category: Category, holder: Holder, **used: int) -> SeededCard:
    """A holder with a chip, whose last ride was on the vehicle that broke down."""
    boarding = LastBoarding(str(FIRST), NOW - timedelta(minutes=20), "1207", category)
    paid = category in (Category.PREPAID, Category.VT)
    usage = Usage(used=used, last=None if paid else boarding, by_purse=boarding if paid else None)
    card = SeededCard(HOLDER)
    return city.holder(HOLDER, holder, usage, chips=[card.chip(UID)])


async def test_a_copied_chip_takes_neither_the_holders_continuation_nor_starts_a_passback(
    city: SeededCity, redis_url: str
):
    city.publish(breakdowns=BROKEN)
    device, card = city.device(), rode(city, Category.ELDER, elder())
    before = city.usage(HOLDER)

    async with running_service(redis_url) as service:
        copied = await service.board(device, device.tap(1, CHIP, vehicle="1208", continues=str(FIRST)))
        left = city.usage(HOLDER)
        own = await service.board(device, device.tap(2, card.medium, vehicle="1208", continues=str(FIRST)))

    assert (copied.json()["reason"]["name"], copied.json()["turnstile"]) == ("NO_PASSES", "HOLD")
    assert left == before
    assert (own.json()["outcome"], own.json()["class"], own.json()["fare_cents"]) == ("accepted", "FREE", 0)
    first, _ = sorted(city.journal(), key=lambda entry: entry.seq)
    assert (first.medium, first.continues) == (MEDIUM_CODE[MediumKind.UID], FIRST.bytes)


async def test_a_chip_that_names_a_half_fare_pays_the_whole_one(city: SeededCity, redis_url: str):
    city.publish(breakdowns=BROKEN)
    both = Holder(student().rights, (), student().purses + prepaid(3).purses)
    device, _ = city.device(), rode(city, Category.STUDENT_50, both, STUDENT=1)

    async with running_service(redis_url) as service:
        answer = await service.board(device, device.tap(1, CHIP, vehicle="1208", continues=str(FIRST)))

    assert (answer.json()["class"], answer.json()["fare_cents"]) == ("PURSE", 450)
    assert city.usage(HOLDER).used == {"STUDENT": 1, "PREPAID": 1}


async def test_a_ride_that_was_paid_goes_on_by_the_chip(city: SeededCity, redis_url: str):
    city.publish(breakdowns=BROKEN)
    device, _ = city.device(), rode(city, Category.PREPAID, prepaid(1), PREPAID=1)

    async with running_service(redis_url) as service:
        answer = await service.board(device, device.tap(1, CHIP, vehicle="1208", continues=str(FIRST)))

    assert (answer.json()["outcome"], answer.json()["fare_cents"]) == ("accepted", 0)
    assert city.usage(HOLDER).used == {"PREPAID": 1}


async def test_where_an_act_lets_a_uid_prove_rights_a_ride_by_a_right_goes_on_by_it(
    city: SeededCity, redis_url: str
):
    city.publish(breakdowns=BROKEN, law_json=law_json(uid_proves_rights()))
    device, _ = city.device(), rode(city, Category.ELDER, elder())

    async with running_service(redis_url) as service:
        answer = await service.board(device, device.tap(1, CHIP, vehicle="1208", continues=str(FIRST)))

    assert (answer.json()["outcome"], answer.json()["class"]) == ("accepted", "FREE")

"""Releases: what the device did wins over what was answered."""

import json
from datetime import timedelta
from uuid import UUID

import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import (
    NOW,
    SeededCity,
    elder,
    iso,
)
from validator.domain.usage import Usage
from validator.records.codes import EntryKind, Flag
from validator.records.usage import fold

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"


def release_text(**changes: object) -> str:
    fields = {"device_seq": 2, "boarding_id": str(UUID(int=1)), "released": True, "mode": "online"}
    return json.dumps(fields | changes)


async def effects(city: SeededCity) -> Usage:
    """Usage as a rebuild would fold it from the journal."""
    entries = sorted(city.journal(), key=lambda entry: entry.seq)
    return fold(
        Usage(), [effect for entry in entries if entry.holder_id == HOLDER for effect in entry.effects]
    )


@pytest.mark.parametrize(
    ("passes", "release", "flags", "spent", "half_fare"),
    [
        (10, {"class": "HALF", "purse": "STUDENT"}, 0, 1, 1),
        (10, {"released": False}, Flag.HELD_OVER_ACCEPTANCE, 0, 0),
        (10, {"class": "FULL"}, 0, 0, 0),
        (10, {}, 0, 1, 1),
        (0, {"class": "HALF"}, Flag.RELEASED_OVER_REFUSAL, 1, 1),
        (0, {"class": "FREE"}, Flag.RELEASED_OVER_REFUSAL, 0, 0),
        (0, {"class": "FULL"}, Flag.RELEASED_OVER_REFUSAL, 0, 0),
        (0, {"released": False}, 0, 0, 0),
    ],
)
async def test_usage_counts_what_the_device_did_whatever_was_answered(
    city: SeededCity,
    service: Service,
    passes: int,
    release: dict[str, object],
    flags: int,
    spent: int,
    half_fare: int,
):
    device, card = city.device(), city.student(passes=passes)
    device.tap(1, card.medium)
    device.release(1, **{"released": True, **release})  # type: ignore[arg-type]

    await service.items(device)

    usage = city.usage()
    assert (usage.spent("STUDENT"), usage.half_fare.get("2026-03", 0)) == (spent, half_fare)  # type: ignore[call-overload]
    entry = next(e for e in city.journal() if e.kind == EntryKind.RELEASE)
    assert entry.flags == flags
    assert await effects(city) == usage


async def test_a_release_may_come_in_a_later_batch_than_its_tap(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    device.release(1, released=False)

    (item,) = await service.items(device, device.batch(device.entries[1:], first_seq=2))

    assert item["verdict"] == "excluded"
    assert city.usage().spent("STUDENT") == 0


async def test_a_passback_that_was_let_through_starts_the_next_passback(city: SeededCity, service: Service):
    device, card = city.device(), city.holder(HOLDER, elder())
    device.tap(1, card.medium)
    device.tap(2, card.medium, occurred_at=iso(NOW + timedelta(minutes=4)))
    device.release(2, **{"class": "FREE"})
    device.tap(3, card.medium, occurred_at=iso(NOW + timedelta(minutes=8, seconds=30)))
    service.clock.now = NOW + timedelta(minutes=10)

    items = await service.items(device)

    assert [item["reason"]["name"] for item in items] == ["OK", "PASSBACK", "PASSBACK", "PASSBACK"]  # type: ignore[index]


async def test_a_release_of_a_boarding_nobody_knows_any_more_is_a_row(city: SeededCity, service: Service):
    device = city.device()
    device.release(1)

    items = await service.items(device)

    assert items == [{"device_seq": 1, "recorded": True}]
    entry = next(e for e in city.journal() if e.kind == EntryKind.RELEASE)
    assert entry.flags == Flag.SEEN_GONE


async def test_another_devices_boarding_is_not_released(city: SeededCity, service: Service):
    device, thief, card = city.device(), city.device("val-2"), city.student()
    await service.board(device, device.tap(1, card.medium))
    thief.release(1, released=False)

    await service.items(thief)

    assert city.usage().used == {"STUDENT": 1}
    entry = next(e for e in city.journal() if e.kind == EntryKind.RELEASE)
    assert (entry.effects, entry.note) == ((), "cites a boarding of another device")

"""Batches: offline boardings are facts, every entry ends in one row, and nobody fails their neighbours."""

import asyncio
import json
from datetime import timedelta
from uuid import UUID

import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import (
    NOW,
    SeededCard,
    SeededCity,
    SeededDevice,
    iso,
    prepaid,
)
from validator.domain.usage import Usage
from validator.records.codes import DeviceState, EntryKind, Flag
from validator.records.device_messages import chain_next, chain_start, digest_of
from validator.records.journal import unpack_head
from validator.records.keys import fence_key, holder_shard, usage_key
from validator.records.packing import to_micros

pytestmark = pytest.mark.hot_state

HOLDER, OTHER = "00000000000000aa", "00000000000000bb"


def release_text(**changes: object) -> str:
    fields = {"device_seq": 2, "boarding_id": str(UUID(int=1)), "released": True, "mode": "online"}
    return json.dumps(fields | changes)


def annulment_text(**changes: object) -> str:
    fields = {"device_seq": 2, "epoch": 1, "occurred_at": iso(NOW), "annuls": str(UUID(int=1))}
    return json.dumps(fields | changes)


async def test_taps_and_releases_are_recorded_in_order_under_a_signed_head(
    city: SeededCity, service: Service
):
    device, card = city.device(), city.student(passes=10)
    device.tap(1, card.medium)
    device.release(1, **{"class": "HALF", "purse": "STUDENT"})
    device.tap(2, {"kind": "cash", "tendered_cents": 1000})
    device.release(2, **{"class": "FULL"})
    device.tap(3, {"kind": "key", "category": "CHILD"})

    answer = (await service.batch(device)).json()

    assert [item["device_seq"] for item in answer["items"]] == [1, 2, 3, 4, 5]
    assert [item["verdict"] for item in answer["items"]] == ["billable"] * 2 + ["statistical"] * 3
    assert (answer["head_recorded"], answer["durable_seq"], answer["epoch"]) == (True, 0, 1)
    head = unpack_head(next(e for e in city.journal() if e.kind == EntryKind.HEAD).raw or b"")
    chain = chain_start(device.id, 1)
    for entry in device.entries:
        chain = chain_next(chain, digest_of(device.id, entry.encode()))
    assert (head.seq, head.head, head.closing) == (5, chain, False)
    assert city.usage().half_fare == {"2026-03": 1}


async def test_a_batch_sent_again_changes_nothing(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    device.release(1, released=False)
    device.tap(2, card.medium, occurred_at=iso(NOW + timedelta(seconds=30)))
    device.annul(2, occurred_at=iso(NOW + timedelta(seconds=40)))

    first = await service.items(device)
    usage = city.usage()
    again = await service.items(device)

    assert again == first
    assert city.usage() == usage
    assert (usage.spent("STUDENT"), dict(usage.half_fare)) == (0, {})


async def test_what_was_answered_online_is_not_decided_again(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))
    city.student(passes=0, usage=city.usage())

    (item,) = await service.items(device)

    assert item["verdict"] == "billable"
    assert sorted(entry.kind for entry in city.journal()) == [EntryKind.BOARDING, EntryKind.HEAD]


async def test_a_duplicate_in_a_batch_never_fails_its_neighbours(city: SeededCity, service: Service):
    device, card, other = city.device(), city.student(), city.holder(OTHER, prepaid())
    device.tap(1, card.medium)
    device.tap(1, card.medium, vehicle="1208")
    device.tap(2, other.medium)

    items = await service.items(device)

    assert [item["recorded"] for item in items] == [True, True, True]
    assert [item["verdict"] for item in items] == ["billable", "excluded", "statistical"]
    assert items[1]["reason"] == {"code": 1, "name": "BOARDING_ID_CONFLICT", "final": True}
    assert city.usage().used == {"STUDENT": 1}


@pytest.mark.parametrize(
    ("entry", "note"),
    [
        ("not json", "JSON"),
        ("{}", "required field"),
        ("", "JSON"),
        ('{"device_seq": 2, "epoch": 1, "medium": 5}', "medium"),
        (release_text(device_seq=9), "position"),
        (release_text(epoch=3), "epoch"),
        (release_text(boarding_id="x"), "UUID"),
        (release_text(released=1), "released"),
        (annulment_text(occurred_at="yesterday"), "ISO 8601"),
        (annulment_text(annuls=None), "annuls"),
        ('{"device_seq": 2, "a\\u0000b": 1, "released": true}', "unknown field"),
        ("x" * 5000, "limit"),
    ],
)
async def test_an_entry_that_breaks_the_form_is_kept_as_it_came_and_says_why(
    city: SeededCity, service: Service, entry: str, note: str
):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    device.chain(entry.encode())
    device.seq += 1
    device.tap(3, {"kind": "cash", "tendered_cents": 450})

    items = await service.items(device)

    assert [(item["recorded"], item["verdict"]) for item in items] == [
        (True, "billable"),
        (True, "excluded"),
        (True, "statistical"),
    ]
    assert note in str(items[1]["note"])
    rejected = next(e for e in city.journal() if e.kind == EntryKind.REJECTED)
    assert (rejected.seq, rejected.raw) == (2, entry.encode())
    assert rejected.note is not None
    assert rejected.note.isprintable()


# Whole batches


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"signature": "00" * 64}, "signature"),
        ({"signature": "zz" * 64}, "signature"),
        ({"signature": "00"}, "signature"),
        ({"head": "00" * 32}, "signature"),
        ({"head": "AB" * 32}, "head"),
        ({"first_seq": 2}, "signature"),
        ({"first_seq": 0}, "first_seq"),
        ({"closing": True}, "signature"),
        ({"closing": 1}, "closing"),
        ({"epoch": 2}, "epoch"),
        ({"epoch": "1"}, "epoch"),
        ({"entries": [1]}, "entries[0]"),
        ({"entries": [{}]}, "entries[0]"),
        ({"entries": "x"}, "entries"),
        ({"entries": ["{}"] * 1001}, "entries"),
        ({"more": 1}, "$"),
    ],
)
async def test_a_batch_that_cannot_be_attributed_is_refused_whole_and_records_nothing(
    city: SeededCity, service: Service, changes: dict[str, object], field: str
):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    body = json.loads(device.batch()) | changes

    answer = await service.batch(device, json.dumps(body).encode())

    assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
    assert city.journal() == []


async def test_a_closing_head_needs_no_entries(city: SeededCity, service: Service):
    device = city.device()
    device.tap(1, {"kind": "cash", "tendered_cents": 450})
    await service.batch(device)

    answer = await service.batch(device, device.batch([], first_seq=2, closing=True))

    assert answer.json() == {"epoch": 1, "items": [], "head_recorded": True, "durable_seq": 0, "missing": []}
    heads = [unpack_head(e.raw or b"") for e in city.journal() if e.kind == EntryKind.HEAD]
    assert sorted((head.seq, head.closing) for head in heads) == [(1, False), (1, True)]


async def test_a_thousand_entries_are_one_batch(city: SeededCity, service: Service):
    device, card = city.device(), city.holder(HOLDER, prepaid(passes=700))
    for number in range(500):
        device.tap(number + 1, card.medium)
        device.release(number + 1, **{"class": "PURSE", "purse": "PREPAID"})

    answer = (await service.batch(device)).json()

    assert [item["device_seq"] for item in answer["items"]] == list(range(1, 1001))
    assert all(item["recorded"] for item in answer["items"])
    assert city.usage().used == {"PREPAID": 500}
    assert len(city.journal()) == 1001


# Clocks, epochs, revoked devices


@pytest.mark.parametrize(
    "occurred", [NOW + timedelta(minutes=6), NOW - timedelta(days=46), NOW.replace(year=1970)]
)
async def test_a_tap_from_the_future_or_too_old_goes_to_quarantine(
    city: SeededCity, service: Service, occurred: object
):
    device, card = city.device(), city.student()
    device.tap(1, card.medium, occurred_at=iso(occurred))  # type: ignore[arg-type]
    device.release(1, **{"class": "HALF"})

    items = await service.items(device)

    assert [item["verdict"] for item in items] == ["excluded", "excluded"]
    assert items[0]["reason"] == {"code": 7, "name": "CLOCK_INVALID", "final": False}
    assert items[0]["flags"] == ["CLOCK_QUARANTINE"]
    assert city.usage() == Usage()
    tap = next(e for e in city.journal() if e.kind == EntryKind.REFUSAL)
    assert (tap.occurred_micros, tap.dated_micros) == (to_micros(occurred), to_micros(NOW))  # type: ignore[arg-type]


async def test_a_late_batch_counts_in_the_month_of_the_tap(city: SeededCity, service: Service):
    """H7: 30 March, uploaded on 4 April."""
    device, card = city.device(), city.student()
    device.tap(1, card.medium, occurred_at="2026-03-30T12:00:00-03:00")
    service.clock.now = NOW.replace(month=4, day=4)

    await service.items(device)

    assert city.usage().half_fare == {"2026-03": 1}


async def test_an_earlier_epoch_is_taken_in_a_batch(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    body = device.batch()
    city.device(epoch=2)

    items = await service.items(device, body)

    assert items[0]["verdict"] == "billable"


async def test_a_revoked_device_may_still_upload_what_then_waits_for_a_person(
    city: SeededCity, service: Service
):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    device.release(1, **{"class": "HALF"})
    device.chain(b"garbage")
    device.seq += 1
    city.device(state=int(DeviceState.REVOKED))

    items = await service.items(device)

    assert [item["verdict"] for item in items] == ["excluded"] * 3
    assert city.usage() == Usage()
    assert all(entry.flags & Flag.REVOKED_DEVICE for entry in city.journal())


async def test_what_a_revoked_device_says_of_a_boarding_that_nobody_knows_any_more_is_flagged_too(
    city: SeededCity, service: Service
):
    """The rating goes by the flag: a thief must not let in, or take back, what was answered days ago."""
    device = city.device()
    device.release(1, **{"class": "HALF"})
    city.device(state=int(DeviceState.REVOKED))

    await service.items(device)

    (entry,) = [entry for entry in city.journal() if entry.kind == EntryKind.RELEASE]
    assert entry.flags == Flag.REVOKED_DEVICE | Flag.SEEN_GONE


async def test_an_unknown_device_may_not_upload(city: SeededCity, service: Service):
    nobody = SeededDevice("nobody")
    nobody.tap(1, {"kind": "cash", "tendered_cents": 450})

    assert (await service.batch(nobody)).status_code == 401


async def test_durable_entries_are_recorded_without_a_second_row(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    device.tap(1, card.medium)
    device.release(1, released=False)
    device.chain(b"garbage")
    device.seq += 1
    city.durable(device, 3)

    answer = (await service.batch(device)).json()

    assert [item["recorded"] for item in answer["items"]] == [True, True, True]
    assert answer["durable_seq"] == 3
    assert [entry.kind for entry in city.journal()] == [EntryKind.CONFLICT, EntryKind.HEAD]
    assert city.usage() == Usage()


# What the hot state refuses


async def test_what_cannot_be_recorded_is_sent_again_and_no_head_vouches_for_it(
    city: SeededCity, service: Service
):
    device, card, other = city.device(), city.student(), city.holder("0000000000000001", prepaid())
    assert holder_shard("0000000000000001") not in (holder_shard(HOLDER),)
    device.tap(1, card.medium)
    device.tap(2, other.medium)
    device.release(1, released=False)
    city.redis.set(fence_key(holder_shard(HOLDER)), "test")

    fenced = (await service.batch(device)).json()
    city.redis.delete(fence_key(holder_shard(HOLDER)))
    after = (await service.batch(device)).json()

    assert [item["recorded"] for item in fenced["items"]] == [False, True, False]
    assert [item.get("retry", False) for item in fenced["items"]] == [True, False, True]
    assert fenced["head_recorded"] is False
    assert [item["verdict"] for item in after["items"]] == ["excluded", "statistical", "excluded"]
    assert after["head_recorded"] is True
    assert city.usage().spent("STUDENT") == 0


async def test_a_holder_without_usage_fails_alone(city: SeededCity, service: Service):
    device, card, other = city.device(), city.student(), city.holder("0000000000000001", prepaid())
    city.redis.delete(usage_key(HOLDER))
    device.tap(1, card.medium)
    device.release(1, released=False)
    device.tap(2, other.medium)

    answer = (await service.batch(device)).json()

    assert [item["recorded"] for item in answer["items"]] == [False, False, True]
    assert city.redis.get(fence_key(holder_shard(HOLDER))) == b"usage"


async def test_batches_of_many_devices_at_once_on_one_holder_are_exact(city: SeededCity, service: Service):
    card = city.holder(HOLDER, prepaid(passes=1000))
    devices = [city.device(f"val-{n}") for n in range(4)]
    for index, device in enumerate(devices):
        for number in range(50):
            device.tap(1000 * index + number, card.medium)

    answers = []
    pending = {device.id: device for device in devices}
    for _ in range(20):
        answers = await asyncio.gather(*[service.batch(device) for device in pending.values()])
        for device, answer in zip(list(pending.values()), answers, strict=True):
            if all(item["recorded"] for item in answer.json()["items"]):
                del pending[device.id]
        if not pending:
            break

    assert not pending
    assert city.usage().used == {"PREPAID": 200}


async def test_a_tap_with_a_true_card_that_is_not_published_is_sent_again(city: SeededCity, service: Service):
    device = city.device()
    device.tap(1, SeededCard(HOLDER).medium)

    (item,) = await service.items(device)

    assert item == {"device_seq": 1, "recorded": False, "retry": True}

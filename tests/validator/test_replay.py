"""Same boarding id and same bytes: same answer, one effect, one row. Other bytes: a conflict, and the first stands."""

import asyncio
import json
from uuid import UUID

import pytest

from tests.validator.conftest import Service, running_service
from tests.validator.seeded_city import NOW, SeededCity, iso, prepaid, student
from validator.domain.usage import Usage
from validator.records.codes import EntryKind
from validator.records.device_messages import digest_of
from validator.records.keys import id_key, seen_key

pytestmark = pytest.mark.hot_state


async def test_the_same_tap_again_gets_the_same_answer_and_changes_nothing(
    city: SeededCity, service: Service
):
    """A device that never hears an answer posts the same bytes again."""
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)

    first = (await service.board(device, raw)).json()
    again = (await service.board(device, raw)).json()

    assert (first["replayed"], again["replayed"]) == (False, True)
    assert first | {"replayed": True} == again
    assert len(city.journal()) == 1
    assert city.usage().used == {"STUDENT": 1}


async def test_a_refusal_is_replayed_too(city: SeededCity, service: Service):
    device, card = city.device(), city.student(passes=0)
    raw = device.tap(1, card.medium)
    first = (await service.board(device, raw)).json()
    city.student(passes=10)

    again = (await service.board(device, raw)).json()

    assert (first["reason"]["name"], again["reason"]["name"]) == ("NO_PASSES", "NO_PASSES")
    assert len(city.journal()) == 1


async def test_another_process_replays_as_well(city: SeededCity, service: Service, redis_url: str):
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)
    first = (await service.board(device, raw)).json()

    async with running_service(redis_url) as other:
        again = (await other.board(device, raw)).json()

    assert first | {"replayed": True} == again


async def test_the_same_tap_many_times_at_once_is_one_boarding(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)

    answers = await asyncio.gather(*[service.board(device, raw) for _ in range(20)])

    assert {answer.status_code for answer in answers} == {200}
    assert sorted(answer.json()["replayed"] for answer in answers) == [False] + [True] * 19
    assert len(city.journal()) == 1
    assert city.usage().used == {"STUDENT": 1}


@pytest.mark.parametrize("changed", ["card", "line", "time", "sequence", "spacing"])
async def test_the_same_id_with_anything_else_is_a_conflict_and_the_first_stands(
    city: SeededCity, service: Service, changed: str
):
    device, card = city.device(), city.student()
    other = city.holder("00000000000000bb", prepaid())
    raw = device.tap(1, card.medium)
    first = (await service.board(device, raw)).json()
    message = json.loads(raw)
    message |= {
        "card": {"medium": other.medium},
        "line": {"line": "900"},
        "time": {"occurred_at": iso(NOW.replace(second=1))},
        "sequence": {"device_seq": 2},
        "spacing": {},
    }[changed]
    body = json.dumps(message, indent=1).encode() if changed == "spacing" else json.dumps(message).encode()

    conflict = await service.board(device, body)

    assert conflict.status_code == 409
    assert conflict.headers["content-type"] == "application/problem+json"
    assert conflict.json()["reason"] == {"code": 1, "name": "BOARDING_ID_CONFLICT", "final": True}
    assert (await service.board(device, raw)).json() == first | {"replayed": True}
    assert [entry.kind for entry in city.journal() if entry.kind != EntryKind.BOARDING] == [
        EntryKind.CONFLICT
    ]
    assert (city.usage().used, city.usage("00000000000000bb").used) == ({"STUDENT": 1}, {})


async def test_the_same_id_from_another_device_is_a_conflict(city: SeededCity, service: Service):
    device, thief, card = city.device(), city.device("val-2"), city.student()
    raw = device.tap(1, card.medium)
    await service.board(device, raw)

    assert (await service.board(thief, raw)).status_code == 409


async def test_a_capital_letter_in_the_id_is_the_same_id_but_other_bytes(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    raw = device.tap(0xABC, card.medium)
    await service.board(device, raw)

    conflict = await service.board(device, raw.replace(b"000abc", b"000ABC"))

    assert conflict.status_code == 409


# Durable


async def test_a_durable_tap_whose_answer_is_gone_is_recorded_and_changes_nothing(
    city: SeededCity, service: Service
):
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)
    city.durable(device, 1)

    answer = (await service.board(device, raw)).json()

    assert (answer["outcome"], answer["durable_seq"], answer["replayed"]) == ("recorded", 1, True)
    assert [(entry.kind, entry.effects) for entry in city.journal()] == [(EntryKind.CONFLICT, ())]
    assert city.usage() == Usage()


async def test_another_tap_under_a_durable_sequence_reaches_the_register(city: SeededCity, service: Service):
    """Whether it is a fork only the register can tell, which has the digest; nothing of it may vanish."""
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)
    await service.board(device, raw)
    city.durable(device, 1)
    other_id = raw.replace(b"000001", b"000002", 1)
    same_id = raw.replace(b'"102"', b'"900"')

    recorded = (await service.board(device, other_id)).json()
    conflict = await service.board(device, same_id)

    assert (recorded["outcome"], conflict.status_code) == ("recorded", 409)
    kept = [entry for entry in city.journal() if entry.digest != digest_of(device.id, raw)]
    assert [(entry.seq, entry.kind, entry.effects) for entry in kept] == [(1, EntryKind.CONFLICT, ())] * 2
    assert [entry.digest for entry in kept] == [digest_of(device.id, tap) for tap in (other_id, same_id)]
    assert city.usage().used == {"STUDENT": 1}


async def test_a_durable_tap_whose_answer_is_kept_is_replayed(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)
    await service.board(device, raw)
    city.durable(device, 1)

    answer = (await service.board(device, raw)).json()

    assert (answer["outcome"], answer["replayed"], answer["durable_seq"]) == ("accepted", True, 1)


async def test_a_tap_above_a_gap_is_recorded_and_a_missing_one_is_journalled_again(
    city: SeededCity, service: Service
):
    device, card = city.device(), city.student()
    first, second = device.tap(1, card.medium), device.tap(2, card.medium)
    city.durable(device, 0, top_seq=2, missing=[(1, 1)])

    missing = (await service.board(device, first)).json()
    above = (await service.board(device, second)).json()

    assert (missing["outcome"], missing["missing"]) == ("accepted", [[1, 1]])
    assert above["outcome"] == "recorded"
    assert {entry.seq: entry.kind for entry in city.journal()} == {
        1: EntryKind.BOARDING,
        2: EntryKind.CONFLICT,
    }


async def test_an_id_that_expired_is_no_second_effect(city: SeededCity, service: Service):
    """A day after it is durable, id and answer are dropped; the durable record still knows the sequence."""
    device, card = city.device(), city.student()
    raw = device.tap(1, card.medium)
    await service.board(device, raw)
    city.durable(device, 1)
    city.redis.delete(id_key(UUID(int=1)))
    for home in range(64):
        city.redis.delete(seen_key(home, UUID(int=1)))

    assert (await service.board(device, raw)).json()["outcome"] == "recorded"
    assert city.usage().used == {"STUDENT": 1}


async def test_ids_and_answers_do_not_live_for_ever(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))

    keys = [key for key in city.redis.keys("*") if b"id:" in key or b"seen:" in key]
    assert len(keys) == 2
    assert all(45 * 86400 < city.redis.ttl(key) <= 46 * 86400 for key in keys)


async def test_a_server_clock_that_jumps_a_year_takes_no_cap_with_it(city: SeededCity, service: Service):
    """All that may expire is gone at once: what was counted, and what is durable, never may (H24)."""
    device, card = city.device(), city.holder("00000000000000aa", student(), Usage(half_fare={"2026-03": 49}))
    last = device.tap(1, card.medium)
    await service.board(device, last)
    city.durable(device, 1)
    expired = [key for key in city.redis.keys("*") if city.redis.ttl(key) >= 0]
    city.redis.delete(*expired)

    again = (await service.board(device, last)).json()
    over = (await service.board(device, device.tap(2, card.medium, vehicle="1208"))).json()

    assert len(expired) == 2
    assert again["outcome"] == "recorded"
    assert (over["outcome"], over["reason"]["name"]) == ("refused", "STUDENT_CAP_REACHED")
    assert (city.usage().half_fare, city.usage().used) == ({"2026-03": 50}, {"STUDENT": 1})

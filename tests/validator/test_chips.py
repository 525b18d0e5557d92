"""A chip known by its uid: it pays from full-fare purses, proves no right, and names its holder only while bound."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import NOW, SeededCard, SeededCity, iso, prepaid, student
from validator.domain.holder import Holder
from validator.domain.reasons import Reason
from validator.domain.vocabulary import MediumKind
from validator.records.codes import MEDIUM_CODE, CardState, EntryKind
from validator.records.device_messages import digest_of
from validator.records.journal import pack_id
from validator.records.keys import (
    fence_key,
    generation_key,
    holder_key,
    holder_shard,
    id_key,
    seen_key,
    uid_key,
    uid_shard,
    usage_key,
)
from validator.records.snapshot import (
    HolderRecord,
    UidHolderRecord,
    pack_holder,
    pack_uid_holder,
    purse_records,
)

pytestmark = pytest.mark.hot_state

ONE, TWO = "00000000000000c1", "00000000000000c4"
UID = "04A2B3C4D5E680"
CHIP = {"kind": "uid", "uid": UID}
assert holder_shard(ONE) != holder_shard(TWO)


def both() -> Holder:
    """A pupil with student passes and prepaid ones."""
    return Holder(student().rights, (), student().purses + prepaid(3).purses)


def bind(city: SeededCity, holder_id: str, holder: Holder | None = None, **changes: object) -> SeededCard:
    card = SeededCard(holder_id)
    city.holder(holder_id, holder or prepaid(3), **({"chips": [card.chip(UID)]} | changes))  # type: ignore[arg-type]
    return card


def let_go(city: SeededCity, holder_id: str, *, revision: int = 2) -> None:
    city.holder(holder_id, prepaid(3), usage=city.usage(holder_id), revision=revision)
    city.redis.set(uid_key(bytes.fromhex(UID)), pack_uid_holder(UidHolderRecord(None), revision))


async def test_a_pupils_chip_pays_the_whole_fare_and_the_kind_of_proof_is_recorded(
    city: SeededCity, service: Service
):
    device = city.device()
    bind(city, ONE, both())

    answer = (await service.board(device, device.tap(1, CHIP))).json()

    assert (answer["class"], answer["fare_cents"], answer["rider_cents"]) == ("PURSE", 450, 450)
    assert answer["remaining"] == {"month_boardings": None, "passes": 2}
    assert city.usage(ONE).used == {"PREPAID": 1}
    assert city.usage(ONE).half_fare == {}
    (entry,) = city.journal()
    assert entry.medium == MEDIUM_CODE[MediumKind.UID]
    assert (entry.holder_id, entry.card_number, entry.card_issue) == (ONE, 10_009, 1)
    assert (entry.city_cents, entry.revision) == (0, 1)


async def test_a_right_is_no_option_on_a_chip(city: SeededCity, service: Service):
    device = city.device()
    bind(city, ONE, student())

    answer = (await service.board(device, device.tap(1, CHIP))).json()

    assert (answer["reason"]["name"], answer["turnstile"]) == ("NO_PASSES", "HOLD")
    assert city.usage(ONE).used == {}


async def test_a_chip_that_nobody_has_is_an_unknown_card_of_nobody(city: SeededCity, service: Service):
    device = city.device()

    answer = (await service.board(device, device.tap(1, CHIP))).json()

    assert answer["reason"] == {"code": int(Reason.CARD_UNKNOWN), "name": "CARD_UNKNOWN", "final": True}
    (entry,) = city.journal()
    assert (entry.holder_id, entry.card_number, entry.medium) == (None, None, MEDIUM_CODE[MediumKind.UID])


@pytest.mark.parametrize(
    ("cards", "reason"),
    [
        ([SeededCard(ONE, issue=2).record()], "CARD_REPLACED"),
        ([SeededCard(ONE).record(CardState.BLOCKED)], "CARD_BLOCKED"),
        ([SeededCard(ONE, issue=2).record(CardState.BLOCKED)], "CARD_REPLACED"),
    ],
)
async def test_a_chip_is_as_good_as_the_issue_that_it_is_bound_to(
    city: SeededCity, service: Service, cards: list[object], reason: str
):
    device = city.device()
    bind(city, ONE, cards=cards)

    answer = (await service.board(device, device.tap(1, CHIP))).json()

    assert answer["reason"]["name"] == reason
    assert city.usage(ONE).used == {}
    (entry,) = city.journal()
    assert (entry.holder_id, entry.card_issue) == (ONE, 1)


async def test_the_snapshot_alone_says_what_a_chip_may_do(city: SeededCity, service: Service):
    """The way still leads to the holder who let the chip go: its new snapshot was written first."""
    device = city.device()
    bind(city, ONE, chips=[])
    city.redis.set(uid_key(bytes.fromhex(UID)), pack_uid_holder(UidHolderRecord(ONE), 1))

    answer = (await service.board(device, device.tap(1, CHIP))).json()

    assert answer["reason"]["name"] == "CARD_UNKNOWN"
    (entry,) = city.journal()
    assert (entry.holder_id, entry.card_number) == (None, None)


async def test_each_of_a_holders_chips_is_as_good_as_its_own_card(city: SeededCity, service: Service):
    device = city.device()
    good, lost = SeededCard(ONE), SeededCard(ONE, 20_008)
    other = {"kind": "uid", "uid": "08112233445566"}
    chips = [lost.chip("08112233445566"), good.chip(UID)]
    city.holder(ONE, prepaid(3), cards=[good.record(), lost.record(CardState.BLOCKED)], chips=chips)
    city.redis.set(uid_key(bytes.fromhex("04AABBCC")), pack_uid_holder(UidHolderRecord(ONE), 1))

    answers = [
        (await service.board(device, device.tap(n, medium))).json()["reason"]["name"]
        for n, medium in enumerate((CHIP, other, {"kind": "uid", "uid": "04AABBCC"}), start=1)
    ]

    assert answers == ["OK", "CARD_BLOCKED", "CARD_UNKNOWN"]
    assert {entry.seq: entry.card_number for entry in city.journal()} == {1: 10_009, 2: 20_008, 3: None}


async def test_chip_and_card_of_one_holder_share_the_purse(city: SeededCity, service: Service):
    device = city.device()
    card = bind(city, ONE)
    media = [CHIP, card.medium, CHIP, card.medium]

    answers = await asyncio.gather(
        *(service.board(device, device.tap(n, medium)) for n, medium in enumerate(media, start=1))
    )

    reasons = sorted(answer.json()["reason"]["name"] for answer in answers)
    assert reasons == ["NO_PASSES", "OK", "OK", "OK"]
    assert city.usage(ONE).used == {"PREPAID": 3}


async def test_the_same_tap_after_the_chip_was_bound_to_another_gets_the_same_answer(
    city: SeededCity, service: Service
):
    device = city.device()
    bind(city, ONE)
    raw = device.tap(1, CHIP)
    first = (await service.board(device, raw)).json()
    let_go(city, ONE)
    bind(city, TWO, revision=3)

    again = (await service.board(device, raw)).json()

    assert again == first | {"replayed": True}
    assert (city.usage(ONE).used, city.usage(TWO).used) == ({"PREPAID": 1}, {})
    assert len(city.journal()) == 1


async def test_another_tap_under_the_same_id_is_a_conflict_whoever_has_the_chip_now(
    city: SeededCity, service: Service
):
    device = city.device()
    bind(city, ONE)
    await service.board(device, device.tap(1, CHIP))
    bind(city, TWO, revision=3)

    other = await service.board(device, device.tap(1, CHIP, vehicle="1208"))

    assert other.status_code == 409
    assert (city.usage(ONE).used, city.usage(TWO).used) == ({"PREPAID": 1}, {})


async def test_a_tap_that_was_heard_and_not_answered_before_the_chip_moved_is_settled_once_where_it_was_heard(
    city: SeededCity, service: Service
):
    """Its first answer may still be under way from another process: nowhere else may it have an effect."""
    device = city.device()
    bind(city, TWO)
    raw = device.tap(1, CHIP)
    home = holder_shard(ONE)
    city.redis.set(id_key(UUID(int=1)), pack_id(digest_of(device.id, raw), home))

    answers = [(await service.board(device, raw)).json() for _ in range(2)]

    assert [answer["reason"]["name"] for answer in answers] == ["CARD_UNKNOWN", "CARD_UNKNOWN"]
    assert [answer["replayed"] for answer in answers] == [False, True]
    assert city.redis.exists(seen_key(home, UUID(int=1)))
    assert city.usage(TWO).used == {}


async def test_while_the_place_of_a_chip_is_rebuilt_nobody_says_that_it_is_unknown(
    city: SeededCity, service: Service
):
    device = city.device()
    shard = uid_shard(bytes.fromhex(UID))
    city.redis.set(fence_key(shard), "rebuild")
    raw = device.tap(1, CHIP)
    fenced = await service.board(device, raw)
    city.redis.delete(fence_key(shard))
    city.redis.delete(generation_key(shard))
    empty = await service.board(device, raw)
    city.redis.set(generation_key(shard), 1)
    bind(city, ONE)

    answer = (await service.board(device, raw)).json()

    for refused in (fenced, empty):
        assert refused.status_code == 503
        assert refused.json()["type"] == "urn:catraca:problem:shard-fenced"
    assert answer["outcome"] == "accepted"


@pytest.mark.parametrize(
    ("lost", "slug"), [(holder_key(ONE), "register-behind"), (usage_key(ONE), "usage-lost")]
)
async def test_a_holder_who_is_lost_is_never_taken_for_nobody(
    city: SeededCity, service: Service, lost: bytes, slug: str
):
    device = city.device()
    bind(city, ONE)
    city.redis.delete(lost)

    answer = await service.board(device, device.tap(1, CHIP))

    assert answer.status_code == 503
    assert answer.json()["type"] == f"urn:catraca:problem:{slug}"


async def test_while_a_chip_changes_hands_every_tap_has_one_answer_and_one_effect(
    city: SeededCity, service: Service
):
    """Each tap is posted three times at once while the chip goes back and forth between two shards."""
    device = city.device()
    city.holder(ONE, prepaid(200))
    city.holder(TWO, prepaid(200))
    taps = [device.tap(n, CHIP) for n in range(1, 61)]

    async def change_hands() -> None:
        for turn in range(1, 40):
            giver, taker = (ONE, TWO) if turn % 2 else (TWO, ONE)
            for holder, chips in ((giver, ()), (taker, (SeededCard(taker).chip(UID),))):
                record = HolderRecord(
                    purses=purse_records(prepaid(200)), cards=(SeededCard(holder).record(),), uids=chips
                )
                city.redis.set(holder_key(holder), pack_holder(record, turn))
                await asyncio.sleep(0)
            city.redis.set(uid_key(bytes.fromhex(UID)), pack_uid_holder(UidHolderRecord(taker), turn))
            await asyncio.sleep(0.002)

    async def post(raw: bytes) -> list[str]:
        answers = await asyncio.gather(*(service.board(device, raw) for _ in range(3)))
        return [answer.json()["reason"]["name"] for answer in answers]

    said, _ = await asyncio.gather(asyncio.gather(*(post(raw) for raw in taps)), change_hands())

    assert all(len(set(names)) == 1 for names in said)
    accepted = sum(names[0] == "OK" for names in said)
    used = [city.usage(holder).used.get("PREPAID", 0) for holder in (ONE, TWO)]
    assert sum(used) == accepted
    entries = [entry for entry in city.journal() if entry.reason == 0]
    assert [sum(entry.holder_id == holder for entry in entries) for holder in (ONE, TWO)] == used
    assert len(city.journal()) == len(taps)
    assert {names[0] for names in said} <= {"OK", "CARD_UNKNOWN"}


# In a batch


async def test_chips_in_a_batch_are_decided_in_their_order_with_their_releases(
    city: SeededCity, service: Service
):
    device = city.device()
    card = bind(city, ONE, prepaid(2))
    device.tap(1, CHIP)
    device.release(1, **{"class": "PURSE", "purse": "PREPAID", "mode": "offline"})
    device.tap(2, card.medium)
    device.release(2, released=False, mode="offline")
    device.tap(3, CHIP)
    device.tap(4, CHIP)
    device.tap(5, {"kind": "uid", "uid": "04AABBCC"})
    device.tap(6, {"kind": "uid", "uid": "04aabbcc"})

    items = (await service.batch(device)).json()["items"]

    assert [item["recorded"] for item in items] == [True] * 8
    assert [item["verdict"] for item in items] == [
        "statistical", "statistical", "excluded", "excluded", "statistical", "excluded", "excluded", "excluded",
    ]  # fmt: skip
    assert [items[n]["reason"]["name"] for n in (0, 2, 4, 5, 6)] == [
        "OK",
        "OK",
        "OK",
        "NO_PASSES",
        "CARD_UNKNOWN",
    ]
    assert "uid in upper-case hexadecimal" in items[7]["note"]
    assert city.usage(ONE).used["PREPAID"] - city.usage(ONE).returned.get("PREPAID", 0) == 2
    kinds = [entry.kind for entry in city.journal()]
    assert kinds.count(int(EntryKind.REJECTED)) == 1


async def test_the_same_batch_twice_changes_nothing(city: SeededCity, service: Service):
    device = city.device()
    bind(city, ONE)
    device.tap(1, CHIP)
    device.release(1, **{"class": "PURSE", "purse": "PREPAID", "mode": "offline"})
    first = (await service.batch(device)).json()
    let_go(city, ONE)
    bind(city, TWO, revision=3)

    again = (await service.batch(device)).json()

    assert [item["verdict"] for item in again["items"]] == [item["verdict"] for item in first["items"]]
    assert (city.usage(ONE).used, city.usage(TWO).used) == ({"PREPAID": 1}, {})


@pytest.mark.parametrize(
    ("bound", "reason"), [(timedelta(minutes=-1), "OK"), (timedelta(minutes=1), "CARD_UNKNOWN")]
)
async def test_a_ride_that_is_older_than_the_binding_is_not_charged_to_the_new_holder(
    city: SeededCity, service: Service, bound: timedelta, reason: str
):
    device = city.device()
    ridden = NOW - timedelta(hours=5)
    bind(city, ONE, chips=[SeededCard(ONE).chip(UID, ridden + bound)])
    device.tap(1, CHIP, occurred_at=iso(ridden))

    (item,) = (await service.batch(device)).json()["items"]

    assert item["reason"]["name"] == reason
    assert city.usage(ONE).used == ({"PREPAID": 1} if reason == "OK" else {})


async def test_a_tap_that_waits_for_a_person_to_date_it_names_the_card_of_the_chip(
    city: SeededCity, service: Service
):
    device = city.device()
    bind(city, ONE)
    device.tap(1, CHIP, occurred_at=iso(NOW + timedelta(days=1)))

    (item,) = (await service.batch(device)).json()["items"]

    assert item["reason"]["name"] == "CLOCK_INVALID"
    tap = next(entry for entry in city.journal() if entry.kind == EntryKind.REFUSAL)
    assert (tap.holder_id, tap.card_number, tap.card_issue) == (ONE, 10_009, 1)


async def test_entries_of_chips_carry_no_uid(city: SeededCity, service: Service):
    """Whoever holds any chip to a reader leaves no trace of it."""
    device = city.device()
    await service.board(device, device.tap(1, CHIP))

    (entry,) = city.journal()
    kept = [repr(entry).encode()]
    for key in city.redis.keys("*"):
        of = city.redis.type(key)
        kept += [key, city.redis.get(key) if of == b"string" else city.redis.dump(key)]
    everything = b"".join(kept)
    assert bytes.fromhex(UID) not in everything
    assert UID.encode() not in everything

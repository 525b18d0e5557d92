"""The single route: one tap, one answer, one row."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.validator.conftest import Service, running_service
from tests.validator.seeded_city import (
    NOW,
    SeededCard,
    SeededCity,
    elder,
    iso,
    prepaid,
    student,
)
from validator.domain.holder import Holder
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import Category
from validator.records.city import BreakdownRecord
from validator.records.codes import CATEGORY_CODE, CardState, EntryKind, Flag
from validator.records.keys import CITY, usage_key
from validator.records.packing import to_micros

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"


async def test_a_student_rides_at_half_fare(city: SeededCity, service: Service):
    device, card = city.device(), city.student(passes=10)

    answer = await service.board(device, device.tap(1, card.medium))

    assert answer.status_code == 200
    assert answer.json() == {
        "boarding_id": str(UUID(int=1)),
        "outcome": "accepted",
        "reason": {"code": 0, "name": "OK", "final": True},
        "class": "HALF",
        "purse": "STUDENT",
        "fare_cents": 450,
        "rider_cents": 225,
        "change_cents": 0,
        "turnstile": "TURN",
        "remaining": {"month_boardings": 49, "passes": 9},
        "rules": answer.json()["rules"],
        "display": "MEIA 49 RESTAM",
        "message": "Embarque liberado.",
        "replayed": False,
        "durable_seq": 0,
        "missing": [],
    }
    (entry,) = city.journal()
    assert (entry.kind, entry.category, entry.city_cents, entry.seq) == (EntryKind.BOARDING, 8, 225, 1)
    assert (entry.holder_id, entry.revision, entry.city_revision, entry.flags) == (HOLDER, 1, 1, 0)
    assert city.usage().used == {"STUDENT": 1}
    assert city.usage().half_fare == {"2026-03": 1}


@pytest.mark.parametrize(
    ("holder", "ride_class", "rider_cents", "display"),
    [
        (prepaid(), "PURSE", 450, "PASSE 9 RESTAM"),
        (elder(), "FREE", 0, "LIBERADO"),
        (student(), "HALF", 225, "MEIA 49 RESTAM"),
    ],
    ids=["prepaid", "elder", "student"],
)
async def test_a_device_sees_the_class_and_never_the_right(
    city: SeededCity, service: Service, holder: Holder, ride_class: str, rider_cents: int, display: str
):
    device, card = city.device(), city.holder(HOLDER, holder)

    answer = (await service.board(device, device.tap(1, card.medium))).json()

    assert (answer["class"], answer["rider_cents"], answer["display"]) == (ride_class, rider_cents, display)
    assert "category" not in answer
    assert "city_cents" not in answer


@pytest.mark.parametrize(
    ("medium", "outcome", "reason", "display"),
    [
        ({"kind": "cash", "tendered_cents": 1000}, "accepted", "OK", "TROCO R$ 5,50"),
        ({"kind": "cash", "tendered_cents": 450}, "accepted", "OK", "LIBERADO"),
        ({"kind": "cash", "tendered_cents": 449}, "refused", "INSUFFICIENT_TENDER", "VALOR INSUFICIENTE"),
        ({"kind": "cash", "tendered_cents": 10000}, "refused", "CHANGE_ABOVE_LIMIT", "TROCO MUITO ALTO"),
        ({"kind": "key", "category": "CHILD"}, "accepted", "OK", "LIBERADO"),
        ({"kind": "key", "category": "STUDENT_50"}, "refused", "CATEGORY_NOT_KEYABLE", "TECLA NÃO PERMITIDA"),
        ({"kind": "document", "category": "ELDER", "document": "RG"}, "accepted", "OK", "LIBERADO"),
        ({"kind": "card", "token": "not a token"}, "refused", "TOKEN_INVALID", "CARTÃO INVÁLIDO"),
    ],
)
async def test_a_medium_without_holder_is_decided_in_the_devices_shard(
    city: SeededCity, service: Service, medium: dict[str, object], outcome: str, reason: str, display: str
):
    device = city.device()

    answer = (await service.board(device, device.tap(1, medium))).json()

    assert (answer["outcome"], answer["reason"]["name"], answer["display"]) == (outcome, reason, display)
    (entry,) = city.journal()
    assert (entry.kind == EntryKind.BOARDING) is (outcome == "accepted")
    assert entry.holder is None


async def test_a_refusal_is_an_answer_and_a_row(city: SeededCity, service: Service):
    device = city.device()
    card = city.student(usage=Usage(half_fare={"2026-03": 50}))

    answer = (await service.board(device, device.tap(1, card.medium))).json()

    assert (answer["outcome"], answer["turnstile"], answer["class"]) == ("refused", "HOLD", None)
    assert answer["reason"] == {"code": 13, "name": "STUDENT_CAP_REACHED", "final": False}
    (entry,) = city.journal()
    assert (entry.kind, entry.effects) == (EntryKind.REFUSAL, ())
    assert city.usage().half_fare == {"2026-03": 50}


async def test_the_month_is_that_of_the_tap_and_not_of_its_arrival(city: SeededCity, service: Service):
    """H6: 23:59:59 on the last day in the city, received two seconds into the next month."""
    device, card = city.device(), city.student()
    service.clock.now = NOW.replace(month=4, day=1, hour=3, minute=0, second=2)
    occurred = service.clock.now - timedelta(seconds=3)

    await service.board(device, device.tap(1, card.medium, occurred_at=iso(occurred)))

    assert city.usage().half_fare == {"2026-03": 1}


# Cards


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([SeededCard(HOLDER, 99)], "CARD_UNKNOWN"),
        ([SeededCard(HOLDER, issue=1), SeededCard(HOLDER, issue=2)], "CARD_REPLACED"),
        ([SeededCard(HOLDER, issue=2)], "CARD_REPLACED"),
    ],
    ids=["other number", "two issues", "newer issue"],
)
async def test_a_card_is_judged_by_what_is_published_of_it(
    city: SeededCity, service: Service, records: list[SeededCard], reason: str
):
    device = city.device()
    card = city.holder(HOLDER, student(), cards=[record.record() for record in records])

    answer = (await service.board(device, device.tap(1, card.medium))).json()

    assert answer["reason"]["name"] == reason
    assert answer["reason"]["final"] is True


async def test_a_blocked_card_is_refused_at_once(city: SeededCity, service: Service):
    device = city.device()
    card = city.holder(HOLDER, student(), cards=[SeededCard(HOLDER).record(CardState.BLOCKED)])

    answer = (await service.board(device, device.tap(1, card.medium))).json()

    assert answer["reason"]["name"] == "CARD_BLOCKED"


async def test_a_token_that_is_not_the_live_one_is_invalid(city: SeededCity, service: Service):
    device = city.device()
    card = city.student()
    forged = card.token
    forged = type(forged)(forged.key_id, forged.holder_id, forged.card_number, forged.issue, bytes(64))

    answer = (await service.board(device, device.tap(1, {"kind": "card", "token": forged.text()}))).json()

    assert answer["reason"]["name"] == "TOKEN_INVALID"
    assert city.usage().used == {}


async def test_a_forged_card_of_nobody_is_invalid_and_a_true_one_is_not_refused(
    city: SeededCity, service: Service
):
    """No snapshot: the signature says whether the card is forged or the register is behind."""
    device, true = city.device(), SeededCard("00000000000000bb").token
    forged = type(true)(true.key_id, true.holder_id, true.card_number, true.issue, bytes(64))

    behind = await service.board(device, device.tap(1, {"kind": "card", "token": true.text()}))
    invalid = await service.board(device, device.tap(2, {"kind": "card", "token": forged.text()}))

    assert (behind.status_code, behind.json()["type"]) == (503, "urn:catraca:problem:register-behind")
    assert behind.headers["retry-after"] == "1"
    assert invalid.json()["reason"]["name"] == "TOKEN_INVALID"
    assert [entry.seq for entry in city.journal()] == [2]


async def test_a_true_card_is_answered_once_its_holder_is_published(city: SeededCity, service: Service):
    device = city.device()
    raw = device.tap(1, SeededCard(HOLDER).medium)
    assert (await service.board(device, raw)).status_code == 503
    city.student()

    answer = await service.board(device, raw)

    assert answer.json()["outcome"] == "accepted"


# Place and time


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({}, 0),
        ({"line": "205"}, Flag.LINE_FOREIGN),
        ({"vehicle": "3001"}, Flag.VEHICLE_FOREIGN),
        ({"vehicle": "nobody's"}, Flag.VEHICLE_FOREIGN),
        ({"line": "205", "vehicle": "3001"}, Flag.LINE_FOREIGN | Flag.VEHICLE_FOREIGN),
    ],
)
async def test_what_is_outside_the_devices_authority_is_decided_as_usual_and_flagged(
    city: SeededCity, service: Service, changes: dict[str, object], flags: int
):
    device, card = city.device(), city.student()

    answer = (await service.board(device, device.tap(1, card.medium, **changes))).json()

    assert answer["outcome"] == "accepted"
    assert city.journal()[0].flags == flags


async def test_a_line_nobody_knows_is_a_refusal_for_those_who_pay_and_a_flag_for_those_who_do_not(
    city: SeededCity, service: Service
):
    device = city.device()
    pays, free = city.student(), city.holder("00000000000000bb", elder())

    refused = (await service.board(device, device.tap(1, pays.medium, line="9999"))).json()
    rides = (await service.board(device, device.tap(2, free.medium, line="9999"))).json()

    assert refused["reason"]["name"] == "LINE_UNKNOWN"
    assert (rides["outcome"], rides["fare_cents"]) == ("accepted", 0)
    assert all(entry.flags & Flag.LINE_UNKNOWN for entry in city.journal())


@pytest.mark.parametrize("skew_min", [-6, 6, 60 * 24 * 365 * 10])
async def test_a_clock_that_is_off_is_not_believed_and_strands_nobody(
    city: SeededCity, service: Service, skew_min: int
):
    device, card = city.device(), city.student()
    own = NOW + timedelta(minutes=skew_min)

    answer = await service.board(
        device, device.tap(1, card.medium, occurred_at=iso(own)), sent_at=iso(own + timedelta(seconds=1))
    )

    assert answer.json()["outcome"] == "accepted"
    (entry,) = city.journal()
    assert entry.flags == Flag.CLOCK_SKEWED
    assert (entry.occurred_micros, entry.dated_micros) == (to_micros(own), to_micros(NOW))
    assert city.usage().half_fare == {"2026-03": 1}


async def test_a_clock_at_1970_is_a_flag_and_not_an_error(city: SeededCity, service: Service):
    device, card = city.device(), city.student()

    answer = await service.board(
        device,
        device.tap(1, card.medium, occurred_at="1970-01-01T00:00:00Z"),
        sent_at="1970-01-01T00:00:01Z",
    )

    assert answer.json()["outcome"] == "accepted"
    assert city.journal()[0].flags == Flag.CLOCK_SKEWED


async def test_a_clock_five_minutes_off_is_believed(city: SeededCity, service: Service):
    device, card = city.device(), city.student()
    own = NOW + timedelta(minutes=5)

    await service.board(device, device.tap(1, card.medium, occurred_at=iso(own)), sent_at=iso(own))

    (entry,) = city.journal()
    assert (entry.flags, entry.dated_micros) == (0, to_micros(own))


# Passback, continuation, free days


async def test_a_second_tap_on_the_same_vehicle_is_passback_and_on_another_is_not(
    city: SeededCity, service: Service
):
    device, card = city.device(), city.student()
    await service.board(device, device.tap(1, card.medium))

    again = (await service.board(device, device.tap(2, card.medium))).json()
    other = (await service.board(device, device.tap(3, card.medium, vehicle="1208"))).json()

    assert (again["reason"]["name"], other["outcome"]) == ("PASSBACK", "accepted")
    assert city.usage().used == {"STUDENT": 2}


async def test_a_ride_cut_short_by_a_breakdown_goes_on_for_nothing(city: SeededCity, redis_url: str):
    city.publish(breakdowns=(BreakdownRecord("1207", to_micros(NOW - timedelta(minutes=5))),))
    first = UUID(int=7)
    last = LastBoarding(str(first), NOW - timedelta(minutes=20), "1207", Category.STUDENT_50)
    device, card = city.device(), city.student(usage=Usage(last=last, used={"STUDENT": 1}))

    async with running_service(redis_url) as service:
        answer = await service.board(
            device, device.tap(1, card.medium, vehicle="1208", continues=str(first).upper())
        )

    assert (answer.json()["outcome"], answer.json()["fare_cents"]) == ("accepted", 0)
    assert city.usage().used == {"STUDENT": 1}
    assert city.journal()[0].continues == first.bytes


@pytest.mark.parametrize("named", [UUID(int=7), UUID(int=8)], ids=["not broken", "another boarding"])
async def test_a_continuation_that_is_none_is_an_ordinary_tap(
    city: SeededCity, service: Service, named: UUID
):
    last = LastBoarding(str(UUID(int=7)), NOW - timedelta(minutes=20), "1207", Category.STUDENT_50)
    device, card = city.device(), city.student(usage=Usage(last=last))

    await service.board(device, device.tap(1, card.medium, vehicle="1208", continues=str(named)))

    assert city.usage().used == {"STUDENT": 1}


async def test_on_a_free_day_everything_is_recorded_and_nothing_consumed(city: SeededCity, redis_url: str):
    """Zero fares send zeros through the script: Redis 7.0 and Valkey must agree on them."""
    city.publish(fare_cents=0)
    device, card = city.device(), city.student(passes=0)
    before = city.redis.get(usage_key(HOLDER))

    async with running_service(redis_url) as service:
        rides = (await service.board(device, device.tap(1, card.medium))).json()
        cash = (await service.board(device, device.tap(2, {"kind": "cash", "tendered_cents": 500}))).json()
        annulled = await service.post(device, f"/v1/boardings/{UUID(int=1)}/annul", device.annul(1))

    assert (rides["outcome"], rides["fare_cents"]) == ("accepted", 0)
    assert (cash["change_cents"], cash["display"]) == (500, "TROCO R$ 5,00")
    assert annulled.json()["outcome"] == "annulled"
    assert city.redis.get(usage_key(HOLDER)) == before
    assert {entry.category for entry in city.journal()} >= {CATEGORY_CODE[Category.STUDENT_50]}


# Without a city


async def test_without_a_city_nothing_is_answered(city: SeededCity, redis_url: str):
    city.redis.delete(CITY)
    device, card = city.device(), city.student()

    async with running_service(redis_url) as service:
        answer = await service.board(device, device.tap(1, card.medium))
        ready = await service.client.get("/v1/health/ready")

    assert (answer.status_code, answer.json()["type"]) == (503, "urn:catraca:problem:city-missing")
    assert (ready.status_code, ready.json()["lacks"]) == (503, ["city"])
    assert city.journal() == []


async def test_a_ride_without_a_fare_is_not_priced_at_zero(city: SeededCity, redis_url: str):
    city.publish(fares=())
    device = city.device()

    async with running_service(redis_url) as service:
        answer = await service.board(device, device.tap(1, {"kind": "cash", "tendered_cents": 500}))

    assert (answer.status_code, answer.json()["type"]) == (503, "urn:catraca:problem:city-missing")

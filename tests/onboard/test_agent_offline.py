"""A device alone: who rides on the list, and what a rider is told."""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from uuid import UUID

import pytest

from backoffice.adapters.offline_policy import policy_from
from backoffice.domain.offline_policy import OfflinePolicy
from tests.onboard.conftest import Bus
from tests.onboard.fleet import RedisGet, build, fetch
from tests.validator.seeded_city import (
    NOW,
    SeededCard,
    SeededCity,
    elder,
    prepaid,
    student,
)
from validator.domain.holder import Holder
from validator.domain.rights import Period, Right
from validator.domain.service_time import Month
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category
from validator.onboard.journal import EntryWord
from validator.records.card_token import CardToken
from validator.records.codes import CardState

pytestmark = pytest.mark.hot_state

STUDENT, ELDER, PREPAID, TEACHER, INSPECTOR = (f"{n:016x}" for n in range(0xA1, 0xA6))
CARDS = {
    hot_id: SeededCard(hot_id, 10_009 + n)
    for n, hot_id in enumerate((STUDENT, ELDER, PREPAID, TEACHER, INSPECTOR))
}


def right(category: Category) -> Holder:
    return Holder(rights=(Right(category, Period(date(2020, 1, 1), None)),))


@pytest.fixture
def city(redis_url: str) -> Iterator[SeededCity]:
    with SeededCity(redis_url) as seeded:
        seeded.publish()
        for hot_id, holder in {
            STUDENT: student(passes=5),
            ELDER: elder(),
            PREPAID: prepaid(passes=2),
            TEACHER: right(Category.TEACHER),
            INSPECTOR: right(Category.FISCAL_TRANSP),
        }.items():
            seeded.holder(hot_id, holder, cards=[CARDS[hot_id].record()])
        yield seeded


def give_list(city: SeededCity, redis_url: str, bus: Bus, policy: OfflinePolicy | None = None) -> None:
    build(city, redis_url, list(CARDS), policy=policy, at=bus.now)
    fetch(bus.parts.store, RedisGet(city))
    assert bus.parts.store.current() is not None


@pytest.fixture
def alone(city: SeededCity, redis_url: str, lonely_bus: Bus) -> Bus:
    """A bus without a network, with the list."""
    give_list(city, redis_url, lonely_bus)
    return lonely_bus


def card(hot_id: str) -> str:
    return CARDS[hot_id].token.text()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (card(STUDENT), ("MEIA 49 RESTAM", "TURN", True, "HALF")),
        (card(ELDER), ("LIBERADO", "TURN", True, "FREE")),
        (card(PREPAID), ("PASSE 1 RESTAM", "TURN", True, "PURSE")),
        (card(TEACHER), ("LIBERADO", "TURN", True, "FREE")),
        (card(INSPECTOR), ("LIBERADO", "NOT_TURNED", True, "FREE")),
        (SeededCard("00000000000000ff", 77).token.text(), ("CARTÃO DESCONHECIDO", "HOLD", False, None)),
        ('{"tap":{"kind":"key","category":"CHILD"}}', ("LIBERADO", "NOT_TURNED", True, "FREE")),
        ('{"tap":{"kind":"key","category":"TEACHER"}}', ("TECLA NÃO PERMITIDA", "HOLD", False, None)),
        ('{"tap":{"kind":"key","category":"KING"}}', ("TECLA NÃO PERMITIDA", "HOLD", False, None)),
        (
            '{"tap":{"kind":"document","category":"ELDER","document":"RG"}}',
            ("LIBERADO", "TURN", True, "FREE"),
        ),
        ('{"tap":{"kind":"cash","tendered_cents":1000}}', ("TROCO R$ 5,50", "TURN", True, "FULL")),
        ('{"tap":{"kind":"cash","tendered_cents":100}}', ("VALOR INSUFICIENTE", "HOLD", False, None)),
        ('{"tap":{"kind":"uid","uid":"04aabbcc"}}', ("CARTÃO DESCONHECIDO", "HOLD", False, None)),
        ("https://example.org/menu", ("CARTÃO INVÁLIDO", "HOLD", False, None)),
    ],
)
def test_a_rider_is_decided_on_the_list(alone: Bus, line: str, shown: tuple[object, ...]):
    said = alone.tap(line)

    assert (said.display, said.turnstile, said.released, said.ride_class) == shown
    assert said.mode == "offline"
    tap, release = alone.parts.journal.entries(1, after=0, limit=9)
    assert (tap.kind, release.kind) == (EntryWord.TAP, EntryWord.RELEASE)
    decided, current = json.loads(release.exact), alone.parts.store.current()
    assert current is not None
    assert (decided["boarding_id"], decided["list_version"]) == (said.boarding_id, current.version)


def test_false_cards_are_told_apart_in_the_log(alone: Bus):
    true = CARDS[STUDENT].token
    forged = CardToken(1, true.holder_id, true.card_number, 2, true.signature)
    stranger = CardToken(9, true.holder_id, true.card_number, 1, true.signature)

    found = {
        name: alone.tap(text)
        for name, text in {
            "form": true.text()[:-1],
            "forged": forged.text(),
            "key-unknown": stranger.text(),
        }.items()
    }

    assert {shown.detail for shown in found.values()} == set(found)
    assert {shown.display for shown in found.values()} == {"CARTÃO INVÁLIDO"}


@pytest.mark.parametrize(
    ("state", "issue", "display"),
    [
        (CardState.BLOCKED, 1, "CARTÃO BLOQUEADO"),
        (CardState.REPLACED, 1, "CARTÃO SUBSTITUÍDO"),
        (CardState.LIVE, 2, "CARTÃO SUBSTITUÍDO"),
    ],
)
def test_a_blocked_or_replaced_card_is_refused_from_the_next_list_on(
    city: SeededCity, redis_url: str, alone: Bus, state: CardState, issue: int, display: str
):
    assert alone.tap(card(STUDENT)).released
    newest = SeededCard(STUDENT, CARDS[STUDENT].number, issue)
    others = [] if state is CardState.LIVE else [SeededCard(STUDENT, 99_990).record()]
    city.holder(STUDENT, student(), cards=[newest.record(state), *others])
    alone.now += timedelta(hours=1)
    give_list(city, redis_url, alone)

    assert alone.tap(card(STUDENT)).display == display
    if issue == 2:
        assert alone.tap(newest.token.text()).released


def test_the_device_counts_its_own_rides_against_purse_and_cap(alone: Bus, city: SeededCity, redis_url: str):
    shown = [alone.tap(card(PREPAID), after=timedelta(minutes=10)).display for _ in range(3)]
    assert shown == ["PASSE 1 RESTAM", "PASSE 0 RESTAM", "SEM PASSES"]

    usage = Usage(half_fare={Month("2026-03"): 48})
    city.holder(STUDENT, student(passes=9), usage, cards=[CARDS[STUDENT].record()])
    give_list(city, redis_url, alone)
    shown = [alone.tap(card(STUDENT), after=timedelta(minutes=10)).display for _ in range(3)]
    assert shown == ["MEIA 1 RESTAM", "MEIA 0 RESTAM", "LIMITE DO MÊS"]


def test_a_ride_that_the_list_shows_is_not_counted_twice(alone: Bus, city: SeededCity, redis_url: str):
    alone.tap(card(PREPAID))
    alone.parts.rides.heard(1, 1, 2, alone.now)
    city.holder(PREPAID, prepaid(2), Usage(used={"PREPAID": 1}), cards=[CARDS[PREPAID].record()])
    alone.now += timedelta(minutes=10)
    give_list(city, redis_url, alone)

    assert alone.tap(card(PREPAID)).display == "PASSE 0 RESTAM"


def test_the_same_right_twice_on_a_vehicle_is_passback_over_a_restart(alone: Bus):
    alone.tap(card(TEACHER))
    alone.restart()

    assert alone.tap(card(TEACHER), after=timedelta(minutes=4)).display == "JÁ USADO AGORA"
    assert alone.tap(card(TEACHER), after=timedelta(minutes=2)).released


def test_an_old_list_lets_an_elder_ride_and_a_student_wait(alone: Bus):
    alone.now += timedelta(days=30)

    assert alone.tap(card(ELDER)).released
    assert alone.tap(card(TEACHER)).released
    assert alone.tap(card(STUDENT)).display == "LISTA VENCIDA"
    assert alone.tap(card(PREPAID)).display == "LISTA VENCIDA"


def test_half_fares_that_the_service_has_not_heard_of_are_bounded(
    alone: Bus, city: SeededCity, redis_url: str
):
    policy = policy_from(None)
    alone.now += timedelta(minutes=1)
    give_list(city, redis_url, alone, OfflinePolicy(policy.hours, 2, policy.act))
    shown = [alone.tap(card(STUDENT), after=timedelta(minutes=10)) for _ in range(3)]

    assert [one.released for one in shown] == [True, True, False]
    assert shown[-1].display == "MEIA INDISPONÍVEL"
    assert alone.tap(card(ELDER)).released
    alone.parts.rides.heard(1, 1, 99, alone.now)
    assert alone.tap(card(STUDENT), after=timedelta(minutes=10)).released


def test_an_annulment_gives_back_pass_and_passback_once_and_in_time(alone: Bus):
    alone.tap(card(PREPAID))
    assert alone.tap('{"not_turned":true}', after=timedelta(seconds=59)).display == "EMBARQUE ANULADO"
    assert alone.tap('{"not_turned":true}').display == "NADA A ANULAR"
    assert alone.tap(card(PREPAID)).display == "PASSE 1 RESTAM"
    assert alone.tap('{"not_turned":true}', after=timedelta(seconds=61)).display == "NADA A ANULAR"
    words = [entry.kind.value for entry in alone.parts.journal.entries(1, after=0, limit=9)]

    assert words == ["tap", "release", "annulment", "tap", "release"]


def continuing(hot_id: str) -> str:
    return json.dumps({"tap": {"kind": "card", "token": card(hot_id)}, "continues": str(UUID(int=7))})


def test_a_ride_that_a_breakdown_cut_short_goes_on_and_counts_nothing_here(alone: Bus):
    for _ in range(2):
        assert alone.tap(card(PREPAID), after=timedelta(minutes=10)).released
    assert alone.tap(card(PREPAID), after=timedelta(minutes=10)).display == "SEM PASSES"

    said = alone.tap(continuing(PREPAID), after=timedelta(minutes=10))

    assert (said.display, said.turnstile, said.released) == ("CONTINUE A VIAGEM", "TURN", True)
    *_, tap, release = (json.loads(entry.exact) for entry in alone.parts.journal.entries(1, after=0, limit=9))
    assert tap["continues"] == str(UUID(int=7))
    assert release["released"]
    assert "class" not in release, "the service settles which ride it was"
    assert alone.tap('{"not_turned":true}').boarding_id == said.boarding_id, "never the rider before"


def test_nothing_continues_on_a_blocked_or_false_card(city: SeededCity, redis_url: str, alone: Bus):
    true = CARDS[STUDENT].token
    forged = CardToken(1, true.holder_id, true.card_number, 2, true.signature)
    line = json.dumps({"tap": {"kind": "card", "token": forged.text()}, "continues": str(UUID(int=7))})
    assert not alone.tap(line).released
    city.holder(STUDENT, student(), cards=[CARDS[STUDENT].record(CardState.BLOCKED)])
    alone.now += timedelta(hours=1)
    give_list(city, redis_url, alone)

    assert alone.tap(continuing(STUDENT)).display == "CARTÃO BLOQUEADO"


def test_a_dead_clock_decides_by_the_list_and_is_written_down_as_it_is(
    alone: Bus, city: SeededCity, redis_url: str
):
    alone.now = NOW.replace(year=1970, month=1, day=1)

    assert alone.tap(card(STUDENT)).released
    entry = alone.parts.journal.entries(1, after=0, limit=1)[0]
    assert json.loads(entry.exact)["occurred_at"].startswith("1970-01-01T")


def test_a_device_that_never_had_a_list_holds_and_writes_down(lonely_bus: Bus):
    shown = lonely_bus.tap(card(STUDENT))

    assert (shown.display, shown.released) == ("SEM LISTA", False)
    assert lonely_bus.parts.journal.last(1)[0] == 2


def test_a_line_without_a_price_holds_those_who_would_pay_only(alone: Bus):
    alone.hear('{"trip":{"line":"777","trip":"777-1"}}')

    assert alone.tap(card(ELDER)).released
    assert alone.tap(card(STUDENT)).display == "LINHA DESCONHECIDA"
    tap = json.loads(alone.parts.journal.entries(1, after=0, limit=1)[0].exact)
    assert (tap["line"], tap["trip"]) == ("777", "777-1")


def test_a_full_disk_holds_the_turnstile(alone: Bus):
    alone.parts.journal.write("PRAGMA max_page_count=1", ())
    shown = [alone.tap(card(ELDER)) for _ in range(60)]

    assert shown[-1].display == "DIÁRIO COM DEFEITO"
    assert not shown[-1].released
    acknowledged = [one.device_seq for one in shown if one.device_seq is not None]
    kept = {entry.seq for entry in alone.parts.journal.entries(1, after=0, limit=500)}
    assert set(acknowledged) <= kept

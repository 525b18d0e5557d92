"""Cards, the city's keys, revisions and the outbox."""

import concurrent.futures
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from backoffice.application.changes import change_holder
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.holder_state import (
    holders_as_recorded,
)
from backoffice.application.issue_cards import (
    block_card,
    replace_card,
    retire_city_key,
    rotate_city_key,
    unblock_card,
)
from backoffice.application.publish_records import city_record
from backoffice.application.staff import as_city, as_desk
from backoffice.persistence.base import reading
from backoffice.persistence.holders import HolderRow
from backoffice.persistence.outbox import OutboxKind, OutboxRow
from tests.backoffice.journal_play import packaged
from tests.backoffice.register_city import BOOK, NOW, RegisterCity
from validator.onboard.keys import verify
from validator.onboard.tokens import TokenFault, judge_token
from validator.records.card_token import read_token
from validator.records.codes import CardState


def test_a_card_carries_a_token_that_only_its_hash_remembers(city: RegisterCity):
    holder = city.holder()

    card = city.card(holder)

    token = read_token(card.token)
    state = city.state(holder)
    assert (token.holder_id, token.card_number, token.issue) == (state.hot_id, card.number, 1)
    assert state.cards[0].token_hash == token.hash()
    assert state.cards[0].state is CardState.LIVE


def test_the_next_via_takes_the_place_of_the_one_before(city: RegisterCity):
    holder = city.holder()
    first = city.card(holder)
    with city.writing() as session:
        second = replace_card(
            session, as_desk(city.staff("clerk")), NOW, city.signer, number=first.number, reason="perdido"
        )

    (shown,) = city.state(holder).cards
    assert (second.number, second.issue) == (first.number, 2)
    assert (shown.issue, shown.state) == (2, CardState.LIVE)
    assert shown.token_hash == read_token(second.token).hash()
    (before,) = city.state(holder, revision=2).cards
    assert (before.issue, before.token_hash) == (1, read_token(first.token).hash())


def test_a_card_is_blocked_and_unblocked(city: RegisterCity):
    holder = city.holder()
    number = city.card(holder).number
    desk = as_desk(city.staff("clerk"))
    with city.writing() as session:
        block_card(session, desk, NOW, number=number, reason="perdido")
    blocked = city.state(holder).cards[0].state
    with pytest.raises(Conflict), city.writing() as session:
        block_card(session, desk, NOW, number=number, reason="perdido")
    with city.writing() as session:
        unblock_card(session, desk, NOW, number=number, reason="achado")
    with pytest.raises(Conflict), city.writing() as session:
        unblock_card(session, desk, NOW, number=number, reason="achado")

    assert blocked is CardState.BLOCKED
    assert city.state(holder).cards[0].state is CardState.LIVE
    with pytest.raises(NotFound), city.writing() as session:
        block_card(session, desk, NOW, number=12345, reason="perdido")


def test_two_desks_that_replace_one_card_make_two_different_vias(city: RegisterCity):
    holder = city.holder()
    number = city.card(holder).number

    def replace(_: int) -> int:
        with city.writing() as session:
            return replace_card(
                session, as_desk(city.staff("clerk")), NOW, city.signer, number=number, reason="perdido"
            ).issue

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(replace, range(2))) == [2, 3]


def test_the_newest_open_key_of_the_city_signs(city: RegisterCity):
    holder = city.holder()
    assert read_token(city.card(holder).token).key_id == 1
    office = as_city(city.staff("city"))
    with city.writing() as session:
        assert rotate_city_key(session, office, NOW, city.signer) == 2
    assert read_token(city.card(holder).token).key_id == 2
    with city.writing() as session:
        retire_city_key(session, office, NOW, key_id=2, until=NOW, compromised=True)
    assert read_token(city.card(holder).token).key_id == 1
    with pytest.raises(Conflict), city.writing() as session:
        retire_city_key(session, office, NOW, key_id=2, until=NOW, compromised=False)


def test_a_key_whose_end_was_planned_may_be_found_stolen_and_ends_then(city: RegisterCity):
    card = read_token(city.card(city.holder()).token)
    office = as_city(city.staff("city"))
    stolen, planned = NOW - timedelta(hours=3), NOW + timedelta(days=30)

    def retire(until: datetime, *, compromised: bool) -> None:
        with city.writing() as session:
            retire_city_key(session, office, NOW, key_id=1, until=until, compromised=compromised)

    retire(planned, compromised=False)
    with pytest.raises(Invalid, match="deixa de valer já"):
        retire(NOW + timedelta(seconds=1), compromised=True)
    retire(stolen, compromised=True)
    with pytest.raises(Conflict):
        retire(stolen - timedelta(hours=1), compromised=True)

    with reading(city.engine) as session:
        keys = {key.key_id: key for key in city_record(session, packaged().mapping, NOW).card_keys}
    before = judge_token(card.text(), keys, stolen - timedelta(seconds=1), verify)
    assert before == card
    assert judge_token(card.text(), keys, stolen, verify) is TokenFault.KEY_RETIRED
    assert read_token(city.card(city.holder("Outro")).token).key_id == 2


def test_desks_that_issue_the_first_cards_at_once_make_one_key(city: RegisterCity):
    holders = [city.holder(f"Titular {number}") for number in range(4)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        keys = {read_token(card.token).key_id for card in pool.map(city.card, holders)}

    assert keys == {1}


# Revisions and the outbox


def test_changes_of_one_holder_at_once_have_revisions_in_a_row(city: RegisterCity):
    holder = city.holder()

    def change(_: int) -> int:
        with city.writing() as session:
            return change_holder(session, holder, NOW).revision

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(change, range(8))) == list(range(2, 10))


def test_every_change_that_shows_is_in_the_outbox(city: RegisterCity):
    holder = city.holder()
    city.right(holder, school=city.public_school)
    city.card(holder)

    with reading(city.engine) as session:
        refs = session.scalars(
            select(OutboxRow.ref).where(OutboxRow.kind == OutboxKind.HOLDER, OutboxRow.ref == str(holder))
        ).all()
        revision = session.scalar(select(HolderRow.revision).where(HolderRow.id == holder))
    assert len(refs) == revision == 3


def test_a_change_that_fails_is_in_no_outbox(city: RegisterCity):
    holder = city.holder()

    def lose_power() -> None:
        with city.writing() as session:
            change_holder(session, holder, NOW)
            raise RuntimeError("the desk's machine lost power")

    with pytest.raises(RuntimeError):
        lose_power()

    assert city.state(holder).revision == 1
    with reading(city.engine) as session:
        assert session.scalar(select(func.count()).where(OutboxRow.ref == str(holder))) == 1


def test_many_holders_are_read_at_once(city: RegisterCity):
    holders = [city.holder(f"Titular {number}") for number in range(3)]
    city.right(holders[1], school=city.public_school)

    with reading(city.engine) as session:
        rows = holders_as_recorded(session, [*holders, 999])

    assert sorted(rows) == holders
    assert [len(rows[h].as_of(BOOK).holder.rights) for h in holders] == [0, 1, 0]
    assert rows[holders[1]].revision_recorded_until(datetime(2026, 3, 2, 13, tzinfo=UTC)) == 2
    assert rows[holders[1]].revision_recorded_until(datetime(2026, 3, 1, tzinfo=UTC)) == 0

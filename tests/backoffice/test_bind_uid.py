"""Chips: bound to a card by a desk, one card each, let go again, and found in the hot state."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from backoffice.adapters.hot_state import HotState
from backoffice.adapters.redis_link import RedisLink
from backoffice.application.bind_uid import unbind_uid
from backoffice.application.constraints import conflict_of
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.holder_state import holder_as_recorded
from backoffice.application.issue_cards import block_card, replace_card
from backoffice.application.publish import Publisher
from backoffice.application.staff import as_desk
from backoffice.persistence.base import reading
from backoffice.persistence.cards import CardUidRow
from backoffice.persistence.holders import HolderRow
from tests.backoffice.journal_play import packaged
from tests.backoffice.register_city import BOOK, NOW, RegisterCity
from tests.backoffice.register_http import Api
from validator.records.keys import holder_key, uid_key
from validator.records.packing import to_micros
from validator.records.snapshot import UidRecord, unpack_holder, unpack_uid_holder

UID = "04A2B3C4D5E680"


def chips(city: RegisterCity, holder_id: int, **cut: object) -> list[tuple[str, int, int]]:
    with reading(city.engine) as session:
        found = holder_as_recorded(session, holder_id, BOOK, **cut).uids  # type: ignore[arg-type]
    return [(chip.uid, chip.number, chip.issue) for chip in found]


def unbind(city: RegisterCity, number: int, uid: str = UID) -> None:
    with city.writing() as session:
        unbind_uid(session, as_desk(city.staff("clerk")), NOW, number=number, uid=uid, reason="perdido")


def test_a_chip_is_bound_to_the_newest_issue_of_a_card(city: RegisterCity):
    holder = city.holder()
    number = city.card(holder).number

    city.bind(number, UID)
    city.bind(number, "04a2b3c4")

    assert chips(city, holder) == [(UID, number, 1), ("04A2B3C4", number, 1)]
    assert chips(city, holder, revision=2) == []


def test_a_chip_belongs_to_one_card_until_it_is_let_go(city: RegisterCity):
    one, two = city.holder("Um"), city.holder("Dois")
    first, second = city.card(one).number, city.card(two).number
    city.bind(first, UID)
    with pytest.raises(Conflict, match=f"já está vinculado ao cartão {first}"):
        city.bind(second, UID)
    with pytest.raises(Conflict, match="não está vinculado"):
        unbind(city, second)

    unbind(city, first)
    city.bind(second, UID)

    assert (chips(city, one), chips(city, two)) == ([], [(UID, second, 1)])
    with pytest.raises(Conflict, match="não está vinculado"):
        unbind(city, first)


def test_the_next_via_leaves_the_chip_with_the_issue_that_it_was_bound_to(city: RegisterCity):
    holder = city.holder()
    number = city.card(holder).number
    city.bind(number, UID)
    desk = as_desk(city.staff("clerk"))
    with city.writing() as session:
        replace_card(session, desk, NOW, city.signer, number=number, reason="perdido")
    assert chips(city, holder) == [(UID, number, 1)]

    unbind(city, number)
    city.bind(number, UID)

    assert chips(city, holder) == [(UID, number, 2)]


def test_no_chip_is_bound_to_a_blocked_card_or_to_none(city: RegisterCity):
    number = city.card(city.holder()).number
    with city.writing() as session:
        block_card(session, as_desk(city.staff("clerk")), NOW, number=number, reason="perdido")

    with pytest.raises(Conflict, match="bloqueado"):
        city.bind(number, UID)
    with pytest.raises(NotFound):
        city.bind(12345, UID)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("04A2B3C4D5E6", "8, 14 ou 20 dígitos"),
        ("04A2B3C4D5E6ZZ", "8, 14 ou 20 dígitos"),
        ("", "8, 14 ou 20 dígitos"),
        ("\u0660" * 8, "8, 14 ou 20 dígitos"),
        ("08112233", "inventa outro uid a cada leitura"),
    ],
)
def test_what_is_no_uid_is_refused_with_what_to_do(sqlite_city: RegisterCity, typed: str, says: str):
    number = sqlite_city.card(sqlite_city.holder()).number

    with pytest.raises(Invalid, match=says):
        sqlite_city.bind(number, typed)


def test_of_two_desks_that_bind_one_chip_at_once_one_wins(city: RegisterCity):
    holders = [city.holder(f"Titular {number}") for number in range(4)]
    numbers = [city.card(holder).number for holder in holders]

    def bind(number: int) -> Conflict | None:
        try:
            city.bind(number, UID)
        except Conflict as conflict:
            return conflict
        except IntegrityError as error:
            return conflict_of(error)
        return None

    with ThreadPoolExecutor(4) as pool:
        refused = [conflict for conflict in pool.map(bind, numbers) if conflict is not None]

    assert len(refused) == 3
    assert all("vincul" in conflict.sentence for conflict in refused)
    assert sum(len(chips(city, holder)) for holder in holders) == 1


def test_rows_of_a_chip_are_never_changed(city: RegisterCity):
    number = city.card(city.holder()).number
    city.bind(number, UID)

    def change() -> None:
        with city.writing() as session:
            session.scalars(select(CardUidRow)).one().uid = "00" * 4

    with pytest.raises(IntegrityError):
        change()


def test_over_http_a_desk_binds_and_lets_go_and_the_log_knows(api: Api):
    holder = api.city.holder()
    number = api.city.card(holder).number

    bound = api("clerk", "POST", f"/cards/{number}/uid", {"uid": "04:a2:b3:c4:d5:e6:80"}, 201)
    taken = api("manager", "POST", f"/cards/{number}/uid", {"uid": UID}, 409)
    (card,) = api("clerk", "GET", f"/holders/{holder}", code=200)["cards"]
    api("clerk", "POST", f"/cards/{number}/uid", {"uid": "04"}, 422)
    api("clerk", "POST", f"/cards/{number}/uid/removal", {"uid": UID, "reason": "perdido"}, 204)
    api("clerk", "POST", f"/cards/{number}/uid/removal", {"uid": UID, "reason": "perdido"}, 409)

    assert bound == {"number": number, "issue": 1, "uid": UID}
    assert taken["code"] == "UID_TAKEN"
    assert card["uids"] == [UID]
    log = api("auditor", "GET", "/audit?limit=1000", code=200)
    done = [(entry["action"], entry["subject_id"]) for entry in log if "uid" in entry["action"]]
    assert done == [("card.bind_uid", str(holder)), ("card.unbind_uid", str(holder))]
    assert UID not in str(log)


@pytest.mark.parametrize("login", ["city", "school", "finance", "auditor", "admin"])
def test_only_a_desk_binds_chips(lite: Api, login: str):
    number = lite.city.card(lite.city.holder()).number

    lite(login, "POST", f"/cards/{number}/uid", {"uid": UID}, 403)
    lite(login, "POST", f"/cards/{number}/uid/removal", {"uid": UID, "reason": "x"}, 403)


@pytest.mark.hot_state
def test_a_chip_is_published_with_its_holder_and_found_by_its_uid(city: RegisterCity, redis_url: str):
    one, two = city.holder("Um"), city.holder("Dois")
    first, second = city.card(one).number, city.card(two).number
    with reading(city.engine) as session:
        hot_one, hot_two = (session.get_one(HolderRow, holder).hot_id for holder in (one, two))
    with RedisLink(redis_url) as link:
        hot = HotState(link)
        publisher = Publisher(city.engine, packaged(), lambda: NOW)

        def published() -> tuple[str | None, tuple[UidRecord, ...], tuple[UidRecord, ...]]:
            while publisher.publish_waiting(hot):
                pass
            found = unpack_uid_holder(link.client.get(uid_key(bytes.fromhex(UID)))).holder
            of = [unpack_holder(link.client.get(holder_key(hot_id))).uids for hot_id in (hot_one, hot_two)]
            return found, of[0], of[1]

        city.bind(first, UID)
        at_first = UidRecord(bytes.fromhex(UID), first, 1, to_micros(NOW))
        assert published() == (hot_one, (at_first,), ())
        unbind(city, first)
        assert published() == (None, (), ())
        later = NOW + timedelta(hours=1)
        city.bind(second, UID, later)
        assert published() == (hot_two, (), (UidRecord(bytes.fromhex(UID), second, 1, to_micros(later)),))

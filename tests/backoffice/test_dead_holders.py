"""After a death nothing comes to life again: no request that waited, no blocked card, no sale."""

from datetime import date

import pytest

from backoffice.application.errors import Conflict
from backoffice.application.holder_state import holder_as_recorded
from backoffice.application.issue_cards import block_card, replace_card, unblock_card
from backoffice.application.register_deaths import record_death
from backoffice.application.register_rights import Entitlement, approve_right, proof_of, request_right
from backoffice.application.staff import as_approver, as_desk, as_registrar
from backoffice.persistence.base import reading
from tests.backoffice.register_city import BOOK, CPF, NOW, TODAY, RegisterCity
from tests.backoffice.register_http import Api
from validator.domain.vocabulary import Category, Product
from validator.records.codes import CardState


def dead(city: RegisterCity, holder: int) -> None:
    with city.writing() as session:
        record_death(session, as_registrar(city.staff("clerk")), NOW, holder_id=holder, died_on=TODAY)


def test_a_request_that_waited_is_not_approved(sqlite_city: RegisterCity):
    city = sqlite_city
    holder = city.holder(birth=date(1980, 1, 1), cpf=CPF)
    asked = Entitlement(
        Category.FISCAL_MUN, TODAY, proof_of(BOOK, Category.FISCAL_MUN, TODAY), TODAY, ended_on=None
    )
    with city.writing() as session:
        clerk = as_registrar(city.staff("clerk"))
        request = request_right(session, clerk, NOW, BOOK, holder_id=holder, asked=asked).id
    dead(city, holder)

    with pytest.raises(Conflict, match="falecido"), city.writing() as session:
        approve_right(session, as_approver(city.staff("manager")), NOW, request_id=request)


@pytest.mark.parametrize("before", ["live", "blocked"])
def test_a_card_stays_blocked(sqlite_city: RegisterCity, before: str):
    city = sqlite_city
    holder = city.holder(birth=date(1950, 1, 1), cpf=CPF)
    number, clerk = city.card(holder).number, as_desk(city.staff("clerk"))
    if before == "blocked":
        with city.writing() as session:
            block_card(session, clerk, NOW, number=number, reason="perdido")
    dead(city, holder)

    with pytest.raises(Conflict, match="falecido"), city.writing() as session:
        unblock_card(session, clerk, NOW, number=number, reason="achado")
    with pytest.raises(Conflict, match="falecido"), city.writing() as session:
        replace_card(session, clerk, NOW, city.signer, number=number, reason="2a via")


def test_nothing_is_sold(sqlite_city: RegisterCity):
    holder = sqlite_city.holder(birth=date(1950, 1, 1), cpf=CPF)
    dead(sqlite_city, holder)

    with pytest.raises(Conflict, match="falecido"):
        sqlite_city.sell(holder, product=Product.PREPAID)


def test_a_death_of_the_wrong_person_is_withdrawn_and_nothing_paid_comes_back_by_itself(api: Api):
    """São Paulo annulled thousands of cards by a list of CPFs; some of their holders were alive."""
    city = api.city
    holder = city.holder(birth=date(1950, 1, 1), cpf=CPF)
    city.right(holder, Category.TEACHER, school=city.public_school)
    number = city.card(holder).number
    city.sell(holder, product=Product.PREPAID)
    dead(city, holder)

    api("clerk", "POST", f"/holders/{holder}/death/withdrawal", code=403)
    api("manager", "POST", f"/holders/{holder}/death/withdrawal", code=204)
    api("manager", "POST", f"/holders/{holder}/death/withdrawal", code=409)

    with reading(city.engine) as session:
        state = holder_as_recorded(session, holder, BOOK)
    assert [age.category for age in state.holder.ages if age.period.until is None] == [Category.ELDER]
    assert [right.period.until for right in state.holder.rights] == [date(2026, 3, 3)]
    assert [card.state for card in state.cards] == [CardState.BLOCKED]
    assert [purse.bought for purse in state.holder.purses] == [10]
    api("clerk", "POST", f"/cards/{number}/unblock", {"reason": "vivo"}, 204)
    assert api("clerk", "GET", f"/holders/{holder}", code=200)["died_on"] is None
    assert city.right(holder, Category.TEACHER, school=city.public_school, first_day=TODAY)
    actions = [row["action"] for row in api("auditor", "GET", "/audit?limit=1000", code=200)]
    assert [action for action in actions if "death" in action] == ["holder.death", "holder.death_withdrawn"]

"""One person has one window, one year and one cap, whatever schools, desks and cards the person has."""

from datetime import timedelta

import pytest

from backoffice.application.errors import Conflict
from backoffice.application.holder_state import holder_as_recorded
from backoffice.application.sell_passes import SaleRefused
from backoffice.persistence.base import reading
from tests.backoffice.register_city import BOOK, NOW, RegisterCity


@pytest.fixture
def pupil_of_two_schools(sqlite_city: RegisterCity) -> int:
    """Registered at the municipal school, and again at the state's, each with a right and a declaration."""
    city = sqlite_city
    holder = city.student()
    city.right(holder, school=city.state_school)
    city.enrolment(holder, school_id=city.state_school)
    return holder


def test_a_second_school_opens_no_second_window(sqlite_city: RegisterCity, pupil_of_two_schools: int):
    sqlite_city.sell(pupil_of_two_schools, 50)

    with pytest.raises(SaleRefused) as refused:
        sqlite_city.sell(pupil_of_two_schools, 1)

    assert (refused.value.code, refused.value.remaining) == ("WINDOW_FULL", 0)


@pytest.mark.parametrize("first", ["public", "private"])
def test_a_private_course_beside_a_public_school_takes_nothing_away(sqlite_city: RegisterCity, first: str):
    """The right is the public school's; another declaration, earlier or later, is no reason to refuse."""
    city = sqlite_city
    holder = city.holder()
    city.right(holder, school=city.public_school)
    schools = [city.public_school, city.private_school]
    for school in schools if first == "public" else schools[::-1]:
        city.enrolment(holder, school_id=school)

    assert city.sell(holder, 10).units == 10


def test_a_second_card_opens_no_second_purse(sqlite_city: RegisterCity, pupil_of_two_schools: int):
    city = sqlite_city
    first, second = city.card(pupil_of_two_schools), city.card(pupil_of_two_schools)
    city.sell(pupil_of_two_schools, 20)
    city.sell(pupil_of_two_schools, 30, at=NOW + timedelta(days=3))

    with reading(city.engine) as session:
        state = holder_as_recorded(session, pupil_of_two_schools, BOOK)

    assert {card.number for card in state.cards} == {first.number, second.number}
    assert [(purse.key, purse.bought) for purse in state.holder.purses] == [("STUDENT", 50)]


@pytest.mark.parametrize("spelling", ["529.982.247-25", "52998224725", " 529.982.247-25 "])
def test_a_cpf_is_the_same_however_it_is_typed(sqlite_city: RegisterCity, spelling: str):
    sqlite_city.holder(cpf="529.982.247-25")

    with pytest.raises(Conflict) as refused:
        sqlite_city.holder("Outra grafia", cpf=spelling)

    assert refused.value.code == "CPF_TAKEN"

"""A pupil without CPF whom two schools or two desks register is one person with one cap, not two."""

from datetime import date

import pytest

from backoffice.application.errors import Conflict
from tests.backoffice.register_city import CPF, RegisterCity
from tests.backoffice.register_http import Api

BORN = date(2014, 5, 4)
OTHER_CPF = "111.444.777-35"
PUPIL = {
    "name": "João  da Silva",
    "birth_date": "2014-05-04",
    "guardian_name": "Responsável",
    "guardian_cpf": CPF,
}


@pytest.mark.parametrize("name", ["João da Silva", "joao da silva", "JOÃO DA SILVA"])
def test_a_second_registration_of_a_child_names_the_first(city: RegisterCity, name: str):
    first = city.holder("João da Silva", BORN)

    with pytest.raises(Conflict, match=f"o titular {first} tem este nome") as refused:
        city.holder(name, BORN, namesake=False)

    assert refused.value.code == "PERSON_KNOWN"
    assert "João" not in refused.value.sentence


def test_a_child_that_has_a_cpf_by_now_is_the_same_child(sqlite_city: RegisterCity):
    sqlite_city.holder("João da Silva", BORN)

    with pytest.raises(Conflict, match="tem este nome"):
        sqlite_city.holder("João da Silva", BORN, cpf=OTHER_CPF, namesake=False)


@pytest.mark.parametrize(
    ("name", "birth", "more"),
    [
        ("Joana da Silva", BORN, {}),
        ("João da Silva", date(2014, 5, 5), {}),
        ("João da Silva", BORN, {"namesake": True}),
    ],
)
def test_somebody_else_is_registered(
    sqlite_city: RegisterCity, name: str, birth: date, more: dict[str, bool]
):
    first = sqlite_city.holder("João da Silva", BORN)

    assert sqlite_city.holder(name, birth, **{"namesake": False, **more}) != first


def test_two_cpfs_are_two_people(sqlite_city: RegisterCity):
    sqlite_city.holder("João da Silva", BORN, cpf=CPF)

    assert sqlite_city.holder("João da Silva", BORN, cpf=OTHER_CPF, namesake=False)


def test_a_desk_confirms_a_namesake_over_http(lite: Api):
    first = lite("clerk", "POST", "/holders", PUPIL, 201)["id"]

    refused = lite("clerk", "POST", "/holders", PUPIL, 409)
    second = lite("clerk", "POST", "/holders", {**PUPIL, "namesake": True}, 201)["id"]

    assert refused["code"] == "PERSON_KNOWN"
    assert str(first) in refused["detail"]
    assert second != first

"""Finding holders: by name without accents, by CPF, by card; one thing at a time."""

import pytest

from backoffice.application.errors import Invalid
from backoffice.application.inspect_register import find_holders
from backoffice.application.staff import as_person_reader
from tests.backoffice.register_city import CPF, NOW, RegisterCity


@pytest.mark.parametrize("typed", ["joão d", "JOAO", "João da Conceição"])
def test_a_name_is_found_without_accents_and_capitals(city: RegisterCity, typed: str):
    holder = city.holder("João da Conceição")
    city.holder("Outra Pessoa")

    with city.writing() as session:
        found = find_holders(session, as_person_reader(city.staff("clerk")), NOW, name=typed)

    assert [person.id for person in found] == [holder]


@pytest.mark.parametrize(
    "search",
    [
        {},
        {"name": "ab"},
        {"name": "abc", "cpf": CPF},
        {"cpf": "123"},
        {"name": " "},
    ],
)
def test_a_search_is_for_one_thing(sqlite_city: RegisterCity, search: dict[str, str]):
    with pytest.raises(Invalid), sqlite_city.writing() as session:
        find_holders(session, as_person_reader(sqlite_city.staff("clerk")), NOW, **search)  # type: ignore[arg-type]


def test_a_child_is_found_by_the_guardians_cpf_and_a_card_by_its_number(sqlite_city: RegisterCity):
    holder = sqlite_city.holder(guardian_cpf=CPF)
    number = sqlite_city.card(holder).number
    reader = as_person_reader(sqlite_city.staff("clerk"))

    with sqlite_city.writing() as session:
        assert [p.id for p in find_holders(session, reader, NOW, cpf=CPF)] == [holder]
        assert [p.id for p in find_holders(session, reader, NOW, card_number=number)] == [holder]
        assert find_holders(session, reader, NOW, name="%%%") == []

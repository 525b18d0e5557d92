"""A pupil without CPF whom two schools or two desks register is one person with one cap, not two."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from backoffice.application.errors import Conflict
from backoffice.application.register_holders import Person, change_person, life_of, register_holder
from backoffice.application.staff import as_registrar
from backoffice.persistence.holders import PersonRow
from tests.backoffice.register_city import CPF, NOW, OTHER_CPF, RegisterCity, make_city
from tests.backoffice.register_http import Api

BORN = date(2014, 5, 4)
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


def correct(city: RegisterCity, holder_id: int, name: str, birth: date, **more: str | bool) -> None:
    sent = {"guardian_name": "Responsável", "guardian_cpf": CPF, **more}
    person = Person(name, birth, **sent)  # type: ignore[arg-type]
    with city.writing() as session:
        change_person(session, as_registrar(city.staff("clerk")), NOW, holder_id=holder_id, person=person)


def person_of(city: RegisterCity, holder_id: int) -> tuple[str, date | None]:
    with city.writing() as session:
        return session.get_one(PersonRow, holder_id).name, life_of(session, holder_id).birth_date


def test_a_correction_does_not_make_one_person_of_two_records_unnoticed(city: RegisterCity):
    """A typing error in the name lets a second record in; its correction tells of the first."""
    first = city.holder("João da Silva", BORN)
    second = city.holder("Joao da Sliva", BORN)

    with pytest.raises(Conflict, match=f"o titular {first} tem este nome") as refused:
        correct(city, second, "João da Silva", BORN)

    assert refused.value.code == "PERSON_KNOWN"


@pytest.mark.parametrize(
    ("name", "birth", "namesake"),
    [
        ("João da Silva", BORN, True),
        ("João da Silva", date(2014, 5, 5), False),
        ("Joao da Sliva", BORN, False),
    ],
)
def test_a_correction_that_names_nobody_else_passes(
    sqlite_city: RegisterCity, name: str, birth: date, namesake: bool
):
    sqlite_city.holder("João da Silva", BORN)
    second = sqlite_city.holder("Joao da Sliva", BORN)

    correct(sqlite_city, second, name, birth, namesake=namesake)

    assert person_of(sqlite_city, second) == (name, birth)


def test_confirmed_namesakes_stay_so_when_another_field_is_corrected(sqlite_city: RegisterCity):
    sqlite_city.holder("João da Silva", BORN)
    second = sqlite_city.holder("João da Silva", BORN)

    correct(sqlite_city, second, "João da Silva", BORN, phone="+55 46 90000 0000")

    assert person_of(sqlite_city, second) == ("João da Silva", BORN)


@pytest.fixture
def postgres_city(postgres_url: str, tmp_path: Path) -> Iterator[RegisterCity]:
    """A city where two transactions really write at the same time."""
    made = make_city(postgres_url, tmp_path)
    yield made
    made.engine.dispose()


def waits_for_its_turn(engine: Engine, other: "Future[int]") -> bool:
    """Whether another desk comes to wait for a lock, rather than to end."""
    waiting = text(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not other.done():
        with engine.connect() as connection:
            if connection.scalar(waiting):
                return True
    return False


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"name": "JOAO DA SILVA"}),
        ({"cpf": OTHER_CPF}, {}),
        ({"namesake": True}, {}),
    ],
)
def test_two_desks_that_register_one_child_at_the_same_instant_make_one_record(
    postgres_city: RegisterCity, first: dict[str, str | bool], second: dict[str, str | bool]
):
    city, clerk = postgres_city, as_registrar(postgres_city.staff("clerk"))
    child = {"name": "João da Silva", "birth_date": BORN, "guardian_name": "Responsável", "guardian_cpf": CPF}

    def other_desk() -> int:
        with city.writing() as session:
            return register_holder(session, clerk, NOW, city.chance, Person(**{**child, **second})).id  # type: ignore[arg-type]

    with ThreadPoolExecutor(1) as desk:
        with city.writing() as session:
            known = register_holder(session, clerk, NOW, city.chance, Person(**{**child, **first})).id  # type: ignore[arg-type]
            late = desk.submit(other_desk)
            assert waits_for_its_turn(city.engine, late)

        with pytest.raises(Conflict, match=f"o titular {known} tem este nome"):
            late.result(30)


def test_desks_that_register_different_children_do_not_wait_for_each_other(postgres_city: RegisterCity):
    city, clerk = postgres_city, as_registrar(postgres_city.staff("clerk"))
    child = {"birth_date": BORN, "guardian_name": "Responsável", "guardian_cpf": CPF}

    with city.writing() as session:
        first = register_holder(session, clerk, NOW, city.chance, Person("João da Silva", **child)).id  # type: ignore[arg-type]

        assert city.holder("Joana da Silva", BORN) != first

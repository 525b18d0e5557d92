"""Holders, rights and cards: the law's conditions, append-only corrections, and the state at every revision."""

import concurrent.futures
from datetime import date

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from backoffice.application.constraints import conflict_of
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.holder_state import (
    without_birth,
)
from backoffice.application.register_deaths import record_death
from backoffice.application.register_holders import Person, change_person
from backoffice.application.staff import as_registrar
from backoffice.persistence.base import reading
from backoffice.persistence.holders import PersonRow
from tests.backoffice.register_city import CPF, NOW, OTHER_CPF, TODAY, RegisterCity
from validator.domain.rights import Period
from validator.domain.vocabulary import Category
from validator.records.codes import CardState


def test_a_cpf_keeps_its_zeros(sqlite_city: RegisterCity):
    holder = sqlite_city.holder(cpf="000.000.001-91")

    with reading(sqlite_city.engine) as session:
        assert session.scalar(select(PersonRow.cpf).where(PersonRow.holder_id == holder)) == "00000000191"


@pytest.mark.parametrize(
    "cpf",
    ["191", "111.111.111-11", "529.982.247-26", "٥٢٩٩٨٢٢٤٧٢٥", "５２９９８２２４７２５", "52998224725x"],
)
def test_what_is_no_cpf_is_refused_and_not_repeated(sqlite_city: RegisterCity, cpf: str):
    with pytest.raises(Invalid) as refused:
        sqlite_city.holder(cpf=cpf)

    assert cpf not in refused.value.sentence


def test_siblings_without_cpf_share_their_guardian(city: RegisterCity):
    first = city.holder("Irmã", guardian_cpf=CPF)
    second = city.holder("Irmão", guardian_cpf=CPF)

    assert first != second


def test_a_cpf_is_the_own_of_one_holder_only(city: RegisterCity):
    first = city.holder(cpf=CPF)

    with pytest.raises(Conflict, match=f"titular {first}") as refused:
        city.holder(cpf=CPF)

    assert refused.value.code == "CPF_TAKEN"


def test_two_desks_that_register_one_cpf_at_once_make_one_holder(city: RegisterCity):
    def register(_: int) -> str:
        try:
            city.holder(cpf=OTHER_CPF)
        except Conflict as refused:
            return refused.code
        except IntegrityError as error:
            return conflict_of(error).code
        return "REGISTERED"

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        outcomes = sorted(pool.map(register, range(4)))

    assert outcomes == ["CPF_TAKEN", "CPF_TAKEN", "CPF_TAKEN", "REGISTERED"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "  "},
        {"name": "x" * 201},
        {"name": "a\x07b"},
        {"birth": date(2027, 1, 1)},
        {"birth": date(1899, 12, 31)},
        {"guardian_name": None, "guardian_cpf": None},
        {"guardian_cpf": "123"},
    ],
)
def test_a_person_that_makes_no_sense_is_refused(sqlite_city: RegisterCity, fields: dict[str, object]):
    with pytest.raises(Invalid):
        sqlite_city.holder(**fields)  # type: ignore[arg-type]


def test_a_guardian_must_be_registered(sqlite_city: RegisterCity):
    with pytest.raises(NotFound):
        sqlite_city.holder(guardian_id=999)


def test_a_corrected_birth_date_is_a_new_revision(city: RegisterCity):
    holder = city.holder(birth=date(1960, 1, 1), cpf=CPF)
    with city.writing() as session:
        change_person(
            session,
            as_registrar(city.staff("clerk")),
            NOW,
            holder_id=holder,
            person=Person("Outra", date(1980, 1, 1), CPF),
        )

    assert [a.category for a in city.state(holder, revision=1).holder.ages if a.period.until is None] == [
        Category.ELDER
    ]
    elder = [a for a in city.state(holder).holder.ages if a.category is Category.ELDER]
    assert elder[-1].period.first == date(2040, 1, 1)


def test_after_a_death_nothing_holds_and_the_cards_are_blocked(city: RegisterCity):
    holder = city.holder(birth=date(1950, 1, 1), cpf=CPF)
    right = city.right(holder, Category.TEACHER, school=city.public_school)
    card = city.card(holder)
    with city.writing() as session:
        record_death(
            session, as_registrar(city.staff("clerk")), NOW, holder_id=holder, died_on=date(2026, 3, 1)
        )

    state = city.state(holder)
    assert [r.period.until for r in state.holder.rights] == [TODAY]
    assert max(a.period.until or date.max for a in state.holder.ages) == TODAY
    assert [c.state for c in state.cards] == [CardState.BLOCKED]
    assert right
    assert card.issue == 1
    with pytest.raises(Conflict):
        city.card(holder)
    with pytest.raises(Conflict):
        city.right(holder, Category.TEACHER, school=city.public_school)


def test_a_snapshot_does_not_tell_a_birthday_long_past(sqlite_city: RegisterCity):
    elder = sqlite_city.state(sqlite_city.holder(birth=date(1950, 1, 1), cpf=CPF)).holder
    turning = sqlite_city.state(sqlite_city.holder(birth=date(1966, 3, 20), cpf=OTHER_CPF)).holder

    ages = without_birth(elder, TODAY).ages
    assert [(a.category, a.period) for a in ages] == [
        (Category.ELDER, Period(date(1991, 1, 1), None)),
    ]
    assert date(2026, 3, 20) in [a.period.first for a in without_birth(turning, TODAY).ages]

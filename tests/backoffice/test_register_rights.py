"""Rights: one registers, another approves; endings and suspensions are rows of their own."""

import concurrent.futures
from datetime import date, timedelta

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import IntegrityError

from backoffice.application.errors import Conflict, Forbidden, Invalid, NotFound
from backoffice.application.issue_cards import (
    issue_card,
)
from backoffice.application.register_deaths import record_death
from backoffice.application.register_holders import Declaration, register_enrolment
from backoffice.application.register_rights import (
    Entitlement,
    approve_right,
    deny_right,
    end_right,
    proof_of,
    request_right,
    resume_right,
    suspend_right,
)
from backoffice.application.staff import Staff, as_approver, as_desk, as_registrar
from backoffice.persistence.base import reading
from backoffice.persistence.holders import HolderRow
from tests.backoffice.register_city import BOOK, NOW, TODAY, RegisterCity
from validator.domain.rights import Period
from validator.domain.vocabulary import Category


def test_a_right_counts_once_a_second_person_approves_it(city: RegisterCity):
    holder = city.holder()
    asked = Entitlement(
        Category.STUDENT_50,
        date(2026, 2, 1),
        proof_of(BOOK, Category.STUDENT_50, TODAY),
        TODAY,
        school_id=city.public_school,
    )
    with city.writing() as session:
        request = request_right(
            session, as_registrar(city.staff("manager")), NOW, BOOK, holder_id=holder, asked=asked
        ).id
    assert city.state(holder).holder.rights == ()

    with pytest.raises(Forbidden) as refused, city.writing() as session:
        approve_right(session, as_approver(city.staff("manager")), NOW, request_id=request)
    with city.writing() as session:
        approve_right(session, as_approver(city.staff("city")), NOW, request_id=request)

    assert refused.value.code == "SECOND_PERSON"
    assert [right.category for right in city.state(holder).holder.rights] == [Category.STUDENT_50]
    with pytest.raises(Conflict), city.writing() as session:
        approve_right(session, as_approver(city.staff("city")), NOW, request_id=request)


def test_the_database_itself_refuses_one_person_in_both_roles(city: RegisterCity):
    holder = city.holder()
    city.right(holder, school=city.public_school)
    same = text(
        "INSERT INTO rights (holder_id, request_id, category, first_day, registered_by, approved_by, "
        "recorded_at, revision) SELECT holder_id, request_id + 1, category, first_day, approved_by, approved_by, "
        "recorded_at, revision FROM rights"
    )

    with pytest.raises(IntegrityError, match="second_person"), city.writing() as session:
        session.execute(same)


def test_two_approvers_at_once_make_one_right(city: RegisterCity):
    holder = city.holder()
    asked = Entitlement(
        Category.TEACHER, TODAY, proof_of(BOOK, Category.TEACHER, TODAY), TODAY, school_id=city.public_school
    )
    with city.writing() as session:
        request = request_right(
            session, as_registrar(city.staff("clerk")), NOW, BOOK, holder_id=holder, asked=asked
        ).id

    def approve(login: str) -> str:
        try:
            with city.writing() as session:
                approve_right(session, as_approver(city.staff(login)), NOW, request_id=request)
        except (Conflict, IntegrityError):
            return "CONFLICT"
        return "APPROVED"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(approve, ["manager", "city"])) == ["APPROVED", "CONFLICT"]
    assert len(city.state(holder).holder.rights) == 1


def test_a_denial_needs_its_reason(sqlite_city: RegisterCity):
    city = sqlite_city
    asked = Entitlement(
        Category.TEACHER, TODAY, proof_of(BOOK, Category.TEACHER, TODAY), TODAY, school_id=city.public_school
    )
    with city.writing() as session:
        request = request_right(
            session, as_registrar(city.staff("clerk")), NOW, BOOK, holder_id=city_holder(city), asked=asked
        ).id

    with pytest.raises(Invalid), city.writing() as session:
        deny_right(session, as_approver(city.staff("manager")), NOW, request_id=request, note=" ")


def city_holder(city: RegisterCity) -> int:
    return 1 if _count(city) else city.holder()


def _count(city: RegisterCity) -> int:
    with reading(city.engine) as session:
        return session.scalar(select(func.count()).select_from(HolderRow)) or 0


@pytest.mark.parametrize(
    ("category", "school", "says"),
    [
        (Category.CHILD, None, "decorre da idade"),
        (Category.ELDER, None, "decorre da idade"),
        (Category.PREPAID, None, "passes se vendem"),
        (Category.STUDENT_50, None, "informe a escola"),
        (Category.STUDENT_50, "private_school", "rede municipal.*art. 48, X"),
        (Category.STUDENT_50, "special_school", "rede municipal.*art. 48, X"),
        (Category.TEACHER, "state_school", "rede municipal"),
        (Category.SPECIAL_ED, "private_school", "ensino especial"),
        (Category.SPECIAL_ED, "public_school", "ensino especial .*art. 48, IX"),
        (Category.FISCAL_TRAB, "public_school", "não tem escola"),
    ],
)
def test_the_law_names_who_may_have_a_right(
    sqlite_city: RegisterCity, category: Category, school: str | None, says: str
):
    holder = sqlite_city.holder()

    with pytest.raises(Invalid, match=says):
        sqlite_city.right(holder, category, school=school and getattr(sqlite_city, school))


@pytest.mark.parametrize("category", [Category.STUDENT_50, Category.TEACHER, Category.OFICIAL_JUST])
def test_a_missing_document_is_named(sqlite_city: RegisterCity, category: Category):
    holder = sqlite_city.holder()
    asked = Entitlement(category, TODAY, frozenset(), TODAY)

    with pytest.raises(Invalid, match="documento de identidade"), sqlite_city.writing() as session:
        request_right(
            session, as_registrar(sqlite_city.staff("clerk")), NOW, BOOK, holder_id=holder, asked=asked
        )


def test_nobody_serves_themselves(sqlite_city: RegisterCity):
    holder = sqlite_city.holder()
    clerk = sqlite_city.staff("clerk")
    herself = Staff(clerk.user_id, clerk.login, clerk.role, desk=clerk.desk, holder_id=holder)

    with pytest.raises(Forbidden, match="si mesmo"), sqlite_city.writing() as session:
        issue_card(session, as_desk(herself), NOW, sqlite_city.chance, sqlite_city.signer, holder_id=holder)


def test_a_suspension_and_its_end_are_rows_of_their_own(city: RegisterCity):
    holder = city.holder()
    right = city.right(holder, school=city.public_school)
    clerk = as_registrar(city.staff("clerk"))
    with city.writing() as session:
        suspend_right(
            session, clerk, NOW, right_id=right, first_day=date(2026, 3, 5), until=None, reason="afastado"
        )
    open_state = city.state(holder)
    with pytest.raises(Conflict), city.writing() as session:
        suspend_right(session, clerk, NOW, right_id=right, first_day=TODAY, until=None, reason="outra vez")
    with city.writing() as session:
        resume_right(session, clerk, NOW, right_id=right, from_day=date(2026, 3, 9), reason="voltou")

    assert open_state.holder.rights[0].suspended == (Period(date(2026, 3, 5), None),)
    assert city.state(holder).holder.rights[0].suspended == (Period(date(2026, 3, 5), date(2026, 3, 9)),)
    assert city.state(holder, revision=open_state.revision).holder == open_state.holder
    with pytest.raises(Conflict), city.writing() as session:
        resume_right(session, clerk, NOW, right_id=right, from_day=TODAY, reason="de novo")


def test_of_several_endings_the_last_recorded_counts(city: RegisterCity):
    holder = city.holder()
    right = city.right(holder, school=city.public_school)
    clerk = as_registrar(city.staff("clerk"))
    later = NOW + timedelta(hours=1)
    with city.writing() as session:
        end_right(session, clerk, NOW, right_id=right, ended_on=date(2026, 3, 20), reason="erro de digitação")
    with city.writing() as session:
        end_right(session, clerk, later, right_id=right, ended_on=date(2026, 6, 30), reason="fim do semestre")

    assert city.state(holder).holder.rights[0].period.until == date(2026, 6, 30)
    assert city.state(holder, recorded_until=NOW).holder.rights[0].period.until == date(2026, 3, 20)


def test_an_ending_makes_no_right_longer_than_it_was_approved(sqlite_city: RegisterCity):
    holder = sqlite_city.holder()
    right = sqlite_city.right(holder, school=sqlite_city.public_school, ended_on=date(2026, 7, 1))
    clerk = as_registrar(sqlite_city.staff("clerk"))
    for ended_on in (date(2026, 3, 20), date(2026, 7, 1)):
        with sqlite_city.writing() as session:
            end_right(session, clerk, NOW, right_id=right, ended_on=ended_on, reason="correção")

    with pytest.raises(Invalid, match="até a véspera de 01/07/2026"), sqlite_city.writing() as session:
        end_right(session, clerk, NOW, right_id=right, ended_on=date(2026, 7, 2), reason="mais um dia")

    assert sqlite_city.state(holder).holder.rights[0].period.until == date(2026, 7, 1)


def test_an_ending_gives_nothing_to_the_dead(sqlite_city: RegisterCity):
    holder = sqlite_city.holder()
    right = sqlite_city.right(holder, school=sqlite_city.public_school)
    clerk = as_registrar(sqlite_city.staff("clerk"))
    with sqlite_city.writing() as session:
        record_death(session, clerk, NOW, holder_id=holder, died_on=date(2026, 3, 1))

    with pytest.raises(Conflict, match="falecido"), sqlite_city.writing() as session:
        end_right(session, clerk, NOW, right_id=right, ended_on=date(2026, 3, 3), reason="x")
    with sqlite_city.writing() as session:
        end_right(session, clerk, NOW, right_id=right, ended_on=date(2026, 2, 20), reason="saiu antes")

    assert sqlite_city.state(holder).holder.rights[0].period.until == date(2026, 2, 20)


def test_a_document_cannot_have_been_seen_tomorrow(sqlite_city: RegisterCity):
    holder = sqlite_city.holder()
    clerk = as_registrar(sqlite_city.staff("clerk"))
    tomorrow = TODAY + timedelta(days=1)
    asked = Entitlement(Category.OFICIAL_JUST, TODAY, proof_of(BOOK, Category.OFICIAL_JUST, TODAY), tomorrow)
    days = (sqlite_city.public_school, date(2026, 2, 1), date(2026, 12, 1), 2)

    with pytest.raises(Invalid, match="seen_on"), sqlite_city.writing() as session:
        request_right(session, clerk, NOW, BOOK, holder_id=holder, asked=asked)
    for declaration in (Declaration(*days, tomorrow, TODAY), Declaration(*days, TODAY, tomorrow)):
        with pytest.raises(Invalid, match="seen_on"), sqlite_city.writing() as session:
            register_enrolment(session, clerk, NOW, holder_id=holder, declaration=declaration)


@pytest.mark.parametrize("number", [0, 999])
def test_a_right_or_request_that_is_not_there(sqlite_city: RegisterCity, number: int):
    clerk = as_registrar(sqlite_city.staff("clerk"))
    with pytest.raises(NotFound), sqlite_city.writing() as session:
        end_right(session, clerk, NOW, right_id=number, ended_on=TODAY, reason="x")
    with pytest.raises(NotFound), sqlite_city.writing() as session:
        approve_right(session, as_approver(sqlite_city.staff("city")), NOW, request_id=number)


@pytest.mark.parametrize(
    "declaration",
    [
        Declaration(1, date(2026, 2, 1), date(2026, 1, 31), 2),
        Declaration(1, date(2026, 2, 1), date(2027, 2, 3), 2),
        Declaration(1, date(2026, 2, 1), date(2026, 12, 1), 9),
        Declaration(1, date(26, 2, 1), date(26, 12, 1), 2),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(sqlite_city: RegisterCity, declaration: Declaration):
    holder = sqlite_city.holder()

    with pytest.raises(Invalid), sqlite_city.writing() as session:
        register_enrolment(
            session,
            as_registrar(sqlite_city.staff("clerk")),
            NOW,
            holder_id=holder,
            declaration=declaration,
        )

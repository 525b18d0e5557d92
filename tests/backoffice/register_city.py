"""A small city for tests of the register: staff of every role, two operators, lines, fares, schools, and a student."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from sqlalchemy import Engine

from backoffice.adapters.chance import with_check_digit
from backoffice.adapters.city_keys import CityKeys
from backoffice.adapters.law_file import packaged_law
from backoffice.application.bind_uid import bind_uid
from backoffice.application.holder_state import RecordedHolder, holder_as_recorded
from backoffice.application.issue_cards import IssuedCard, issue_card
from backoffice.application.register_acts import NewFare, record_act, register_fare
from backoffice.application.register_fleet import (
    assign_line,
    register_line,
    register_operator,
    register_vehicle,
)
from backoffice.application.register_holders import (
    Declaration,
    Person,
    register_enrolment,
    register_holder,
)
from backoffice.application.register_rights import Entitlement, approve_right, proof_of, request_right
from backoffice.application.register_schools import register_school
from backoffice.application.register_users import NewUser, add_user
from backoffice.application.sell_passes import Order, sell_passes
from backoffice.application.staff import (
    Staff,
    as_approver,
    as_city,
    as_desk,
    as_registrar,
    as_user_administrator,
    staff_by_login,
)
from backoffice.domain.acquisition import Plan
from backoffice.persistence.acts import ActKind
from backoffice.persistence.base import WriteSession, make_engine, reading, writing
from backoffice.persistence.migrate import migrate
from backoffice.persistence.operators import OperatorKind
from backoffice.persistence.sales import SaleRow
from backoffice.persistence.users import Role
from validator.domain.registration import SchoolNetwork
from validator.domain.vocabulary import Category, Network, Product

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
TODAY = date(2026, 3, 2)
BOOK = packaged_law()
CNPJ = "12.ABC.345/01DE-35"
CPF = "529.982.247-25"
OTHER_CPF = "111.444.777-35"


class CountedChance:
    """Numbers in a row instead of chance, so that a test can name them."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def hot_id(self) -> str:
        return f"{next(self._numbers):016x}"

    def card_number(self) -> int:
        return with_check_digit(10**10 + next(self._numbers))

    def secret(self) -> str:
        return f"secret-{next(self._numbers):032x}"


@dataclass
class RegisterCity:
    """A migrated database with a city in it."""

    engine: Engine
    signer: CityKeys
    chance: CountedChance = field(default_factory=CountedChance)
    tokens: dict[str, str] = field(default_factory=dict)
    act: int = 0
    public_school: int = 0
    private_school: int = 0
    state_school: int = 0
    special_school: int = 0

    @contextmanager
    def writing(self) -> Iterator[WriteSession]:
        with writing(self.engine) as session:
            yield session

    def staff(self, login: str) -> Staff:
        with reading(self.engine) as session:
            return staff_by_login(session, login, NOW)

    def state(self, holder_id: int, **cut: object) -> RecordedHolder:
        """The holder as recorded, now or at a revision or an instant."""
        with reading(self.engine) as session:
            return holder_as_recorded(session, holder_id, BOOK, **cut)  # type: ignore[arg-type]

    def holder(
        self, name: str = "Titular de Teste", birth: date | None = date(2008, 5, 4), **fields: object
    ) -> int:
        person = Person(
            name=name,
            birth_date=birth,
            **{"guardian_name": "Responsável", "guardian_cpf": CPF, "namesake": True, **fields},
        )  # type: ignore[arg-type]
        with self.writing() as session:
            return register_holder(session, as_registrar(self.staff("clerk")), NOW, self.chance, person).id

    def right(
        self,
        holder_id: int,
        category: Category = Category.STUDENT_50,
        school: int | None = None,
        first_day: date = date(2026, 2, 1),
        ended_on: date | None = None,
    ) -> int:
        asked = Entitlement(
            category=category,
            first_day=first_day,
            evidence=proof_of(BOOK, category, TODAY),
            seen_on=TODAY,
            ended_on=ended_on,
            school_id=school,
        )
        with self.writing() as session:
            request = request_right(
                session, as_registrar(self.staff("clerk")), NOW, BOOK, holder_id=holder_id, asked=asked
            )
            return approve_right(session, as_approver(self.staff("manager")), NOW, request_id=request.id).id

    def enrolment(self, holder_id: int, **changes: object) -> None:
        fields: dict[str, object] = {
            "school_id": self.public_school,
            "first_day": date(2026, 2, 1),
            "last_day": date(2026, 12, 20),
            "passes_per_day": 2,
            "identity_seen_on": TODAY,
            "address_seen_on": TODAY,
            **changes,
        }
        with self.writing() as session:
            register_enrolment(
                session,
                as_registrar(self.staff("clerk")),
                NOW,
                holder_id=holder_id,
                declaration=Declaration(**fields),  # type: ignore[arg-type]
            )

    def student(self) -> int:
        holder_id = self.holder()
        self.right(holder_id, school=self.public_school)
        self.enrolment(holder_id)
        return holder_id

    def card(self, holder_id: int) -> IssuedCard:
        with self.writing() as session:
            return issue_card(
                session, as_desk(self.staff("clerk")), NOW, self.chance, self.signer, holder_id=holder_id
            )

    def bind(self, number: int, uid: str, at: datetime = NOW) -> None:
        with self.writing() as session:
            bind_uid(session, as_desk(self.staff("clerk")), at, number=number, uid=uid)

    def sell(
        self,
        holder_id: int,
        units: int = 10,
        product: Product = Product.STUDENT,
        network: Network = Network.URBAN,
        plan: Plan | None = None,
        at: datetime = NOW,
        request_id: str | None = None,
    ) -> SaleRow:
        if product is Product.STUDENT and plan is None:
            plan = Plan.MONTH
        with self.writing() as session:
            row = sell_passes(
                session,
                as_desk(self.staff("clerk")),
                at,
                BOOK,
                holder_id=holder_id,
                order=Order(product, network, units, plan, request_id),
            )
            session.expunge(row)
            return row


def make_city(database_url: str, folder: Path) -> RegisterCity:
    """A city in an empty database."""
    engine = make_engine(database_url)
    migrate(engine)
    city = RegisterCity(engine, CityKeys(folder / "keys"))
    with city.writing() as session:
        added = add_user(
            session, None, NOW, city.chance, NewUser("admin", "Administração", Role.ADMINISTRATOR)
        )
        city.tokens["admin"] = added.token
    with city.writing() as session:
        admin = as_user_administrator(staff_by_login(session, "admin", NOW))
        for new in (
            NewUser("city", "Órgão Gestor", Role.CITY),
            NewUser("auditor", "Auditoria", Role.AUDITOR),
        ):
            city.tokens[new.login] = add_user(session, admin, NOW, city.chance, new).token
        for login, role in (("clerk", Role.DESK_CLERK), ("manager", Role.DESK_MANAGER)):
            new = NewUser(login, f"Posto: {login}", role, desk="centro")
            city.tokens[login] = add_user(session, admin, NOW, city.chance, new).token
    _register(city)
    with city.writing() as session:
        admin = as_user_administrator(staff_by_login(session, "admin", NOW))
        finance = NewUser("finance", "Financeiro", Role.OPERATOR_FINANCE, operator="azul")
        school = NewUser("school", "Secretaria", Role.SCHOOL, school_id=city.public_school)
        for new in (finance, school):
            city.tokens[new.login] = add_user(session, admin, NOW, city.chance, new).token
    return city


def _register(city: RegisterCity) -> None:
    with city.writing() as session:
        office = as_city(staff_by_login(session, "city", NOW))
        act = record_act(
            session, office, NOW, kind=ActKind.DECREE, number="9.001", signed_on=date(2025, 12, 20)
        )
        city.act = act.id
        register_operator(session, office, NOW, code="azul", name="Viação Azul", document=CNPJ)
        register_operator(
            session, office, NOW, code="rural", name="Interior", kind=OperatorKind.PERSON, document=CPF
        )
        for code, network, operator in (
            ("101", Network.URBAN, "azul"),
            ("901", Network.INTERIOR, "rural"),
        ):
            register_line(session, office, NOW, code=code, name=f"Linha {code}", network=network)
            assign_line(session, office, NOW, line=code, operator=operator, from_day=date(2026, 1, 1))
        register_vehicle(session, office, NOW, number="1201", operator="azul", from_day=date(2026, 1, 1))
        register_vehicle(session, office, NOW, number="3301", operator="rural", from_day=date(2026, 1, 1))
        for network, cents in ((Network.URBAN, 455), (Network.INTERIOR, 700)):
            register_fare(session, office, NOW, NewFare(network, cents, date(2026, 1, 1), act.id))
        city.public_school = register_school(
            session, office, NOW, name="Escola Municipal", network=SchoolNetwork.PUBLIC_MUNICIPAL
        ).id
        city.state_school = register_school(
            session, office, NOW, name="Colégio Estadual", network=SchoolNetwork.PUBLIC_STATE, inep="41000001"
        ).id
        city.private_school = register_school(
            session, office, NOW, name="Colégio Particular", network=SchoolNetwork.PRIVATE
        ).id
        city.special_school = register_school(
            session, office, NOW, name="Instituição", network=SchoolNetwork.SPECIAL
        ).id

"""Found the city that every small seed plays in: staff, fleet, fares, and people of every category.

Made through the register's own use cases, once in a process; each seed then plays on a copy of the files.
"""

import hashlib
import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine

from backoffice.adapters.chance import with_check_digit
from backoffice.adapters.law_file import packaged_law
from backoffice.application.issue_cards import issue_card
from backoffice.application.register_acts import NewFare, record_act, register_fare
from backoffice.application.register_devices import enrol_device
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
    as_administrator,
    as_approver,
    as_city,
    as_desk,
    as_registrar,
    as_user_administrator,
    staff_by_login,
)
from backoffice.domain.acquisition import Plan
from backoffice.persistence.acts import ActKind
from backoffice.persistence.base import WriteSession, writing
from backoffice.persistence.operators import OperatorKind
from backoffice.persistence.users import Role
from tests.simulation.facts import CardSet, Change, Facts, FareSet, PassesSold, Recorded, RightGiven, Token
from tests.simulation.facts import Person as PersonFacts
from validator.domain.registration import SchoolNetwork
from validator.domain.vocabulary import Category, Network, Product

FOUNDED = datetime(2026, 2, 20, 12, 0, tzinfo=UTC)
BOOK = packaged_law()

FARES = (
    (Network.URBAN, date(2026, 1, 1), None, 435),
    (Network.URBAN, date(2026, 3, 10), None, 455),
    (Network.URBAN, date(2026, 4, 1), None, 475),
    (Network.URBAN, date(2026, 3, 29), date(2026, 3, 29), 0),
    (Network.INTERIOR, date(2026, 1, 1), None, 700),
    (Network.INTERIOR, date(2026, 4, 1), None, 735),
    (Network.INTERIOR, date(2026, 3, 29), date(2026, 3, 29), 0),
)
"""A raise on 10 March and one on 1 April, and a Sunday without fare."""

LINES = {
    "101": (Network.URBAN, "azul"),
    "102": (Network.URBAN, "azul"),
    "901": (Network.INTERIOR, "azul"),
    "201": (Network.URBAN, "rural"),
    "902": (Network.INTERIOR, "rural"),
}
BUSES = {
    "v-1": ("1201", "azul"),
    "v-2": ("1202", "azul"),
    "v-3": ("1203", "azul"),
    "v-4": ("3301", "rural"),
    "v-5": ("3302", "rural"),
}


class SeededChance:
    """Chance of the register, from a seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def hot_id(self) -> str:
        return f"{self._random.getrandbits(64):016x}"

    def card_number(self) -> int:
        return with_check_digit(10**10 + self._random.randrange(9 * 10**10))

    def secret(self) -> str:
        return f"{self._random.getrandbits(256):064x}"


class SeededSigner:
    """The city's key, the same in every world."""

    def create(self, key_id: int) -> bytes:
        return self._key(key_id).public_key().public_bytes_raw()

    def sign(self, key_id: int, message: bytes) -> bytes:
        return self._key(key_id).sign(message)

    def _key(self, key_id: int) -> Ed25519PrivateKey:
        return private_key(f"city {key_id}")


def private_key(name: str) -> Ed25519PrivateKey:
    """A key that follows from its name."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"simulation {name}".encode()).digest())


@dataclass
class Rider:
    """Somebody with a card, as the founder knows him.

    Attributes:
        holder_id: `holders.id`.
        card: Number of the card.
        token: Its token text.
        kind: What he was founded as.
        rights: `rights.id` by category.
    """

    holder_id: int
    hot_id: str
    kind: str
    card: int = 0
    token: str = ""
    rights: dict[str, int] = field(default_factory=dict)


@dataclass
class City:
    """The founded city: facts, riders, and what devices were given."""

    facts: Facts = field(default_factory=Facts)
    riders: list[Rider] = field(default_factory=list)
    device_tokens: dict[str, str] = field(default_factory=dict)
    schools: dict[str, int] = field(default_factory=dict)


class Founder:
    """Writes the city into an empty database."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.city = City()
        self.chance = SeededChance("founding")
        self.signer = SeededSigner()
        self._clock = (FOUNDED + timedelta(seconds=n) for n in itertools.count())

    @contextmanager
    def session(self) -> Iterator[WriteSession]:
        with writing(self.engine) as session:
            yield session

    def now(self) -> datetime:
        return next(self._clock)

    def found(self, copies: int = 1) -> City:
        """All of it; `copies` of each kind of person."""
        self._staff()
        with self.session() as session:
            self._fleet(session)
            people = People(self, session)
            for _ in range(copies):
                people.everybody()
        for person in self.city.facts.people.values():
            for recorded in person.record:
                recorded.shown = recorded.at
        return self.city

    def _staff(self) -> None:
        at = self.now()
        with self.session() as session:
            add_user(session, None, at, self.chance, NewUser("admin", "Administração", Role.ADMINISTRATOR))
        with self.session() as session:
            admin = as_user_administrator(staff_by_login(session, "admin", at))
            add_user(session, admin, at, self.chance, NewUser("city", "Órgão Gestor", Role.CITY))
            for login, role in (("clerk", Role.DESK_CLERK), ("manager", Role.DESK_MANAGER)):
                add_user(session, admin, at, self.chance, NewUser(login, login, role, desk="centro"))

    def _fleet(self, session: WriteSession) -> None:
        office = as_city(staff_by_login(session, "city", self.now()))
        admin = as_administrator(staff_by_login(session, "admin", self.now()))
        at, first = self.now(), date(2026, 1, 1)
        act = record_act(
            session, office, at, kind=ActKind.DECREE, number="9.001", signed_on=date(2025, 12, 20)
        ).id
        register_operator(session, office, at, code="azul", name="Viação Azul", document="12.ABC.345/01DE-35")
        register_operator(
            session,
            office,
            at,
            code="rural",
            name="Interior",
            kind=OperatorKind.PERSON,
            document="529.982.247-25",
        )
        known = self.city.facts
        for line, (network, operator) in LINES.items():
            register_line(session, office, at, code=line, name=f"Linha {line}", network=network)
            assign_line(session, office, at, line=line, operator=operator, from_day=first)
            known.lines[line] = (network.value, operator)
        for network, day, last, cents in FARES:
            register_fare(session, office, at, NewFare(network, cents, day, act, last))
            known.fares.append(FareSet(network.value, day, last, cents))
        for device, (vehicle, operator) in BUSES.items():
            register_vehicle(session, office, at, number=vehicle, operator=operator, from_day=first)
            key = private_key(device).public_key().public_bytes_raw()
            enrolled = enrol_device(
                session,
                admin,
                at,
                self.chance,
                device_id=device,
                operator=operator,
                public_key=key,
                vehicle=vehicle,
            )
            self.city.device_tokens[device] = enrolled.token
            known.vehicles[vehicle] = operator
            known.devices[device] = operator
            known.hangs_in[device] = vehicle
        for name, network_of in (
            ("municipal", SchoolNetwork.PUBLIC_MUNICIPAL),
            ("special", SchoolNetwork.SPECIAL),
        ):
            school = register_school(session, office, at, name=f"Escola {name}", network=network_of)
            self.city.schools[name] = school.id


class People:
    """Registers people of every kind."""

    def __init__(self, founder: Founder, session: WriteSession) -> None:
        self._founder = founder
        self._session = session
        self._city = founder.city
        self._staff: dict[str, Staff] = {
            login: staff_by_login(session, login, FOUNDED) for login in ("clerk", "manager")
        }
        self._clerk = as_desk(self._staff["clerk"])

    def everybody(self) -> None:
        """One person of every kind, more of those who matter to the cap."""
        grown = date(1988, 6, 1)
        for _ in range(4):
            self.student("student", 40)
        for _ in range(3):
            self.student("eager", 100, plan=Plan.TWO_MONTHS)
        for _ in range(2):
            self.student("short", 6)
        self.student("student+prepaid", 8, also=(Product.PREPAID, Network.URBAN, 20))
        self.student("student turning 60", 30, birth=date(1966, 3, 30))
        self.holder("child", date(2020, 5, 4))
        self.holder("child turning 8", date(2018, 3, 31))
        self.holder("elder", date(1950, 1, 1))
        self.holder("turning 60", date(1966, 4, 2))
        for category in (
            Category.FISCAL_MUN,
            Category.FISCAL_TRANSP,
            Category.FISCAL_TRAB,
            Category.OFICIAL_JUST,
        ):
            self.right(self.holder(category.value, grown), category)
        for _ in range(2):
            self.right(self.holder("teacher", grown), Category.TEACHER, "municipal")
        teacher = self.holder("teacher turning 60", date(1966, 3, 27))
        self.right(teacher, Category.TEACHER, "municipal")
        self.right(self.holder("special", date(2012, 7, 1)), Category.SPECIAL_ED, "special")
        both = self.holder("special+student", date(2011, 7, 1))
        self.right(both, Category.SPECIAL_ED, "special", ended=date(2026, 3, 28))
        self.studies(both, 30)
        for product, network, units in (
            (Product.PREPAID, Network.URBAN, 25),
            (Product.PREPAID, Network.INTERIOR, 12),
            (Product.VT, Network.URBAN, 30),
            (Product.VT, Network.INTERIOR, 4),
        ):
            self.sell(self.holder(f"{product}/{network}", grown), product, network, units)
        many = self.holder("teacher+vt", grown)
        self.right(many, Category.TEACHER, "municipal")
        self.sell(many, Product.VT, Network.URBAN, 10)

    def student(
        self,
        kind: str,
        units: int,
        *,
        plan: Plan = Plan.MONTH,
        birth: date = date(2008, 5, 4),
        also: tuple[Product, Network, int] | None = None,
    ) -> None:
        rider = self.holder(kind, birth)
        self.studies(rider, units, plan)
        if also is not None:
            self.sell(rider, *also)

    def studies(self, rider: Rider, units: int, plan: Plan = Plan.MONTH) -> None:
        """A right, an enrolment, and passes of two prices where the plan allows them."""
        founder = self._founder
        self.right(rider, Category.STUDENT_50, "municipal")
        register_enrolment(
            self._session,
            as_registrar(self._staff["clerk"]),
            founder.now(),
            holder_id=rider.holder_id,
            declaration=Declaration(
                school_id=self._city.schools["municipal"],
                first_day=date(2026, 2, 1),
                last_day=date(2026, 12, 20),
                passes_per_day=2,
                identity_seen_on=date(2026, 2, 10),
                address_seen_on=date(2026, 2, 10),
            ),
        )
        later = datetime(2026, 3, 21, 13, tzinfo=UTC) + (founder.now() - FOUNDED)
        self.sell(rider, Product.STUDENT, Network.URBAN, units // 2, plan)
        self.sell(rider, Product.STUDENT, Network.URBAN, units - units // 2, plan, later)

    def holder(self, kind: str, birth: date) -> Rider:
        founder, at = self._founder, self._founder.now()
        row = register_holder(
            self._session,
            as_registrar(self._staff["clerk"]),
            at,
            founder.chance,
            Person(kind, birth, guardian_name="Responsável", guardian_cpf="529.982.247-25", namesake=True),
        )
        rider = Rider(row.id, row.hot_id, kind)
        self._city.facts.people[row.hot_id] = PersonFacts(row.hot_id, birth)
        card = issue_card(
            self._session, self._clerk, founder.now(), founder.chance, founder.signer, holder_id=row.id
        )
        rider.card, rider.token = card.number, card.token
        self._city.facts.tokens[card.token] = Token(row.hot_id, card.number, 1)
        self._record(rider, at, CardSet(card.number, 1, "LIVE"))
        self._city.riders.append(rider)
        return rider

    def right(
        self, rider: Rider, category: Category, school: str | None = None, ended: date | None = None
    ) -> None:
        at, first = self._founder.now(), date(2026, 2, 1)
        asked = Entitlement(
            category,
            first,
            proof_of(BOOK, category, FOUNDED.date()),
            date(2026, 2, 10),
            ended_on=ended,
            school_id=None if school is None else self._city.schools[school],
        )
        request = request_right(
            self._session,
            as_registrar(self._staff["clerk"]),
            at,
            BOOK,
            holder_id=rider.holder_id,
            asked=asked,
        )
        right = approve_right(self._session, as_approver(self._staff["manager"]), at, request_id=request.id)
        rider.rights[category.value] = right.id
        self._record(rider, at, RightGiven(right.id, category.value, first, ended))

    def sell(
        self,
        rider: Rider,
        product: Product,
        network: Network,
        units: int,
        plan: Plan | None = None,
        at: datetime | None = None,
    ) -> None:
        at = at or self._founder.now()
        row = sell_passes(
            self._session,
            self._clerk,
            at,
            BOOK,
            holder_id=rider.holder_id,
            order=Order(product, network, units, plan),
        )
        sold = PassesSold(product.value, network.value, units, row.face_cents, row.paid_cents)
        self._record(rider, at, sold)

    def _record(self, rider: Rider, at: datetime, change: Change) -> None:
        self._city.facts.people[rider.hot_id].record.append(Recorded(at, change))

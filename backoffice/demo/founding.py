"""The demonstration city in the register, through the use cases that desks and the city use."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from backoffice.application.issue_cards import issue_card
from backoffice.application.register_acts import NewFare, record_act, register_fare
from backoffice.application.register_devices import enrol_device
from backoffice.application.register_fleet import (
    assign_line,
    register_line,
    register_operator,
    register_vehicle,
)
from backoffice.application.register_holders import Declaration, Person, register_enrolment, register_holder
from backoffice.application.register_rights import Entitlement, approve_right, proof_of, request_right
from backoffice.application.register_schools import register_school, set_school_year
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
from backoffice.bootstrap import Backoffice
from backoffice.demo.city_key import seeded_key
from backoffice.demo.city_plan import Calendar, CityPlan, FarePlan
from backoffice.demo.device import DeviceIdentity
from backoffice.demo.documents import cpf
from backoffice.demo.people import Rider, SalePlan, with_card
from backoffice.domain.acquisition import Plan
from backoffice.persistence.acts import ActKind
from backoffice.persistence.base import WriteSession, writing
from backoffice.persistence.users import Role
from validator.domain.service_time import SAO_PAULO
from validator.domain.vocabulary import RIGHTS_IN_ORDER, Category

_TOGETHER = 100
"""Holders of one transaction; each is registered by its own calls all the same."""

_NO_REGISTRATION = (Category.ELDER,)


@dataclass(frozen=True, slots=True)
class People:
    """Who works in the demonstration city, and the token of the city's own user for the HTTP API."""

    administrator: Staff
    city: Staff
    clerk: Staff
    manager: Staff
    token: str


class Founder:
    """Registers the city and its holders, days before the month begins."""

    def __init__(self, office: Backoffice, calendar: Calendar, seed: int) -> None:
        self._office = office
        self._calendar = calendar
        self._seed = seed
        self.at = at_hour(calendar.days[0] - timedelta(days=20), 9)
        """The instant of the city's first day."""
        self.people: People | None = None
        self._schools: list[int] = []

    @property
    def staff(self) -> People:
        """The people; they are there once the city is founded."""
        assert self.people is not None
        return self.people

    @contextmanager
    def _writing(self) -> Iterator[WriteSession]:
        with writing(self._office.engine) as session:
            yield session

    def found(self, city: CityPlan, *, lines_are_there: bool = False) -> dict[str, DeviceIdentity]:
        """Register people, operators, lines, fares, schools, vehicles and devices; the devices' identities.

        Args:
            city: The plan.
            lines_are_there: Whether operators and lines were imported from a feed already.
        """
        self.hire()
        by = as_city(self.staff.city)
        with self._writing() as session:
            self._run_lines(session, city, lines_are_there=lines_are_there)
            for _, fares in itertools.groupby(city.fares, key=lambda fare: fare.act):
                self._set_fares(session, list(fares))
            for school in city.schools:
                row = register_school(
                    session, by, self.at, name=school.name, network=school.network, inep=school.inep
                )
                year = self._calendar.days[0].year
                set_school_year(session, by, self.at, school_id=row.id, year=year, school_days=200)
                self._schools.append(row.id)
        with self._writing() as session:
            return dict(self._enrol(session, city))

    def hire(self) -> None:
        """Add the people who work here, unless they are there already."""
        if self.people is not None:
            return
        chance = self._office.chance
        with self._writing() as session:
            add_user(session, None, self.at, chance, NewUser("admin", "Administração", Role.ADMINISTRATOR))
            admin = staff_by_login(session, "admin", self.at)
            by = as_user_administrator(admin)
            token = add_user(
                session, by, self.at, chance, NewUser("orgao-gestor", "Órgão Gestor", Role.CITY)
            ).token
            desk = "Posto Central"
            for login, role in (("posto", Role.DESK_CLERK), ("gerencia", Role.DESK_MANAGER)):
                add_user(session, by, self.at, chance, NewUser(login, login.title(), role, desk=desk))
            city, clerk, manager = (
                staff_by_login(session, login, self.at) for login in ("orgao-gestor", "posto", "gerencia")
            )
        self.people = People(admin, city, clerk, manager, token)

    def _run_lines(self, session: WriteSession, city: CityPlan, *, lines_are_there: bool) -> None:
        by, first = as_city(self.staff.city), self.at.astimezone(SAO_PAULO).date()
        for operator in city.operators:
            register_operator(
                session, by, self.at, code=operator.code, name=operator.name, document=operator.cnpj
            )
        for line in () if lines_are_there else city.lines:
            register_line(session, by, self.at, code=line.code, name=line.name, network=line.network)
            assign_line(session, by, self.at, line=line.code, operator=line.operator, from_day=first)
        for vehicle in city.vehicles:
            register_vehicle(
                session,
                by,
                self.at,
                number=vehicle.number,
                operator=vehicle.line.operator,
                from_day=first,
            )

    def _set_fares(self, session: WriteSession, fares: Sequence[FarePlan]) -> None:
        by, signed_on = as_city(self.staff.city), fares[0].first_day - timedelta(days=15)
        act = record_act(session, by, self.at, kind=ActKind.DECREE, number=fares[0].act, signed_on=signed_on)
        for fare in fares:
            new = NewFare(fare.network, fare.cents, fare.first_day, act.id, last_day=fare.last_day)
            register_fare(session, by, self.at, new)

    def _enrol(self, session: WriteSession, city: CityPlan) -> Iterator[tuple[str, DeviceIdentity]]:
        by = as_administrator(self.staff.administrator)
        for vehicle in city.vehicles:
            key = seeded_key(self._seed, vehicle.device_id)
            enrolled = enrol_device(
                session,
                by,
                self.at,
                self._office.chance,
                device_id=vehicle.device_id,
                operator=vehicle.line.operator,
                public_key=key.public_key().public_bytes_raw(),
                vehicle=vehicle.number,
            )
            yield vehicle.device_id, DeviceIdentity(vehicle.device_id, enrolled.token, key, enrolled.epoch)

    # Holders

    def register(self, riders: Sequence[Rider], done: Callable[[int], None]) -> None:
        """Register holders with their rights and cards; `done` is told how many at a time."""
        carded = {rider.number for rider in with_card(riders)}
        for start in range(0, len(riders), _TOGETHER):
            some = riders[start : start + _TOGETHER]
            with self._writing() as session:
                for rider in some:
                    self._register(session, rider, card=rider.number in carded)
            done(len(some))

    def _register(self, session: WriteSession, rider: Rider, *, card: bool) -> None:
        by, office = as_registrar(self.staff.clerk), self._office
        holder = register_holder(session, by, self.at, office.chance, _person(rider))
        rider.holder_id = holder.id
        if rider.category in RIGHTS_IN_ORDER and rider.category not in _NO_REGISTRATION:
            self._entitle(session, rider)
        if card:
            issued = issue_card(
                session,
                as_desk(self.staff.clerk),
                self.at,
                office.chance,
                office.signer,
                holder_id=holder.id,
            )
            rider.card_number = issued.number
            rider.tokens = [issued.token]

    def _entitle(self, session: WriteSession, rider: Rider) -> None:
        by, today = as_registrar(self.staff.clerk), self.at.astimezone(SAO_PAULO).date()
        school = None if rider.school is None else self._schools[rider.school]
        asked = Entitlement(
            rider.category, today, proof_of(self._office.book, rider.category, today), today, school_id=school
        )
        request = request_right(
            session, by, self.at, self._office.book, holder_id=rider.holder_id, asked=asked
        )
        right = approve_right(session, as_approver(self.staff.manager), self.at, request_id=request.id)
        rider.right_id = right.id
        if rider.category is Category.STUDENT_50:
            assert school is not None
            declaration = Declaration(
                school, today, self._calendar.after(60), 2, identity_seen_on=today, address_seen_on=today
            )
            register_enrolment(session, by, self.at, holder_id=rider.holder_id, declaration=declaration)

    def sell(
        self,
        sales: Sequence[tuple[Rider, SalePlan]],
        hour: int,
        sold: Callable[[Rider, int, int, int], None],
    ) -> None:
        """Sell passes, each on its day; `sold` is told units, face fare and price."""
        ordered = sorted(sales, key=lambda sale: (sale[1].on, sale[0].number))
        for start in range(0, len(ordered), _TOGETHER):
            with self._writing() as session:
                for rider, plan in ordered[start : start + _TOGETHER]:
                    row = sell_passes(
                        session,
                        as_desk(self.staff.clerk),
                        at_hour(plan.on, hour),
                        self._office.book,
                        holder_id=rider.holder_id,
                        order=_order(rider, plan),
                    )
                    sold(rider, row.units, row.face_cents, row.paid_cents)


def _order(rider: Rider, plan: SalePlan) -> Order:
    named = Plan.TWO_MONTHS if plan.two_months else Plan.MONTH
    student = rider.category is Category.STUDENT_50
    return Order(plan.product, plan.network, plan.units, named if student else None)


def _person(rider: Rider) -> Person:
    if rider.cpf is not None:
        return Person(rider.name, rider.birth, rider.cpf, namesake=True)  # invented names repeat
    return Person(
        rider.name,
        rider.birth,
        guardian_name=f"Responsável {rider.number:04d}",
        guardian_cpf=cpf(998_000_000 + rider.number),
        namesake=True,
    )


def at_hour(day: date, hour: int) -> datetime:
    """An hour of a civil day, in UTC."""
    return datetime.combine(day, time(hour), SAO_PAULO).astimezone(UTC)

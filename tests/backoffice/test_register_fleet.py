"""What the city sets: acts, fares, who runs what on which day, breakdowns, devices, schools, users."""

from datetime import date, timedelta

import pytest
from sqlalchemy import select

from backoffice.application.city_state import Authorities, authorities, breakdowns_since, fares_as_recorded
from backoffice.application.errors import Conflict, Forbidden, Invalid, NotFound
from backoffice.application.register_acts import NewFare, record_act, register_fare
from backoffice.application.register_devices import (
    assign_device,
    enrol_device,
    reinstall_device,
    revoke_device,
)
from backoffice.application.register_fleet import (
    assign_line,
    declare_broken,
    declare_repaired,
    end_line,
    end_operator,
    register_vehicle,
)
from backoffice.application.register_schools import school_year_on, set_school_year
from backoffice.application.register_users import NewUser, add_user
from backoffice.application.staff import as_administrator, as_city, as_fleet, hash_token
from backoffice.persistence.acts import ActKind
from backoffice.persistence.base import reading
from backoffice.persistence.devices import DeviceKeyRow, DeviceRow
from backoffice.persistence.users import Role
from tests.backoffice.register_city import NOW, TODAY, RegisterCity
from validator.domain.fares import fare_on
from validator.domain.vocabulary import FareMedium, Network

KEY = bytes(range(32))
DAY = timedelta(days=1)


def known(city: RegisterCity) -> Authorities:
    with reading(city.engine) as session:
        return authorities(session)


def fare(city: RegisterCity, new: NewFare, corrects: int | None = None) -> int:
    with city.writing() as session:
        return register_fare(session, as_city(city.staff("city")), NOW, new, corrects_id=corrects).id


def price(city: RegisterCity, day: date, medium: FareMedium = FareMedium.CARD, line: str = "101") -> int:
    with reading(city.engine) as session:
        found = fare_on(fares_as_recorded(session), Network.URBAN, line, medium, day)
    assert found is not None
    return found.cents


def test_a_fare_runs_on_until_the_next_begins(city: RegisterCity):
    fare(city, NewFare(Network.URBAN, 500, date(2026, 6, 1), city.act))

    assert price(city, date(2026, 5, 31)) == 455
    assert price(city, date(2026, 6, 1)) == 500
    assert price(city, date(2030, 1, 1)) == 500


def test_a_retroactive_fare_needs_its_act_like_any_other(city: RegisterCity):
    fare(city, NewFare(Network.URBAN, 470, date(2026, 2, 1), city.act))

    assert price(city, date(2026, 2, 1)) == 470
    with pytest.raises(NotFound, match="não há ato"):
        fare(city, NewFare(Network.URBAN, 480, date(2026, 2, 10), 999))


def test_days_of_their_own_go_before_and_do_not_end_the_running_fare(city: RegisterCity):
    sunday = date(2026, 3, 8)
    fare(city, NewFare(Network.URBAN, 0, sunday, city.act, last_day=sunday))
    fare(city, NewFare(Network.URBAN, 500, date(2026, 1, 1), city.act, medium=FareMedium.CASH))

    assert price(city, sunday) == 0
    assert price(city, sunday + DAY) == 455
    assert price(city, sunday + DAY, FareMedium.CASH) == 500


@pytest.mark.parametrize(
    "new",
    [
        NewFare(Network.URBAN, 460, date(2026, 1, 1), 1),
        NewFare(Network.URBAN, 460, date(2026, 3, 2), 1, last_day=date(2026, 3, 1)),
    ],
)
def test_fares_that_contradict_are_refused(city: RegisterCity, new: NewFare):
    with pytest.raises(Conflict):
        fare(city, new)


@pytest.mark.parametrize(
    ("new", "error"),
    [
        (NewFare(Network.URBAN, -1, TODAY, 1), Invalid),
        (NewFare(Network.URBAN, 100_001, TODAY, 1), Invalid),
        (NewFare(Network.URBAN, 455, date(226, 1, 1), 1), Invalid),
        (NewFare(Network.URBAN, 455, TODAY, 1, line="901"), Invalid),
        (NewFare(Network.URBAN, 455, TODAY, 1, line="nope"), NotFound),
    ],
)
def test_a_fare_that_makes_no_sense_is_refused(
    sqlite_city: RegisterCity, new: NewFare, error: type[Exception]
):
    with pytest.raises(error):
        fare(sqlite_city, new)


def test_a_correction_takes_the_place_of_what_was_typed_wrongly(city: RegisterCity):
    wrong = fare(city, NewFare(Network.URBAN, 5000, date(2026, 6, 1), city.act))

    fare(city, NewFare(Network.URBAN, 500, date(2026, 6, 1), city.act), corrects=wrong)

    assert price(city, date(2026, 6, 1)) == 500
    with pytest.raises(NotFound):
        fare(city, NewFare(Network.URBAN, 501, date(2026, 6, 1), city.act), corrects=wrong)
    with reading(city.engine) as session:
        before = fares_as_recorded(session, recorded_until=NOW - DAY)
    assert before == []


def test_an_act_is_recorded_once(city: RegisterCity):
    with pytest.raises(Conflict, match="já está registrado"), city.writing() as session:
        record_act(
            session,
            as_city(city.staff("city")),
            NOW,
            kind=ActKind.DECREE,
            number="9.001",
            signed_on=date(2025, 12, 20),
        )


def test_the_register_says_who_ran_what_on_each_day(city: RegisterCity):
    office = as_city(city.staff("city"))
    with city.writing() as session:
        assign_line(session, office, NOW, line="101", operator="rural", from_day=date(2026, 4, 1))
        assign_line(session, office, NOW, line="101", operator="azul", from_day=date(2026, 4, 1), runs=False)
        register_vehicle(session, office, NOW, number="1201", operator="rural", from_day=date(2026, 4, 1))

    register = known(city)

    march, april = date(2026, 3, 31), date(2026, 4, 1)
    assert (register.runs("azul", "101", march), register.runs("rural", "101", march)) == (True, False)
    assert (register.runs("azul", "101", april), register.runs("rural", "101", april)) == (False, True)
    assert (register.owner("1201", march), register.owner("1201", april)) == ("azul", "rural")
    assert register.owner("1201", date(2025, 12, 31)) is None
    assert register.owner("none", april) is None
    assert register.network("none") is None


def test_an_operator_whose_permission_ended_runs_nothing(city: RegisterCity):
    with city.writing() as session:
        end_operator(
            session,
            as_city(city.staff("city")),
            NOW,
            code="azul",
            ended_on=date(2026, 4, 1),
            act_id=city.act,
        )

    assert known(city).runs("azul", "101", date(2026, 3, 31))
    assert not known(city).runs("azul", "101", date(2026, 4, 1))
    assert known(city).owner("1201", date(2026, 4, 1)) is None


def test_a_line_that_ended_is_run_by_nobody(city: RegisterCity):
    office = as_city(city.staff("city"))
    with city.writing() as session:
        end_line(session, office, NOW, code="101", last_day=date(2026, 3, 31), act_id=city.act)

    assert known(city).runs("azul", "101", date(2026, 3, 31))
    assert not known(city).runs("azul", "101", date(2026, 4, 1))
    assert [line.code for line in known(city).lines_on(date(2026, 4, 1))] == ["901"]
    with pytest.raises(Conflict), city.writing() as session:
        end_line(session, office, NOW, code="101", last_day=date(2026, 4, 30), act_id=city.act)


def test_a_breakdown_lasts_until_the_repair(city: RegisterCity):
    fleet = as_fleet(city.staff("finance"))
    hour = timedelta(hours=1)
    with city.writing() as session:
        declare_broken(session, fleet, NOW, vehicle="1201", from_at=NOW - hour)
    with pytest.raises(Invalid), city.writing() as session:
        declare_repaired(session, fleet, NOW, vehicle="1201", until_at=NOW - 2 * hour)
    with city.writing() as session:
        declare_repaired(session, fleet, NOW + hour, vehicle="1201", until_at=NOW)

    with reading(city.engine) as session:
        (breakdown,) = breakdowns_since(session, NOW - hour)
        assert breakdowns_since(session, NOW + hour) == []
    assert (breakdown.from_at, breakdown.until_at) == (NOW - hour, NOW)
    with pytest.raises(Forbidden), city.writing() as session:
        declare_broken(session, fleet, NOW, vehicle="3301", from_at=NOW)
    with pytest.raises(NotFound), city.writing() as session:
        declare_broken(session, fleet, NOW, vehicle="none", from_at=NOW)
    with pytest.raises(Invalid), city.writing() as session:
        declare_broken(session, fleet, NOW, vehicle="1201", from_at=NOW + hour)


def test_an_installation_is_an_epoch_with_a_token_of_its_own(city: RegisterCity):
    admin = as_administrator(city.staff("admin"))
    with city.writing() as session:
        first = enrol_device(
            session, admin, NOW, city.chance, device_id="v-1", operator="azul", public_key=KEY, vehicle="1201"
        )
    with city.writing() as session:
        second = reinstall_device(session, admin, NOW, city.chance, device_id="v-1", public_key=KEY[::-1])

    assert (first.epoch, second.epoch) == (1, 2)
    assert first.token.startswith("v-1.")
    with reading(city.engine) as session:
        keys = session.scalars(select(DeviceKeyRow).order_by(DeviceKeyRow.epoch)).all()
        assert [key.token_sha256 for key in keys] == [hash_token(first.token), hash_token(second.token)]
        assert session.get_one(DeviceRow, "v-1").revision == 2
    with pytest.raises(Conflict, match="esta chave já foi"), city.writing() as session:
        reinstall_device(session, admin, NOW, city.chance, device_id="v-1", public_key=KEY)


def test_a_revoked_device_comes_back_under_another_name_only(city: RegisterCity):
    admin = as_administrator(city.staff("admin"))
    with city.writing() as session:
        enrol_device(session, admin, NOW, city.chance, device_id="v-1", operator="azul", public_key=KEY)
        revoke_device(session, admin, NOW, device_id="v-1", revoked_at=NOW - DAY, reason="furtado")

    with pytest.raises(Conflict), city.writing() as session:
        revoke_device(session, admin, NOW, device_id="v-1", revoked_at=NOW, reason="furtado")
    with pytest.raises(Conflict), city.writing() as session:
        reinstall_device(session, admin, NOW, city.chance, device_id="v-1", public_key=KEY[::-1])
    with pytest.raises(Conflict), city.writing() as session:
        enrol_device(session, admin, NOW, city.chance, device_id="v-1", operator="azul", public_key=KEY[::-1])


@pytest.mark.parametrize(
    ("device", "operator", "key", "vehicle", "error"),
    [
        ("V_1", "azul", KEY, None, Invalid),
        ("", "azul", KEY, None, Invalid),
        ("v" * 33, "azul", KEY, None, Invalid),
        ("v-1", "azul", KEY[:31], None, Invalid),
        ("v-1", "nobody", KEY, None, NotFound),
        ("v-1", "azul", KEY, "none", NotFound),
    ],
)
def test_a_device_that_makes_no_sense_is_refused(
    sqlite_city: RegisterCity, device: str, operator: str, key: bytes, vehicle: str, error: type[Exception]
):
    admin = as_administrator(sqlite_city.staff("admin"))

    with pytest.raises(error), sqlite_city.writing() as session:
        enrol_device(
            session,
            admin,
            NOW,
            sqlite_city.chance,
            device_id=device,
            operator=operator,
            public_key=key,
            vehicle=vehicle,
        )


def test_a_device_that_is_not_there_cannot_be_assigned(sqlite_city: RegisterCity):
    admin = as_administrator(sqlite_city.staff("admin"))

    with pytest.raises(NotFound), sqlite_city.writing() as session:
        assign_device(session, admin, NOW, device_id="v-9", vehicle=None, from_at=NOW)


def test_of_a_school_year_the_last_recorded_counts(city: RegisterCity):
    office = as_city(city.staff("city"))
    for days in (200, 190):
        with city.writing() as session:
            set_school_year(session, office, NOW, school_id=city.public_school, year=2026, school_days=days)

    with reading(city.engine) as session:
        year = school_year_on(session, city.public_school, TODAY)
        assert year is not None
        assert year.school_days == 190
        assert school_year_on(session, city.public_school, date(2027, 3, 1)) is None


def test_the_first_user_is_an_administrator_and_needs_nobody(sqlite_city: RegisterCity):
    with pytest.raises(Forbidden), sqlite_city.writing() as session:
        add_user(session, None, NOW, sqlite_city.chance, NewUser("x", "X", Role.ADMINISTRATOR))


@pytest.mark.parametrize(
    "new",
    [
        NewUser("x", "X", Role.OPERATOR_FINANCE),
        NewUser("x", "X", Role.CITY, operator="azul"),
        NewUser("x", "X", Role.DESK_CLERK),
        NewUser("x", "X", Role.CITY, desk="centro"),
        NewUser("x", "X", Role.SCHOOL),
        NewUser("x", "X", Role.AUDITOR, school_id=1),
        NewUser("Ünïcode", "X", Role.CITY),
        NewUser("x", " ", Role.CITY),
    ],
)
def test_a_user_has_the_scope_of_the_role(sqlite_city: RegisterCity, new: NewUser):
    admin = as_administrator(sqlite_city.staff("admin"))

    with pytest.raises(Invalid), sqlite_city.writing() as session:
        add_user(session, admin, NOW, sqlite_city.chance, new)

"""The day of a sale is the city's: windows, years, fares and rights turn at its midnight, on both sides of it."""

from datetime import UTC, date, datetime

import pytest

from backoffice.application.register_acts import NewFare, register_fare
from backoffice.application.register_rights import end_right
from backoffice.application.sell_passes import SaleRefused
from backoffice.application.staff import as_city, as_registrar
from tests.backoffice.register_city import NOW, RegisterCity
from validator.domain.service_time import SAO_PAULO
from validator.domain.vocabulary import Network


def local(text: str) -> datetime:
    """An instant of the city, in UTC, as the service's clock gives it."""
    return datetime.fromisoformat(text).replace(tzinfo=SAO_PAULO).astimezone(UTC)


@pytest.fixture
def student(sqlite_city: RegisterCity) -> int:
    """A student whose declaration is good for all these days."""
    city = sqlite_city
    holder = city.holder()
    city.right(holder, school=city.public_school, first_day=date(2026, 1, 1))
    city.enrolment(holder, first_day=date(2026, 1, 1), last_day=date(2027, 1, 1))
    return holder


@pytest.mark.parametrize(
    ("bought", "full_until", "open_from"),
    [
        ("2026-01-31T10:00", "2026-02-28T23:59:59", "2026-03-01T00:00:00"),
        ("2026-01-30T10:00", "2026-02-28T23:59:59", "2026-03-01T00:00:00"),
        ("2026-01-28T10:00", "2026-02-27T23:59:59", "2026-02-28T00:00:00"),
        ("2026-03-31T10:00", "2026-04-30T23:59:59", "2026-05-01T00:00:00"),
        ("2026-03-31T23:59:59", "2026-04-30T23:59:59", "2026-05-01T00:00:00"),
        ("2026-12-01T00:00:00", "2026-12-31T23:59:59", "2027-01-01T00:00:00"),
    ],
)
def test_a_window_ends_at_midnight_here(
    sqlite_city: RegisterCity, student: int, bought: str, full_until: str, open_from: str
):
    sqlite_city.sell(student, 50, at=local(bought))

    with pytest.raises(SaleRefused) as refused:
        sqlite_city.sell(student, 1, at=local(full_until))
    assert refused.value.code == "WINDOW_FULL"
    assert refused.value.next_on == local(open_from).astimezone(SAO_PAULO).date()
    assert sqlite_city.sell(student, 1, at=local(open_from)).units == 1


def test_the_price_changes_at_midnight_here(sqlite_city: RegisterCity, student: int):
    city = sqlite_city
    with city.writing() as session:
        new = NewFare(Network.URBAN, 501, date(2026, 4, 1), city.act)
        register_fare(session, as_city(city.staff("city")), NOW, new)

    eve = city.sell(student, 1, at=local("2026-03-31T23:59:59"))
    day = city.sell(student, 1, at=local("2026-04-01T00:00:00"))

    assert [(sale.face_cents, sale.paid_cents, sale.sold_on) for sale in (eve, day)] == [
        (455, 227, date(2026, 3, 31)),
        (501, 250, date(2026, 4, 1)),
    ]


def test_a_right_sells_until_its_last_midnight_here(sqlite_city: RegisterCity, student: int):
    city = sqlite_city
    with city.writing() as session:
        registrar = as_registrar(city.staff("clerk"))
        end_right(session, registrar, NOW, right_id=1, ended_on=date(2026, 4, 1), reason="formou-se")

    assert city.sell(student, 1, at=local("2026-03-31T23:59:59")).units == 1
    with pytest.raises(SaleRefused) as refused:
        city.sell(student, 1, at=local("2026-04-01T00:00:00"))
    assert refused.value.code == "NO_RIGHT"


def test_a_declaration_proves_its_last_day_to_the_end(sqlite_city: RegisterCity, student: int):
    city = sqlite_city
    city.enrolment(student, first_day=date(2027, 2, 1), last_day=date(2027, 12, 20))

    assert city.sell(student, 1, at=local("2027-01-01T23:59:59")).units == 1
    for gap in ("2027-01-02T00:00:00", "2027-01-31T23:59:59"):
        with pytest.raises(SaleRefused) as refused:
            city.sell(student, 1, at=local(gap))
        assert refused.value.code == "ENROLMENT_NOT_CURRENT"
    assert city.sell(student, 1, at=local("2027-02-01T00:00:00")).units == 1

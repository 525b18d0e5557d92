"""Sales at the desk: Decreto art. 70, Lei art. 48, X and XI."""

import concurrent.futures
from datetime import UTC, date, datetime, timedelta

import pytest

from backoffice.application.errors import Conflict, Forbidden, Invalid, NotFound, RegisterError
from backoffice.application.holder_state import holder_as_recorded
from backoffice.application.register_acts import NewFare, register_fare
from backoffice.application.register_schools import set_school_year
from backoffice.application.sell_passes import Order, SaleRefused, sell_passes
from backoffice.application.staff import as_city, as_desk, staff_by_login
from backoffice.domain.acquisition import Plan
from backoffice.persistence.base import reading
from tests.backoffice.register_city import BOOK, NOW, TODAY, RegisterCity
from validator.domain.vocabulary import Network, Product


def test_a_student_pays_half_the_fare_of_the_day_rounded_down(city: RegisterCity):
    sale = city.sell(city.student(), 50)

    assert (sale.face_cents, sale.paid_cents, sale.units) == (455, 227, 50)
    assert (sale.window_first, sale.window_until) == (TODAY, date(2026, 4, 2))


def test_the_window_holds_fifty_and_says_when_it_opens_again(city: RegisterCity):
    student = city.student()
    city.sell(student, 45)

    with pytest.raises(SaleRefused) as refused:
        city.sell(student, 6)

    assert refused.value.code == "WINDOW_FULL"
    assert refused.value.remaining == 5
    assert refused.value.next_on == date(2026, 4, 2)
    assert "02/04/2026" in refused.value.sentence
    assert city.sell(student, 5).units == 5


def test_a_plan_of_two_months_holds_a_hundred(city: RegisterCity):
    assert city.sell(city.student(), 100, plan=Plan.TWO_MONTHS).window_until == date(2026, 5, 2)


def test_the_year_ends_at_the_school_days_times_two(sqlite_city: RegisterCity):
    city = sqlite_city
    student = city.student()
    with city.writing() as session:
        office = as_city(staff_by_login(session, "city", NOW))
        set_school_year(session, office, NOW, school_id=city.public_school, year=2026, school_days=30)

    city.sell(student, 50)
    with pytest.raises(SaleRefused) as refused:
        city.sell(student, 11, at=NOW + timedelta(days=40))

    assert refused.value.code == "YEAR_FULL"
    assert refused.value.remaining == 10


def test_two_desks_that_race_for_the_last_pass_sell_it_once(city: RegisterCity):
    student = city.student()
    city.sell(student, 49)

    def race(_: int) -> str:
        try:
            city.sell(student, 1)
        except SaleRefused as refused:
            return refused.code
        return "SOLD"

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        outcomes = sorted(pool.map(race, range(4)))

    assert outcomes == ["SOLD", "WINDOW_FULL", "WINDOW_FULL", "WINDOW_FULL"]
    with reading(city.engine) as session:
        assert holder_as_recorded(session, student, BOOK).holder.purses[0].bought == 50


def test_a_request_sent_twice_sells_once(city: RegisterCity):
    student = city.student()

    first = city.sell(student, 10, request_id="balcao-1")
    again = city.sell(student, 10, request_id="balcao-1")

    assert again.id == first.id
    with pytest.raises(Conflict):
        city.sell(student, 11, request_id="balcao-1")


def test_last_years_declaration_sells_nothing_but_passes_stay(sqlite_city: RegisterCity):
    student = sqlite_city.student()
    sqlite_city.sell(student, 10)

    with pytest.raises(SaleRefused, match="continuam valendo") as refused:
        sqlite_city.sell(student, 1, at=datetime(2027, 2, 20, 12, tzinfo=UTC))

    assert refused.value.code == "ENROLMENT_NOT_CURRENT"
    with reading(sqlite_city.engine) as session:
        assert holder_as_recorded(session, student, BOOK).holder.purses[0].bought == 10


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"passes_per_day": 0}, "NEED_NOT_DECLARED"),
        ({"address_seen_on": None}, "PROOF_MISSING"),
        ({"identity_seen_on": None}, "PROOF_MISSING"),
        ({"last_day": date(2026, 3, 1)}, "ENROLMENT_NOT_CURRENT"),
        ({"first_day": date(2026, 3, 3)}, "ENROLMENT_NOT_CURRENT"),
    ],
)
def test_what_article_70_asks_for_is_asked_for(
    sqlite_city: RegisterCity, changes: dict[str, object], code: str
):
    holder = sqlite_city.holder()
    sqlite_city.right(holder, school=sqlite_city.public_school)
    sqlite_city.enrolment(holder, **changes)

    with pytest.raises(SaleRefused) as refused:
        sqlite_city.sell(holder, 1)

    assert refused.value.code == code


def test_a_private_school_gives_no_student_pass(sqlite_city: RegisterCity):
    holder = sqlite_city.holder()
    with pytest.raises(Invalid, match="rede municipal"):
        sqlite_city.right(holder, school=sqlite_city.private_school)
    sqlite_city.right(holder, school=sqlite_city.public_school)
    sqlite_city.enrolment(holder, school_id=sqlite_city.private_school)

    with pytest.raises(SaleRefused) as refused:
        sqlite_city.sell(holder, 1)

    assert refused.value.code == "SCHOOL_NOT_PUBLIC"


def test_nobody_without_a_students_right_buys_student_passes(sqlite_city: RegisterCity):
    holder = sqlite_city.holder()
    sqlite_city.enrolment(holder)

    with pytest.raises(SaleRefused) as refused:
        sqlite_city.sell(holder, 1)

    assert refused.value.code == "NO_RIGHT"


def test_a_right_that_ended_yesterday_sells_nothing(sqlite_city: RegisterCity):
    holder = sqlite_city.holder()
    sqlite_city.right(holder, school=sqlite_city.public_school, ended_on=TODAY)
    sqlite_city.enrolment(holder)

    with pytest.raises(SaleRefused, match="não vale hoje"):
        sqlite_city.sell(holder, 1)


def test_others_pay_the_full_fare_of_their_network(city: RegisterCity):
    holder = city.holder()

    urban = city.sell(holder, 3, product=Product.VT)
    interior = city.sell(holder, 2, product=Product.PREPAID, network=Network.INTERIOR)

    assert (urban.face_cents, urban.paid_cents) == (455, 455)
    assert (interior.face_cents, interior.paid_cents) == (700, 700)


def test_a_free_day_sells_nothing(sqlite_city: RegisterCity):
    holder = sqlite_city.holder()
    with sqlite_city.writing() as session:
        office = as_city(staff_by_login(session, "city", NOW))
        free = NewFare(Network.URBAN, 0, TODAY, sqlite_city.act, last_day=TODAY)
        register_fare(session, office, NOW, free)

    with pytest.raises(SaleRefused) as refused:
        sqlite_city.sell(holder, 1, product=Product.PREPAID)

    assert refused.value.code == "FREE_DAY"


def test_passes_keep_the_price_of_the_day_on_which_they_were_bought(sqlite_city: RegisterCity):
    student = sqlite_city.student()
    sqlite_city.sell(student, 2)
    with sqlite_city.writing() as session:
        office = as_city(staff_by_login(session, "city", NOW))
        register_fare(session, office, NOW, NewFare(Network.URBAN, 500, date(2026, 3, 10), sqlite_city.act))

    sqlite_city.sell(student, 3, at=NOW + timedelta(days=10))

    with reading(sqlite_city.engine) as session:
        (purse,) = holder_as_recorded(session, student, BOOK).holder.purses
    assert [(lot.units, lot.face_cents, lot.paid_cents) for lot in purse.lots] == [
        (2, 455, 227),
        (3, 500, 250),
    ]


@pytest.mark.parametrize(
    "order",
    [
        Order(Product.PREPAID, Network.URBAN, 0),
        Order(Product.PREPAID, Network.URBAN, -5),
        Order(Product.PREPAID, Network.URBAN, 10**9),
        Order(Product.STUDENT, Network.INTERIOR, 1, Plan.MONTH),
        Order(Product.STUDENT, Network.URBAN, 1),
        Order(Product.VT, Network.URBAN, 1, Plan.MONTH),
        Order(Product.VT, Network.URBAN, 1, None, ""),
        Order(Product.VT, Network.URBAN, 1, None, "x" * 65),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(sqlite_city: RegisterCity, order: Order):
    holder = sqlite_city.holder()
    desk = as_desk(sqlite_city.staff("clerk"))

    with pytest.raises(Invalid), sqlite_city.writing() as session:
        sell_passes(session, desk, NOW, BOOK, holder_id=holder, order=order)


def test_nobody_sells_to_a_holder_who_is_not_there(sqlite_city: RegisterCity):
    with pytest.raises(NotFound):
        sqlite_city.sell(999, 1, product=Product.VT)


@pytest.mark.parametrize("login", ["city", "auditor", "finance", "school", "admin"])
def test_only_a_desk_sells(sqlite_city: RegisterCity, login: str):
    with pytest.raises(Forbidden):
        as_desk(sqlite_city.staff(login))


def test_a_refused_sale_leaves_nothing_behind(city: RegisterCity):
    student = city.student()
    city.sell(student, 50)
    with reading(city.engine) as session:
        before = holder_as_recorded(session, student, BOOK).revision

    with pytest.raises(RegisterError):
        city.sell(student, 1)

    with reading(city.engine) as session:
        assert holder_as_recorded(session, student, BOOK).revision == before

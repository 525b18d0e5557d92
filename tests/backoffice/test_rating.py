"""Rating one holder's rides: confirm, lower to what the city does not repay, or exclude; never raise, never move."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from backoffice.domain.claims import ClaimTally, subtotals
from backoffice.domain.exclusions import ExclusionReason, exclusion_of
from backoffice.domain.rating import rate_holder
from backoffice.domain.rides import Place, Placed, Rated, Release, Ride, Verdict
from tests.law.laws import BOOK
from validator.domain.boarding import FareUnknown
from validator.domain.city import City, city_of
from validator.domain.fares import Fare
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.reasons import Reason
from validator.domain.rights import Period, Right, age_rights
from validator.domain.rules import Status
from validator.domain.service_time import SAO_PAULO, Month, civil_date, month_of
from validator.domain.tap import CARD, Medium, Tap
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import Category, MediumKind, Network, Product, RideClass, Turnstile

CITY = city_of(
    BOOK,
    [
        Fare(Network.URBAN, date(1991, 7, 22), None, Cents(100)),
        Fare(Network.URBAN, date(2023, 10, 16), None, Cents(450)),
        Fare(Network.URBAN, date(2026, 3, 22), date(2026, 3, 22), Cents(0)),
        Fare(Network.URBAN, date(2026, 7, 6), None, Cents(500)),
        Fare(Network.INTERIOR, date(1991, 7, 22), None, Cents(200)),
        Fare(Network.INTERIOR, date(2018, 6, 17), None, Cents(700)),
    ],
)
YOUNG, GROWN, OLD = date(2009, 5, 10), date(1980, 3, 1), date(1960, 3, 1)


def purse(units: int, product: Product = Product.STUDENT, face: int = 450, paid: int = 225) -> Purse:
    return Purse(product, Network.URBAN, (Lot(units, Cents(face), Cents(paid)),), units)


def holder(*categories: Category, birth: date = YOUNG, purses: tuple[Purse, ...] = ()) -> Holder:
    rights = tuple(Right(category, Period(date(1991, 7, 22), None)) for category in categories)
    return Holder(rights, age_rights(birth, BOOK), purses)


def student(units: int = 100, birth: date = YOUNG) -> Holder:
    return holder(Category.STUDENT_50, birth=birth, purses=(purse(units),))


def ride(
    when: str,
    state: Holder | None,
    ride_class: RideClass | None = None,
    *,
    number: int | None = None,
    purse: str | None = None,
    network: Network | None = Network.URBAN,
    vehicle: str = "v1",
    medium: Medium = CARD,
    **changes: object,
) -> Ride:
    at = datetime.fromisoformat(when).replace(tzinfo=SAO_PAULO).astimezone(UTC)
    tap = Tap(f"b-{number or when}", at, "101", network, vehicle, medium)
    made = Ride(
        tap,
        received_at=at,
        device="d1",
        device_seq=number or 1,
        online=True,
        states=() if state is None else (state,),
        release=None if ride_class is None else Release(ride_class, purse),
    )
    return made._replace(**changes)  # type: ignore[arg-type]


def rated(*rides: Ride, city: City = CITY, opening: Usage | None = None) -> tuple[Rated, ...]:
    month = month_of(civil_date(rides[0].tap.occurred_at))
    return rate_holder(month, rides, city, opening=opening).rated


def one(*rides: Ride, **options: object) -> Rated:
    return rated(*rides, **options)[-1]  # type: ignore[arg-type]


def parts(row: Rated) -> tuple[int, int, int, int]:
    return (row.fare_cents, row.rider_cents, row.city_cents, row.operator_cents)


def test_a_half_fare_is_face_less_paid_of_the_pass() -> None:
    row = one(ride("2026-03-02 07:00", student(), RideClass.HALF))

    assert (row.verdict, row.category, parts(row)) == (
        Verdict.BILLABLE,
        Category.STUDENT_50,
        (450, 225, 225, 0),
    )


def test_a_pass_bought_before_a_new_fare_is_billed_at_its_own_face() -> None:
    row = one(ride("2026-07-07 07:00", student(), RideClass.HALF))

    assert parts(row) == (450, 225, 225, 0)


def test_a_student_of_sixty_is_lowered_to_elder_and_his_pass_stays_given() -> None:
    elder = student(units=1, birth=OLD)

    first, second = rated(
        ride("2026-03-02 07:00", elder, RideClass.HALF, number=1),
        ride("2026-03-02 09:00", elder, RideClass.HALF, number=2),
    )

    assert (first.verdict, first.category, parts(first)) == (
        Verdict.STATISTICAL,
        Category.ELDER,
        (450, 225, 0, 225),
    )
    assert (first.purse, first.pass_number) == ("STUDENT", 1)
    assert (second.verdict, parts(second)) == (Verdict.STATISTICAL, (450, 0, 0, 450))


def test_a_half_fare_is_never_raised_to_a_teachers_gratuity() -> None:
    both = holder(Category.TEACHER, Category.STUDENT_50, birth=GROWN, purses=(purse(5),))

    row = one(ride("2026-03-02 07:00", both, RideClass.HALF))

    assert (row.category, row.city_cents) == (Category.STUDENT_50, 225)


def test_a_teacher_who_is_sixty_is_lowered_to_elder() -> None:
    row = one(ride("2026-03-02 07:00", holder(Category.TEACHER, birth=OLD), RideClass.FREE))

    assert (row.verdict, row.category, row.city_cents) == (Verdict.STATISTICAL, Category.ELDER, 0)


def test_a_free_ride_without_any_right_is_no_students_ride() -> None:
    row = one(ride("2026-03-02 07:00", student(), RideClass.FREE))

    assert (row.verdict, row.reason, parts(row)) == (
        Verdict.EXCLUDED,
        ExclusionReason.NO_RIGHT,
        (450, 0, 0, 450),
    )


def test_a_ride_from_a_purse_stays_in_that_purse() -> None:
    rich = holder(
        Category.STUDENT_50,
        Category.TEACHER,
        birth=GROWN,
        purses=(purse(5), purse(1, Product.PREPAID, 450, 450), purse(5, Product.VT, 400, 400)),
    )

    rows = rated(
        ride("2026-03-02 07:00", rich, RideClass.PURSE, purse="PREPAID", number=1),
        ride("2026-03-02 08:00", rich, RideClass.PURSE, purse="PREPAID", number=2),
        ride("2026-03-02 09:00", rich, RideClass.PURSE, purse="VT", number=3),
    )

    assert [(row.verdict, row.category, row.reason) for row in rows] == [
        (Verdict.STATISTICAL, Category.PREPAID, None),
        (Verdict.EXCLUDED, None, ExclusionReason.NO_PASSES),
        (Verdict.STATISTICAL, Category.VT, None),
    ]
    assert parts(rows[2]) == (400, 400, 0, 0)


def test_money_is_paid_by_the_rider_alone() -> None:
    cash = Medium(MediumKind.CASH, None, Cents(1))

    rows = rated(
        ride("2026-03-02 07:00", None, RideClass.FULL, medium=cash, number=1),
        ride("2026-03-02 07:01", student(), RideClass.FULL, number=2),
    )

    assert [(row.verdict, parts(row)) for row in rows] == [(Verdict.STATISTICAL, (450, 450, 0, 0))] * 2


@pytest.mark.parametrize("release", [RideClass.FULL, None])
def test_money_on_a_line_without_a_fare_is_named_and_not_counted_at_nothing(
    release: RideClass | None,
) -> None:
    cash = Medium(MediumKind.CASH, None, Cents(1_000))
    later = city_of(BOOK, [Fare(Network.URBAN, date(2026, 3, 3), None, Cents(450))])

    with pytest.raises(FareUnknown) as missing:
        rate_holder(Month("2026-03"), [ride("2026-03-02 07:00", None, release, medium=cash)], later)

    assert (missing.value.line, missing.value.day) == ("101", date(2026, 3, 2))


def test_money_on_a_line_that_nobody_knows_waits_for_a_person_with_it() -> None:
    cash = Medium(MediumKind.CASH, None, Cents(1_000))

    (row,) = rated(ride("2026-03-02 07:00", None, RideClass.FULL, medium=cash, network=None))

    assert parts(row) == (0, 0, 0, 0)


def test_money_that_nobody_says_was_accepted_is_judged_by_the_law() -> None:
    rows = rated(
        *(
            ride("2026-03-02 07:00", None, medium=Medium(MediumKind.CASH, None, Cents(cents)), number=number)
            for number, cents in enumerate((449, 450, 4_950, 4_951), start=1)
        )
    )

    assert [row.reason for row in rows] == [
        ExclusionReason.INSUFFICIENT_TENDER,
        None,
        None,
        ExclusionReason.CHANGE_ABOVE_LIMIT,
    ]


def test_the_51st_half_fare_is_over_the_cap_and_its_pass_stays_given() -> None:
    rides = [
        ride(f"2026-03-{1 + n // 2:02} {7 + 10 * (n % 2):02}:00", student(), RideClass.HALF, number=n + 1)
        for n in range(52)
    ]

    result = rate_holder(Month("2026-03"), rides, CITY)

    # 22 March is free: two rides take neither place nor pass.
    assert [row.reason for row in result.rated if row.reason] == []
    assert sum(row.city_cents for row in result.rated) == 50 * 225
    assert result.usage.used == {"STUDENT": 50}
    more = [*rides, ride("2026-03-30 07:00", student(), RideClass.HALF, number=60)]
    again = rate_holder(Month("2026-03"), more, CITY)
    assert again.rated[-1].reason is ExclusionReason.OVER_CAP
    assert parts(again.rated[-1]) == (450, 225, 0, 225)
    assert (again.usage.used, again.usage.half_fare) == ({"STUDENT": 51}, {"2026-03": 50})


def test_a_free_day_is_statistical_and_takes_nothing() -> None:
    result = rate_holder(Month("2026-03"), [ride("2026-03-22 07:00", student(units=1), RideClass.HALF)], CITY)

    assert [(row.verdict, row.category, parts(row)) for row in result.rated] == [
        (Verdict.STATISTICAL, Category.STUDENT_50, (0, 0, 0, 0))
    ]
    assert result.usage == Usage()


def test_an_unknown_line_waits_for_a_person() -> None:
    unknown = {"network": None, "doubt": ExclusionReason.LINE_UNSETTLED}

    half = one(ride("2026-03-02 07:00", student(), RideClass.HALF, **unknown))
    free = one(ride("2026-03-02 07:00", holder(Category.TEACHER, birth=GROWN), RideClass.FREE, **unknown))

    assert [row.reason for row in (half, free)] == [ExclusionReason.LINE_UNSETTLED] * 2
    assert [row.city_cents for row in (half, free)] == [0, 0]


def test_an_interior_line_takes_no_students_pass_as_half_fare() -> None:
    row = one(ride("2026-03-02 07:00", student(), RideClass.HALF, network=Network.INTERIOR))

    assert (row.reason, row.city_cents) == (ExclusionReason.NOT_VALID_ON_LINE, 0)


def test_the_best_state_for_the_rider_counts_and_of_equal_ones_the_cheapest_for_the_city() -> None:
    nothing, teacher = holder(birth=GROWN), holder(Category.TEACHER, birth=GROWN)
    both = {"states": (nothing, teacher), "online": False}
    elder = {"states": (teacher, holder(Category.TEACHER, birth=OLD)), "online": False}

    assert one(ride("2026-03-02 07:00", None, RideClass.FREE, **both)).category is Category.TEACHER
    assert one(ride("2026-03-02 07:00", None, RideClass.FREE, **elder)).category is Category.ELDER


@pytest.mark.parametrize(
    ("late_by", "valid"),
    [
        (timedelta(minutes=-5), True),
        (timedelta(minutes=-5, seconds=-1), False),
        (timedelta(days=45), True),
        (timedelta(days=45, seconds=1), False),
    ],
)
def test_the_clock_of_an_offline_ride_is_judged(late_by: timedelta, valid: bool) -> None:
    offline = ride("2026-03-02 07:00", student(), RideClass.HALF, online=False)
    offline = offline._replace(received_at=offline.tap.occurred_at + late_by)
    months = {month_of(civil_date(offline.received_at)), Month("2026-03")}

    rows = [row for month in months for row in rate_holder(month, [offline], CITY).rated]

    assert [row.reason is ExclusionReason.CLOCK_INVALID for row in rows] == [not valid]
    assert {row.month for row in rows} == {
        Month("2026-03") if valid else month_of(civil_date(offline.received_at))
    }
    believed = offline._replace(believed=True)
    assert rate_holder(Month("2026-03"), [believed], CITY).rated[0].reason is None


def test_a_doubt_keeps_the_rides_place_and_pass_but_a_revoked_device_takes_nothing() -> None:
    waiting = ride("2026-03-02 07:00", student(), RideClass.HALF, doubt=ExclusionReason.NOT_COVERED)
    stolen = waiting._replace(doubt=ExclusionReason.DEVICE_REVOKED)
    unsaid = waiting._replace(doubt=ExclusionReason.NO_RELEASE, online=False)

    kept, free, unknown = (
        rate_holder(Month("2026-03"), [one_ride], CITY).usage for one_ride in (waiting, stolen, unsaid)
    )

    assert (kept.used, kept.half_fare) == ({"STUDENT": 1}, {"2026-03": 1})
    assert free == unknown == Usage()


def test_a_law_that_refuses_is_named_before_a_doubt() -> None:
    row = one(ride("2026-03-02 07:00", student(units=0), RideClass.HALF, doubt=ExclusionReason.NOT_COVERED))

    assert row.reason is ExclusionReason.NO_PASSES


def test_a_ride_with_a_place_of_its_own_does_not_take_another() -> None:
    opening = Usage(half_fare={Month("2026-03"): 50}, used={"STUDENT": 60})
    mine = ride("2026-03-02 07:00", student(), RideClass.HALF, place=Place("STUDENT", 7, counts_cap=True))

    result = rate_holder(Month("2026-03"), [mine], CITY, opening=opening)

    assert (result.rated[0].verdict, result.rated[0].pass_number) == (Verdict.BILLABLE, 7)
    assert (result.usage.half_fare, result.usage.used) == (opening.half_fare, opening.used)


def test_a_frozen_ride_starts_passback_and_takes_nothing_again() -> None:
    at = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
    frozen = Placed(LastBoarding("b-0", at, "v1", Category.STUDENT_50), personal=True)
    late = ride("2026-03-02 07:03", student(), RideClass.HALF)

    result = rate_holder(Month("2026-03"), [late], CITY, placed=[frozen])

    assert result.rated[0].reason is ExclusionReason.PASSBACK
    assert result.usage.half_fare == {}


def test_rides_of_the_month_before_start_passback_and_spend_passes() -> None:
    rides = [
        ride("2026-02-28 23:58", student(units=1), RideClass.HALF, number=1),
        ride("2026-03-01 00:01", student(units=1), RideClass.HALF, number=2),
        ride("2026-03-01 12:00", student(units=1), RideClass.HALF, number=3),
    ]

    rows = rate_holder(Month("2026-03"), rides, CITY).rated

    assert [row.reason for row in rows] == [ExclusionReason.NO_PASSES, ExclusionReason.NO_PASSES]


def test_every_refusal_has_the_name_of_an_exclusion() -> None:
    of_the_law = [reason for reason in Reason if reason >= Reason.TOKEN_INVALID]

    names = {reason.name: exclusion_of(reason).value for reason in of_the_law}

    assert names.pop("STUDENT_CAP_REACHED") == "OVER_CAP"
    assert all(name == value for name, value in names.items())
    assert all(reason.sentence for reason in ExclusionReason)


def test_a_rule_that_changes_inside_a_month_gives_two_lines() -> None:
    rider = student(units=10)
    tally = ClaimTally("azul")

    for day in (29, 30, 31):
        tally.add(one(ride(f"1993-05-{day} 07:00", rider, RideClass.HALF)), turnstile=Turnstile.TURN)
    lines = tally.lines()

    assert [(line.rule.id, line.quantity, line.rule.status) for line in lines] == [
        ("STUDENT-1991", 2, Status.FIRM),
        ("STUDENT-1993", 1, Status.DISPUTED),
    ]
    assert [subtotal.quantity for subtotal in subtotals(lines)] == [2, 1]


def test_a_repayment_that_an_act_ends_is_billed_until_the_eve() -> None:
    rows = []
    for row in BOOK.rows:
        if row.id == "TEACHER-2005":
            rows.append(replace(row, last_day=date(2026, 3, 15)))
            ended = replace(row, id="TEACHER-2026", first_day=date(2026, 3, 16))
            rows.append(replace(ended, repaid_percent=0, status=Status.NONE))
        else:
            rows.append(row)
    city = City(replace(BOOK, rows=tuple(rows)), CITY.fares)
    teacher = holder(Category.TEACHER, birth=GROWN)

    found = [one(ride(f"2026-03-{day} 07:00", teacher, RideClass.FREE), city=city) for day in ("15", "16")]

    assert [(row.verdict, row.city_cents, row.operator_cents) for row in found] == [
        (Verdict.BILLABLE, 450, 0),
        (Verdict.STATISTICAL, 0, 450),
    ]

"""The same `decide` on the list's options gives the class, the price and the turnstile that the register gives."""

from datetime import UTC, date, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from backoffice.adapters.law_file import packaged_law
from backoffice.adapters.offline_policy import policy_from
from backoffice.application.compile_list import ListCompiler
from tests.onboard.test_list_size import record_of
from validator.domain.boarding import Accepted, Refused, decide
from validator.domain.city import city_of
from validator.domain.decision import Decision
from validator.domain.fares import Fare
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.reasons import Reason
from validator.domain.rights import AgeRight, Period, Right
from validator.domain.service_time import Month
from validator.domain.tap import CARD, Medium, Tap
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import AGE_RIGHTS, RIGHTS_IN_ORDER, Category, MediumKind, Network, Product
from validator.onboard.listed import Listed, ListReader
from validator.records.bundle import ListHead, pack_listed, unpack_listed

BOOK = packaged_law()
TODAY = date(2026, 3, 2)
FREE_SUNDAY = date(2026, 3, 8)
CITY = city_of(
    BOOK,
    [
        Fare(Network.URBAN, date(1991, 1, 1), None, Cents(450)),
        Fare(Network.INTERIOR, date(1991, 1, 1), None, Cents(700)),
        Fare(Network.URBAN, FREE_SUNDAY, FREE_SUNDAY, Cents(0)),
    ],
)
LINES = {"102": Network.URBAN, "900": Network.INTERIOR, "777": None}

days = st.integers(-400, 400).map(lambda n: TODAY + timedelta(days=n))
periods = st.tuples(days, st.none() | days).map(
    lambda pair: Period(pair[0], pair[1] if pair[1] is None or pair[1] > pair[0] else None)
)
registered = st.builds(
    Right,
    st.sampled_from([c for c in RIGHTS_IN_ORDER if c not in AGE_RIGHTS]),
    periods,
    st.lists(periods, max_size=1).map(tuple),
)
ages = st.builds(AgeRight, st.sampled_from([Category.CHILD, Category.ELDER]), periods)
lots = st.lists(
    st.builds(
        Lot,
        st.integers(1, 5),
        st.sampled_from([Cents(450), Cents(410)]),
        st.sampled_from([Cents(225), Cents(200)]),
    ),
    min_size=1,
    max_size=3,
).map(tuple)
purses = st.builds(
    lambda product, network, some: Purse(product, network, some, sum(lot.units for lot in some)),
    st.sampled_from(list(Product)),
    st.sampled_from(list(Network)),
    lots,
)
holders = st.builds(
    Holder,
    st.lists(registered, max_size=4).map(tuple),
    st.lists(ages, max_size=1).map(tuple),
    st.lists(purses, max_size=3, unique_by=lambda p: p.key).map(tuple),
)
keys = st.sampled_from(["STUDENT", "PREPAID", "VT", "PREPAID/INTERIOR"])
usages = st.builds(
    Usage,
    st.sampled_from([{}, {Month("2026-03"): 49}, {Month("2026-03"): 50}, {Month("2026-02"): 50}]),
    st.dictionaries(keys, st.integers(0, 6)),
)
instants = st.integers(0, 20 * 24 * 60).map(
    lambda m: datetime(2026, 3, 2, 3, tzinfo=UTC) + timedelta(minutes=m)
)


def listed(holder: Holder, usage: Usage, age: timedelta = timedelta(0)) -> Listed:
    compiler = ListCompiler(BOOK, policy_from(None), TODAY, ListHead())
    entry = compiler.entry(record_of(holder, 7), usage)
    assert entry is not None
    return ListReader(compiler.head, CITY).read(unpack_listed(pack_listed(entry)), age=age)


def tap(at: datetime, line: str, vehicle: str = "1207", medium: Medium = CARD) -> Tap:
    return Tap("b", at, line, LINES[line], vehicle, medium)


def seen_by_a_device(decision: Decision) -> tuple[object, ...]:
    """All that a device may know of a decision."""
    if isinstance(decision, Refused):
        return ("refused",)
    uses = None if decision.uses is None else decision.uses.product
    counts = decision.uses is not None and decision.uses.counts_cap
    return (decision.ride_class, decision.rider_cents, decision.turnstile, uses, counts, decision.personal)


@settings(max_examples=600, deadline=None)
@given(
    holder=holders,
    usage=usages,
    at=instants,
    line=st.sampled_from(sorted(LINES)),
    medium=st.sampled_from([CARD, CARD, Medium(MediumKind.UID)]),
)
def test_a_device_sees_the_same_decision_as_the_service(
    holder: Holder, usage: Usage, at: datetime, line: str, medium: Medium
):
    if len({p.category for p in holder.ages}) and at.date() > TODAY + timedelta(days=60):
        return
    at_service = decide(tap(at, line, medium=medium), holder, usage, CITY)
    compiled = listed(holder, usage)
    on_board = decide(tap(at, line, medium=medium), compiled.holder, compiled.usage, compiled.city)

    if isinstance(at_service, Accepted) and at_service.fare_cents == 0:
        assert isinstance(on_board, Accepted)
        assert on_board.turnstile is at_service.turnstile or on_board.uses is None
    else:
        assert seen_by_a_device(on_board) == seen_by_a_device(at_service)


@settings(max_examples=200, deadline=None)
@given(category=st.sampled_from(list(RIGHTS_IN_ORDER)), period=periods, at=instants)
def test_a_refusal_has_the_same_reason_for_a_holder_with_one_right(
    category: Category, period: Period, at: datetime
):
    holder = (
        Holder(ages=(AgeRight(category, period),))
        if category in AGE_RIGHTS
        else Holder(rights=(Right(category, period),))
    )
    at_service = decide(tap(at, "102"), holder, Usage(), CITY)
    compiled = listed(holder, Usage())
    on_board = decide(tap(at, "102"), compiled.holder, compiled.usage, compiled.city)

    if isinstance(at_service, Refused):
        assert isinstance(on_board, Refused)
        assert on_board.reason is at_service.reason
    else:
        assert isinstance(on_board, Accepted)


def test_an_elder_rides_on_a_list_of_any_age_and_a_student_waits():
    elder = Holder(ages=(AgeRight(Category.ELDER, Period(date(2010, 1, 1), None)),))
    purse = Purse(Product.STUDENT, Network.URBAN, (Lot(9, Cents(450), Cents(225)),), 9)
    student = Holder(rights=(Right(Category.STUDENT_50, Period(date(2020, 1, 1), None)),), purses=(purse,))
    at = datetime(2026, 3, 2, 12, tzinfo=UTC)

    for age, rides in ((timedelta(hours=72), True), (timedelta(hours=73), False)):
        old = listed(elder, Usage(), age)
        assert isinstance(decide(tap(at, "102"), old.holder, old.usage, old.city), Accepted)
        pupil = listed(student, Usage(), age)
        decision = decide(tap(at, "102"), pupil.holder, pupil.usage, pupil.city)
        assert isinstance(decision, Accepted) is rides
        assert pupil.stale is not rides


def test_a_second_tap_on_the_same_vehicle_is_passback_on_board_too():
    teacher = Holder(rights=(Right(Category.TEACHER, Period(date(2020, 1, 1), None)),))
    at = datetime(2026, 3, 2, 12, tzinfo=UTC)
    compiled = listed(teacher, Usage())
    usage = Usage(last=LastBoarding("a", at - timedelta(minutes=4), "1207", Category.FULL))

    again = decide(tap(at, "102"), compiled.holder, usage, compiled.city)
    elsewhere = decide(tap(at, "102", "1208"), compiled.holder, usage, compiled.city)

    assert again == Refused(Reason.PASSBACK)
    assert isinstance(elsewhere, Accepted)

"""What holds of every decision, whoever rides, whenever and on whatever."""

import copy
import random
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.law_strategies import CITY, holders, instants, taps, usages
from validator.domain.boarding import decide, effects_of
from validator.domain.city import city_of
from validator.domain.decision import Accepted, Refused
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.reasons import Reason
from validator.domain.rights import Period, Right
from validator.domain.service_time import civil_date, month_of
from validator.domain.tap import CARD, Medium, Tap
from validator.domain.usage import Effects, LastBoarding, Usage
from validator.domain.vocabulary import Category, MediumKind, Network, Product, RideClass, Turnstile

NEVER_REPAID = frozenset(
    {
        Category.CHILD,
        Category.ELDER,
        Category.FISCAL_MUN,
        Category.FISCAL_TRANSP,
        Category.FISCAL_TRAB,
        Category.OFICIAL_JUST,
        Category.PREPAID,
        Category.VT,
        Category.FULL,
    }
)

maybe_holders = st.one_of(st.none(), holders(), holders(), holders())


@given(taps(), maybe_holders, usages())
def test_rider_city_and_operator_always_make_up_the_fare(tap: Tap, holder: Holder | None, usage: Usage):
    decision = decide(tap, holder, usage, CITY)

    if isinstance(decision, Refused):
        assert decision.turnstile is Turnstile.HOLD
        assert decision.reason is not Reason.OK
    else:
        parts = (decision.rider_cents, decision.city_cents, decision.operator_cents)
        assert sum(parts) == decision.fare_cents
        assert min(parts) >= 0
        assert decision.turnstile is not Turnstile.HOLD


@given(taps(), maybe_holders, usages())
def test_the_city_never_pays_for_those_whom_the_law_does_not_repay(
    tap: Tap, holder: Holder | None, usage: Usage
):
    decision = decide(tap, holder, usage, CITY)

    if isinstance(decision, Accepted) and decision.category in NEVER_REPAID:
        assert decision.city_cents == 0
    if isinstance(decision, Accepted) and decision.ride_class is RideClass.FREE:
        assert decision.rider_cents == 0
        assert decision.uses is None


@given(taps(), maybe_holders, usages())
def test_a_chip_pays_or_is_refused_and_never_costs_the_city_anything(
    tap: Tap, holder: Holder | None, usage: Usage
):
    decision = decide(tap._replace(medium=Medium(MediumKind.UID), continues=None), holder, usage, CITY)

    if isinstance(decision, Accepted):
        assert decision.category in (Category.PREPAID, Category.VT, Category.FULL)
        assert decision.city_cents == 0
        assert not decision.personal
    else:
        assert decision.reason in (
            Reason.CARD_UNKNOWN,
            Reason.LINE_UNKNOWN,
            Reason.RIGHT_NOT_STARTED,  # the rule of the purse itself
            Reason.NOT_VALID_ON_LINE,
            Reason.NO_PASSES,
        )


@given(taps(), maybe_holders, usages())
def test_the_same_question_has_the_same_answer(tap: Tap, holder: Holder | None, usage: Usage):
    asked = copy.deepcopy(usage)
    decision = decide(tap, holder, usage, CITY)

    assert decide(tap, holder, usage, city_of(CITY.book, reversed(CITY.fares))) == decision
    assert usage == asked


@given(taps(), holders(), usages(), st.randoms(use_true_random=False))
def test_the_order_in_which_rights_and_purses_are_registered_is_no_matter(
    tap: Tap, holder: Holder, usage: Usage, chance: random.Random
):
    mixed = Holder(
        tuple(chance.sample(holder.rights, len(holder.rights))),
        holder.ages,
        tuple(chance.sample(holder.purses, len(holder.purses))),
    )

    assert decide(tap, mixed, usage, CITY) == decide(tap, holder, usage, CITY)


@given(taps(), holders(), usages())
def test_a_purse_never_gives_a_pass_that_it_does_not_have(tap: Tap, holder: Holder, usage: Usage):
    decision = decide(tap, holder, usage, CITY)

    if isinstance(decision, Accepted) and decision.uses is not None:
        purse = next(p for p in holder.purses if p.key == decision.uses.product)
        after = usage.after(effects_of(tap, decision, CITY))
        assert usage.remaining(purse.key, purse.bought) > 0
        assert after.remaining(purse.key, purse.bought) >= 0
        assert purse.network is tap.network
        assert (decision.category is Category.STUDENT_50) == (purse.product is Product.STUDENT)
        assert decision.uses.counts_cap == (purse.product is Product.STUDENT)


@given(taps(), maybe_holders, usages())
def test_on_a_free_day_nobody_with_a_known_medium_is_refused_and_nothing_is_used(
    tap: Tap, holder: Holder | None, usage: Usage
):
    sunday = tap._replace(
        occurred_at=datetime(2026, 8, 2, 15, tzinfo=UTC), network=Network.URBAN, continues=None
    )

    decision = decide(sunday, holder, usage, CITY)

    if isinstance(decision, Refused):
        assert decision.reason in (Reason.CARD_UNKNOWN, Reason.CATEGORY_NOT_KEYABLE)
    else:
        assert (decision.fare_cents, decision.uses) == (0, None)


@given(holders(), usages(), taps())
def test_a_continued_ride_costs_nothing_and_uses_nothing(holder: Holder, usage: Usage, tap: Tap):
    decision = decide(tap, holder, usage, CITY)

    if isinstance(decision, Accepted) and decision.continued:
        assert tap.continues is not None
        assert decision.category is tap.continues.category
        assert (decision.fare_cents, decision.uses) == (0, None)
        assert usage.after(effects_of(tap, decision, CITY)).half_fare == usage.half_fare


STUDENT = Holder(
    rights=(Right(Category.STUDENT_50, Period(civil_date(datetime(2026, 1, 1, 12, tzinfo=UTC)), None)),),
    purses=(Purse(Product.STUDENT, Network.URBAN, (Lot(300, Cents(451), Cents(225)),), 300),),
)
minutes_of_two_months = st.lists(st.integers(0, 60 * 24 * 60), min_size=1, max_size=200)


@given(minutes_of_two_months)
def test_no_person_has_more_than_fifty_half_fares_in_a_civil_month(minutes: list[int]):
    usage, counted = Usage(), dict[str, int]()
    for number, minute in enumerate(minutes):
        at = datetime(2026, 3, 1, 3, tzinfo=UTC) + timedelta(minutes=minute)
        tap = Tap(str(number), at, "102", Network.URBAN, str(number), CARD)
        decision = decide(tap, STUDENT, usage, CITY)
        if isinstance(decision, Accepted):
            usage = usage.after(effects_of(tap, decision, CITY))
            month = month_of(civil_date(at))
            counted[month] = counted.get(month, 0) + 1

    assert all(count <= 50 for count in counted.values())
    assert dict(usage.half_fare) == counted
    assert usage.used.get("STUDENT", 0) == sum(counted.values())


@st.composite
def effects(draw: st.DrawFn) -> Effects:
    at = datetime(2026, 1, 15, 15, tzinfo=UTC) + timedelta(minutes=draw(st.integers(0, 60 * 24 * 150)))
    personal, remembered = draw(st.booleans()), draw(st.booleans())
    uses = draw(st.sampled_from([None, "STUDENT", "PREPAID", "VT/INTERIOR"]))
    boarding = LastBoarding(
        f"b{draw(st.integers(0, 10_000))}", at, draw(st.sampled_from("xy")), Category.FULL
    )
    return Effects(
        month_of(civil_date(at)),
        uses,
        uses == "STUDENT",
        boarding if remembered or personal else None,
        personal,
    )


def identity(one: Effects) -> str:
    return one.boarding.boarding_id if one.boarding else str(id(one))


@given(st.lists(effects(), unique_by=identity, max_size=12), st.randoms(use_true_random=False))
def test_usage_is_the_same_whatever_the_order_of_arrival(arrived: list[Effects], chance: random.Random):
    ordered, mixed = Usage(), Usage()
    for one in arrived:
        ordered = ordered.after(one)
    for one in chance.sample(arrived, len(arrived)):
        mixed = mixed.after(one)

    assert mixed == ordered


@given(st.lists(effects(), unique_by=identity, min_size=1, max_size=6))
def test_an_annulment_at_once_gives_back_what_the_boarding_took(arrived: list[Effects]):
    usage = Usage()
    for one in arrived[:-1]:
        usage = usage.after(one)
    after = usage.after(arrived[-1]).annulled(arrived[-1])

    for key in {*usage.used, *after.used}:
        assert after.remaining(key, 100) == usage.remaining(key, 100)
    assert after.last == usage.last


@given(taps(), maybe_holders, usages())
def test_what_was_worked_out_before_is_what_a_new_city_works_out(
    tap: Tap, holder: Holder | None, usage: Usage
):
    assert decide(tap, holder, usage, CITY) == decide(tap, holder, usage, city_of(CITY.book, CITY.fares))


@given(st.lists(instants, min_size=1))
def test_the_law_of_an_instant_is_that_of_its_civil_day_whatever_was_asked_before(
    asked: list[datetime],
):
    assert [CITY.at(instant).day for instant in asked] == [civil_date(instant) for instant in asked]

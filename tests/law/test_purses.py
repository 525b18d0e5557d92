"""Purses and usage: passes first in, first out; counts that only grow; the same end in any order."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.service_time import Month
from validator.domain.usage import Effects, LastBoarding, Usage
from validator.domain.vocabulary import Category, Network, Product, purse_key

MARCH = Month("2026-03")
NOON = datetime(2026, 3, 2, 15, tzinfo=UTC)


def lots(*units: int) -> tuple[Lot, ...]:
    return tuple(Lot(n, Cents(450 + i), Cents(225)) for i, n in enumerate(units))


def boarding(name: str, minute: int, category: Category = Category.STUDENT_50) -> LastBoarding:
    return LastBoarding(name, NOON + timedelta(minutes=minute), "1207", category)


def half_fare(name: str, minute: int) -> Effects:
    return Effects(MARCH, "STUDENT", counts_cap=True, boarding=boarding(name, minute), personal=True)


def prepaid(name: str, minute: int) -> Effects:
    ride = boarding(name, minute, Category.PREPAID)
    return Effects(MARCH, "PREPAID", counts_cap=False, boarding=ride, personal=False)


def test_the_names_of_purses():
    assert [purse_key(product, network) for product in Product for network in Network] == [
        "STUDENT", "STUDENT/INTERIOR", "PREPAID", "PREPAID/INTERIOR", "VT", "VT/INTERIOR",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spent", "face"), [(0, 450), (1, 450), (2, 451), (3, 453), (5, 453), (6, None), (99, None)]
)
def test_passes_are_used_first_in_first_out(spent: int, face: int | None):
    purse = Purse(Product.STUDENT, Network.URBAN, lots(2, 1, 0, 3), bought=6)

    lot = purse.lot_after(spent)

    assert (None if lot is None else lot.face_cents) == face


@pytest.mark.parametrize(("spent", "face"), [(50, 450), (51, 450), (52, 451), (54, 451), (55, None)])
def test_lots_that_are_used_up_may_be_left_out(spent: int, face: int | None):
    purse = Purse(Product.STUDENT, Network.URBAN, lots(2, 3), bought=55)

    lot = purse.lot_after(spent)

    assert (None if lot is None else lot.face_cents) == face


def test_what_remains_is_bought_less_refunded_less_used_and_what_was_given_back():
    usage = Usage(used={"STUDENT": 30}, returned={"STUDENT": 2}, refunded={"STUDENT": 5})

    assert usage.spent("STUDENT") == 28
    assert usage.remaining("STUDENT", 50) == 17
    assert usage.remaining("PREPAID", 3) == 3


def test_an_annulment_gives_back_the_pass_the_place_and_the_last_boarding():
    before = Usage().after(half_fare("a", 0))
    after = before.after(half_fare("b", 10)).annulled(half_fare("b", 10))

    assert after.half_fare == before.half_fare == {MARCH: 1}
    assert after.spent("STUDENT") == before.spent("STUDENT") == 1
    assert after.last == before.last
    assert after.used == {"STUDENT": 2}
    assert after.returned == {"STUDENT": 1}


def test_the_annulment_of_an_older_boarding_leaves_the_last_one():
    usage = Usage().after(half_fare("a", 0)).after(half_fare("b", 10)).annulled(half_fare("a", 0))

    assert usage.last == boarding("b", 10)
    assert usage.before is None


def test_a_purse_ride_is_the_latest_but_starts_no_passback():
    usage = Usage().after(half_fare("a", 0)).after(prepaid("p", 1))

    assert usage.last == boarding("a", 0)
    assert usage.latest == boarding("p", 1, Category.PREPAID)
    assert usage.half_fare == {MARCH: 1}
    assert usage.after(half_fare("b", 2)).latest == boarding("b", 2)
    assert usage.annulled(prepaid("p", 1)).latest == boarding("a", 0)


def test_a_ride_that_an_annulled_one_hid_is_the_latest_again():
    usage = Usage().after(prepaid("p", 0)).after(prepaid("q", 10))

    assert usage.annulled(prepaid("q", 10)).latest == boarding("p", 0, Category.PREPAID)
    assert usage.annulled(prepaid("p", 0)).latest == boarding("q", 10, Category.PREPAID)
    hidden = usage.after(half_fare("a", 20))
    assert hidden.annulled(half_fare("a", 20)).latest == boarding("q", 10, Category.PREPAID)


def test_boardings_may_arrive_in_any_order():
    effects = [half_fare("a", 0), prepaid("p", 5), half_fare("b", 10), prepaid("q", 20)]
    ends = set()
    for order in itertools.permutations(effects):
        usage = Usage()
        for one in order:
            usage = usage.after(one)
        remembered = (usage.last, usage.before, usage.by_purse, usage.by_purse_before)
        ends.add((*remembered, *usage.used.items(), *usage.half_fare.items()))

    assert {end[:4] for end in ends} == {
        (
            boarding("b", 10),
            boarding("a", 0),
            boarding("q", 20, Category.PREPAID),
            boarding("p", 5, Category.PREPAID),
        )
    }


def test_months_long_past_are_dropped():
    usage = Usage()
    for number in range(1, 7):
        month = Month(f"2026-{number:02}")
        usage = usage.after(Effects(month, "STUDENT", counts_cap=True, boarding=None, personal=True))

    assert usage.half_fare == {Month(f"2026-{n:02}"): 1 for n in (3, 4, 5, 6)}
    assert usage.used == {"STUDENT": 6}

"""Fares: by network, line, medium and civil day; the one before runs on until the next."""

from datetime import date

import pytest

from validator.domain.fares import Fare, FareError, check_fares, fare_on
from validator.domain.money import Cents, riders_half, share_of
from validator.domain.vocabulary import FareMedium, Network

U, I = Network.URBAN, Network.INTERIOR  # noqa: E741 - the interior network
CARD, CASH = FareMedium.CARD, FareMedium.CASH
OLD = Fare(U, date(2022, 3, 21), None, Cents(365))
NEW = Fare(U, date(2023, 10, 16), None, Cents(450))
SUNDAY = Fare(U, date(2026, 8, 2), date(2026, 8, 2), Cents(0))
OF_LINE = Fare(U, date(2023, 1, 1), None, Cents(300), line="102")
IN_CASH = Fare(U, date(2023, 10, 16), None, Cents(500), medium=CASH)
ALL = (SUNDAY, NEW, OF_LINE, IN_CASH, OLD)


@pytest.mark.parametrize(
    ("line", "medium", "day", "cents"),
    [
        ("107", CARD, date(2022, 3, 21), 365),
        ("107", CARD, date(2023, 10, 15), 365),
        ("107", CARD, date(2023, 10, 16), 450),
        ("107", CASH, date(2023, 10, 16), 500),
        ("102", CARD, date(2023, 10, 16), 300),
        ("102", CASH, date(2023, 10, 16), 300),
        ("102", CASH, date(2026, 8, 2), 0),
        ("107", CARD, date(2026, 8, 2), 0),
        ("107", CARD, date(2026, 8, 3), 450),
        ("107", CARD, date(2099, 1, 1), 450),
    ],
)
def test_the_narrowest_fare_that_has_begun_holds(line: str, medium: FareMedium, day: date, cents: int):
    fare = fare_on(ALL, U, line, medium, day)

    assert fare is not None
    assert fare.cents == cents


def test_before_the_first_fare_and_on_another_network_there_is_none():
    assert fare_on(ALL, U, "107", CARD, date(2022, 3, 20)) is None
    assert fare_on(ALL, I, "301", CARD, date(2026, 3, 2)) is None


def test_fares_in_order_are_accepted():
    check_fares((*ALL, Fare(I, date(1991, 7, 22), None, Cents(200))), Network)


@pytest.mark.parametrize(
    ("fares", "message"),
    [
        ((Fare(U, date(2023, 1, 1), None, Cents(-1)),), "below zero"),
        ((Fare(U, date(2023, 1, 2), date(2023, 1, 1), Cents(1)),), "ends before it begins"),
        ((NEW, Fare(U, NEW.first_day, None, Cents(460))), "two fares of URBAN begin on 2023-10-16"),
        ((NEW, SUNDAY, Fare(U, date(2026, 8, 1), date(2026, 8, 2), Cents(0))), "overlaps the one from"),
        ((SUNDAY,), "network URBAN has no running fare"),
        ((OF_LINE,), "network URBAN has no running fare"),
        ((), "network URBAN has no running fare"),
    ],
)
def test_fares_that_contradict_each_other_are_refused(fares: tuple[Fare, ...], message: str):
    with pytest.raises(FareError, match=message):
        check_fares(fares, (U,))


@pytest.mark.parametrize(
    ("fare", "rider"), [(365, 182), (275, 137), (450, 225), (1, 0), (0, 0), (3, 1), (999, 499)]
)
def test_the_riders_half_is_rounded_down(fare: int, rider: int):
    assert riders_half(Cents(fare)) == rider


@pytest.mark.parametrize(
    ("amount", "percent", "share"), [(183, 100, 183), (183, 0, 0), (183, 50, 91), (1, 99, 0), (300, 33, 99)]
)
def test_a_share_is_rounded_down(amount: int, percent: int, share: int):
    assert share_of(Cents(amount), percent) == share

"""Properties of every rating: invariants 1, 2, 3, 5, 6 and 8 of the design, over invented months."""

import random
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from backoffice.domain.claims import ClaimTally
from backoffice.domain.exclusions import ExclusionReason
from backoffice.domain.rating import HolderRating, rate_holder
from backoffice.domain.rides import Placed, Rated, Release, Ride, Verdict
from tests.law.laws import BOOK
from validator.domain.city import city_of
from validator.domain.fares import Fare
from validator.domain.holder import Holder
from validator.domain.money import Cents, riders_half
from validator.domain.purses import Lot, Purse
from validator.domain.rights import Period, Right, age_rights
from validator.domain.service_time import Month, month_bounds
from validator.domain.tap import CARD, Tap
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import (
    AGE_RIGHTS,
    RIGHTS_IN_ORDER,
    Category,
    Network,
    Product,
    RideClass,
    Turnstile,
)

MARCH = Month("2026-03")
FIRST, AFTER = month_bounds(MARCH)
CITY = city_of(
    BOOK,
    [
        Fare(Network.URBAN, date(2020, 1, 1), None, Cents(455)),
        Fare(Network.URBAN, date(2026, 3, 8), date(2026, 3, 8), Cents(0)),
        Fare(Network.INTERIOR, date(2018, 6, 17), None, Cents(701)),
    ],
)
NEVER_BILLED = set(RIGHTS_IN_ORDER) - {Category.SPECIAL_ED, Category.TEACHER, Category.STUDENT_50}
BIRTHS = [date(2019, 3, 10), date(2009, 5, 10), date(1985, 1, 1), date(1966, 3, 15), date(1950, 1, 1)]
DOUBTS = [
    None,
    None,
    None,
    ExclusionReason.NOT_COVERED,
    ExclusionReason.LINE_UNSETTLED,
    ExclusionReason.DEVICE_REVOKED,
    ExclusionReason.NO_RELEASE,
    ExclusionReason.CARD_BLOCKED,
]
RELEASES = [
    None,
    Release(RideClass.HALF),
    Release(RideClass.HALF),
    Release(RideClass.FREE),
    Release(RideClass.PURSE, "PREPAID"),
    Release(RideClass.PURSE, "VT/INTERIOR"),
    Release(RideClass.FULL),
]


@st.composite
def holders(draw: st.DrawFn) -> Holder:
    registered = [category for category in RIGHTS_IN_ORDER if category not in AGE_RIGHTS]
    categories = draw(st.sets(st.sampled_from(registered), max_size=3)) | {Category.STUDENT_50}
    rights = tuple(
        Right(category, Period(date(2026, 2, 1), draw(st.sampled_from([None, date(2026, 3, 20)]))))
        for category in sorted(categories)
    )
    purses = []
    for product, network in (
        (Product.STUDENT, Network.URBAN),
        (Product.PREPAID, Network.URBAN),
        (Product.VT, Network.INTERIOR),
    ):
        faces = draw(st.lists(st.sampled_from([365, 450, 455]), max_size=3))
        lots = tuple(
            Lot(
                draw(st.integers(1, 40)),
                Cents(face),
                riders_half(Cents(face)) if product is Product.STUDENT else Cents(face),
            )
            for face in faces
        )
        purses.append(Purse(product, network, lots, sum(lot.units for lot in lots)))
    return Holder(rights, age_rights(draw(st.sampled_from(BIRTHS)), BOOK), tuple(purses))


@dataclass(frozen=True)
class Invented:
    """A holder and up to 130 rides, most of them in March, some of them twice, close together or in doubt."""

    holder: Holder
    seed: int
    count: int

    @property
    def rides(self) -> list[Ride]:
        chance = random.Random(self.seed)
        rides: list[Ride] = []
        for number in range(self.count):
            at = FIRST + timedelta(seconds=chance.randrange(-86_400, 32 * 86_400))
            if rides and chance.random() < 0.2:
                at = rides[-1].tap.occurred_at + timedelta(seconds=chance.randrange(0, 400))
            rides.append(self._ride(number, at, chance))
        return rides

    def _ride(self, number: int, at: datetime, chance: random.Random) -> Ride:
        online = chance.random() < 0.7
        name = number if chance.random() < 0.95 else number // 2
        network = chance.choice([Network.URBAN, Network.URBAN, Network.URBAN, Network.INTERIOR, None])
        return Ride(
            Tap(f"b{name}", at, "101", network, chance.choice(["v1", "v2"]), CARD),
            received_at=at + timedelta(days=0 if online else chance.choice([0, 2, 40, 46])),
            device=chance.choice(["d1", "d2"]),
            device_seq=number,
            online=online,
            states=(self.holder,),
            release=chance.choice(RELEASES),
            released=chance.random() < 0.95,
            annulled=chance.random() < 0.05,
            doubt=chance.choice(DOUBTS),
        )


months = st.builds(Invented, holders(), st.integers(0, 2**32), st.integers(0, 130))


def rate(rides: list[Ride], **options: object) -> HolderRating:
    return rate_holder(MARCH, rides, CITY, **options)  # type: ignore[arg-type]


def half_fares(rows: tuple[Rated, ...]) -> int:
    return sum(row.verdict is Verdict.BILLABLE and row.category is Category.STUDENT_50 for row in rows)


@settings(max_examples=150)
@given(months)
def test_every_ride_divides_its_fare_and_a_claim_is_the_sum_of_its_lines(
    month: Invented,
) -> None:
    tally = ClaimTally("azul")
    rows = rate(month.rides).rated

    for row in rows:
        tally.add(row, turnstile=Turnstile.TURN)

    for row in rows:
        assert row.rider_cents + row.city_cents + row.operator_cents == row.fare_cents
        assert min(row.rider_cents, row.city_cents, row.operator_cents) >= 0
        assert (row.verdict is Verdict.BILLABLE) == (row.city_cents > 0)
        assert (row.verdict is Verdict.EXCLUDED) == (row.reason is not None)
    assert sum(line.total_cents for line in tally.lines()) == sum(row.city_cents for row in rows)
    assert tally.billed + sum(tally.excluded.values()) + sum(tally.statistical.values()) == len(rows)


@settings(max_examples=150)
@given(months)
def test_nobody_has_more_than_fifty_half_fares_billed_in_a_month(month: Invented) -> None:
    assert half_fares(rate(month.rides).rated) <= 50


@settings(max_examples=150)
@given(months)
def test_a_boarding_is_billed_at_most_once(month: Invented) -> None:
    rows = rate(month.rides).rated

    standing = Counter(
        row.ride.tap.boarding_id for row in rows if row.reason is not ExclusionReason.DUPLICATE
    )

    assert all(count == 1 for count in standing.values())


@settings(max_examples=150)
@given(months, st.integers(0, 2**32))
def test_the_order_of_arrival_changes_nothing(month: Invented, seed: int) -> None:
    shuffled = list(month.rides)
    random.Random(seed).shuffle(shuffled)

    assert rate(shuffled) == rate(month.rides)


@settings(max_examples=150)
@given(months)
def test_every_pass_is_given_once_and_none_that_was_not_bought(month: Invented) -> None:
    holder, rides = month.holder, month.rides
    result = rate(rides)
    everything = [
        row
        for name in ("2026-02", "2026-03", "2026-04", "2026-05")
        for row in rate_holder(Month(name), rides, CITY).rated
    ]

    for purse in holder.purses:
        given_away = [row.pass_number for row in everything if row.purse == purse.key and row.took]
        assert sorted(number or 0 for number in given_away) == list(range(1, len(given_away) + 1))
        assert result.usage.spent(purse.key) == len(given_away) <= purse.bought


@settings(max_examples=150)
@given(months)
def test_rating_never_raises_and_never_moves_to_another_purse(month: Invented) -> None:
    for row in rate(month.rides).rated:
        release = row.ride.release
        if release is None:
            assert row.purse in (None, "STUDENT")
            continue
        if release.ride_class is RideClass.FREE:
            assert row.purse is None
        elif release.ride_class is RideClass.HALF:
            assert row.purse in (None, "STUDENT")
            assert row.category is not Category.TEACHER or row.fare_cents == 0  # on a free day nobody pays
            assert row.city_cents <= row.fare_cents - row.rider_cents
        else:
            assert row.city_cents == 0
            assert row.purse in (None, release.purse)


@settings(max_examples=150)
@given(months)
def test_who_rides_by_age_or_office_is_never_billed(month: Invented) -> None:
    rows = rate(month.rides).rated

    assert all(row.city_cents == 0 for row in rows if row.category in NEVER_BILLED)


@settings(max_examples=150)
@given(months, st.integers(0, 2**32))
def test_rides_that_come_after_a_closing_never_take_more_than_is_left(month: Invented, seed: int) -> None:
    holder, rides = month.holder, month.rides
    chance = random.Random(seed)
    unique = list({ride.tap.boarding_id: ride._replace(doubt=None, believed=True) for ride in rides}.values())
    in_march = [ride for ride in unique if FIRST <= ride.tap.occurred_at < AFTER]
    early = [ride for ride in in_march if chance.random() < 0.6]
    late = [ride for ride in in_march if ride not in early]

    closed = rate(early)
    placed = [
        Placed(
            LastBoarding(
                row.ride.tap.boarding_id, row.ride.tap.occurred_at, row.ride.tap.vehicle, row.category
            ),
            row.personal,
        )
        for row in closed.rated
        if row.took and row.category is not None
    ]
    opening = replace(closed.usage, last=None, before=None, by_purse=None, by_purse_before=None)
    rest = rate(late, opening=opening, placed=placed)

    assert half_fares(closed.rated) + half_fares(rest.rated) <= 50
    assert all(rest.usage.spent(purse.key) <= purse.bought for purse in holder.purses)
    taken = [(row.purse, row.pass_number) for row in (*closed.rated, *rest.rated) if row.purse and row.took]
    assert len(taken) == len(set(taken))


def test_the_law_strategies_reach_the_cap() -> None:
    purse = Purse(Product.STUDENT, Network.URBAN, (Lot(60, Cents(455), Cents(227)),), 60)
    right = Right(Category.STUDENT_50, Period(date(2026, 2, 1), None))
    holder = Holder((right,), age_rights(date(2009, 5, 10), BOOK), (purse,))
    rides = [
        Ride(
            Tap(
                f"b{n}",
                datetime(2026, 3, 10, 3, tzinfo=UTC) + timedelta(hours=3 * n),
                "101",
                Network.URBAN,
                "v1",
                CARD,
            ),
            received_at=FIRST,
            device="d1",
            device_seq=n,
            online=True,
            states=(holder,),
            release=Release(RideClass.HALF),
        )
        for n in range(60)
    ]

    result = rate(rides, opening=Usage())

    assert half_fares(result.rated) == 50

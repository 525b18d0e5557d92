"""Invented taps, holders and usages for property tests, with dates that meet every rule of the table."""

from datetime import UTC, date, datetime, timedelta

from hypothesis import strategies as st

from tests.law.laws import BOOK
from validator.domain.city import City, city_of
from validator.domain.fares import Fare
from validator.domain.holder import Holder
from validator.domain.money import Cents, riders_half
from validator.domain.purses import Lot, Purse
from validator.domain.rights import Period, Right, age_rights
from validator.domain.service_time import Month
from validator.domain.tap import Continued, Medium, Tap
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import (
    AGE_RIGHTS,
    RIGHTS_IN_ORDER,
    Category,
    MediumKind,
    Network,
    Product,
    purse_key,
)

FIRST_DAY = date(1991, 7, 22)
CITY: City = city_of(
    BOOK,
    [
        Fare(Network.URBAN, FIRST_DAY, None, Cents(101)),
        Fare(Network.URBAN, date(2022, 3, 21), None, Cents(365)),
        Fare(Network.URBAN, date(2023, 10, 16), None, Cents(450)),
        Fare(Network.URBAN, date(2026, 8, 2), date(2026, 8, 2), Cents(0)),
        Fare(Network.INTERIOR, FIRST_DAY, None, Cents(203)),
        Fare(Network.INTERIOR, date(2018, 6, 17), None, Cents(701)),
    ],
)

REGISTERED = [category for category in RIGHTS_IN_ORDER if category not in AGE_RIGHTS]
EDGES = [
    datetime(1991, 10, 16, 3, tzinfo=UTC),
    datetime(1993, 5, 31, 3, tzinfo=UTC),
    datetime(1994, 12, 29, 2, tzinfo=UTC),
    datetime(2005, 1, 6, 2, tzinfo=UTC),
    datetime(2018, 11, 4, 3, tzinfo=UTC),
    datetime(2026, 4, 1, 3, tzinfo=UTC),
    datetime(2026, 8, 2, 3, tzinfo=UTC),
]

instants = st.one_of(
    st.datetimes(datetime(1991, 7, 23), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.builds(
        lambda edge, seconds: edge + timedelta(seconds=seconds), st.sampled_from(EDGES), st.integers(-90, 90)
    ),
)
days = st.dates(FIRST_DAY, date(2030, 1, 1))
births = st.dates(date(1920, 1, 1), date(2026, 1, 1))
vehicles = st.sampled_from(["1207", "1300"])
LAST_ID, TAP_ID = "0193c0de-7b0a-7000-8000-00000000000a", "0193c0de-7b0a-7000-8000-00000000000b"


@st.composite
def periods(draw: st.DrawFn) -> Period:
    """Civil days from a day on, often without an end."""
    first = draw(days)
    length = draw(st.one_of(st.none(), st.integers(0, 9_000)))
    return Period(first, None if length is None else first + timedelta(days=length))


@st.composite
def lots(draw: st.DrawFn, product: Product) -> Lot:
    """A lot at an odd or even face; student passes at half of it or less."""
    face = Cents(draw(st.integers(1, 1_000)))
    paid = riders_half(face) if product is Product.STUDENT else face
    return Lot(
        draw(st.integers(0, 60)), face, Cents(draw(st.integers(0, paid))) if draw(st.booleans()) else paid
    )


@st.composite
def purses(draw: st.DrawFn) -> tuple[Purse, ...]:
    """Any purses, at most one of each product and network."""
    kinds = draw(
        st.lists(st.tuples(st.sampled_from(Product), st.sampled_from(Network)), unique=True, max_size=4)
    )
    found = []
    for product, network in kinds:
        own = tuple(draw(st.lists(lots(product), max_size=3)))
        found.append(
            Purse(product, network, own, sum(lot.units for lot in own) + draw(st.sampled_from([0, 7])))
        )
    return tuple(found)


@st.composite
def holders(draw: st.DrawFn) -> Holder:
    """A person of any age with any rights and passes."""
    right = st.builds(
        Right, st.sampled_from(REGISTERED), periods(), st.lists(periods(), max_size=2).map(tuple)
    )
    rights = tuple(draw(st.lists(right, max_size=4)))
    return Holder(rights, age_rights(draw(births), BOOK), draw(purses()))


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """Usage that is near the cap and near the end of purses as often as not."""
    month = draw(instants).strftime("%Y-%m")
    keys = [purse_key(product, network) for product in Product for network in Network]
    used = draw(st.dictionaries(st.sampled_from(keys), st.integers(0, 130), max_size=4))
    last = draw(
        st.one_of(
            st.none(),
            st.builds(LastBoarding, st.just(LAST_ID), instants, vehicles, st.just(Category.TEACHER)),
        )
    )
    return Usage({Month(month): draw(st.integers(45, 55))}, used, last=last)


def media() -> st.SearchStrategy[Medium]:
    """Any medium, cards most often."""
    categories = st.sampled_from(Category)
    return st.one_of(
        st.just(Medium(MediumKind.CARD)),
        st.just(Medium(MediumKind.CARD)),
        st.just(Medium(MediumKind.UID)),
        st.builds(Medium, st.just(MediumKind.KEY), categories),
        st.builds(Medium, st.just(MediumKind.DOCUMENT), categories),
        st.builds(Medium, st.just(MediumKind.CASH), st.none(), st.integers(0, 9_000).map(Cents)),
    )


@st.composite
def taps(draw: st.DrawFn) -> Tap:
    """Any tap, a few of them continuations and a few on unknown lines."""
    occurred_at = draw(instants)
    continues = None
    if draw(st.integers(0, 9)) == 0:
        before = timedelta(minutes=draw(st.integers(-5, 65)))
        continues = Continued(occurred_at - before, draw(vehicles), draw(st.sampled_from(Category)))
    network = draw(st.sampled_from([Network.URBAN, Network.URBAN, Network.INTERIOR, None]))
    return Tap(TAP_ID, occurred_at, "102", network, draw(vehicles), draw(media()), continues)

"""Invented holders: nobody's names, valid but invented CPFs, and each with one way of riding."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from backoffice.demo.city_plan import Calendar, CityPlan, LinePlan
from backoffice.demo.documents import cpf
from validator.domain.registration import SchoolNetwork
from validator.domain.vocabulary import Category, Network, Product


class Habit(StrEnum):
    """What makes a holder's month particular."""

    ORDINARY = "ORDINARY"
    MANY_RIDES = "MANY_RIDES"
    """A student who reaches the cap of fifty half fares."""
    FEW_PASSES = "FEW_PASSES"
    """Buys a dozen passes and runs out of them."""
    BUYS_AGAIN = "BUYS_AGAIN"
    """Buys more in the middle of the month, at the new fare."""
    CARD_BLOCKED = "CARD_BLOCKED"
    """Loses the card; it is blocked on the tenth, and somebody goes on trying it."""
    CARD_REPLACED = "CARD_REPLACED"
    """Gets a second via on the tenth; the first is tried again."""
    RIGHT_ENDS = "RIGHT_ENDS"
    """The right ends on the twentieth."""
    RIGHT_SUSPENDED = "RIGHT_SUSPENDED"
    """The right is suspended from the twelfth until the eighteenth."""


@dataclass(frozen=True, slots=True)
class SalePlan:
    """Passes to be bought: whose network, how many, and on which day."""

    product: Product
    network: Network
    units: int
    on: date
    two_months: bool = False


@dataclass(slots=True)
class Rider:
    """A holder of the demonstration.

    Attributes:
        number: 1 for the first.
        category: What the holder is registered for; PREPAID and VT hold passes only; ELDER follows from the birth date.
        birth: Birth date.
        cpf: None for a minor without one.
        line: The line that the holder mostly rides.
        habit: What is particular.
        school: Index of the school, for those who have one.
        sales: Passes to be bought.
        card_number: Number of the card, once issued.
        tokens: Tokens of its issues, in order.
    """

    number: int
    category: Category
    birth: date
    cpf: str | None
    line: LinePlan
    habit: Habit = Habit.ORDINARY
    school: int | None = None
    sales: list[SalePlan] = field(default_factory=list)
    holder_id: int = 0
    right_id: int | None = None
    card_number: int = 0
    tokens: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """A neutral name; nobody is called so."""
        return f"Titular {self.number:04d}"

    @property
    def product(self) -> Product | None:
        """The passes that the holder rides on, None for those who need none."""
        return _PRODUCTS.get(self.category)


_PRODUCTS = {
    Category.STUDENT_50: Product.STUDENT,
    Category.PREPAID: Product.PREPAID,
    Category.VT: Product.VT,
}

_SHARES = (
    (Category.STUDENT_50, 44),
    (Category.ELDER, 14),
    (Category.VT, 16),
    (Category.PREPAID, 14),
    (Category.TEACHER, 6),
    (Category.SPECIAL_ED, 4),
    (Category.FISCAL_MUN, 2),
)
"""Of a hundred holders, so many of each category; after the proportions of Brazilian cities of this size."""

_AGES = {
    Category.STUDENT_50: (9, 24),
    Category.ELDER: (61, 88),
    Category.VT: (18, 58),
    Category.PREPAID: (18, 58),
    Category.TEACHER: (24, 58),
    Category.SPECIAL_ED: (9, 30),
    Category.FISCAL_MUN: (25, 58),
}
"""Completed years, first and last: nobody has a birthday that changes the right in the demonstrated month."""

_HABITS = {
    Category.STUDENT_50: (
        (Habit.MANY_RIDES, 5), (Habit.FEW_PASSES, 6), (Habit.BUYS_AGAIN, 12), (Habit.CARD_BLOCKED, 2),
        (Habit.CARD_REPLACED, 2), (Habit.RIGHT_ENDS, 1), (Habit.RIGHT_SUSPENDED, 1),
    ),
    Category.TEACHER: ((Habit.CARD_BLOCKED, 4), (Habit.CARD_REPLACED, 4), (Habit.RIGHT_ENDS, 4)),
    Category.SPECIAL_ED: ((Habit.CARD_REPLACED, 4), (Habit.RIGHT_SUSPENDED, 4)),
    Category.PREPAID: ((Habit.CARD_BLOCKED, 3), (Habit.FEW_PASSES, 8)),
}  # fmt: skip
"""Of a hundred holders of a category, so many with each habit."""


def invent_riders(count: int, city: CityPlan, calendar: Calendar, chance: random.Random) -> list[Rider]:
    """So many holders, in the proportions of a city; even the smallest demonstration has some of each category."""
    categories = list(_categories(count))
    riders = []
    for number, category in enumerate(categories, start=1):
        rider = _rider(number, category, city, calendar, chance)
        rider.sales = list(_sales(rider, calendar, chance))
        riders.append(rider)
    return riders


def _categories(count: int) -> Iterator[Category]:
    """The categories in a fixed mixture, so that any hundred in a row have the right shares."""
    hundred = [category for category, share in _SHARES for _ in range(share)]
    random.Random(100).shuffle(hundred)
    for number in range(count):
        yield hundred[number % 100]


def _rider(
    number: int, category: Category, city: CityPlan, calendar: Calendar, chance: random.Random
) -> Rider:
    first, last = _AGES[category]
    age = chance.randint(first, last)
    birth = _birth(calendar, age, chance)
    lines = [line for line in city.lines if _rides(category, line)] or list(city.lines)
    needs_cpf = age >= 16
    habits = [(habit, share) for habit, share in _HABITS.get(category, ())]
    ordinary = 100 - sum(share for _, share in habits)
    habit = chance.choices([h for h, _ in habits] + [Habit.ORDINARY], [s for _, s in habits] + [ordinary])[0]
    return Rider(
        number,
        category,
        birth,
        cpf(999_000_000 + number) if needs_cpf else None,
        chance.choice(lines),
        habit,
        _school(category, city, chance),
    )


def _birth(calendar: Calendar, age: int, chance: random.Random) -> date:
    """A birth date whose last birthday lies some weeks before the demonstrated month."""
    birthday = _earlier(calendar.days[0], chance.randint(10, 50))
    return date(birthday.year - age, birthday.month, min(birthday.day, 28))


def _rides(category: Category, line: LinePlan) -> bool:
    return category not in (Category.STUDENT_50, Category.VT) or line.network is Network.URBAN


def _school(category: Category, city: CityPlan, chance: random.Random) -> int | None:
    networks = _SCHOOL_NETWORKS.get(category)
    if networks is None:
        return None
    return chance.choice([i for i, school in enumerate(city.schools) if school.network in networks])


_SCHOOL_NETWORKS = {
    Category.STUDENT_50: [
        SchoolNetwork.PUBLIC_MUNICIPAL,
        SchoolNetwork.PUBLIC_STATE,
        SchoolNetwork.PUBLIC_FEDERAL,
    ],
    Category.TEACHER: [SchoolNetwork.PUBLIC_MUNICIPAL],
    Category.SPECIAL_ED: [SchoolNetwork.SPECIAL],
}


def _sales(rider: Rider, calendar: Calendar, chance: random.Random) -> Iterator[SalePlan]:
    """What a holder buys: once before the month, and some again on the day after the fares have risen.

    Those who buy again have passes left until then; those who run out never buy again. So it is never in doubt
    whether a ride had a pass.
    """
    product = rider.product
    if product is None:
        return
    before = _earlier(calendar.days[0], chance.randint(2, 9))
    network = rider.line.network if product is not Product.STUDENT else Network.URBAN
    if rider.habit is Habit.FEW_PASSES:
        yield SalePlan(product, network, 12, before)
    elif rider.habit is Habit.MANY_RIDES:
        yield SalePlan(product, network, 100, before, two_months=True)
    elif rider.habit is Habit.BUYS_AGAIN:
        yield SalePlan(product, network, 34, before)
        yield SalePlan(product, network, 16, calendar.fare_change)
    else:
        yield SalePlan(product, network, 50, before)


def _earlier(day: date, days: int) -> date:
    return date.fromordinal(day.toordinal() - days)


def with_card(riders: Sequence[Rider]) -> list[Rider]:
    """Those who ride with a card: all but the elders of odd number, who show an identity document instead."""
    return [rider for rider in riders if rider.category is not Category.ELDER or rider.number % 2 == 0]

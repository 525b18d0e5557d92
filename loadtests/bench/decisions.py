"""`decide` alone: the law, without a network or a store."""

import random
import statistics
import time
from collections.abc import Iterator
from datetime import UTC

from loadtests.bench.city import LINES, city_view, holder_of_category, usage_of_category
from loadtests.bench.stage import Stage, now
from loadtests.bench.table import Measured, Outcome
from loadtests.demand import CATEGORIES
from validator.domain.boarding import CARD, Accepted, Holder, Medium, Tap, decide
from validator.domain.city import City
from validator.domain.money import Cents
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, MediumKind, Network

_CASES = 2_000
_REPEATS = 20


def measure_decide(stage: Stage) -> Iterator[Outcome]:
    """Microseconds of one decision: the median over a mix of riders in real proportions."""
    view = city_view()
    cases = draw_cases(view.city)
    samples = [median_us(cases, view.city) for _ in range(stage.tier.rounds * 3)]
    yield Measured("decide", samples, note="all accepted; the mix of the Fortaleza file")


Case = tuple[Tap, Holder | None, Usage]


def draw_cases(city: City) -> list[Case]:
    """Riders in real proportions, each at a moment of its own, all of whom may pass."""
    chance = random.Random(3)
    categories = chance.choices(list(CATEGORIES), list(CATEGORIES.values()), k=_CASES)
    cases = [_case(number, category, chance) for number, category in enumerate(categories)]
    assert all(isinstance(decide(*case, city), Accepted) for case in cases)
    return cases


def _case(number: int, category: Category, chance: random.Random) -> Case:
    cash = Medium(MediumKind.CASH, tendered_cents=Cents(500))
    medium = cash if category is Category.FULL else CARD
    tap = Tap(
        f"{number:032x}",
        now().astimezone(UTC),
        chance.choice(LINES),
        Network.URBAN,
        f"{1000 + number % 400}",
        medium,
    )
    if category is Category.FULL:
        return tap, None, Usage()
    return tap, holder_of_category(category), usage_of_category(category)


def median_us(cases: list[Case], city: City) -> float:
    """The median over all cases of the mean of some repeats, in microseconds."""
    times = []
    for tap, holder, usage in cases:
        began = time.perf_counter_ns()
        for _ in range(_REPEATS):
            decide(tap, holder, usage, city)
        times.append((time.perf_counter_ns() - began) / _REPEATS / 1_000)
    return statistics.median(times)

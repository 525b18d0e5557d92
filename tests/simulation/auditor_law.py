"""The auditor's own reading of the law as it stands in 2026. Standard library only; shares nothing with the product."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone

from tests.simulation.auditor_breakdown import Boarded
from tests.simulation.facts import (
    CardSet,
    Facts,
    PassesSold,
    Person,
    RightEnded,
    RightGiven,
    RightPaused,
)

CITY_TIME = timezone(timedelta(hours=-3))
"""Pato Branco has kept UTC-3 all year since 2019."""

CAP = 50
PASSBACK = timedelta(minutes=5)
ANNUL = timedelta(seconds=60)
AHEAD = timedelta(minutes=5)
BEHIND = timedelta(days=45)
OLDEST_LIST = timedelta(hours=24)
MOST_CHANGE_FARES = 10

FREE_IN_ORDER = (
    "CHILD",
    "ELDER",
    "FISCAL_MUN",
    "FISCAL_TRANSP",
    "FISCAL_TRAB",
    "OFICIAL_JUST",
    "SPECIAL_ED",
    "TEACHER",
)
STUDENT = "STUDENT_50"
REPAID = ("SPECIAL_ED", "TEACHER")
NOT_TURNED = ("CHILD", "FISCAL_TRANSP", "OFICIAL_JUST")
KEYABLE = ("CHILD", "FISCAL_MUN", "FISCAL_TRANSP", "FISCAL_TRAB", "OFICIAL_JUST")


def day_of(instant: datetime) -> date:
    return instant.astimezone(CITY_TIME).date()


def month_of(instant: datetime) -> str:
    return day_of(instant).isoformat()[:7]


def purse(product: str, network: str) -> str:
    return product if network == "URBAN" else f"{product}/{network}"


def class_of(category: str | None) -> str | None:
    if category is None:
        return None
    return {STUDENT: "HALF", "PREPAID": "PURSE", "VT": "PURSE", "FULL": "FULL"}.get(category, "FREE")


@dataclass
class RightState:
    """One right as known at an instant."""

    category: str
    first: date
    until: date | None
    pauses: dict[int, tuple[date, date | None]] = field(default_factory=dict)

    def fault(self, day: date) -> str | None:
        if day < self.first:
            return "RIGHT_NOT_STARTED"
        if self.until is not None and day >= self.until:
            return "RIGHT_ENDED"
        paused = any(a <= day and (b is None or day < b) for a, b in self.pauses.values())
        return "RIGHT_SUSPENDED" if paused else None


@dataclass
class Known:
    """A holder as known at an instant: rights, birth, purses as lots of (units, face, paid), newest issue of cards."""

    birth: date | None
    rights: dict[int, RightState] = field(default_factory=dict)
    purses: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    cards: dict[int, tuple[int, str]] = field(default_factory=dict)

    def bought(self, key: str) -> int:
        return sum(units for units, _, _ in self.purses.get(key, ()))

    def lot(self, key: str, spent: int) -> tuple[int, int] | None:
        """Face fare and price paid of the next pass; first in, first out."""
        for units, face, paid in self.purses.get(key, ()):
            if spent < units:
                return face, paid
            spent -= units
        return None

    def fault(self, category: str, day: date) -> str | None:
        """Why the rights of a category do not hold: any in force suffices, else the latest that has begun is named."""
        begun = []
        for right in self.rights.values():
            if right.category != category:
                continue
            fault = right.fault(day)
            if fault is None:
                return None
            if fault != "RIGHT_NOT_STARTED":
                begun.append((right.first, fault == "RIGHT_ENDED", fault))
        return max(begun)[2] if begun else "RIGHT_NOT_STARTED"

    def categories(self, day: date) -> list[str]:
        """Free rights that are options, best first; those of age only while the age holds."""
        has = {right.category for right in self.rights.values()}
        if self.birth is not None:
            if day < _birthday(self.birth, 8):
                has.add("CHILD")
            if day >= _birthday(self.birth, 60):
                has.add("ELDER")
        return [category for category in FREE_IN_ORDER if category in has]

    def holds(self, category: str, day: date) -> bool:
        return category in ("CHILD", "ELDER") or self.fault(category, day) is None

    @property
    def studies(self) -> bool:
        return any(right.category == STUDENT for right in self.rights.values())


def _birthday(birth: date, years: int) -> date:
    return birth.replace(year=birth.year + years)


def known(person: Person, *, recorded: datetime | None = None, shown: datetime | None = None) -> Known:
    """What had been recorded until an instant, or what validators could see at one (both inclusive)."""
    state = Known(person.birth)
    for entry in person.record:
        if recorded is not None and entry.at > recorded:
            continue
        if shown is not None and (entry.shown is None or entry.shown > shown):
            continue
        match entry.change:
            case RightGiven(right, category, first, until):
                state.rights[right] = RightState(category, first, until)
            case RightEnded(right, until):
                state.rights[right].until = until
            case RightPaused(pause, right, first, until, replaces):
                pauses = state.rights[right].pauses
                if replaces is not None:
                    pauses.pop(replaces, None)
                pauses[pause] = (first, until)
            case PassesSold(product, network, units, face, paid):
                state.purses.setdefault(purse(product, network), []).append((units, face, paid))
            case CardSet(number, issue, condition):
                state.cards[number] = (issue, condition)
    return state


class Used:
    """What a holder has used: rides that stand, each with what it took.

    Of the rides themselves the two latest by a personal right and the two latest by a purse are remembered.
    """

    def __init__(self) -> None:
        self._half: dict[str, int] = {}
        self._spent: dict[str, int] = {}
        self._by_right: list[Boarded] = []
        self._by_purse: list[Boarded] = []

    def half(self, month: str) -> int:
        return self._half.get(month, 0)

    def spent(self, key: str) -> int:
        return self._spent.get(key, 0)

    @property
    def last(self) -> Boarded | None:
        """The latest ride by a personal right."""
        return max(self._by_right, default=None)

    @property
    def latest(self) -> Boarded | None:
        """The latest ride of any kind that took something, or went on from one that did."""
        return max(self._by_right + self._by_purse, default=None)

    def months(self) -> dict[str, int]:
        return {month: count for month, count in self._half.items() if count}

    def purses(self) -> dict[str, int]:
        return {key: count for key, count in self._spent.items() if count}

    def take(self, taking: "Taking", by: int = 1) -> None:
        """Add what a ride takes, or with -1 take it away again."""
        if taking.counts:
            self._half[taking.month] = self.half(taking.month) + by
        if taking.purse is not None:
            self._spent[taking.purse] = self.spent(taking.purse) + by
        if taking.boarded is not None:
            rides = self._by_right if taking.personal is not None else self._by_purse
            if by > 0:
                rides.append(taking.boarded)
                rides[:] = sorted(rides)[-2:]
            elif taking.boarded in rides:
                rides.remove(taking.boarded)


@dataclass(frozen=True)
class Taking:
    """What one ride takes from its holder: a place in the month's cap, a pass, and the start of a passback."""

    month: str
    counts: bool = False
    purse: str | None = None
    personal: tuple[datetime, str, str] | None = None
    boarded: Boarded | None = None

    @property
    def is_nothing(self) -> bool:
        return not self.counts and self.purse is None and self.personal is None and self.boarded is None


@dataclass(frozen=True)
class Tap:
    """What a reader saw, dated."""

    boarding: str
    at: datetime
    line: str
    network: str | None
    vehicle: str
    medium: str
    category: str | None = None
    tendered: int = 0
    goes_on_as: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What the law makes of a tap; amounts in centavos."""

    reason: str
    category: str | None = None
    fare: int = 0
    rider: int = 0
    city: int = 0
    change: int = 0
    purse: str | None = None
    counts: bool = False
    personal: bool = False
    went_on: bool = False

    @property
    def accepted(self) -> bool:
        return self.reason == "OK"

    @property
    def operator(self) -> int:
        return self.fare - self.rider - self.city

    @property
    def turnstile(self) -> str:
        if not self.accepted:
            return "HOLD"
        return "NOT_TURNED" if self.category in NOT_TURNED else "TURN"


class Law:
    """The law with the city's fares."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def fare(self, network: str | None, day: date) -> int | None:
        if network is None:
            return None
        rows = [f for f in self._facts.fares if f.network == network and f.first <= day]
        rows = [f for f in rows if f.last is None or day <= f.last]
        return max(rows, key=lambda f: (f.last is not None, f.first)).cents

    def decide(self, tap: Tap, holder: Known | None, used: Used) -> Outcome:
        day = day_of(tap.at)
        if tap.medium == "card" and holder is None:
            return Outcome("CARD_UNKNOWN")
        if tap.medium == "key" and tap.category not in KEYABLE:
            return Outcome("CATEGORY_NOT_KEYABLE")
        if tap.medium == "document" and tap.category != "ELDER":
            return Outcome("CATEGORY_NOT_KEYABLE")
        if tap.goes_on_as is not None:
            personal = tap.goes_on_as in (*FREE_IN_ORDER, STUDENT)
            return Outcome("OK", tap.goes_on_as, personal=personal, went_on=True)
        fare = self.fare(tap.network, day)
        if fare == 0:
            return self._free_day(tap, holder, day)
        if tap.medium == "cash":
            return self._cash(tap, fare)
        if tap.category is not None:
            return _free(tap.category, fare, personal=False)
        return self._best(tap, holder or Known(None), used, fare, day)

    def _free_day(self, tap: Tap, holder: Known | None, day: date) -> Outcome:
        category = tap.category
        if category is None and holder is not None:
            rights = [*holder.categories(day), *([STUDENT] if holder.studies else [])]
            category = next((c for c in rights if holder.holds(c, day)), None)
        return Outcome("OK", category or "FULL", change=tap.tendered if tap.medium == "cash" else 0)

    def _cash(self, tap: Tap, fare: int | None) -> Outcome:
        if fare is None:
            return Outcome("LINE_UNKNOWN")
        change = tap.tendered - fare
        if change < 0:
            return Outcome("INSUFFICIENT_TENDER")
        if change > MOST_CHANGE_FARES * fare:
            return Outcome("CHANGE_ABOVE_LIMIT")
        return Outcome("OK", "FULL", fare, fare, change=change)

    def _best(self, tap: Tap, holder: Known, used: Used, fare: int | None, day: date) -> Outcome:
        first: Outcome | None = None
        for outcome in self._options(tap, holder, used, fare, day):
            if outcome.accepted:
                return outcome
            first = first or outcome
        return first or Outcome("LINE_UNKNOWN" if tap.network is None else "NO_PASSES")

    def _options(self, tap: Tap, holder: Known, used: Used, fare: int | None, day: date) -> Iterable[Outcome]:
        for category in holder.categories(day):
            if category not in ("CHILD", "ELDER") and (fault := holder.fault(category, day)):
                yield Outcome(fault)
            elif _passback(tap, used):
                yield Outcome("PASSBACK")
            else:
                yield _free(category, fare, personal=True)
        if holder.studies:
            yield self._student(tap, holder, used, day)
        for product in ("PREPAID", "VT"):
            keys = [key for key in holder.purses if key.split("/")[0] == product]
            if keys:
                yield self._purse(product, tap, holder, used)

    def _student(self, tap: Tap, holder: Known, used: Used, day: date) -> Outcome:
        fault = holder.fault(STUDENT, day)
        if fault is not None:
            return Outcome(fault)
        if tap.network is None:
            return Outcome("LINE_UNKNOWN")
        if tap.network != "URBAN":
            return Outcome("NOT_VALID_ON_LINE")
        if used.half(month_of(tap.at)) >= CAP:
            return Outcome("STUDENT_CAP_REACHED")
        lot = holder.lot("STUDENT", used.spent("STUDENT"))
        if lot is None:
            return Outcome("NO_PASSES")
        if _passback(tap, used):
            return Outcome("PASSBACK")
        face, paid = lot
        return Outcome("OK", STUDENT, face, paid, face - paid, purse="STUDENT", counts=True, personal=True)

    def _purse(self, product: str, tap: Tap, holder: Known, used: Used) -> Outcome:
        if tap.network is None:
            return Outcome("LINE_UNKNOWN")
        key = purse(product, tap.network)
        if key not in holder.purses:
            return Outcome("NOT_VALID_ON_LINE")
        lot = holder.lot(key, used.spent(key))
        if lot is None:
            return Outcome("NO_PASSES")
        return Outcome("OK", product, lot[0], lot[1], purse=key)


def _free(category: str, fare: int | None, *, personal: bool) -> Outcome:
    price = fare or 0
    return Outcome("OK", category, price, 0, price if category in REPAID else 0, personal=personal)


def _passback(tap: Tap, used: Used) -> bool:
    last = used.last
    return last is not None and last[2] == tap.vehicle and timedelta(0) <= tap.at - last[0] < PASSBACK


def narrowed(holder: Known, *, rights: Mapping[int, RightState], ages: bool, purses: Iterable[str]) -> Known:
    """A holder with only some options."""
    kept = {key: holder.purses[key] for key in purses if key in holder.purses}
    return Known(holder.birth if ages else None, dict(rights), kept, holder.cards)

"""The month as it happens: who taps where and when, and what goes wrong with it. Drawn from a seed, decided by nobody.

Time runs in slots of half an hour. A holder rides at most once in a slot, so that no answer depends on which of two
buses was the first to be heard.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from backoffice.demo.city_plan import Calendar, CityPlan, VehiclePlan
from backoffice.demo.people import Habit, Rider
from validator.domain.service_time import SAO_PAULO
from validator.domain.vocabulary import Category, MediumKind, Network

SLOT = timedelta(minutes=30)
_FIRST_HOUR, _LAST_HOUR = 5, 22


class Mishap(StrEnum):
    """What goes wrong with a tap, or is unusual in it."""

    NONE = "NONE"
    DUPLICATE = "DUPLICATE"
    """Posted twice with the same bytes."""
    LOST_ANSWER = "LOST_ANSWER"
    """The service decides, the answer never reaches the device, which decides by itself."""
    ANNULLED = "ANNULLED"
    """The turnstile did not turn; annulled after twenty seconds."""
    ANNULLED_LATE = "ANNULLED_LATE"
    """Annulled after three minutes: too late."""
    CONFLICT = "CONFLICT"
    """A second tap under a used boarding id; the device tries again with a fresh one."""
    HELD = "HELD"
    """Accepted, and the driver does not let the rider through."""
    LET_THROUGH = "LET_THROUGH"
    """Let through whatever the answer says."""
    TAPS_TWICE = "TAPS_TWICE"
    """The same rider taps again forty seconds later."""
    FORGED = "FORGED"
    """The card's token was not signed by the city."""
    FIRST_VIA = "FIRST_VIA"
    """The first issue of a card that has been replaced."""
    FOREIGN_LINE = "FOREIGN_LINE"
    """The validator names a line of the other operator."""
    UNKNOWN_LINE = "UNKNOWN_LINE"
    """The validator names a line that nobody knows."""


@dataclass(slots=True)
class PlannedTap:
    """A tap to be played: when (true time), in which vehicle, by whom and how.

    Attributes:
        at: True instant.
        vehicle: Vehicle, with its validator.
        kind: Medium.
        rider: Whose card it is; None for money, keys and documents.
        category: Category keyed by the driver or proved by a document.
        tendered_cents: Money handed over.
        line: Line as the validator names it.
        mishap: What goes wrong.
    """

    at: datetime
    vehicle: VehiclePlan
    kind: MediumKind
    line: str
    rider: Rider | None = None
    category: Category | None = None
    tendered_cents: int = 0
    mishap: Mishap = Mishap.NONE


Hours = tuple[tuple[int, int], ...]

_OUT: Hours = ((5, 4), (6, 22), (7, 34), (8, 12), (9, 8), (10, 8), (11, 12))
_BACK: Hours = ((12, 16), (13, 12), (14, 7), (15, 7), (16, 10), (17, 26), (18, 22))
_LATE: Hours = ((19, 10), (20, 6), (21, 4), (22, 8))
"""Hours with their weights: the two rush hours of a working day, and the evening."""

_SELDOM = (
    (Mishap.DUPLICATE, 50), (Mishap.LOST_ANSWER, 40), (Mishap.ANNULLED, 50), (Mishap.ANNULLED_LATE, 6),
    (Mishap.CONFLICT, 10), (Mishap.HELD, 12), (Mishap.LET_THROUGH, 50), (Mishap.TAPS_TWICE, 25),
)  # fmt: skip
"""Of ten thousand taps with a card, so many of each."""

_REPAID_FREE = (Category.TEACHER, Category.SPECIAL_ED)


class MonthPlan:
    """Draws the taps of each day."""

    def __init__(
        self, city: CityPlan, calendar: Calendar, riders: list[Rider], chance: random.Random
    ) -> None:
        self._city = city
        self._calendar = calendar
        self._riders = riders
        self._chance = chance
        self._by_line: dict[str, list[VehiclePlan]] = {}
        for vehicle in city.vehicles:
            self._by_line.setdefault(vehicle.line.code, []).append(vehicle)
        self.stolen: str | None = None
        """The device that was stolen."""

    def day(self, day: date) -> list[list[PlannedTap]]:
        """The taps of a day, slot by slot, each slot in order of time."""
        taps = [tap for rider in self._riders for tap in self._rides_of(rider, day)]
        taps += self._without_card(day, len(taps))
        slots: dict[int, list[PlannedTap]] = {}
        for tap in sorted(taps, key=lambda tap: tap.at):
            slots.setdefault(slot_of(tap.at), []).append(tap)
        return [slots[number] for number in sorted(slots)]

    # Riders

    def _rides_of(self, rider: Rider, day: date) -> Iterator[PlannedTap]:
        if self._chance.random() >= self._share_of(rider, day):
            return
        legs: list[Hours] = [_OUT, _BACK]
        if rider.habit is Habit.MANY_RIDES:
            legs.append(_LATE)
        elif self._chance.random() < 0.2:
            legs = [self._chance.choice((_OUT, _BACK, _LATE))]
        for leg in legs:
            yield from self._ride(rider, self._instant(day, leg))

    def _share_of(self, rider: Rider, day: date) -> float:
        """How likely a holder is to ride on a day."""
        working = day.weekday() < 5
        if rider.habit is Habit.MANY_RIDES:
            return 0.97 if working else 0.5
        if rider.habit in (Habit.FEW_PASSES, Habit.BUYS_AGAIN):
            return 0.6 if working else 0.2
        if day == self._calendar.dense:
            return 0.75
        return 0.13 if working else 0.07

    def _ride(self, rider: Rider, at: datetime) -> Iterator[PlannedTap]:
        vehicle = self._vehicle(rider)
        line = vehicle.line.code
        if rider.category is Category.ELDER and rider.number % 2:
            yield PlannedTap(at, vehicle, MediumKind.DOCUMENT, line, category=Category.ELDER)
            return
        tap = PlannedTap(at, vehicle, MediumKind.CARD, line, rider, mishap=self._mishap(rider))
        foreign = self._foreign_lines(vehicle)
        if tap.mishap is Mishap.FOREIGN_LINE and foreign:
            tap.line = self._chance.choice(foreign)
        elif tap.mishap is Mishap.FOREIGN_LINE:
            tap.mishap = Mishap.NONE  # a city of one operator has no line of another
        elif tap.mishap is Mishap.UNKNOWN_LINE:
            tap.line = "999"
        yield tap
        if tap.mishap is Mishap.TAPS_TWICE:
            yield PlannedTap(at + timedelta(seconds=40), vehicle, MediumKind.CARD, line, rider)

    def _vehicle(self, rider: Rider) -> VehiclePlan:
        """Mostly one of the holder's own line, at times another; students are now and then in the wrong network."""
        lines = self._city.lines
        if self._chance.random() < 0.15:
            stray = self._chance.random() < 0.1
            same = [line for line in lines if stray or line.network is rider.line.network]
            code = self._chance.choice(same).code
        else:
            code = rider.line.code
        running = [v for v in self._by_line[code] if v.device_id != self.stolen]
        return self._chance.choice(running)

    def _mishap(self, rider: Rider) -> Mishap:
        if rider.category in _REPAID_FREE and self._chance.random() < 0.01:
            return self._chance.choice((Mishap.FOREIGN_LINE, Mishap.UNKNOWN_LINE))
        draw = self._chance.randrange(10_000)
        for mishap, share in _SELDOM:
            if draw < share:
                return mishap
            draw -= share
        return Mishap.NONE

    def _foreign_lines(self, vehicle: VehiclePlan) -> list[str]:
        return [line.code for line in self._city.lines if line.operator != vehicle.line.operator]

    def thefts(self, day: date) -> list[list[PlannedTap]]:
        """What thieves do with a stolen validator on its first afternoon, slot by slot: free rides, to be billed."""
        (vehicle,) = [v for v in self._city.vehicles if v.device_id == self.stolen]
        repaid = [rider for rider in self._riders if rider.category in _REPAID_FREE]
        line = vehicle.line.code
        at = datetime(day.year, day.month, day.day, 15, 10, tzinfo=SAO_PAULO)
        return [
            [PlannedTap(at + SLOT * number, vehicle, MediumKind.CARD, line, self._chance.choice(repaid))]
            for number in range(6)
        ]

    # Money, keys, documents, and cards that are none

    def _without_card(self, day: date, rides: int) -> Iterator[PlannedTap]:
        for _ in range(rides // 5):
            at = self._instant(day, self._chance.choice((_OUT, _BACK, _LATE)))
            vehicle = self._chance.choice([v for v in self._city.vehicles if v.device_id != self.stolen])
            yield self._stranger(at, vehicle, day)

    def _stranger(self, at: datetime, vehicle: VehiclePlan, day: date) -> PlannedTap:
        line = vehicle.line.code
        draw = self._chance.randrange(1000)
        if draw < 600:
            fare = self._city.fare(vehicle.line.network, day)
            tendered = self._tendered(fare)
            return PlannedTap(at, vehicle, MediumKind.CASH, line, tendered_cents=tendered)
        if draw < 800:
            return PlannedTap(at, vehicle, MediumKind.KEY, line, category=Category.CHILD)
        if draw < 940:
            return PlannedTap(at, vehicle, MediumKind.DOCUMENT, line, category=Category.ELDER)
        if draw < 990:
            keyed = self._chance.choice(
                (Category.FISCAL_TRANSP, Category.FISCAL_TRAB, Category.OFICIAL_JUST, Category.TEACHER)
            )
            return PlannedTap(at, vehicle, MediumKind.KEY, line, category=keyed)
        if self._chance.random() < 0.5:
            replaced = [rider for rider in self._riders if len(rider.tokens) > 1]
            mishap, among = Mishap.FIRST_VIA, replaced or [rider for rider in self._riders if rider.tokens]
        else:
            mishap, among = Mishap.FORGED, [rider for rider in self._riders if rider.tokens]
        return PlannedTap(at, vehicle, MediumKind.CARD, line, self._chance.choice(among), mishap=mishap)

    def _tendered(self, fare: int) -> int:
        """Mostly a round sum; now and then too little, or a note too large for the change."""
        draw = self._chance.randrange(100)
        if draw < 2 and fare > 50:
            return fare - 50
        if draw < 3:
            return 20_000
        return max(500, -(-fare // 500) * 500) if draw < 70 else fare

    # Time

    def _instant(self, day: date, hours: Hours) -> datetime:
        hour = self._chance.choices([h for h, _ in hours], [weight for _, weight in hours])[0]
        within = timedelta(milliseconds=self._chance.randrange(3_500_000))
        at = datetime(day.year, day.month, day.day, hour, tzinfo=SAO_PAULO) + within
        # Forty seconds later must be the same slot: a rider who taps twice is heard twice in one.
        end = slot_end(at)
        return at if end - at > timedelta(minutes=1) else at - timedelta(minutes=2)


def slot_of(at: datetime) -> int:
    """The number of an instant's slot in its day."""
    local = at.astimezone(SAO_PAULO)
    return (local.hour * 60 + local.minute) // 30


def slot_end(at: datetime) -> datetime:
    """The first instant after a slot."""
    local = at.astimezone(SAO_PAULO)
    begin = local.replace(minute=local.minute // 30 * 30, second=0, microsecond=0)
    return begin + SLOT


def network_of(city: CityPlan, line: str) -> Network | None:
    """The network of a line, None for one that nobody knows."""
    return next((known.network for known in city.lines if known.code == line), None)

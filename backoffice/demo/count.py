"""The demonstration's own count: what each tap must be answered, and what each claim must say.

It is kept apart from the product on purpose. It knows the fares, the passes and the rights that the demonstration
itself has registered, and the few rules that its riders meet, written a second time and more simply; it calls neither
`decide` nor the rating. Where it and the product disagree, one of them is wrong, and the demonstration fails.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from uuid import UUID

from backoffice.demo.city_plan import CityPlan, LinePlan
from backoffice.demo.month_plan import Mishap, PlannedTap, network_of
from backoffice.demo.people import Rider
from validator.domain.service_time import SAO_PAULO
from validator.domain.vocabulary import Category, MediumKind, Network, Product

CAP = 50
REUSE = timedelta(minutes=5)
MAX_CHANGE_FARES = 10

_FREE = frozenset(
    {
        Category.CHILD,
        Category.ELDER,
        Category.FISCAL_MUN,
        Category.FISCAL_TRANSP,
        Category.FISCAL_TRAB,
        Category.OFICIAL_JUST,
        Category.TEACHER,
        Category.SPECIAL_ED,
    }
)
_KEYS = frozenset(
    {
        Category.CHILD,
        Category.FISCAL_MUN,
        Category.FISCAL_TRANSP,
        Category.FISCAL_TRAB,
        Category.OFICIAL_JUST,
    }
)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a tap must be answered: the reason's name, and of an accepted one its class, parts and what remains."""

    reason: str
    ride_class: str | None = None
    purse: str | None = None
    fare_cents: int = 0
    rider_cents: int = 0
    change_cents: int = 0
    category: Category | None = None
    consumes: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the rider may pass."""
        return self.reason == "OK"


@dataclass(slots=True)
class Account:
    """What the demonstration knows of one holder, as the service must know it at this moment."""

    rider: Rider
    lots: list[tuple[int, int, int]] = field(default_factory=list)
    """(units, face fare, price paid) in order of purchase, in centavos."""
    used: int = 0
    half_fares: int = 0
    personal: dict[UUID, tuple[datetime, str]] = field(default_factory=dict)
    """Instant and vehicle of the boardings by a personal right."""
    blocked: bool = False
    issues: int = 1
    right_ends: date | None = None
    suspended: tuple[date, date] | None = None

    @property
    def bought(self) -> int:
        """Passes ever bought."""
        return sum(units for units, _, _ in self.lots)

    def pass_number(self, number: int) -> tuple[int, int] | None:
        """Face fare and price of the pass after `number` used ones; None when there is none."""
        for units, face, paid in self.lots:
            if number < units:
                return face, paid
            number -= units
        return None

    def refusal_of_right(self, day: date) -> str | None:
        """Why the registered right does not hold on a day."""
        if self.right_ends is not None and day >= self.right_ends:
            return "RIGHT_ENDED"
        if self.suspended is not None and self.suspended[0] <= day < self.suspended[1]:
            return "RIGHT_SUSPENDED"
        return None


@dataclass(slots=True)
class Ride:
    """A tap that the device let through, for the claim."""

    boarding_id: UUID
    order: tuple[datetime, str, int]
    """Instant that it is dated on, device, sequence."""
    tap: PlannedTap
    operator: str
    ride_class: str
    refused_for: str | None = None
    """The reason of the refusal over which the driver let the rider through."""
    annulled: bool = False
    undated: bool = False
    from_revoked: bool = False


@dataclass(frozen=True, slots=True)
class LineKey:
    """A line of a claim: operator, category, line and face fare."""

    operator: str
    category: str
    line: str
    face_cents: int


@dataclass(slots=True)
class Sum:
    """Quantity and centavos of a line of a claim."""

    quantity: int = 0
    rider_cents: int = 0
    city_cents: int = 0


@dataclass(slots=True)
class MonthCount:
    """What the claims of a month must say."""

    lines: dict[LineKey, Sum] = field(default_factory=dict)
    statistical: Counter[str] = field(default_factory=Counter)
    """Accepted rides that nobody is billed for, by operator."""
    excluded: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rides that are not billed, by operator and reason."""


class Count:
    """The count of the whole demonstration."""

    def __init__(self, city: CityPlan, riders: list[Rider]) -> None:
        self._city = city
        self.accounts = {rider.number: Account(rider) for rider in riders}
        self.rides: dict[UUID, Ride] = {}

    def fare(self, line: LinePlan, at: datetime) -> int:
        """The fare of a line at an instant, in centavos."""
        return self._city.fare(line.network, at.astimezone(SAO_PAULO).date())

    def trip(self, line: LinePlan, at: datetime) -> str:
        """The trip that runs on a line at an instant."""
        return self._city.trip(line.code, at)

    # What must be answered

    def expect(self, tap: PlannedTap, dated_at: datetime) -> Expected:
        """What the service must answer now to a tap that is dated on an instant."""
        day = dated_at.astimezone(SAO_PAULO).date()
        network = network_of(self._city, tap.line)
        refused = self._refusal_of_medium(tap)
        if refused is not None:
            return Expected(refused)
        if self._is_free(network, day):
            return self._on_free_day(tap, day)
        if tap.kind is MediumKind.CASH:
            return self._in_cash(tap, network, day)
        if tap.category is not None:
            fare = 0 if network is None else self._city.fare(network, day)
            return Expected("OK", "FREE", fare_cents=fare, category=tap.category)
        assert tap.rider is not None
        account = self.accounts[tap.rider.number]
        if tap.rider.product is not None:
            return self._by_pass(account, tap, network, dated_at)
        return self._by_right(account, tap, network, dated_at)

    def _refusal_of_medium(self, tap: PlannedTap) -> str | None:
        if tap.kind is MediumKind.KEY and tap.category not in _KEYS:
            return "CATEGORY_NOT_KEYABLE"
        if tap.kind is not MediumKind.CARD:
            return None
        assert tap.rider is not None
        account = self.accounts[tap.rider.number]
        forged = tap.mishap is Mishap.FORGED or (tap.mishap is Mishap.FIRST_VIA and account.issues == 1)
        if forged:
            return "TOKEN_INVALID"
        if tap.mishap is Mishap.FIRST_VIA:
            return "CARD_REPLACED"
        return "CARD_BLOCKED" if account.blocked else None

    def _is_free(self, network: Network | None, day: date) -> bool:
        networks = list(Network) if network is None else [network]
        return all(self._city.fare(known, day) == 0 for known in networks)

    def _on_free_day(self, tap: PlannedTap, day: date) -> Expected:
        category = tap.category or Category.FULL
        if tap.rider is not None:
            account = self.accounts[tap.rider.number]
            by_right = tap.rider.product in (None, Product.STUDENT)
            if by_right and account.refusal_of_right(day) is None:
                category = tap.rider.category
        ride_class = "HALF" if category is Category.STUDENT_50 else "FREE" if category in _FREE else "FULL"
        return Expected("OK", ride_class, change_cents=tap.tendered_cents, category=category)

    def _in_cash(self, tap: PlannedTap, network: Network | None, day: date) -> Expected:
        if network is None:
            return Expected("LINE_UNKNOWN")
        fare = self._city.fare(network, day)
        change = tap.tendered_cents - fare
        if change < 0:
            return Expected("INSUFFICIENT_TENDER")
        if change > MAX_CHANGE_FARES * fare:
            return Expected("CHANGE_ABOVE_LIMIT")
        return Expected(
            "OK", "FULL", fare_cents=fare, rider_cents=fare, change_cents=change, category=Category.FULL
        )

    def _by_right(self, account: Account, tap: PlannedTap, network: Network | None, at: datetime) -> Expected:
        day = at.astimezone(SAO_PAULO).date()
        refused = account.refusal_of_right(day)
        if refused is None and self.too_soon(account, tap, at):
            refused = "PASSBACK"
        if refused is not None:
            return Expected(refused)
        fare = 0 if network is None else self._city.fare(network, day)
        category = account.rider.category
        return Expected("OK", "FREE", fare_cents=fare, category=category)

    def _by_pass(self, account: Account, tap: PlannedTap, network: Network | None, at: datetime) -> Expected:
        student = account.rider.product is Product.STUDENT
        refused = account.refusal_of_right(at.astimezone(SAO_PAULO).date()) if student else None
        if refused is None:
            refused = self._refusal_of_pass(account, tap, network, at)
        if refused is not None:
            return Expected(refused)
        found = account.pass_number(account.used)
        assert found is not None
        face, paid = found
        ride_class = "HALF" if student else "PURSE"
        purse = self.purse_of(account.rider)
        return Expected("OK", ride_class, purse, face, paid, category=account.rider.category, consumes=True)

    def _refusal_of_pass(
        self, account: Account, tap: PlannedTap, network: Network | None, at: datetime
    ) -> str | None:
        student = account.rider.product is Product.STUDENT
        if network is None:
            return "LINE_UNKNOWN"
        if not account.lots and not student:
            return "NO_PASSES"
        if network is not (Network.URBAN if student else account.rider.line.network):
            return "NOT_VALID_ON_LINE"
        if student and account.half_fares >= CAP:
            return "STUDENT_CAP_REACHED"
        if account.used >= account.bought:
            return "NO_PASSES"
        return "PASSBACK" if student and self.too_soon(account, tap, at) else None

    @staticmethod
    def purse_of(rider: Rider) -> str | None:
        """The name of a holder's purse."""
        if rider.product is None:
            return None
        if rider.product is Product.STUDENT or rider.line.network is Network.URBAN:
            return rider.product.value
        return f"{rider.product.value}/{rider.line.network.value}"

    @staticmethod
    def too_soon(account: Account, tap: PlannedTap, at: datetime) -> bool:
        """Whether the holder has just ridden by a personal right in this vehicle."""
        if not account.personal:
            return False
        last_at, vehicle = max(account.personal.values())
        return vehicle == tap.vehicle.number and timedelta(0) <= at - last_at < REUSE

    # What has happened

    def consume(self, tap: PlannedTap, boarding_id: UUID, dated_at: datetime, expected: Expected) -> None:
        """An accepted boarding, or one that was let through: the pass and the place in the cap are gone."""
        if tap.rider is not None:
            self.spend(self.accounts[tap.rider.number], tap, boarding_id, dated_at, expected)

    @staticmethod
    def spend(
        account: Account, tap: PlannedTap, boarding_id: UUID, dated_at: datetime, expected: Expected
    ) -> None:
        """What a ride takes from an account."""
        if expected.consumes:
            account.used += 1
            account.half_fares += expected.ride_class == "HALF"
        if expected.ride_class in ("HALF", "FREE") and (expected.consumes or expected.ride_class == "FREE"):
            account.personal[boarding_id] = (dated_at, tap.vehicle.number)

    def give_back(self, tap: PlannedTap, boarding_id: UUID, expected: Expected) -> None:
        """The boarding did not happen: the pass and the place are given back."""
        if tap.rider is None:
            return
        account = self.accounts[tap.rider.number]
        if expected.consumes:
            account.used -= 1
            account.half_fares -= expected.ride_class == "HALF"
        account.personal.pop(boarding_id, None)

    def add_ride(self, ride: Ride) -> None:
        """A rider was let through."""
        self.rides[ride.boarding_id] = ride

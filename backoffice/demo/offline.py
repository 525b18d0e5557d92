"""What a device decides by itself: a list of last night, the city's key, and the fares.

Real devices fetch and verify the signed list of `/v1/sync` (`validator/onboard`); the simulated ones of the
demonstration are handed what it would say at midnight, worked out apart from the product, so that a difference shows.
"""

from dataclasses import dataclass
from datetime import date, datetime

from backoffice.demo.city_plan import CityPlan
from backoffice.demo.count import CAP, Account, Count, Expected
from backoffice.demo.month_plan import Mishap, PlannedTap, network_of
from validator.domain.vocabulary import Category, MediumKind, Network, Product


@dataclass(frozen=True, slots=True)
class Listed:
    """A holder on the list: the class and the purse to let through on, and the only network where they are valid."""

    ride_class: str
    category: Category
    purse: str | None = None
    network: Network | None = None


class OfflineList:
    """The list of one day, as it stood at midnight."""

    def __init__(self, count: Count, city: CityPlan, day: date) -> None:
        self._city = city
        self._count = count
        self._free = all(city.fare(network, day) == 0 for network in Network)
        self._issues = {number: account.issues for number, account in count.accounts.items()}
        self._listed = {
            number: listed
            for number, account in count.accounts.items()
            if (listed := _listed(account, day)) is not None
        }
        self._blocked = {number for number, account in count.accounts.items() if account.blocked}

    def decide(self, tap: PlannedTap, at: datetime) -> Expected | None:
        """What to let a rider through on; None to hold the rider."""
        if tap.kind is not MediumKind.CARD:
            expected = self._count.expect(tap, at)
            return expected if expected.accepted else None
        assert tap.rider is not None
        number = tap.rider.number
        old = tap.mishap is Mishap.FIRST_VIA and self._issues[number] > 1
        if tap.mishap is Mishap.FORGED or old or number in self._blocked:
            return None
        if self._free:
            return self._count.expect(tap, at)
        listed = self._listed.get(number)
        network = network_of(self._city, tap.line)
        if listed is None or (listed.network is not None and listed.network is not network):
            return None
        return Expected(
            "OK", listed.ride_class, listed.purse, category=listed.category, consumes=listed.purse is not None
        )


def _listed(account: Account, day: date) -> Listed | None:
    rider = account.rider
    if rider.product is not Product.PREPAID and rider.product is not Product.VT:
        if account.refusal_of_right(day) is not None:
            return None
        if rider.product is None:
            return Listed("FREE", rider.category)
    if account.used >= account.bought:
        return None
    purse = Count.purse_of(rider)
    if rider.product is Product.STUDENT:
        if account.half_fares >= CAP:
            return None
        return Listed("HALF", rider.category, purse, Network.URBAN)
    return Listed("PURSE", rider.category, purse, rider.line.network)

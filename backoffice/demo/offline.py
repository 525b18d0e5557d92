"""What a bus without network must decide: the signed list of a night, worked out apart from the product.

The agent (`bus_agent`) decides by the real list and the real law; this count knows what the demonstration has sold and
registered until that night, and what the bus has let in since. Where the two differ, the demonstration fails.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from backoffice.demo.city_plan import CityPlan
from backoffice.demo.count import CAP, Account, Count, Expected
from backoffice.demo.month_plan import Mishap, PlannedTap, network_of
from validator.domain.service_time import SAO_PAULO
from validator.domain.vocabulary import MediumKind, Network, Product

PASSES_WAIT_AFTER = timedelta(hours=72)
"""How old a list may be for a pass to be spent by it; rights never wait (`offline_policy.toml`)."""


class OfflineList:
    """The list as it stood at an instant, with the rides that the bus has let in by it."""

    def __init__(self, count: Count, city: CityPlan, issued_at: datetime) -> None:
        self._city = city
        self._count = count
        self._issued_at = issued_at
        self._accounts = {
            number: replace(account, lots=list(account.lots), personal={})
            for number, account in count.accounts.items()
        }

    def decide(self, tap: PlannedTap, at: datetime) -> Expected | None:
        """What to let a rider through on; None to hold the rider."""
        day = at.astimezone(SAO_PAULO).date()
        if tap.kind is not MediumKind.CARD:
            expected = self._count.expect(tap, at)
            return expected if expected.accepted else None
        assert tap.rider is not None
        account = self._accounts[tap.rider.number]
        old = tap.mishap is Mishap.FIRST_VIA and account.issues > 1
        if tap.mishap is Mishap.FORGED or old or account.blocked:
            return None
        if all(self._city.fare(network, day) == 0 for network in Network):
            return self._count.expect(tap, at)
        rider = tap.rider
        if rider.product is None or rider.product is Product.STUDENT:
            if account.refusal_of_right(day) is not None or self._count.too_soon(account, tap, at):
                return None
            if rider.product is None:
                return Expected("OK", "FREE", category=rider.category)
        return self._by_pass(account, network_of(self._city, tap.line), at)

    def _by_pass(self, account: Account, network: Network | None, at: datetime) -> Expected | None:
        rider = account.rider
        student = rider.product is Product.STUDENT
        if network is not (Network.URBAN if student else rider.line.network):
            return None
        if account.used >= account.bought or at - self._issued_at > PASSES_WAIT_AFTER:
            return None
        if student and account.half_fares >= CAP:
            return None
        ride_class = "HALF" if student else "PURSE"
        return Expected("OK", ride_class, Count.purse_of(rider), category=rider.category, consumes=True)

    def let_in(self, tap: PlannedTap, boarding_id: UUID, at: datetime, released: Expected) -> None:
        """The bus has let a rider in; the list does not know it, the bus does."""
        if tap.rider is not None:
            self._count.spend(self._accounts[tap.rider.number], tap, boarding_id, at, released)

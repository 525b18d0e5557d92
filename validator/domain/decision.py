"""The two answers that a tap can have: accepted, with who pays what, or refused, with the reason.

Named tuples, as are taps: one is made for each boarding, and a frozen dataclass takes four times as long to make.
"""

from typing import NamedTuple

from validator.domain.money import ZERO, Cents
from validator.domain.reasons import Reason
from validator.domain.rules import RuleRow
from validator.domain.vocabulary import Category, RideClass, Turnstile, class_of


class Uses(NamedTuple):
    """What an accepted boarding consumes: a pass of the purse named, and perhaps a place in the month's cap."""

    product: str
    counts_cap: bool


class Accepted(NamedTuple):
    """The rider may pass. fare = rider + city + operator, in centavos, always.

    Attributes:
        category: What the rider travels as.
        rule: The rule row that says so, with its legal basis.
        fare_cents: The fare of the ride; of a purse, the face fare of the pass used.
        rider_cents: The rider's part.
        city_cents: What the city repays.
        operator_cents: What nobody repays and the operator bears.
        turnstile: What the turnstile does.
        uses: What is consumed, or None.
        change_cents: Change of cash tendered.
        personal: Whether it is by a personal right, which may not be used again at once (passback).
        continued: Whether it continues a ride that a breakdown cut short.
    """

    category: Category
    rule: RuleRow
    fare_cents: Cents
    rider_cents: Cents
    city_cents: Cents
    operator_cents: Cents
    turnstile: Turnstile
    uses: Uses | None = None
    change_cents: Cents = ZERO
    personal: bool = False
    continued: bool = False

    @property
    def ride_class(self) -> RideClass:
        """The class that a device may see."""
        return class_of(self.category)


class Refused(NamedTuple):
    """The rider may not pass on this medium; the reason names the first failing condition of the first option."""

    reason: Reason
    turnstile: Turnstile = Turnstile.HOLD


Decision = Accepted | Refused

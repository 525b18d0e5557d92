"""Purses: prepaid passes that never expire, used first in, first out (Lei art. 48, XI; Decreto art. 63, VI)."""

from dataclasses import dataclass, field

from validator.domain.money import Cents
from validator.domain.vocabulary import Network, Product, purse_key

_KEYS = {(product, network): purse_key(product, network) for product in Product for network in Network}


@dataclass(frozen=True, slots=True)
class Lot:
    """Passes bought together, at the face fare and the price of the day of purchase, in centavos."""

    units: int
    face_cents: Cents
    paid_cents: Cents


@dataclass(frozen=True, slots=True)
class Purse:
    """A holder's passes of one product and network.

    Attributes:
        product: What it holds.
        network: Where its passes are valid.
        lots: Lots in order of purchase; lots that are wholly used may be left out at the front.
        bought: Passes ever bought, those of left-out lots included.
        key: Its name in the counts of usage.
    """

    product: Product
    network: Network
    lots: tuple[Lot, ...]
    bought: int
    key: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", _KEYS[self.product, self.network])

    def lot_after(self, spent: int) -> Lot | None:
        """The lot of the next pass when `spent` passes were used and not given back; None when there is none left."""
        position = spent - self.bought
        for lot in self.lots:
            position += lot.units
        for lot in self.lots:
            if position < lot.units:
                return lot
            position -= lot.units
        return None

"""What the rating of a month reads and writes: rides that devices let in, and their verdicts.

What there is one of for each boarding is a tuple: it is made in a fraction of a frozen dataclass's time.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from backoffice.domain.exclusions import ExclusionReason
from validator.domain.holder import Holder
from validator.domain.money import ZERO, Cents
from validator.domain.rules import RuleRow
from validator.domain.service_time import Month
from validator.domain.tap import Tap
from validator.domain.usage import LastBoarding
from validator.domain.vocabulary import Category, RideClass


class Release(NamedTuple):
    """On what a device let a rider through: the class that it saw, and the purse that gave a pass."""

    ride_class: RideClass
    purse: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What an earlier closing of the month took for a ride that it could not bill yet: it is not taken again.

    Attributes:
        purse: Purse that gave a pass, or None.
        pass_number: Number of that pass in the purse, from 1.
        counts_cap: Whether it holds a place in the month's cap.
    """

    purse: str | None
    pass_number: int | None
    counts_cap: bool


class Ride(NamedTuple):
    """One boarding as the journal has it, with what rating judges it on.

    Attributes:
        tap: What the reader saw; its instant is the one that the ride is dated on.
        received_at: When the service received it.
        device: Device, whose `device_seq` numbers its taps.
        device_seq: Sequence in the device's epoch.
        online: Whether the rider was let in on the service's answer.
        states: The holder as recorded: one state for an online ride, one or more for an offline one, of which the one
            that is best for the rider counts. Empty where the medium names nobody, or a card of nobody.
        release: What the rider was released on; None where nothing says it.
        released: Whether the rider was let through; False is no ride.
        annulled: Whether the boarding was annulled.
        doubt: Why it may not be billed yet, whatever the law says of it.
        epoch: Epoch of the device.
        believed: Whether the service or a person vouches for the instant; otherwise an offline one is checked.
        place: What an earlier closing holds for it, or None.
    """

    tap: Tap
    received_at: datetime
    device: str
    device_seq: int
    online: bool
    states: tuple[Holder, ...] = ()
    release: Release | None = None
    released: bool = True
    annulled: bool = False
    doubt: ExclusionReason | None = None
    epoch: int = 1
    believed: bool = False
    place: Place | None = None

    @property
    def order(self) -> tuple[datetime, str, int, int, datetime, str]:
        """The order of rating: instant, device and sequence; the rest only separates rows of one sequence."""
        tap = self.tap
        return (tap.occurred_at, self.device, self.device_seq, self.epoch, self.received_at, tap.boarding_id)


@dataclass(frozen=True, slots=True)
class Placed:
    """A ride by a right or a purse that an earlier closing froze: later rides of that month are measured against it.

    Attributes:
        boarding: The ride.
        personal: Whether it was by a personal right, from which passback is measured.
    """

    boarding: LastBoarding
    personal: bool

    @property
    def order(self) -> tuple[datetime, str]:
        """The order in which later rides pass it: its instant; the id only separates rides of one instant."""
        return self.boarding.occurred_at, self.boarding.boarding_id


class Verdict(StrEnum):
    """What rating says of a boarding."""

    BILLABLE = "billable"
    STATISTICAL = "statistical"
    EXCLUDED = "excluded"


class Rated(NamedTuple):
    """A ride with its verdict. fare = rider + city + operator in centavos; city is above zero exactly if billable.

    Attributes:
        ride: The ride.
        month: The civil month in whose claim it stands: of its own instant, or of receipt where that is no date.
        verdict: Billable, statistical or excluded.
        reason: Why it is excluded, else None.
        category: What the rider travelled as; None where rating cannot say.
        rule: The rule row, None where no rule was applied.
        fare_cents: Fare of the ride: the face fare of the pass used, or the fare of the day.
        rider_cents: The rider's part.
        city_cents: The city's part.
        operator_cents: What nobody repays.
        purse: Purse that gave a pass, or None.
        pass_number: The how-manieth pass ever taken from that purse it was, from 1; it names the lot. None without.
        counts_cap: Whether it takes a place in the month's cap.
        personal: Whether it is by a personal right, from which passback is measured.
        took: Whether it took its place and its pass from the holder.
    """

    ride: Ride
    month: Month
    verdict: Verdict
    reason: ExclusionReason | None = None
    category: Category | None = None
    rule: RuleRow | None = None
    fare_cents: Cents = ZERO
    rider_cents: Cents = ZERO
    city_cents: Cents = ZERO
    operator_cents: Cents = ZERO
    purse: str | None = None
    pass_number: int | None = None
    counts_cap: bool = False
    personal: bool = False
    took: bool = False

"""Usage: what a holder has consumed. All counts only grow; what is given back is counted apart.

`Consumed` is all that a decision asks of it: `Usage` answers, and so does the record that the hot state keeps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol, Self, TypeVar

from validator.domain.service_time import Month
from validator.domain.vocabulary import Category

MONTHS_KEPT = 4
"""Civil months of half-fare counts that stay in usage; a tap older than 45 days is never counted, so two would do."""


class Remembered(Protocol):
    """A boarding that usage remembers."""

    @property
    def boarding_id(self) -> str:
        """Its id."""
        ...

    @property
    def occurred_at(self) -> datetime:
        """When."""
        ...

    @property
    def vehicle(self) -> str:
        """Where."""
        ...

    @property
    def category(self) -> Category:
        """What the rider travelled as."""
        ...


class InOrder(Protocol):
    """A boarding that knows which of two is the later one."""

    def is_later_than(self, other: Self) -> bool:
        """By instant, and by id where two have the same."""
        ...


B = TypeVar("B", bound=InOrder)


class Consumed(Protocol):
    """What a decision asks of a holder's usage."""

    @property
    def last(self) -> Remembered | None:
        """The latest boarding by a personal right."""
        ...

    @property
    def latest(self) -> Remembered | None:
        """The latest boarding of any kind."""
        ...

    def half_fares(self, month: Month) -> int:
        """Half-fare boardings of a civil month."""
        ...

    def spent(self, purse: str) -> int:
        """Passes of a purse that are gone by rides."""
        ...

    def repaid(self, purse: str) -> int:
        """Passes of a purse that were paid back in money."""
        ...


@dataclass(frozen=True, slots=True)
class LastBoarding:
    """A boarding kept in usage, for passback, annulment and continuation."""

    boarding_id: str
    occurred_at: datetime
    vehicle: str
    category: Category

    def is_later_than(self, other: "LastBoarding") -> bool:
        """By instant, and by id where two have the same."""
        if self.occurred_at != other.occurred_at:
            return self.occurred_at > other.occurred_at
        return self.boarding_id > other.boarding_id


@dataclass(frozen=True, slots=True)
class Effects:
    """What one boarding changes in its holder's usage.

    Attributes:
        month: Civil month of the boarding.
        uses: Key of the purse that gives one pass, or None.
        counts_cap: Whether it counts as a half-fare boarding of the month.
        boarding: The boarding itself, where a breakdown or a second tap may refer to it.
        personal: Whether it was by a personal right.
    """

    month: Month
    uses: str | None
    counts_cap: bool
    boarding: LastBoarding | None
    personal: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """The counts of one holder.

    Attributes:
        half_fare: Half-fare boardings by civil month, over all cards of the person.
        used: Passes used, by purse key.
        returned: Passes given back by annulments, by purse key.
        refunded: Passes paid back in money, by purse key.
        last: The latest boarding by a personal right.
        before: The one before it.
        by_purse: The latest boarding paid from a purse.
        by_purse_before: The one before it.

    Two of each, so that what an annulled boarding hid is known again: a breakdown may have cut that one short.
    """

    half_fare: Mapping[Month, int] = field(default_factory=dict)
    used: Mapping[str, int] = field(default_factory=dict)
    returned: Mapping[str, int] = field(default_factory=dict)
    refunded: Mapping[str, int] = field(default_factory=dict)
    last: LastBoarding | None = None
    before: LastBoarding | None = None
    by_purse: LastBoarding | None = None
    by_purse_before: LastBoarding | None = None

    @property
    def latest(self) -> LastBoarding | None:
        """The holder's latest boarding of any kind: the one that a breakdown may have cut short."""
        return later_of(self.last, self.by_purse)

    def half_fares(self, month: Month) -> int:
        """Half-fare boardings of a civil month."""
        return self.half_fare.get(month, 0)

    def repaid(self, purse: str) -> int:
        """Passes of a purse that were paid back in money."""
        return self.refunded.get(purse, 0)

    def spent(self, purse: str) -> int:
        """Passes of a purse that are gone by rides: used less returned."""
        return self.used.get(purse, 0) - self.returned.get(purse, 0)

    def remaining(self, purse: str, bought: int) -> int:
        """Passes left of a purse: bought - refunded - used + returned."""
        return bought - self.refunded.get(purse, 0) - self.spent(purse)

    def after(self, effects: Effects) -> "Usage":
        """Usage after a boarding, whatever the order in which boardings arrive."""
        used, half_fare, boarding = self.used, self.half_fare, effects.boarding
        if effects.uses is not None:
            used = _grown(used, effects.uses, 1)
        if effects.counts_cap:
            half_fare = _counted(half_fare, effects.month, 1)
        last, before = self.last, self.before
        by_purse, by_purse_before = self.by_purse, self.by_purse_before
        if boarding is not None and effects.personal:
            last, before = two_newest(last, before, boarding)
        elif boarding is not None:
            by_purse, by_purse_before = two_newest(by_purse, by_purse_before, boarding)
        return Usage(half_fare, used, self.returned, self.refunded, last, before, by_purse, by_purse_before)

    def annulled(self, effects: Effects) -> "Usage":
        """Usage after the annulment of a boarding: the pass and the place in the cap are given back."""
        usage = self
        if effects.uses is not None:
            usage = replace(usage, returned=_grown(usage.returned, effects.uses, 1))
        if effects.counts_cap:
            usage = replace(usage, half_fare=_counted(usage.half_fare, effects.month, -1))
        return usage if effects.boarding is None else usage._forgetting(effects.boarding.boarding_id)

    def _forgetting(self, boarding_id: str) -> "Usage":
        last, before = _without(boarding_id, self.last, self.before)
        by_purse, by_purse_before = _without(boarding_id, self.by_purse, self.by_purse_before)
        return replace(self, last=last, before=before, by_purse=by_purse, by_purse_before=by_purse_before)


def _without(
    boarding_id: str, last: LastBoarding | None, before: LastBoarding | None
) -> tuple[LastBoarding | None, LastBoarding | None]:
    """Two boardings, the later one first, without one that is named."""
    if last is not None and last.boarding_id == boarding_id:
        return before, None
    if before is not None and before.boarding_id == boarding_id:
        return last, None
    return last, before


def later_of(one: B | None, other: B | None) -> B | None:
    """The later of two boardings, of which either may be missing."""
    if one is None or other is None:
        return one or other
    return one if one.is_later_than(other) else other


def two_newest(last: B | None, before: B | None, boarding: B) -> tuple[B, B | None]:
    """The two latest of three; `last` is later than `before`."""
    if last is None or boarding.is_later_than(last):
        return boarding, last
    if before is None or boarding.is_later_than(before):
        return last, boarding
    return last, before


def _grown(counts: Mapping[str, int], key: str, by: int) -> dict[str, int]:
    return {**counts, key: counts.get(key, 0) + by}


def _counted(counts: Mapping[Month, int], month: Month, by: int) -> dict[Month, int]:
    """Counts with one month changed; months without boardings and months long past are left out."""
    changed = {**counts, month: counts.get(month, 0) + by}
    kept = sorted([m for m, n in changed.items() if n > 0])[-MONTHS_KEPT:]
    return {m: changed[m] for m in kept}

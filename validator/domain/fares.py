"""Fares: centavos by network, line, medium and civil day, each with the act that set it (Lei arts. 63 and 66, IV)."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from validator.domain.law_rows import in_force
from validator.domain.money import Cents
from validator.domain.vocabulary import FareMedium, Network


class FareError(ValueError):
    """The fares contradict each other or leave a line without a price; the message names the row."""


@dataclass(frozen=True, slots=True)
class Fare:
    """One fare.

    Attributes:
        network: Network whose lines it prices.
        first_day: First civil day.
        last_day: Last civil day of a fare for those days only (a free Sunday); None for one that runs on.
        cents: Price in centavos.
        line: The only line it prices, or None for all lines of the network.
        medium: The only medium it prices, or None for both.
        act: Decree or order that set it.
    """

    network: Network
    first_day: date
    last_day: date | None
    cents: Cents
    line: str | None = None
    medium: FareMedium | None = None
    act: str | None = None

    def _prices(self, network: Network, line: str, medium: FareMedium, day: date) -> bool:
        return (
            self.network is network
            and in_force(day, self.first_day, self.last_day)
            and self.line in (None, line)
            and self.medium in (None, medium)
        )

    def _rank(self) -> tuple[bool, bool, bool, date]:
        """Days of their own come first, then the line's own fare, then the medium's, then the latest."""
        return (self.last_day is not None, self.line is not None, self.medium is not None, self.first_day)


def fare_on(fares: Iterable[Fare], network: Network, line: str, medium: FareMedium, day: date) -> Fare | None:
    """The fare of a ride on a civil day; the one before runs on until the next, so no day after the first is without.

    Returns None for a day before the first fare of the network.
    """
    priced = [fare for fare in fares if fare._prices(network, line, medium, day)]
    return max(priced, key=Fare._rank, default=None)


def check_fares(fares: Iterable[Fare], networks: Iterable[Network]) -> None:
    """Refuse fares that contradict each other, and a network without a running fare.

    Raises:
        FareError: names the fare.
    """
    seen: dict[tuple[Network, str | None, FareMedium | None], list[Fare]] = {}
    for fare in fares:
        if fare.cents < 0:
            raise FareError(
                f"fare of {fare.network} from {fare.first_day}: {fare.cents} centavos is below zero"
            )
        if fare.last_day is not None and fare.last_day < fare.first_day:
            raise FareError(f"fare of {fare.network} from {fare.first_day}: ends before it begins")
        seen.setdefault((fare.network, fare.line, fare.medium), []).append(fare)
    for rows in seen.values():
        _check_overlap(rows)
    for network in networks:
        if not any(key == (network, None, None) and _runs(rows) for key, rows in seen.items()):
            raise FareError(
                f"network {network} has no running fare for all lines and media; register one with its act"
            )


def _runs(rows: list[Fare]) -> bool:
    return any(fare.last_day is None for fare in rows)


def _check_overlap(rows: list[Fare]) -> None:
    running = sorted((f for f in rows if f.last_day is None), key=lambda f: f.first_day)
    for before, after in itertools.pairwise(running):
        if before.first_day == after.first_day:
            raise FareError(f"two fares of {after.network} begin on {after.first_day}")
    days = sorted((f for f in rows if f.last_day is not None), key=lambda f: f.first_day)
    for before, after in itertools.pairwise(days):
        if before.last_day is not None and before.last_day >= after.first_day:
            raise FareError(
                f"fare of {before.network} for {before.first_day}: overlaps the one from {after.first_day}"
            )

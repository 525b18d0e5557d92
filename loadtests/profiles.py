"""Profiles of load for locust: how many taps a second at each moment, whose, and what must hold.

Every profile is an open model: riders come when they come, and a tap's time counts from the moment it came, so that a
stall is paid by all who came during it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from loadtests.demand import HOURS, peak_hour

Rate = Callable[[float], float]
"""Taps a second at a moment of the run, in seconds from its start."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """What must hold of a run; the run fails where it does not.

    Attributes:
        p99_ms: Longest 99th percentile of the answered taps, from the moment they came.
        failures: Largest part of taps without an answer; a 503 under overload is counted by `refusals`.
        refusals: Largest part of taps that are answered 503.
        overloaded: Whether the run is none unless some are answered 503.
    """

    p99_ms: float
    failures: float = 0.0
    refusals: float = 0.0
    overloaded: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of load.

    Attributes:
        seconds: Length.
        rate: Arrivals a second.
        hour: Hour of the civil day at a moment, which decides who rides; None for the mix of the whole day.
        devices: How many devices send.
        threshold: What must hold.
        one_holder: Whether all taps are of one holder.
        batch: Taps in one upload; 0 for the single route.
        settings: What the validator is told besides its defaults.
    """

    seconds: float
    rate: Rate
    devices: int
    threshold: Threshold
    hour: Callable[[float], int] | None = None
    one_holder: bool = False
    batch: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)


DAY_SECONDS = 600.0
"""A day in ten minutes."""


def profiles(peak_per_second: float) -> dict[str, Profile]:
    """All profiles, for a city whose fullest second has so many taps."""
    return {
        "one-bus": Profile(60, lambda _: 1.0, 1, Threshold(p99_ms=100)),
        "peak": Profile(120, _rush(peak_per_second), 400, Threshold(p99_ms=150), hour=lambda _: peak_hour()),
        "garage": Profile(60, lambda _: 2.0, 40, Threshold(p99_ms=5_000), batch=500),
        "hot-holder": Profile(60, lambda _: peak_per_second / 4, 400, Threshold(p99_ms=150), one_holder=True),
        # One generator in Python cannot overload a worker (`make bench` does): the limit is lowered to its reach.
        "overload": Profile(
            60,
            lambda _: peak_per_second * 4,
            400,
            Threshold(p99_ms=500, refusals=0.9, overloaded=True),
            settings={"CATRACA_MAX_TAPS_IN_FLIGHT": "4"},
        ),
        "day": Profile(DAY_SECONDS, _day(peak_per_second), 400, Threshold(p99_ms=200), hour=hour_of_day),
    }


def missed_by(threshold: Threshold, *, answered: int, refused: int, failed: int, p99_ms: float) -> list[str]:
    """What does not hold of a run, in words; empty where all holds."""
    total = max(1, answered + refused + failed)
    missed = [
        f"{name} {value:.4g} > {limit:.4g}"
        for name, value, limit in (
            ("p99 in ms", p99_ms, threshold.p99_ms),
            ("part without an answer", failed / total, threshold.failures),
            ("part refused", refused / total, threshold.refusals),
        )
        if value > limit
    ]
    if answered == 0:
        missed.append("nothing was answered")
    if threshold.overloaded and refused == 0:
        missed.append("nothing was refused, so this was no overload")
    return missed


def hour_of_day(moment: float) -> int:
    """The hour of the civil day at a moment of the day in ten minutes."""
    return int(moment / DAY_SECONDS * 24) % 24


def _day(peak_per_second: float) -> Rate:
    """The hours of real demand, one after the other, with straight lines between their middles."""

    def rate(moment: float) -> float:
        place = moment / DAY_SECONDS * 24 - 0.5
        hour = int(place // 1)
        part = place - hour
        between = HOURS[hour % 24] * (1 - part) + HOURS[(hour + 1) % 24] * part
        return float(peak_per_second * between / max(HOURS))

    return rate


def _rush(peak_per_second: float) -> Rate:
    """The hour before the fullest one, and the fullest one: the load climbs for half of the time and then stays."""
    start = HOURS[peak_hour() - 1] / max(HOURS)

    def rate(moment: float) -> float:
        return peak_per_second * min(1.0, start + (1 - start) * moment / 60)

    return rate

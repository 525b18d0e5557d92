"""Rating: what each ride of a month is worth, as a pure function of what was journalled and recorded.

Rides are taken in the order of (instant, device, sequence), whatever the order in which they arrived, and each is put
to the same `decide` that answered on the bus. A device knows only the class that it released on; rating maps it to a
category. It confirms what the rider was released on, lowers it to a right that the city does not repay, or excludes
the ride with a reason. It never raises what the city pays, and never takes a pass from a purse that gave none.

| released on  | judged on                                            | the city pays |
|--------------|------------------------------------------------------|---------------|
| FREE         | the holder's gratuities                              | the share of the rule |
| HALF         | rights that nobody repays, then student passes       | nothing; or face less price of the pass used |
| PURSE        | that purse alone                                     | nothing |
| FULL         | money                                                | nothing |
| nothing said | the holder's rights and student passes               | as the law gives |

A ride that the law excludes takes no place in the month's cap and starts no passback, but a pass that the rider gave
stays given. A ride that waits for a person or for the device's journal keeps its place and its pass: it happened.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from backoffice.domain.exclusions import ExclusionReason, first_named
from backoffice.domain.judging import Judged, judge
from backoffice.domain.rides import Place, Placed, Rated, Ride, Verdict
from validator.domain.boarding import FareUnknown, effects_of
from validator.domain.city import City, LawOfDay
from validator.domain.money import ZERO, Cents
from validator.domain.service_time import Month, civil_date, month_of
from validator.domain.usage import Effects, Usage

NO_PLACE = Place(None, None, counts_cap=False)

NOTHING_USED = Usage()

_NOTHING_TAKEN = frozenset({ExclusionReason.DEVICE_REVOKED})
"""Doubts about whether there was a ride at all: it takes nothing from its holder until a person lets it in."""


@dataclass(frozen=True, slots=True)
class HolderRating:
    """A holder's rides with their verdicts, in the order of rating, and what the holder has consumed after them."""

    rated: tuple[Rated, ...]
    usage: Usage


def rate_holder(
    month: Month,
    rides: Iterable[Ride],
    city: City,
    *,
    opening: Usage | None = None,
    placed: Iterable[Placed] = (),
) -> HolderRating:
    """Rate the boardings of one holder, or of nobody, for one month.

    Rides of other months are rated in their order too, since they spend passes, but left out of the answer.

    Args:
        month: The civil month (competência).
        rides: All boardings, in any order.
        city: Rules and fares.
        opening: What earlier closings froze: passes taken from each purse, and places of the cap where the month was
            closed before. None for nothing.
        placed: Rides by a right or a purse that earlier closings of the same month froze, in any order.

    Raises:
        FareUnknown: a ride has a price and no fare is registered for its line and day.
    """
    usage = opening or NOTHING_USED
    waiting = sorted(placed, key=lambda place: place.order, reverse=True)
    seen: set[str] = set()
    rated: list[Rated] = []
    for ride in sorted(rides, key=lambda ride: ride.order):
        if not ride.released:
            continue
        while waiting and waiting[-1].boarding.occurred_at <= ride.tap.occurred_at:
            usage = usage.after(_remembered(waiting.pop()))
        repeated = ride.tap.boarding_id in seen
        seen.add(ride.tap.boarding_id)
        outcome, usage = _rate(ride, usage, city, repeated=repeated, following=waiting)
        if outcome.month == month:
            rated.append(outcome)
    for place in reversed(waiting):
        usage = usage.after(_remembered(place))
    return HolderRating(tuple(rated), usage)


def clock_is_invalid(ride: Ride, city: City) -> bool:
    """Whether an offline ride is dated from the future, or longer ago than devices may keep rides."""
    if ride.online or ride.believed:
        return False
    day = civil_date(ride.received_at)
    ahead = timedelta(minutes=city.book.parameter_on("clock_ahead_minutes", day))
    behind = timedelta(days=city.book.parameter_on("clock_behind_days", day))
    elapsed = ride.received_at - ride.tap.occurred_at
    return elapsed < -ahead or elapsed > behind


def _rate(
    ride: Ride, usage: Usage, city: City, *, repeated: bool, following: list[Placed]
) -> tuple[Rated, Usage]:
    undated = ride.doubt is ExclusionReason.CLOCK_INVALID or clock_is_invalid(ride, city)
    law = city.at(ride.received_at if undated else ride.tap.occurred_at)
    no_ride = _no_ride(ride, repeated=repeated, undated=undated)
    if no_ride is not None:
        return Rated(ride, law.month, Verdict.EXCLUDED, no_ride), usage
    before = usage if ride.place is None else _with_its_own_place(usage, ride.place)
    ride = _going_on(ride, usage)
    judged = _judged(ride, before, city, law)
    if judged.accepted is not None and judged.accepted.personal and _too_near(ride, following, law):
        judged = judged.excluded(ExclusionReason.PASSBACK)
    takes = ride.doubt not in _NOTHING_TAKEN and _takes_place(ride)
    reason = judged.reason if ride.doubt is None else first_named((judged.reason, ride.doubt))
    outcome = _outcome(ride, law.month, judged, reason, before, took=takes)
    return outcome, usage.after(_effects(ride, judged, city, law)) if takes else usage


def _judged(ride: Ride, usage: Usage, city: City, law: LawOfDay) -> Judged:
    """What the law gives; what a revoked device sends stops no closing, though it names a day without a fare."""
    try:
        return judge(ride, usage, city, law)
    except FareUnknown:
        if ride.doubt not in _NOTHING_TAKEN:
            raise
        return Judged(None, ride.doubt, ZERO, ZERO, ZERO, ZERO, None)


def _going_on(ride: Ride, usage: Usage) -> Ride:
    """A ride goes on after a breakdown only from the holder's last one, so that none goes on twice."""
    cut_short, latest = ride.tap.continues, usage.latest
    if cut_short is None or latest is None or latest.occurred_at <= cut_short.occurred_at:
        return ride
    return ride._replace(tap=ride.tap._replace(continues=None))


def _with_its_own_place(usage: Usage, place: Place) -> Usage:
    """Usage as a ride sees it whose pass and place an earlier closing holds."""
    half_fare = {} if place.counts_cap else usage.half_fare
    if place.purse is None or place.pass_number is None:
        return replace(usage, half_fare=half_fare)
    used = {**usage.used, place.purse: place.pass_number - 1}
    returned = {**usage.returned, place.purse: 0}
    return replace(usage, half_fare=half_fare, used=used, returned=returned)


def _no_ride(ride: Ride, *, repeated: bool, undated: bool) -> ExclusionReason | None:
    """Why a row is no ride that could be rated at all."""
    if repeated:
        return ExclusionReason.DUPLICATE
    if ride.annulled:
        return ExclusionReason.ANNULLED
    return ExclusionReason.CLOCK_INVALID if undated else None


def _takes_place(ride: Ride) -> bool:
    """Whether the ride is taken to have happened: of an offline one only its release says so."""
    return ride.online or ride.doubt is not ExclusionReason.NO_RELEASE


def _too_near(ride: Ride, following: list[Placed], law: LawOfDay) -> bool:
    """Whether a late ride is just before a frozen one on the same vehicle: of the two, the frozen one is paid."""
    later = next((place.boarding for place in reversed(following) if place.personal), None)
    return (
        later is not None
        and later.vehicle == ride.tap.vehicle
        and later.occurred_at - ride.tap.occurred_at < law.reuse
    )


def _outcome(
    ride: Ride,
    month: Month,
    judged: Judged,
    reason: ExclusionReason | None,
    usage: Usage,
    *,
    took: bool,
) -> Rated:
    """The verdict; what a ride that is not billed leaves of the city's part falls to the operator."""
    accepted = judged.accepted
    if reason is not None:
        verdict = Verdict.EXCLUDED
    else:
        verdict = Verdict.BILLABLE if judged.city_cents > 0 else Verdict.STATISTICAL
    billed = verdict is Verdict.BILLABLE
    purse = None if judged.uses is None else judged.uses.product
    return Rated(
        ride=ride,
        month=month,
        verdict=verdict,
        reason=reason,
        category=None if accepted is None else accepted.category,
        rule=None if accepted is None else accepted.rule,
        fare_cents=judged.fare_cents,
        rider_cents=judged.rider_cents,
        city_cents=judged.city_cents if billed else ZERO,
        operator_cents=judged.operator_cents if billed else Cents(judged.operator_cents + judged.city_cents),
        purse=purse,
        pass_number=None if purse is None else usage.spent(purse) + 1,
        counts_cap=judged.uses is not None and judged.uses.counts_cap,
        personal=accepted is not None and accepted.personal,
        took=took,
    )


def _effects(ride: Ride, judged: Judged, city: City, law: LawOfDay) -> Effects:
    """What the ride takes from its holder: its place and its pass, or the pass alone where the law excludes it."""
    uses, held = judged.uses, ride.place or NO_PLACE
    product = None if uses is None or held.purse is not None else uses.product
    if judged.accepted is None:
        return Effects(law.month, product, False, None, False)
    effects = effects_of(ride.tap, judged.accepted, city)
    if held is NO_PLACE and uses is judged.accepted.uses:
        return effects
    counts_cap = uses is not None and uses.counts_cap and not held.counts_cap
    return Effects(law.month, product, counts_cap, effects.boarding, effects.personal)


def _remembered(place: Placed) -> Effects:
    """A frozen ride on the way past: later ones are measured from it; its place and pass are in the opening already."""
    boarding = place.boarding
    return Effects(month_of(civil_date(boarding.occurred_at)), None, False, boarding, place.personal)

"""The claims as the demonstration counts them: its rides of a month, in order of time, holder by holder."""

from backoffice.demo.city_plan import CityPlan
from backoffice.demo.count import CAP, Account, Count, LineKey, MonthCount, Ride, Sum
from backoffice.demo.month_plan import Mishap, network_of
from validator.domain.service_time import SAO_PAULO, Month, month_of
from validator.domain.vocabulary import Category, MediumKind

_COUNTED_AGAIN = ("STUDENT_CAP_REACHED", "NO_PASSES")
"""Refusals that the month's own count of places and passes judges anew."""


def count_month(count: Count, city: CityPlan, month: Month) -> MonthCount:
    """What the claims of a month must say."""
    total = MonthCount()
    spent: dict[int, int] = {}
    half_fares: dict[int, int] = {}
    for ride in sorted(count.rides.values(), key=lambda ride: ride.order):
        if month_of(ride.order[0].astimezone(SAO_PAULO).date()) != month and not ride.undated:
            continue
        _count_ride(ride, count, city, spent, half_fares, total)
    return total


def _count_ride(
    ride: Ride,
    count: Count,
    city: CityPlan,
    spent: dict[int, int],
    half_fares: dict[int, int],
    total: MonthCount,
) -> None:
    doubt = _doubt(ride)
    if doubt in ("ANNULLED", "CLOCK_INVALID", "DEVICE_REVOKED"):
        total.excluded[ride.operator, doubt] += 1
        return
    day = ride.order[0].astimezone(SAO_PAULO).date()
    network = network_of(city, ride.tap.line)
    free = network is not None and city.fare(network, day) == 0
    reason, face, paid = doubt, 0, 0
    rider = ride.tap.rider
    if ride.ride_class in ("HALF", "PURSE") and rider is not None and not free:
        account = count.accounts[rider.number]
        found, lot = _by_pass(account, spent, half_fares, ride)
        reason = found or reason
        face, paid = lot
    elif ride.ride_class == "FREE" and network is not None:
        face = city.fare(network, day)
    if reason is not None:
        total.excluded[ride.operator, reason] += 1
    elif _is_repaid(ride) and face > paid:
        key = LineKey(ride.operator, _category(ride), ride.tap.line, face)
        line = total.lines.setdefault(key, Sum())
        line.quantity += 1
        line.rider_cents += paid
        line.city_cents += face - paid
    else:
        total.statistical[ride.operator] += 1


def _doubt(ride: Ride) -> str | None:
    """Why a ride is not billed whatever its rider's right is; the first in the order of the claim."""
    if ride.annulled:
        return "ANNULLED"
    if ride.undated:
        return "CLOCK_INVALID"
    if ride.from_revoked:
        return "DEVICE_REVOKED"
    if ride.refused_for is not None and ride.refused_for not in _COUNTED_AGAIN:
        return ride.refused_for
    return "LINE_UNSETTLED" if ride.tap.mishap in (Mishap.FOREIGN_LINE, Mishap.UNKNOWN_LINE) else None


def _by_pass(
    account: Account, spent: dict[int, int], half_fares: dict[int, int], ride: Ride
) -> tuple[str | None, tuple[int, int]]:
    """The reason why a ride by a pass does not count, else None, and face fare and price of the pass that it used."""
    number, half = account.rider.number, ride.ride_class == "HALF"
    used, places = spent.get(number, 0), half_fares.get(number, 0)
    lot = account.pass_number(used)
    spent[number] = used + 1
    if ride.refused_for is not None and ride.refused_for not in _COUNTED_AGAIN:
        return ride.refused_for, (0, 0)
    if half and places >= CAP:
        return "OVER_CAP", (0, 0)
    if lot is None:
        return "NO_PASSES", (0, 0)
    half_fares[number] = places + half
    return None, lot


def _category(ride: Ride) -> str:
    if ride.tap.rider is not None:
        return ride.tap.rider.category.value
    return (ride.tap.category or Category.FULL).value


def _is_repaid(ride: Ride) -> bool:
    """Whether the city repays a part: students, teachers and special education, each by card only."""
    if ride.tap.kind is not MediumKind.CARD or ride.tap.rider is None:
        return False
    return ride.tap.rider.category in (Category.STUDENT_50, Category.TEACHER, Category.SPECIAL_ED)

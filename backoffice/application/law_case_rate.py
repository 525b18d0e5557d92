"""Golden cases of kind `rate`: the boardings of one holder in; what a month's claim holds of them out."""

from enum import StrEnum

from backoffice.application.law_case_decide import (
    PURSE_KEYS,
    read_city,
    read_continued,
    read_holder,
    read_medium,
    read_network,
)
from backoffice.application.law_case_expect import Outcome
from backoffice.application.law_case_fields import Fields
from backoffice.domain.judging import STUDENT_PURSE
from backoffice.domain.rating import rate_holder
from backoffice.domain.rides import Rated, Release, Ride, Verdict
from validator.domain.boarding import FareUnknown
from validator.domain.holder import Holder
from validator.domain.rules import RuleBook
from validator.domain.tap import Tap
from validator.domain.vocabulary import RideClass


class Mode(StrEnum):
    """Whether a device had the service's answer."""

    ONLINE = "online"
    OFFLINE = "offline"


def rated(case: Fields, book: RuleBook) -> dict[str, object]:
    """What a month's rating says of a case, under the names of `expect`.

    Raises:
        CaseError: a field breaks the format.
    """
    month = case.month("month")
    case.value("holder", "an object {...}, or null for riders without a card")
    holder = None if case.is_null("holder") else read_holder(case.inner("holder"), book)
    city = read_city(case, book)
    rides = [_ride(item, holder) for item in case.items("boardings")]
    try:
        rows = rate_holder(month, rides, city).rated
    except FareUnknown as error:
        raise case.error("fares", "hold no fare for the line and day of a boarding; add one") from error
    return {
        "billable": _count(rows, Verdict.BILLABLE),
        "statistical": _count(rows, Verdict.STATISTICAL),
        "city_cents": sum(row.city_cents for row in rows),
        "excluded": _excluded(rows),
    }


def _count(rows: tuple[Rated, ...], verdict: Verdict) -> int:
    return sum(row.verdict is verdict for row in rows)


def _excluded(rows: tuple[Rated, ...]) -> dict[str, list[str]]:
    """Ids by reason, in the order of rating."""
    excluded: dict[str, list[str]] = {}
    for row in rows:
        if row.reason is not None:
            excluded.setdefault(row.reason.value, []).append(row.ride.tap.boarding_id)
    return excluded


def _ride(fields: Fields, holder: Holder | None) -> Ride:
    tap = Tap(
        boarding_id=fields.text("boarding_id"),
        occurred_at=fields.instant("occurred_at"),
        line=fields.text("line"),
        network=read_network(fields),
        vehicle=fields.text("vehicle"),
        medium=read_medium(fields.inner("medium")),
        continues=read_continued(fields),
    )
    fields.ignored_text("trip")
    ride = Ride(
        tap,
        received_at=fields.instant("received_at"),
        device=fields.text("device"),
        device_seq=fields.whole("device_seq"),
        online=fields.choice("mode", Mode) is Mode.ONLINE,
        states=() if holder is None else (holder,),
        release=_release(fields),
        released=fields.choice("device_outcome", Outcome) is Outcome.ACCEPTED,
        annulled=fields.flag("annulled"),
        epoch=fields.whole("epoch", least=1, default=1),
    )
    fields.done()
    return ride


def _release(fields: Fields) -> Release | None:
    """On what the device let the rider through; None where the case does not say. A purse alone names its class."""
    purse = None if fields.is_null("purse") else fields.text("purse")
    if purse is not None and purse not in PURSE_KEYS:
        raise fields.wrong("purse", f"one of {', '.join(PURSE_KEYS)}")
    ride_class = fields.optional_choice("class", RideClass)
    if ride_class is None and purse is not None:
        ride_class = RideClass.HALF if purse == STUDENT_PURSE else RideClass.PURSE
    return None if ride_class is None else Release(ride_class, purse)

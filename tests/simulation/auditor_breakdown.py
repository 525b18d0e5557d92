"""The auditor's reading of Lei art. 48, VI: who was cut short by a breakdown goes on and pays nothing."""

from datetime import datetime, timedelta
from typing import NamedTuple

from tests.simulation.facts import Facts

CONTINUATION = timedelta(minutes=60)


class Boarded(NamedTuple):
    """A ride that may be cut short; later ones compare higher."""

    at: datetime
    boarding: str
    vehicle: str
    category: str


def broke_down(facts: Facts, vehicle: str, boarded: datetime, at: datetime, shown: datetime | None) -> bool:
    """Whether a bus was declared broken between two instants, as validators knew at a third, or as recorded."""

    def is_known(when: datetime | None) -> bool:
        return shown is None or (when is not None and when <= shown)

    return any(
        one.vehicle == vehicle
        and one.since <= at
        and is_known(one.shown)
        and (one.mended is None or not is_known(one.mended.shown) or one.mended.at > boarded)
        for one in facts.broken
    )


def goes_on_as(
    facts: Facts,
    last: Boarded | None,
    names: str | None,
    vehicle: str,
    at: datetime,
    shown: datetime | None = None,
) -> str | None:
    """The category of the holder's last ride, where a tap that names it is that ride going on."""
    if last is None or names != last.boarding or vehicle == last.vehicle:
        return None
    in_time = timedelta(0) <= at - last.at <= CONTINUATION
    return last.category if in_time and broke_down(facts, last.vehicle, last.at, at, shown) else None

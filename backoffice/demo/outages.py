"""When devices are without network, and when their clocks go wrong. Drawn from a seed."""

import random
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from backoffice.demo.city_plan import Calendar, CityPlan
from validator.domain.service_time import SAO_PAULO


@dataclass(frozen=True, slots=True)
class Outage:
    """A device without network, or with a wrong clock, from an instant until another.

    Attributes:
        device_id: The device.
        begin: From then on.
        end: Until then; then it uploads.
        offline: Whether it is without network; False is a wrong clock only.
        skew: How far its clock is ahead meanwhile.
        late: Whether it lasts for more than a day.
    """

    device_id: str
    begin: datetime
    end: datetime
    offline: bool = True
    skew: timedelta = timedelta(0)

    @property
    def late(self) -> bool:
        """Whether it lasts for more than a day."""
        return self.end - self.begin > timedelta(days=1)

    def covers(self, at: datetime) -> bool:
        """Whether an instant lies in it."""
        return self.begin <= at < self.end


def plan_outages(city: CityPlan, calendar: Calendar, stolen: str, chance: random.Random) -> list[Outage]:
    """The outages of a month.

    Every working day some buses drive for hours where there is no network. One keeps its journal for three days, one
    until after the month has ended. One clock is a quarter of an hour fast, on the network; two clocks are lost while
    there is none, one to last winter and one to the day after tomorrow.
    """
    devices = [vehicle.device_id for vehicle in city.vehicles if vehicle.device_id != stolen]
    chance.shuffle(devices)
    days = calendar.days
    long, last, fast, past, future, *others = devices
    outages = [
        Outage(long, _at(days[4], 9), _at(days[7], 12)),
        Outage(last, _at(days[-2], 12), _at(calendar.after(2), 5)),
        Outage(fast, _at(days[8], 5), _at(days[8], 23), offline=False, skew=timedelta(minutes=17)),
        Outage(past, _at(days[10], 10), _at(days[10], 16), skew=timedelta(days=-90)),
        Outage(future, _at(days[11], 10), _at(days[11], 16), skew=timedelta(days=2)),
    ]
    for day in days[1:-2]:
        for device_id in others:
            if chance.random() < (0.04 if day.weekday() < 5 else 0.01):
                hour = chance.randint(6, 17)
                outages.append(Outage(device_id, _at(day, hour), _at(day, hour + chance.randint(1, 4))))
    return outages


def _at(day: date, hour: int) -> datetime:
    return datetime.combine(day, time(hour), SAO_PAULO)

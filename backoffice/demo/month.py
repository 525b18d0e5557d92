"""The demonstrated month, day by day: outages, what the desk does meanwhile, taps, uploads, and the closing heads."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from backoffice.demo.city_plan import Calendar, CityPlan
from backoffice.demo.clock import DemoClock
from backoffice.demo.count import Count
from backoffice.demo.failure import NotDurable
from backoffice.demo.lists import SignedLists
from backoffice.demo.month_plan import MonthPlan, slot_end, slot_of
from backoffice.demo.offline import OfflineList
from backoffice.demo.outages import Outage
from backoffice.demo.play import Bus, Player
from validator.domain.service_time import SAO_PAULO

_UPLOAD_SLOTS = frozenset({28, 29})
"""From two to three: the end of the early shift, when devices upload and sign their heads; and once at night."""
_DURABLE_POLL_S = 0.25


@dataclass(frozen=True, slots=True)
class DeskEvent:
    """Something that the desk, the city or a thief does at an instant; `work` runs in a thread of its own."""

    at: datetime
    work: Callable[[], None]


class MonthPlayer:
    """Plays a month with everything that happens in it."""

    def __init__(
        self,
        city: CityPlan,
        calendar: Calendar,
        plan: MonthPlan,
        player: Player,
        buses: dict[str, Bus],
        count: Count,
        clock: DemoClock,
        lists: SignedLists,
    ) -> None:
        self._city = city
        self._calendar = calendar
        self._plan = plan
        self._player = player
        self._buses = buses
        self._count = count
        self._clock = clock
        self._lists = lists
        self._outages: list[Outage] = []
        self._events: list[DeskEvent] = []

    async def play(
        self, outages: Sequence[Outage], events: Sequence[DeskEvent], told: Callable[[], None]
    ) -> None:
        """Play the month, until the second day after its last; `told` hears of each day."""
        self._outages = list(outages)
        self._events = sorted(events, key=lambda event: event.at)
        for day in self._calendar.days:
            await self._play_day(day)
            told()
        await self._until(self._at(self._calendar.after(2), 6))
        await self._upload(every=True)

    async def finish(
        self, wait_s: float, not_ingested: Callable[[], int], told: Callable[[int], None]
    ) -> None:
        """Close every epoch but the stolen device's, and wait until journals and heads are in SQL.

        Args:
            wait_s: How long to wait, in seconds.
            not_ingested: How many entries wait for the ingester.
            told: Hears how many journals are durable.

        Raises:
            NotDurable: they are not, after so many seconds.
        """
        buses = list(self._buses.values())
        await self._player.upload([bus for bus in buses if not bus.revoked], closing=True)
        deadline = asyncio.get_running_loop().time() + wait_s
        while True:
            waiting = [bus for bus in buses if bus.device.journal.held]
            told(len(buses) - len(waiting))
            entries = await asyncio.to_thread(not_ingested)
            if not waiting and not entries:
                return
            if asyncio.get_running_loop().time() > deadline:
                raise NotDurable(
                    f"em {wait_s:.0f} s, {len(waiting)} diários não ficaram duráveis e {entries} registros "
                    "não chegaram ao banco"
                )
            await asyncio.sleep(_DURABLE_POLL_S)
            await self._player.upload(waiting)

    async def _play_day(self, day: date) -> None:
        self._player.offline_list = None
        await self._until(self._at(day, 4))
        self._player.offline_list = OfflineList(self._count, self._city, self._clock.now())
        await self._fetch_lists(day)
        slots = self._plan.day(day)
        if day == self._calendar.theft:
            slots += self._plan.thefts(day)
        for taps in slots:
            begin = slot_end(taps[0].at) - timedelta(minutes=30)
            await self._until(begin)
            await self._player.play_slot(taps)
            if slot_of(taps[0].at) in _UPLOAD_SLOTS:
                await self._upload()
        await self._until(self._at(day, 23))
        await self._upload()

    async def _fetch_lists(self, day: date) -> None:
        """The night's list is built and signed; the agents of buses that will be without network today fetch it."""
        begin, end = self._at(day, 0), self._at(day, 23)
        leaving = {o.device_id for o in self._outages if o.offline and begin <= o.begin <= end}
        if day == self._calendar.theft:
            leaving.add(self._city.vehicles[-1].device_id)
        if leaving:
            await asyncio.to_thread(self._lists.build)
        for device_id in sorted(leaving):
            bus = self._buses[device_id]
            self._player.part(bus)
            bus.agent = await asyncio.to_thread(self._lists.agent, bus.device.identity)
            bus.listed = OfflineList(self._count, self._city, self._clock.now())

    async def _until(self, instant: datetime) -> None:
        """Move the clock on, through the desk's events and the ends of outages on the way."""
        while self._events and self._events[0].at <= instant:
            event = self._events.pop(0)
            self._clock.set(max(self._clock.now(), event.at))
            await self._upload()
            await asyncio.to_thread(event.work)
        self._clock.set(max(self._clock.now(), instant))
        ended = self._set_outages(instant)
        if ended:
            await self._player.upload([bus for bus in ended if bus.owes])

    def _set_outages(self, instant: datetime) -> list[Bus]:
        """What is broken at an instant; the buses whose network has come back."""
        back = []
        for device_id, bus in self._buses.items():
            now = [o for o in self._outages if o.device_id == device_id and o.covers(instant)]
            offline = bus.revoked or any(outage.offline for outage in now)
            if bus.offline and not offline:
                back.append(bus)
            bus.offline = offline
            bus.device.skew = sum((outage.skew for outage in now), timedelta(0))
        return back

    async def _upload(self, *, every: bool = False) -> None:
        """Let all devices with network upload; a stolen one only where `every` is asked for."""
        buses = [bus for bus in self._buses.values() if bus.owes]
        await self._player.upload([bus for bus in buses if not bus.offline or (every and bus.revoked)])

    @staticmethod
    def _at(day: date, hour: int) -> datetime:
        return datetime.combine(day, time(hour), SAO_PAULO)

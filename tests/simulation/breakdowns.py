"""Buses that break down: the city declares it, and their riders board the next one, naming the boarding cut short.

Some come too late, some name a boarding of a bus that runs, another's boarding, or the same one twice.
"""

import random
from datetime import timedelta

from backoffice.application.register_fleet import declare_broken, declare_repaired
from backoffice.application.staff import as_fleet, staff_by_login
from backoffice.persistence.base import writing
from tests.simulation.bus import Bus
from tests.simulation.facts import BrokeDown, Mended
from tests.simulation.found_city import Rider
from tests.simulation.ride import Rides, Trouble
from tests.simulation.world import World

_A_DAY = 0.4
"""Buses that break down on a day."""
_RIDERS = 3
_LATE = 0.2
"""Share of what is declared that validators do not hear of at once."""


class Breakdowns:
    """The breakdowns of a world. Their chance is their own, so that it moves nothing else of a seed."""

    def __init__(self, world: World, trouble: Trouble) -> None:
        self._world = world
        self._random = random.Random(f"breakdowns {world.seed}")
        self._rides = Rides(world, trouble, self._random)
        self._boarded: list[str] = []

    def plan(self) -> None:
        for day in range(self._world.size.days):
            if self._random.random() < _A_DAY:
                self._plan_one(day, self._random.uniform(7, 21))

    def _plan_one(self, day: int, hour: float) -> None:
        world, chance = self._world, self._random
        bus, other = chance.sample(world.buses, 2)
        for rider in chance.sample(world.city.riders, _RIDERS):
            boards = world.local(day, hour) - timedelta(minutes=chance.uniform(1, 20))
            ways: list[str] = []
            world.at(boards, lambda rider=rider, ways=ways: self._board(bus, rider, ways))
            after = timedelta(minutes=chance.choice((5, 15, 30, 39, 59, 61, 75)))
            times = 2 if chance.random() < 0.25 else 1
            for turn in range(times):
                when = world.local(day, hour) + after + timedelta(minutes=7 * turn)
                on = chance.choice((other, other, other, bus, chance.choice(world.buses)))
                world.at(when, lambda on=on, rider=rider, ways=ways: self._go_on(on, rider, ways))
        if chance.random() < 0.85:
            world.at(world.local(day, hour), lambda: self._break(bus))
            mended = timedelta(minutes=chance.choice((10, 45, 120)))
            world.at(world.local(day, hour) + mended, lambda: self._mend(bus))

    def _board(self, bus: Bus, rider: Rider, ways: list[str]) -> None:
        ways.append(self._rides.tap(bus, {"kind": "card", "token": rider.token}))
        self._boarded.append(ways[0])

    def _go_on(self, bus: Bus, rider: Rider, ways: list[str]) -> None:
        """He names his own boarding, and now and then another's."""
        named = self._random.choice(self._boarded) if self._random.random() < 0.15 else ways[0]
        self._rides.tap(bus, {"kind": "card", "token": rider.token}, continues=named)

    def _break(self, bus: Bus) -> None:
        world = self._world
        if any(one.vehicle == bus.vehicle and one.mended is None for one in world.facts.broken):
            return
        since = world.now - timedelta(minutes=self._random.choice((0, 2, 10)))
        with writing(world.services.engine) as session:
            by = as_fleet(staff_by_login(session, "city", world.now))
            declare_broken(session, by, world.now, vehicle=bus.vehicle, from_at=since)
        broken = BrokeDown(bus.vehicle, since)
        world.facts.broken.append(broken)
        self._tell(broken)

    def _mend(self, bus: Bus) -> None:
        world = self._world
        broken = [one for one in world.facts.broken if one.vehicle == bus.vehicle and one.mended is None]
        for one in broken:
            with writing(world.services.engine) as session:
                by = as_fleet(staff_by_login(session, "city", world.now))
                declare_repaired(session, by, world.now, vehicle=bus.vehicle, until_at=world.now)
            one.mended = Mended(world.now)
            self._tell(one.mended)

    def _tell(self, declared: BrokeDown | Mended) -> None:
        self._world.note(declared)
        if self._random.random() >= _LATE:
            self._world.publish()

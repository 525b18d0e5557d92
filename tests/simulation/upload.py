"""Devices upload what is not durable yet: whole, in parts, twice, in the wrong order, or to nobody."""

from datetime import timedelta

from tests.simulation.bus import Bus, Clock
from tests.simulation.ride import Rides
from tests.simulation.world import World
from validator.application.errors import BoardingError, NotServed

_MOST = 1_000
_ROUNDS = 60
_MINUTE = timedelta(minutes=1)


class Uploads:
    """The batches of all devices."""

    def __init__(self, world: World, rides: Rides) -> None:
        self._world = world
        self._rides = rides

    def upload(self, bus: Bus) -> None:
        """One turn of a device's uploader."""
        first, last = bus.forgotten + 1, min(bus.seq, bus.forgotten + _MOST)
        if not bus.online or last < first:
            return
        bus.list_at = self._world.now
        bus.used.clear()
        parts = [(first, last)]
        if last > first and self._rides.happens("reordered"):
            middle = self._world.random.randrange(first, last)
            parts = [(middle + 1, last), (first, middle)]
        elif last > first and self._world.random.random() < 0.1:
            parts = [(first, self._world.random.randrange(first, last))]
        for begin, end in parts:
            if begin > bus.forgotten and not self._rides.happens("request_lost"):
                self._send(bus, begin, end, answer_lost=self._rides.happens("answer_lost"))
                if begin > bus.forgotten and self._rides.happens("sent_twice"):
                    self._send(bus, begin, end)

    def _send(
        self, bus: Bus, first: int, last: int, *, answer_lost: bool = False, closing: bool = False
    ) -> bool:
        """Send a batch; whether all of it was recorded, with its head."""
        world, body = self._world, bus.batch(first, last, closing=closing)
        received = world.instant()
        self._rides.tried("batch", bus, first, last, received, bus.clock.read(world.now))
        try:
            answer = self._rides.validator().batch(body, bus.authorization, received)
        except NotServed:
            return False
        except BoardingError as error:
            world.faults.append(f"{bus.id} batch {first}..{last}: {error!r}")
            return False
        if not answer_lost:
            world.told_durable(bus, answer.durable_seq)
        return answer.head_recorded and all(item.recorded for item in answer.items)

    def come_to_rest(self) -> None:
        """Everybody comes home, the network is good, and everything is uploaded until the last entry is durable."""
        world = self._world
        if not world.services.running:
            world.services.start_redis()
        world.ingest()
        devices = [*world.buses, *world.earlier]
        for bus in devices:
            bus.online, bus.clock = True, Clock()
        for _ in range(_ROUNDS):
            waiting = [bus for bus in devices if bus.forgotten < bus.seq]
            if not waiting:
                break
            for bus in waiting:
                world.now += _MINUTE
                self._send(bus, bus.forgotten + 1, min(bus.seq, bus.forgotten + _MOST))
            world.ingest()
            for bus in waiting:  # what is durable is heard with the next answer, if only to a head
                world.now += _MINUTE
                self._send(bus, bus.seq + 1, bus.seq)
        for bus in devices:
            if bus.forgotten < bus.seq:
                world.faults.append(f"{bus.id} is stuck at {bus.forgotten} of {bus.seq}")
            if bus.seq and not self._send(bus, bus.seq + 1, bus.seq, closing=True):
                world.faults.append(f"{bus.id} cannot close its journal")
        world.ingest()

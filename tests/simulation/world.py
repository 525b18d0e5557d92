"""A world in virtual time: its city, its buses, its services, and the queue of what is going to happen."""

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import select

from backoffice.persistence.base import reading
from backoffice.persistence.journal import TapKeyRow
from tests.simulation.auditor_law import CITY_TIME
from tests.simulation.bus import Bus
from tests.simulation.facts import BrokeDown, Facts, Journal, Mended, Recorded
from tests.simulation.found_city import BUSES, City, private_key
from tests.simulation.services import Services


@dataclass(frozen=True)
class Size:
    """How large a world is.

    Attributes:
        first: First civil day.
        days: Number of days.
        riders: How many of the founded people ride.
        copies: How many of each kind of person are founded.
        taps_a_day: Taps of nobody (cash, keys, documents) and of strange cards a day.
    """

    first: date = date(2026, 3, 25)
    days: int = 14
    riders: int = 26
    copies: int = 1
    taps_a_day: int = 10


SMALL = Size(days=11, riders=16, taps_a_day=6)
LARGE = Size(first=date(2026, 3, 24), days=31, riders=300, copies=12, taps_a_day=200)


class World:
    """One seed being played."""

    def __init__(self, seed: int, size: Size, city: City, services: Services) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.size = size
        self.city = city
        self.facts: Facts = city.facts
        self.services = services
        self.now = datetime(size.first.year, size.first.month, size.first.day, 3, tzinfo=UTC)
        founded = max(one.at for person in city.facts.people.values() for one in person.record)
        assert self.now > founded, "a world begins after its city was founded: validators know all of it"
        self.faults: list[str] = []
        self.day_ends: dict[bytes, datetime] = {}
        self._queue: list[tuple[datetime, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._instants = itertools.count(1)
        self._unshown: list[Recorded | BrokeDown | Mended] = []
        self._durable: dict[tuple[str, int], int] = {}
        self.earlier: list[Bus] = []
        """Journals of devices that were installed again since: they only upload."""
        self.buses = [self._bus(device) for device in BUSES]

    def _bus(self, device: str) -> Bus:
        vehicle, operator = BUSES[device]
        lines = [line for line, (_, own) in self.facts.lines.items() if own == operator]
        journal = self.facts.journals[device, 1] = Journal(device, 1)
        token = self.city.device_tokens[device]
        return Bus(device, vehicle, lines, token, private_key(device), journal)

    def at(self, when: datetime, what: Callable[[], None]) -> None:
        """Let something happen at an instant."""
        heapq.heappush(self._queue, (max(when, self.now), next(self._numbers), what))

    def instant(self, after: timedelta = timedelta(0)) -> datetime:
        """An instant of the service soon after now; no two are the same."""
        micros = next(self._instants)
        return (self.now + after).replace(microsecond=0) + timedelta(microseconds=micros)

    def local(self, day: int, hour: float) -> datetime:
        """The instant of an hour of a day of the world, by the city's time."""
        first = self.size.first
        midnight = datetime(first.year, first.month, first.day, tzinfo=CITY_TIME)
        return midnight + timedelta(days=day, hours=hour)

    def run(self) -> None:
        """Until nothing more happens."""
        while self._queue:
            self.now, _, what = heapq.heappop(self._queue)
            what()

    def record(self, hot_id: str, recorded: Recorded) -> None:
        """A change of the register, which validators cannot see yet."""
        self.facts.people[hot_id].record.append(recorded)
        self._unshown.append(recorded)

    def note(self, declared: BrokeDown | Mended) -> None:
        """A breakdown or a repair was declared, which validators cannot see yet."""
        self._unshown.append(declared)

    def publish(self) -> bool:
        """The publisher's turn; whether it came to its end."""
        done = self.services.publish()
        if done:
            for recorded in self._unshown:
                recorded.shown = self.now
            self._unshown.clear()
        return done

    def ingest(self, dies_at: str | None = None) -> bool:
        """The ingester's turn, and then the publisher's; whether the ingester came to its end."""
        done = self.services.ingest(dies_at)
        self._note_durable()
        self.publish()
        if done:
            self.services.wait_until_ready()
        return done

    def _note_durable(self) -> None:
        with reading(self.services.engine) as session:
            columns = (TapKeyRow.device, TapKeyRow.epoch, TapKeyRow.seq)
            found = session.execute(select(*columns).order_by(TapKeyRow.seq)).all()
        durable: dict[tuple[str, int], int] = {}
        for device, epoch, seq in found:
            if seq == durable.get((device, epoch), 0) + 1:
                durable[device, epoch] = seq
        self._durable = durable

    def told_durable(self, bus: Bus, durable_seq: int) -> None:
        """The service says that entries are durable: the device believes it, the auditor looks."""
        known = self._durable.get((bus.id, bus.journal.epoch), 0)
        if durable_seq > known:
            self.faults.append(f"{bus.id} is told {durable_seq} durable; SQL has {known}")
        bus.learn_durable(durable_seq)

    def midnight(self) -> None:
        """A new civil day: the publisher notices, and answers of yesterday are let go."""
        self.publish()
        if self.services.running:
            self.services.pass_a_day(self.day_ends, self.now)

"""The month, played: every tap goes over HTTP, each answer is compared with the demonstration's own count.

In each slot of half an hour all buses are heard at once, each its own taps one after the other; then devices upload
their journals; then the clock moves on. So the same seed gives the same month on any machine.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from backoffice.demo.bus_agent import BusAgent
from backoffice.demo.clock import DemoClock
from backoffice.demo.count import Count, Expected, Ride
from backoffice.demo.device import Device, Entry, LinkDown, read_answer
from backoffice.demo.http_link import HttpAnswer
from backoffice.demo.month_plan import Mishap, PlannedTap, slot_end
from backoffice.demo.offline import OfflineList
from backoffice.demo.people import Rider
from validator.domain.vocabulary import RIGHTS_IN_ORDER, MediumKind, Product

_UPLOADS_AT_ONCE = 6
"""A validator's process takes eight batches at once and tells others to come again."""
_RETRIES = 50
_RETRY_S = 0.1
_SHOWN_DIFFERENCES = 20


@dataclass(slots=True)
class Happened:
    """What happened in the month, counted as it was played."""

    taps: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    """Answers by reason."""
    mishaps: Counter[Mishap] = field(default_factory=Counter)
    offline: int = 0
    late: int = 0
    skewed: int = 0
    undated: int = 0
    from_revoked: int = 0
    replayed: int = 0
    conflicts: int = 0
    differences: list[str] = field(default_factory=list)
    """Answers that are not what the count expects."""


@dataclass(slots=True)
class _Pending:
    """A tap that the device decided by itself, until it is uploaded."""

    tap: PlannedTap
    boarding_id: UUID
    dated_at: datetime
    answered: Expected | None
    released: Expected | None


@dataclass(slots=True)
class Bus:
    """A vehicle's device with its operator, and what the world does to it at the moment."""

    device: Device
    operator: str
    offline: bool = False
    revoked: bool = False
    pending: list[_Pending] = field(default_factory=list)
    agent: BusAgent | None = None
    """Drives while there is no network; it has fetched the list of the night."""
    listed: OfflineList | None = None
    """What the list of the agent must make it decide."""

    @property
    def owes(self) -> bool:
        """Whether the service lacks entries of its journal."""
        return bool(self.device.journal.held) or (self.agent is not None and self.agent.drives)


class Player:
    """Plays slots on buses."""

    def __init__(
        self,
        buses: dict[str, Bus],
        count: Count,
        clock: DemoClock,
        forge: Callable[[Rider], str],
        heard: Callable[[int], None],
    ) -> None:
        self.happened = Happened()
        self.offline_list: OfflineList | None = None
        self._buses = buses
        self._count = count
        self._clock = clock
        self._forge = forge
        self._heard = heard
        self._few = asyncio.Semaphore(_UPLOADS_AT_ONCE)

    async def play_slot(self, taps: list[PlannedTap]) -> None:
        """All taps of one slot: the buses at once, each its own in order."""
        self._clock.set(max(self._clock.now(), slot_end(taps[0].at)))
        by_bus: dict[str, list[PlannedTap]] = {}
        for tap in taps:
            by_bus.setdefault(tap.vehicle.device_id, []).append(tap)
        await asyncio.gather(*(self._play_bus(self._buses[name], own) for name, own in by_bus.items()))
        self._heard(len(taps))

    async def upload(self, buses: list[Bus], *, closing: bool = False) -> None:
        """Let devices upload what is not durable yet; what they decided by themselves is known from then on."""
        await asyncio.gather(*(self._upload(bus, closing=closing) for bus in buses))
        for bus in buses:
            for pending in bus.pending:
                self._settle(bus, pending)
            bus.pending.clear()

    async def _upload(self, bus: Bus, *, closing: bool) -> None:
        async with self._few:
            if bus.agent is not None and bus.agent.drives:
                await asyncio.to_thread(bus.agent.upload, self._clock.now())
                bus.agent.hand_back(bus.device.journal)
                self.part(bus)
            if closing or bus.owes:
                await bus.device.upload(closing=closing)

    @staticmethod
    def part(bus: Bus) -> None:
        """The agent of a bus has done what it was there for."""
        if bus.agent is not None:
            bus.agent.close()
        bus.agent = bus.listed = None

    async def _play_bus(self, bus: Bus, taps: list[PlannedTap]) -> None:
        for tap in taps:
            self.happened.taps += 1
            self.happened.mishaps[tap.mishap] += 1
            if bus.offline or bus.revoked:
                await self._alone(bus, tap)
            else:
                await self._online(bus, tap)

    # With an answer

    async def _online(self, bus: Bus, tap: PlannedTap) -> None:
        device = bus.device
        dated_at = self._clock.now() if device.skew else tap.at
        self.happened.skewed += bool(device.skew)
        expected = self._count.expect(tap, dated_at)
        boarding_id = device.new_boarding_id(tap.at)
        entry = device.journal_tap(self._fields(tap, boarding_id), tap.at)
        answer = await self._answer(device, entry)
        if answer is None:
            self._decide_alone(bus, tap, boarding_id, None)
            return
        self._compare(tap, expected, answer)
        if expected.accepted:
            self._count.consume(tap, boarding_id, dated_at, expected)
        if tap.mishap is Mishap.LOST_ANSWER:
            self._decide_alone(bus, tap, boarding_id, expected)
            return
        if tap.mishap is Mishap.DUPLICATE:
            await self._again(device, entry, answer)
        self._release(bus, tap, boarding_id, dated_at, expected)
        if tap.mishap in (Mishap.ANNULLED, Mishap.ANNULLED_LATE) and expected.accepted:
            await self._annul(bus, tap, boarding_id, expected)
        if tap.mishap is Mishap.CONFLICT:
            await self._reuse_id(bus, tap, boarding_id)

    async def _answer(self, device: Device, entry: Entry) -> HttpAnswer | None:
        """The answer to a tap; None when the service cannot give one for some seconds."""
        for _ in range(_RETRIES):
            try:
                answer = await device.post_tap(entry)
            except LinkDown:
                return None
            if answer.status != 503:
                return answer
            await asyncio.sleep(_RETRY_S)
        return None

    def _release(
        self, bus: Bus, tap: PlannedTap, boarding_id: UUID, dated_at: datetime, expected: Expected
    ) -> None:
        """Journal what the device did about an answer."""
        device = bus.device
        released: Expected | None = expected if expected.accepted else None
        refused_for: str | None = None
        if tap.mishap is Mishap.HELD and expected.accepted:
            released = None
        elif _let_through(tap, expected):
            released = _of_the_right(tap)
            refused_for = expected.reason
        if (released is not None) is not expected.accepted:
            # The service learns of it with the next upload, and counts by its own answer until then.
            bus.pending.append(_Pending(tap, boarding_id, dated_at, expected, released))
        entry = device.journal_release(
            boarding_id,
            released=released is not None,
            ride_class=None if released is None else released.ride_class,
            purse=None if released is None else released.purse,
            online=True,
        )
        if released is not None:
            order = (dated_at, device.identity.device_id, entry.seq - 1)
            self._count.add_ride(
                Ride(boarding_id, order, tap, bus.operator, released.ride_class or "", refused_for)
            )

    async def _again(self, device: Device, entry: Entry, first: HttpAnswer) -> None:
        """The same bytes once more: the same answer, marked as a replay."""
        second = await device.post_tap_again(entry)
        one, other = read_answer(first), read_answer(second)
        self.happened.replayed += bool(other.get("replayed"))
        for answer in (one, other):
            for changing in ("replayed", "durable_seq", "missing"):
                answer.pop(changing, None)
        if one != other:
            self._differ(f"replay: {one} became {other}")

    async def _annul(self, bus: Bus, tap: PlannedTap, boarding_id: UUID, expected: Expected) -> None:
        late = tap.mishap is Mishap.ANNULLED_LATE
        entry = bus.device.journal_annulment(boarding_id, tap.at + timedelta(seconds=180 if late else 20))
        answer = await bus.device.post_annulment(entry, boarding_id)
        if answer.status != 200:
            self._differ(f"annulment: {answer.status} {answer.body.decode()}")
        if not late:
            self._count.give_back(tap, boarding_id, expected)
            self._count.rides[boarding_id].annulled = True

    async def _reuse_id(self, bus: Bus, tap: PlannedTap, boarding_id: UUID) -> None:
        """A faulty device gives the next rider, who pays in cash, the id of the last; then it reads again."""
        next_at = tap.at + timedelta(seconds=7)
        fare = self._count.fare(tap.vehicle.line, next_at)
        cash = PlannedTap(next_at, tap.vehicle, MediumKind.CASH, tap.vehicle.line.code, tendered_cents=fare)
        entry = bus.device.journal_tap(self._fields(cash, boarding_id), cash.at)
        answer = await bus.device.post_tap_again(entry)
        self.happened.conflicts += 1
        if answer.status != 409:
            self._differ(f"used id: {answer.status} {answer.body.decode()}")
        self.happened.taps += 1
        await self._online(bus, cash)

    # Without an answer

    async def _alone(self, bus: Bus, tap: PlannedTap) -> None:
        """The agent decides, and journals tap and release; it must decide what its list says."""
        device, agent, listed = bus.device, bus.agent, bus.listed
        assert agent is not None
        assert listed is not None
        if not agent.drives:
            agent.take_over(device.journal)
        boarding_id = device.new_boarding_id(tap.at)
        shown = await asyncio.to_thread(agent.tap, self._fields(tap, boarding_id), tap.at, device.skew)
        self.happened.offline += 1
        believed = tap.at + max(device.skew, timedelta(0))  # a clock before the list's issue is not believed
        expected = listed.decide(tap, believed)
        if (shown.released, shown.ride_class) != (expected is not None, expected and expected.ride_class):
            self._differ(f"{tap.at} {device.identity.device_id} sem rede: {shown}, esperado {expected}")
        if expected is not None:
            listed.let_in(tap, boarding_id, believed, expected)
        assert shown.device_seq is not None
        order = (tap.at, device.identity.device_id, shown.device_seq)
        self._rode(bus, tap, boarding_id, order, expected, undated=bool(device.skew))
        if not device.skew and not bus.revoked:
            bus.pending.append(_Pending(tap, boarding_id, tap.at, None, expected))

    def _decide_alone(self, bus: Bus, tap: PlannedTap, boarding_id: UUID, answered: Expected | None) -> None:
        """No answer came in time: let the rider through, or hold, by the list of last night, and journal it."""
        device = bus.device
        assert self.offline_list is not None
        listed = self.offline_list.decide(tap, tap.at)
        dated_at = self._clock.now() if device.skew else tap.at
        entry = device.journal_release(
            boarding_id,
            released=listed is not None,
            ride_class=None if listed is None else listed.ride_class,
            purse=None if listed is None else listed.purse,
            online=False,
        )
        order = (dated_at, device.identity.device_id, entry.seq - 1)
        self._rode(bus, tap, boarding_id, order, listed)
        bus.pending.append(_Pending(tap, boarding_id, dated_at, answered, listed))

    def _rode(
        self,
        bus: Bus,
        tap: PlannedTap,
        boarding_id: UUID,
        order: tuple[datetime, str, int],
        released: Expected | None,
        *,
        undated: bool = False,
    ) -> None:
        """Count a ride that a bus decided by itself; None was held."""
        if released is None:
            return
        self._count.add_ride(
            Ride(
                boarding_id,
                order,
                tap,
                bus.operator,
                released.ride_class or "",
                undated=undated,
                from_revoked=bus.revoked,
            )
        )
        self.happened.undated += undated
        self.happened.from_revoked += bus.revoked

    def _settle(self, bus: Bus, pending: _Pending) -> None:
        """The service knows now what the device did: facts win over what it had answered."""
        answered, released = pending.answered, pending.released
        if answered is not None and answered.accepted:
            if released is None:
                self._count.give_back(pending.tap, pending.boarding_id, answered)
        elif released is not None:
            self._count.consume(pending.tap, pending.boarding_id, pending.dated_at, released)

    # Comparing

    def _compare(self, tap: PlannedTap, expected: Expected, answer: HttpAnswer) -> None:
        if answer.status != 200:
            self._differ(f"{tap.at} {tap.mishap}: {answer.status} {answer.body.decode()}")
            return
        body = read_answer(answer)
        reason = body["reason"]["name"]
        self.happened.answers[reason] += 1
        got: dict[str, Any] = {"reason": reason}
        want: dict[str, Any] = {"reason": expected.reason}
        if expected.accepted:
            names = ("class", "fare_cents", "rider_cents", "change_cents")
            got |= {name: body.get(name) for name in names}
            parts = (expected.ride_class, expected.fare_cents, expected.rider_cents, expected.change_cents)
            want |= dict(zip(names, parts, strict=True))
        if got != want:
            who = "" if tap.rider is None else f" titular {tap.rider.number} {tap.rider.habit}"
            self._differ(f"{tap.at} linha {tap.line}{who} {tap.mishap}: {got}, esperado {want}")

    def _differ(self, text: str) -> None:
        if len(self.happened.differences) < _SHOWN_DIFFERENCES:
            self.happened.differences.append(text)
        else:
            self.happened.differences[-1] = "... e outras"

    def _fields(self, tap: PlannedTap, boarding_id: UUID) -> dict[str, Any]:
        """The tap as the device writes it; number and instant are added by the journal."""
        trip = self._count.trip(tap.vehicle.line, tap.at)
        return {
            "boarding_id": str(boarding_id),
            "line": tap.line,
            "vehicle": tap.vehicle.number,
            "trip": trip,
            "medium": self._medium(tap),
        }

    def _medium(self, tap: PlannedTap) -> dict[str, Any]:
        if tap.kind is MediumKind.CASH:
            return {"kind": "cash", "tendered_cents": tap.tendered_cents}
        if tap.kind is MediumKind.DOCUMENT:
            return {"kind": "document", "category": str(tap.category), "document": "RG"}
        if tap.kind is MediumKind.KEY:
            return {"kind": "key", "category": str(tap.category)}
        assert tap.rider is not None
        if tap.mishap is Mishap.FORGED or (tap.mishap is Mishap.FIRST_VIA and len(tap.rider.tokens) < 2):
            return {"kind": "card", "token": self._forge(tap.rider)}
        tokens = tap.rider.tokens
        return {"kind": "card", "token": tokens[0] if tap.mishap is Mishap.FIRST_VIA else tokens[-1]}


def _let_through(tap: PlannedTap, expected: Expected) -> bool:
    """Whether a kind driver lets somebody with a registered right through over a refusal."""
    if tap.mishap is not Mishap.LET_THROUGH or tap.rider is None:
        return False
    return tap.rider.category in RIGHTS_IN_ORDER and expected.reason in _LET_THROUGH_OVER


def _of_the_right(tap: PlannedTap) -> Expected:
    """What the driver lets such a rider through on: what the card stands for."""
    assert tap.rider is not None
    category = tap.rider.category
    if tap.rider.product is Product.STUDENT:
        return Expected("OK", "HALF", Count.purse_of(tap.rider), category=category, consumes=True)
    return Expected("OK", "FREE", category=category)


_LET_THROUGH_OVER = frozenset(
    {"CARD_BLOCKED", "RIGHT_ENDED", "RIGHT_SUSPENDED", "STUDENT_CAP_REACHED", "NO_PASSES"}
)
"""Refusals over which a kind driver lets somebody through all the same."""

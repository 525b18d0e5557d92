"""A lane: one connection to Redis, what waits for it, and its turns.

Each turn is one round trip. It carries the commit of the items that were just decided and, behind it, the read of
those that wait; Redis carries them out in this order, so what is read already shows what was committed.
Whatever was posted by itself goes before batches, and a turn carries at most one group of a batch: a garage that
uploads its day delays nobody at a turnstile by more than that.
When the connection dies, everything that waits is told at once; nothing is sent twice.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from validator.adapters.redis_cycle import Cycle, Shards
from validator.adapters.redis_link import (
    EvictionPolicyRefused,
    NotVerified,
    RedisLink,
    RedisLinkError,
    packed,
    refuse_error,
)
from validator.adapters.redis_scripts import load_scripts
from validator.application.errors import HotStateAway, HotStateBusy
from validator.application.ports import Item
from validator.records.keys import SHARDS, fence_key, generation_key

_log = structlog.get_logger("catraca.hot_state")

_ALL_GENERATIONS = packed(b"MGET", *[generation_key(n) for n in range(SHARDS)])
_ALL_FENCES = packed(b"MGET", *[fence_key(n) for n in range(SHARDS)])


@dataclass(frozen=True)
class Limits:
    """How Redis is used.

    Attributes:
        timeout_s: Longest wait for one round trip.
        reconnect_s: Pause between attempts to connect.
        lanes: Connections. Single items use the first that stands; groups of batches the one with the least to do.
        cycle_items: Most single items in one script call; one group of a batch comes on top.
        attempts: How often one item is decided before it is given up as contended.
        look_s: Pause between looks at the settings of Redis that counts depend on.
    """

    timeout_s: float = 0.2
    reconnect_s: float = 0.1
    lanes: int = 2
    cycle_items: int = 125
    attempts: int = 10
    look_s: float = 2.0


class _Group:
    """Items of one caller that are settled together and in order."""

    __slots__ = ("attempts", "done", "items", "queue")

    def __init__(self, items: list[Item], done: asyncio.Future[None], queue: "deque[_Group]") -> None:
        self.items = items
        self.done = done
        self.queue = queue
        self.attempts = 0

    def finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def fail(self) -> None:
        if not self.done.done():
            for item in self.items:
                item.failed(HotStateAway())
            self.done.set_result(None)


class _Turn:
    """Groups that go through one cycle together."""

    __slots__ = ("cycle", "groups")

    def __init__(self, groups: list[_Group], shards: Shards) -> None:
        self.groups = groups
        self.cycle = Cycle([item for group in groups for item in group.items], shards)


class Lane:
    """One connection, its queues and its turns.

    Attributes:
        ready: Whether its Redis was looked at and found good, and the connection stands.
    """

    def __init__(self, url: str, limits: Limits, shards: Shards) -> None:
        self.ready = False
        self.link = RedisLink(url, limits.timeout_s, self._lost)
        self._limits = limits
        self._shards = shards
        self._singles: deque[_Group] = deque()
        self._batches: deque[_Group] = deque()
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._under_way = 0
        self._why = ""

    def add(self, item: Item) -> asyncio.Future[None]:
        """An item of its own; the future is done when it is settled."""
        return self._post([item], self._singles)

    def add_all(self, items: Sequence[Item]) -> asyncio.Future[None]:
        """A group of a batch; the future is done when all of it is settled."""
        return self._post(list(items), self._batches)

    def _post(self, items: list[Item], queue: deque[_Group]) -> asyncio.Future[None]:
        done: asyncio.Future[None] = self._loop.create_future()
        queue.append(_Group(items, done, queue))
        self._wake.set()
        return done

    @property
    def waiting(self) -> int:
        """How many groups are in its queues or under way."""
        return len(self._singles) + len(self._batches) + self._under_way

    async def run(self) -> None:
        """Connect and serve, for ever."""
        while True:
            try:
                await self.connect()
                await self._serve()
            except (RedisLinkError, NotVerified, EvictionPolicyRefused) as error:
                self.drop(str(error))
                await asyncio.sleep(self._limits.reconnect_s)

    async def connect(self) -> None:
        """Connect and look at Redis, if that was not done yet.

        Raises:
            RedisLinkError: nobody answers, or not as a Redis that we may use.
            EvictionPolicyRefused: it may drop keys.
            NotVerified: nobody has compared this Redis process with SQL yet.
        """
        if self.ready:
            return
        await self.link.open()
        await load_scripts(self.link)
        await refresh_shards(self.link, self._shards)
        self.ready = True
        self._why = ""

    def drop(self, why: str) -> None:
        """Drop the connection; whatever waits is told."""
        self.ready = False
        self.link.close()
        if why and why != self._why:
            _log.warning("hot_state_away", why=why)
            self._why = why
        for queue in (self._singles, self._batches):
            while queue:
                queue.popleft().fail()

    def _lost(self) -> None:
        self.ready = self.ready and self.link.is_open  # what was lost may be the connection before this one
        self._wake.set()

    async def _serve(self) -> None:
        writing: _Turn | None = None
        while True:
            if writing is None and not self._singles and not self._batches:
                self._under_way = 0
                self._wake.clear()
                if self.ready:
                    await self._wake.wait()
            if not self.ready:
                raise RedisLinkError("connection lost")
            reading = self._take()
            self._under_way = sum(len(turn.groups) for turn in (writing, reading) if turn is not None)
            try:
                writing = await self._turn(writing, reading)
            except BaseException:
                for turn in (writing, reading):
                    for group in () if turn is None else turn.groups:
                        group.fail()
                raise

    def _take(self) -> _Turn | None:
        """What is read next: as many single items as fit one script call, and one group of a batch."""
        singles, batches = self._singles, self._batches
        groups = [singles.popleft() for _ in range(min(len(singles), self._limits.cycle_items))]
        if batches:
            groups.append(batches.popleft())
        return _Turn(groups, self._shards) if groups else None

    async def _turn(self, writing: _Turn | None, reading: _Turn | None) -> _Turn | None:
        """Write what was decided and read what waits, in one trip; what must be written next."""
        command, count = b"", 0
        if writing is not None:
            command, count = writing.cycle.write(), 1
        if reading is None:
            replies = await self.link.trip(command, count) if count else []
        else:
            ask, asked = reading.cycle.ask()
            replies = await self.link.trip(command + ask, count + asked)
        if writing is not None:
            await writing.cycle.tell(replies[0], self.link)
            self._finish(writing)
        if reading is None:
            return None
        await reading.cycle.learn(replies[count:], self.link)
        must_write = reading.cycle.decide()
        await reading.cycle.fence(self.link)
        if must_write:
            return reading
        self._finish(reading)
        return None

    def _finish(self, turn: _Turn) -> None:
        """Tell those who wait; what moved meanwhile is read and decided again, before all others."""
        again = turn.cycle.again
        if not again:
            for group in turn.groups:
                group.finish()
            return
        for group in reversed(turn.groups):
            group.items = [item for item in group.items if id(item) in again]
            group.attempts += 1
            if group.items and group.attempts < self._limits.attempts:
                group.queue.appendleft(group)
                continue
            for item in group.items:
                item.failed(HotStateBusy())
            group.finish()


async def refresh_shards(link: RedisLink, shards: Shards) -> None:
    """Read the generation and the fence of every shard.

    Raises:
        RedisLinkError: the connection is gone, or Redis answers with an error (it may still be loading its file).
    """
    replies = await link.trip(_ALL_GENERATIONS + _ALL_FENCES, 2)
    for reply in replies:
        refuse_error(reply)
    generations, fences = replies
    for number, generation in enumerate(generations):
        shards.learn(number, generation)
        shards.fenced[number] = fences[number] is not None

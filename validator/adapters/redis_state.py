"""The hot state in Redis: read - decide - commit, for all taps of an event-loop tick at once.

A lane is one connection with a queue. All items that wait when a lane is free are read in one round trip, decided in
order, and committed by one script call. Items of one home always use the same lane while it stands, so that one
process never races with itself for a holder. When a lane's connection dies, everything that waits on it is told at
once; nothing is sent twice.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from validator.adapters.redis_cycle import Cycle, Shards
from validator.adapters.redis_link import (
    EvictionPolicyRefused,
    NotVerified,
    RedisLink,
    RedisLinkError,
    ReplyError,
    packed,
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
        lanes: Connections.
        cycle_items: Most items in one script call.
        attempts: How often one item is decided before it is given up as contended.
    """

    timeout_s: float = 0.2
    reconnect_s: float = 0.1
    lanes: int = 2
    cycle_items: int = 125
    attempts: int = 10


class _Group:
    """Items of one caller that are settled together and in order."""

    __slots__ = ("attempts", "done", "items")

    def __init__(self, items: Sequence[Item], done: asyncio.Future[None]) -> None:
        self.items = list(items)
        self.done = done
        self.attempts = 0

    def finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


class _Lane:
    """One connection and its queue."""

    def __init__(self, url: str, limits: Limits, shards: Shards) -> None:
        self._wake = asyncio.Event()
        self._admitted = False
        self.link = RedisLink(url, limits.timeout_s, self._wake.set)
        self._limits = limits
        self._shards = shards
        self._queue: deque[_Group] = deque()
        self._why = ""

    @property
    def ready(self) -> bool:
        """Whether its Redis was looked at and found good, and the connection stands."""
        return self._admitted and self.link.is_open

    def add(self, group: _Group) -> None:
        self._queue.append(group)
        self._wake.set()

    async def run(self) -> None:
        while True:
            try:
                await self.connect()
                await self._serve()
            except (RedisLinkError, NotVerified, EvictionPolicyRefused) as error:
                self._drop(str(error))
                await asyncio.sleep(self._limits.reconnect_s)

    async def connect(self) -> None:
        if self.ready:
            return
        await self.link.open()
        await load_scripts(self.link)
        await refresh_shards(self.link, self._shards)
        self._admitted = True
        self._why = ""

    def _drop(self, why: str) -> None:
        self._admitted = False
        self.link.close()
        if why and why != self._why:
            _log.warning("hot_state_away", why=why)
            self._why = why
        while self._queue:
            _fail(self._queue.popleft())

    async def _serve(self) -> None:
        while True:
            self._wake.clear()
            if not self._queue:
                await self._wake.wait()
            if not self.ready:
                raise RedisLinkError("connection lost")
            if not self._queue:
                continue
            groups = self._take()
            try:
                await self._settle(groups)
            except BaseException:
                for group in groups:
                    _fail(group)
                raise

    def _take(self) -> list[_Group]:
        """As many groups as fit one script call, and at least one."""
        taken = [self._queue.popleft()]
        count = len(taken[0].items)
        while self._queue and count + len(self._queue[0].items) <= self._limits.cycle_items:
            count += len(self._queue[0].items)
            taken.append(self._queue.popleft())
        return taken

    async def _settle(self, groups: list[_Group]) -> None:
        cycle = Cycle(self.link, self._shards)
        again = await cycle.run([item for group in groups for item in group.items])
        if not again:
            for group in groups:
                group.finish()
            return
        for group in reversed(groups):
            group.items = [item for item in group.items if id(item) in again]
            group.attempts += 1
            if group.items and group.attempts < self._limits.attempts:
                self._queue.appendleft(group)
                continue
            for item in group.items:
                item.failed(HotStateBusy())
            group.finish()


def _fail(group: _Group) -> None:
    if group.done.done():
        return
    for item in group.items:
        item.failed(HotStateAway())
    group.finish()


async def refresh_shards(link: RedisLink, shards: Shards) -> None:
    """Read the generation and the fence of every shard.

    Raises:
        RedisLinkError: the connection is gone, or Redis answers with an error (it may still be loading its file).
    """
    generations, fences = await link.trip(_ALL_GENERATIONS + _ALL_FENCES, 2)
    if isinstance(generations, ReplyError) or isinstance(fences, ReplyError):
        raise RedisLinkError(f"Redis answers with an error: {generations!r}"[:200])
    for number, generation in enumerate(generations):
        shards.learn(number, generation)
        shards.fenced[number] = fences[number] is not None


class RedisState:
    """`HotState` on one Redis."""

    def __init__(self, url: str, limits: Limits | None = None) -> None:
        self._url = url
        self._limits = limits or Limits()
        self.shards = Shards()
        self._lanes: list[_Lane] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._control = RedisLink(url, self._limits.timeout_s)
        self._control_lock = asyncio.Lock()

    async def start(self) -> None:
        """Connect the lanes; a Redis that is away or not verified yet is waited for in the background.

        Raises:
            EvictionPolicyRefused: Redis may drop keys.
        """
        self._lanes = [_Lane(self._url, self._limits, self.shards) for _ in range(self._limits.lanes)]
        for lane in self._lanes:
            try:
                await lane.connect()
            except (RedisLinkError, NotVerified):
                pass  # the lane's own task tries again and says why
        self._tasks = [asyncio.create_task(lane.run()) for lane in self._lanes]

    async def stop(self) -> None:
        """Close all connections; whatever still waits is told."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for lane in self._lanes:
            lane._drop("")
        self._control.close()

    @property
    def ready(self) -> bool:
        """Whether a boarding can be answered: connected, verified, and a shard that is not fenced."""
        return any(lane.ready for lane in self._lanes) and self.shards.any_open

    def numbers(self) -> dict[str, float]:
        """What the metrics page shows of the hot state."""
        shards = self.shards
        return {
            "hot_state_lanes_ready": sum(lane.ready for lane in self._lanes),
            "hot_state_shards_fenced": sum(shards.fenced),
            "hot_state_cycles_total": shards.cycles,
            "hot_state_items_total": shards.items,
            "hot_state_moved_total": shards.moved,
            "hot_state_fenced_commits_total": shards.refused,
            "hot_state_isolated_calls_total": shards.isolated,
            "hot_state_scripts_reloaded_total": shards.reloaded,
        }

    async def settle(self, items: Sequence[Item], home: int) -> None:
        """Read, decide and commit items in order; each is told how it went.

        Raises:
            HotStateAway: Redis is away; no item was touched.
        """
        lane = self._lanes[home % len(self._lanes)]
        if not lane.ready:
            lane = next((other for other in self._lanes if other.ready), lane)
            if not lane.ready:
                raise HotStateAway
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        lane.add(_Group(items, done))
        await done

    async def read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Plain values of keys, over a connection of its own.

        Raises:
            HotStateAway: Redis is away.
        """
        values: list[bytes | None] = await self.ask(packed(b"MGET", *keys))
        return values

    async def ask(self, command: bytes) -> Any:
        """The reply to one packed command that only reads.

        Raises:
            HotStateAway: Redis is away, not verified, or answers with an error.
        """
        async with self._control_lock:
            try:
                if not self._control.is_open:
                    await self._control.open()
                (reply,) = await self._control.trip(command, 1)
            except (RedisLinkError, NotVerified, EvictionPolicyRefused) as error:
                raise HotStateAway from error
        if isinstance(reply, ReplyError):
            raise HotStateAway
        return reply

    async def refresh(self) -> None:
        """Read generations and fences again.

        Raises:
            HotStateAway: Redis is away.
        """
        async with self._control_lock:
            try:
                if not self._control.is_open:
                    await self._control.open()
                await refresh_shards(self._control, self.shards)
            except (RedisLinkError, NotVerified, EvictionPolicyRefused) as error:
                raise HotStateAway from error

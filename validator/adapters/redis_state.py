"""The hot state in Redis: read - decide - commit, for all taps of an event-loop tick at once.

All single taps go through the first lane (`redis_lane`) that stands, so that they never race with each other within
one process; when its connection dies, the next tap finds another. Batches go where the least waits, so that Redis
writes one group while the next is decided.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import structlog

from validator.adapters.redis_cycle import Shards
from validator.adapters.redis_lane import Lane, Limits, refresh_shards
from validator.adapters.redis_link import (
    EvictionPolicyRefused,
    NotVerified,
    RedisLink,
    RedisLinkError,
    ReplyError,
    packed,
    refuse_eviction,
)
from validator.application.errors import HotStateAway
from validator.application.ports import Item

_log = structlog.get_logger("catraca.hot_state")

_MEMORY = packed(b"INFO", b"memory")


class RedisState:
    """`HotState` on one Redis."""

    def __init__(self, url: str, limits: Limits | None = None) -> None:
        self._url = url
        self._limits = limits or Limits()
        self.shards = Shards()
        self._lanes: list[Lane] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._control = RedisLink(url, self._limits.timeout_s)
        self._control_lock = asyncio.Lock()

    async def start(self) -> None:
        """Connect the lanes; a Redis that is away or not verified yet is waited for in the background.

        Raises:
            EvictionPolicyRefused: Redis may drop keys.
        """
        self._lanes = [Lane(self._url, self._limits, self.shards) for _ in range(self._limits.lanes)]
        for lane in self._lanes:
            try:
                await lane.connect()
            except (RedisLinkError, NotVerified):
                pass  # the lane's own task tries again and says why
        self._tasks = [asyncio.create_task(lane.run()) for lane in self._lanes]
        self._tasks.append(asyncio.create_task(self._look_at_policy()))

    async def stop(self) -> None:
        """Close all connections; whatever still waits is told."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for lane in self._lanes:
            lane.drop("")
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

    def settle(self, item: Item) -> asyncio.Future[None]:
        """Read, decide and commit one item; it is told how it went, and then the future is done.

        Raises:
            HotStateAway: Redis is away; it was not touched.
        """
        for lane in self._lanes:
            if lane.ready:
                return lane.add(item)
        raise HotStateAway

    def settle_all(self, items: Sequence[Item]) -> asyncio.Future[None]:
        """Read, decide and commit items of a batch in order, behind all that was posted by itself.

        Raises:
            HotStateAway: Redis is away; no item was touched.
        """
        ready = [lane for lane in reversed(self._lanes) if lane.ready]
        if not ready:
            raise HotStateAway
        return min(ready, key=lambda lane: lane.waiting).add_all(items)

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
        async with self._control_link() as link:
            (reply,) = await link.trip(command, 1)
        if isinstance(reply, ReplyError):
            raise HotStateAway
        return reply

    async def refresh(self) -> None:
        """Read generations and fences again.

        Raises:
            HotStateAway: Redis is away.
        """
        async with self._control_link() as link:
            await refresh_shards(link, self.shards)

    @asynccontextmanager
    async def _control_link(self) -> AsyncIterator[RedisLink]:
        async with self._control_lock:
            try:
                if not self._control.is_open:
                    await self._control.open()
                yield self._control
            except EvictionPolicyRefused as refused:
                self._refuse(refused)
                raise HotStateAway from refused
            except (RedisLinkError, NotVerified) as error:
                raise HotStateAway from error

    async def _look_at_policy(self) -> None:
        """Stop answering from a Redis that was told meanwhile to drop keys; lanes come back once it must not."""
        while True:
            await asyncio.sleep(self._limits.look_s)
            try:
                refuse_eviction(await self.ask(_MEMORY))
            except HotStateAway:
                continue  # the lanes say so already, or were dropped as the link was opened again
            except EvictionPolicyRefused as refused:
                self._refuse(refused)

    def _refuse(self, refused: EvictionPolicyRefused) -> None:
        """Drop the lanes; they connect again and look for themselves until the policy is good."""
        ready = [lane for lane in self._lanes if lane.ready]
        if ready:
            _log.error("eviction_policy_refused", why=str(refused))
        for lane in ready:
            lane.drop(str(refused))

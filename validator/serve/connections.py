"""Connections of one worker: how long a client may take for a request and for its answer, and how many there may be.

uvicorn waits for ever for a request that has begun and for a client that does not read; it limits how many requests
are under way, never how many connections lie idle.
"""

import asyncio
import contextlib
import resource
from dataclasses import dataclass
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OTHER_FILES = 64
"""Files that a worker needs besides its connections: Redis, logs, the loop."""
_AT_ONCE = 500
_KEPT = 0.9


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What a client may take.

    Attributes:
        request_s: Longest time from the first byte of a request, or from the connection, to its last byte.
        response_s: Longest time in which a client may take no byte of its answer.
        most: Connections; more are closed at once.
    """

    request_s: float
    response_s: float
    most: int


def limit_files(wanted: int) -> int:
    """Allow this process as many open files as so many connections need; how many connections there may then be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return wanted
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with contextlib.suppress(OSError, ValueError):  # some systems allow less than they say
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    return max(1, min(wanted, soft - _OTHER_FILES))


class Guard:
    """Looks at the connections of one worker once a second.

    Attributes:
        refused: Connections that were closed because there were too many.
        slow_requests: Connections that were closed in the middle of a request.
        slow_readers: Connections that were closed because nobody read the answer.
        idle_closed: Idle connections that were closed to make room.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.open: set[GuardedProtocol] = set()
        self.refused = self.slow_requests = self.slow_readers = self.idle_closed = 0

    def numbers(self) -> dict[str, float]:
        """For the metrics page."""
        return {
            "connections": len(self.open),
            "connections_refused_total": self.refused,
            "connections_slow_request_total": self.slow_requests,
            "connections_slow_reader_total": self.slow_readers,
            "connections_idle_closed_total": self.idle_closed,
        }

    async def sweep(self, now: float) -> None:
        """Close what takes too long, and near the limit those that have been idle longest."""
        for place, connection in enumerate(tuple(self.open)):
            if place % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)  # taps go first
            self._look_at(connection, now)
        if len(self.open) >= self.limits.most:
            self._make_room()

    def _look_at(self, connection: "GuardedProtocol", now: float) -> None:
        since = connection.request_since
        if since is not None and now - since > self.limits.request_s:
            self.slow_requests += 1
            connection.abort()
            return
        unsent = connection.transport.get_write_buffer_size()
        if unsent == 0 or unsent < connection.unsent:
            connection.unsent_since = now
        elif now - connection.unsent_since > self.limits.response_s:
            self.slow_readers += 1
            connection.abort()
        connection.unsent = unsent

    def _make_room(self) -> None:
        idle = sorted((c for c in self.open if c.is_idle), key=lambda connection: connection.idle_since)
        for connection in idle[: len(self.open) - int(self.limits.most * _KEPT)]:
            self.idle_closed += 1
            connection.abort()


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's connection, which knows since when it waits for what."""

    guard: ClassVar[Guard]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, or close it where there are too many."""
        super().connection_made(transport)
        now = self.loop.time()
        self.request_since: float | None = now  # whoever connects has something to say
        self.idle_since = self.unsent_since = now
        self.unsent = 0
        guard = self.guard
        if len(guard.open) >= guard.limits.most:
            guard.refused += 1
            transport.abort()
            return
        guard.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.guard.open.discard(self)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self.request_since = self.loop.time()
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """The last byte of a request."""
        self.request_since = None
        self.idle_since = self.loop.time()
        super().on_message_complete()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return self.request_since is None and self.cycle.response_complete and not self.pipeline

    def abort(self) -> None:
        """Close at once; what was not sent is dropped."""
        self.transport.abort()


def guarded_by(guard: Guard) -> type[GuardedProtocol]:
    """The protocol class of a worker, for uvicorn."""
    return type("WorkerProtocol", (GuardedProtocol,), {"guard": guard})

"""Load on one address: requests made beforehand, sent over kept connections, every answer kept for the audit.

Closed loop: each connection sends its next request when the last is answered; it finds the capacity. Open loop:
requests start at instants that are fixed beforehand, whatever the server does, and an answer's time counts from that
instant, so that a stall is paid by all who would have come during it.
"""

import asyncio
import gc
import math
import time
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import uvloop

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "
_RETRY_AFTER = b"\r\nretry-after: "
_GRACE_S = 10.0
_TICK_S = 0.0005


class BrokenAnswer(RuntimeError):
    """The server answered with something that is no HTTP/1.1 answer of a known length, or hung up."""


@dataclass(slots=True)
class Answer:
    """The answer to one request: its index, HTTP status, body, and how long it took, in seconds."""

    index: int
    status: int
    body: bytes
    seconds: float


@dataclass(slots=True)
class Load:
    """What one run of load saw.

    Attributes:
        answers: All answers, in order of arrival; those of the warm-up too.
        counted: How many arrived inside the window that is measured.
        seconds: Length of that window.
        latencies: Of the answers in the window, in seconds.
        withheld: Requests that an open loop did not send, since their device was told to wait.
        unsent: Requests of an open loop that found no free connection until the end.
    """

    answers: list[Answer] = field(default_factory=list)
    counted: int = 0
    seconds: float = 0.0
    latencies: "array[float]" = field(default_factory=lambda: array("d"))
    withheld: int = 0
    unsent: int = 0

    @property
    def per_second(self) -> float:
        """Answers per second inside the window."""
        return self.counted / self.seconds

    def quantile_ms(self, part: float, *, status: int | None = None) -> float:
        """A quantile of the times in milliseconds: of the window, or of all answers with one status."""
        if status is None:
            times = sorted(self.latencies)
        else:
            times = sorted(answer.seconds for answer in self.answers if answer.status == status)
        if not times:
            return math.nan
        return times[min(len(times) - 1, math.ceil(part * len(times)) - 1)] * 1_000

    def with_status(self, status: int) -> int:
        """How many answers have an HTTP status."""
        return sum(answer.status == status for answer in self.answers)


class _Run(Protocol):
    """What decides which request a connection sends next."""

    over: "asyncio.Future[None]"

    def ready(self, connection: "_Connection") -> None:
        """A connection stands."""
        ...

    def told(self, connection: "_Connection", status: int, body: bytes) -> None:
        """Its request was answered, or the connection was lost meanwhile (status 0)."""
        ...

    def lost(self, connection: "_Connection") -> None:
        """The server closed it while it had nothing to do."""
        ...


def _end(over: "asyncio.Future[None]", error: BaseException | None = None) -> None:
    """End a run once; what goes wrong in a callback of the loop is not swallowed there."""
    if over.done():
        return
    if error is None:
        over.set_result(None)
    else:
        over.set_exception(error)


class _Connection(asyncio.Protocol):
    """One kept connection with at most one request in flight."""

    __slots__ = ("_buffer", "_run", "_transport", "closing", "index", "retry_after_s", "since")

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._buffer = b""
        self.index = -1
        self.since = 0.0
        self.retry_after_s = 0
        self.closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._run.ready(self)

    def send(self, index: int, request: bytes, since: float) -> None:
        self.index = index
        self.since = since
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        try:
            self._take(data)
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the run
            _end(self._run.over, error)

    def _take(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        head = data.find(_HEAD_END)
        if head < 0:
            self._buffer = data
            return
        at = data.find(_LENGTH, 0, head)
        if at < 0:
            raise BrokenAnswer(f"an answer without content-length: {data[:head]!r}")
        length = int(data[at + 16 : data.find(b"\r", at)])
        if len(data) < head + 4 + length:
            self._buffer = data
            return
        self._buffer = b""
        status = int(data[9:12])
        self.retry_after_s = _number_after(_RETRY_AFTER, data, head) if status == 503 else 0
        self._run.told(self, status, data[head + 4 :])

    def connection_lost(self, exc: Exception | None) -> None:
        if self.index >= 0:
            self._run.told(self, 0, b"")
        elif not self.closing:
            self._run.lost(self)

    def close(self) -> None:
        self.index = -1
        self.closing = True
        self._transport.close()


def _number_after(name: bytes, data: bytes, head: int) -> int:
    at = data.find(name, 0, head)
    return 0 if at < 0 else int(data[at + len(name) : data.find(b"\r", at + 2)])


class _Closed:
    """A closed loop: as many requests in flight as there are connections."""

    def __init__(self, requests: Sequence[bytes], *, warm_up_s: float, seconds: float) -> None:
        self._requests = requests
        self._next = 0
        self._in_flight = 0
        self._seconds = seconds
        began = time.perf_counter()
        self._count_from = began + warm_up_s
        self._count_until = began + warm_up_s + seconds
        self.load = Load()
        self.over = asyncio.get_running_loop().create_future()

    def ready(self, connection: _Connection) -> None:
        self._send(connection, time.perf_counter())

    def told(self, connection: _Connection, status: int, body: bytes) -> None:
        now = time.perf_counter()
        load = self.load
        load.answers.append(Answer(connection.index, status, body, now - connection.since))
        connection.index = -1
        self._in_flight -= 1
        if self._count_from <= now < self._count_until:
            load.counted += 1
            load.latencies.append(now - connection.since)
        if status != 0:
            self._send(connection, now)
        elif self._in_flight == 0:
            self._end(now)

    def lost(self, connection: _Connection) -> None:
        _end(self.over, BrokenAnswer("the server closed a connection that it had just answered on"))

    def _send(self, connection: _Connection, now: float) -> None:
        index = self._next
        if now >= self._count_until or index >= len(self._requests):
            connection.close()
            if self._in_flight == 0:
                self._end(now)
            return
        self._next = index + 1
        self._in_flight += 1
        connection.send(index, self._requests[index], now)

    def _end(self, now: float) -> None:
        # Requests may run out before the time is up: the window ends with them.
        self.load.seconds = min(self._seconds, now - self._count_from)
        _end(self.over)


class _Open:
    """An open loop: request i starts at its own instant; a device that was told to wait sends nothing meanwhile."""

    def __init__(
        self,
        requests: Sequence[bytes],
        starts: Sequence[float],
        devices: Sequence[int] | None,
        warm_up_s: float,
        port: int,
    ) -> None:
        self._port = port
        self._requests = requests
        self._starts = starts
        self._devices = devices
        self._quiet_until: dict[int, float] = {}
        self._next = 0
        self._idle: deque[_Connection] = deque()
        self._in_flight = 0
        self._began = time.perf_counter() + 0.2
        self._count_from = self._began + warm_up_s
        self._count_until = self._began + starts[-1]
        self.load = Load(seconds=starts[-1] - warm_up_s)
        self.over = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._loop.call_later(_TICK_S, self._tick)

    def ready(self, connection: _Connection) -> None:
        self._idle.append(connection)

    def told(self, connection: _Connection, status: int, body: bytes) -> None:
        now = time.perf_counter()
        index = connection.index
        self.load.answers.append(Answer(index, status, body, now - connection.since))
        if connection.since >= self._count_from and now < self._count_until and status == 200:
            self.load.counted += 1
            self.load.latencies.append(now - connection.since)
        if status == 503 and self._devices is not None:
            self._quiet_until[self._devices[index]] = now + connection.retry_after_s
        connection.index = -1
        self._in_flight -= 1
        if status != 0:
            self._idle.append(connection)
            self._send_due(now)

    def lost(self, connection: _Connection) -> None:
        self._idle.remove(connection)
        self._again = self._loop.create_task(self._reconnect())

    async def _reconnect(self) -> None:
        await self._loop.create_connection(lambda: _Connection(self), "127.0.0.1", self._port)

    def _tick(self) -> None:
        try:
            self._look()
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits for the run
            _end(self.over, error)

    def _look(self) -> None:
        now = time.perf_counter()
        self._send_due(now)
        over = self._next >= len(self._requests) and self._in_flight == 0
        if over or now > self._count_until + _GRACE_S:
            self.load.unsent = len(self._requests) - self._next
            _end(self.over)
            return
        self._loop.call_later(_TICK_S, self._tick)

    def _send_due(self, now: float) -> None:
        began, starts, idle = self._began, self._starts, self._idle
        while self._next < len(self._requests) and began + starts[self._next] <= now:
            index = self._next
            if self._devices is not None and self._quiet_until.get(self._devices[index], 0.0) > now:
                self._next += 1
                self.load.withheld += 1
                continue
            if not idle:
                return
            self._next += 1
            self._in_flight += 1
            # The connection that has been idle longest, so that the server ends none for idleness.
            idle.popleft().send(index, self._requests[index], began + starts[index])


async def _drive(run: _Closed | _Open, port: int, connections: int) -> Load:
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: _Connection(run), "127.0.0.1", port) for _ in range(connections)
    ]
    await run.over
    for _, protocol in made:
        protocol.close()
    return run.load


def _quietly(work: Callable[[], Load]) -> Load:
    """Without the garbage collector, whose pauses would be taken for the server's."""
    gc.collect()
    gc.disable()
    try:
        return work()
    finally:
        gc.enable()


def closed_loop(
    port: int, requests: Sequence[bytes], *, connections: int = 64, seconds: float, warm_up_s: float = 0.5
) -> Load:
    """Send requests as fast as so many connections are answered; each is sent at most once, in order."""

    async def run() -> Load:
        return await _drive(_Closed(requests, warm_up_s=warm_up_s, seconds=seconds), port, connections)

    return _quietly(lambda: uvloop.run(run()))


def open_loop(
    port: int,
    requests: Sequence[bytes],
    starts: Sequence[float],
    *,
    connections: int = 256,
    devices: Sequence[int] | None = None,
    warm_up_s: float = 1.0,
) -> Load:
    """Send request i at `starts[i]` seconds; only answers of status 200 count.

    Args:
        port: Where the server listens.
        requests: The requests.
        starts: When each starts, ascending.
        connections: Kept connections; a request that finds none free waits, and its wait counts.
        devices: Device of each request, where a device that is answered 503 stays quiet as long as Retry-After says.
        warm_up_s: Requests that start earlier are not counted.
    """

    async def run() -> Load:
        return await _drive(_Open(requests, starts, devices, warm_up_s, port), port, connections)

    return _quietly(lambda: uvloop.run(run()))

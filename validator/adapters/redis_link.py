"""One connection to Redis that carries whole round trips: several packed commands out, as many replies in.

Nothing retries behind it: a trip that fails may have happened, and the caller says so. A connection that dies is
noticed when it dies, not when it is next used. redis-py would carry the same bytes with a coroutine for each reply;
its URL is read the same way here.

    RedisLinkError              the connection is gone, or the answer did not come in time
    EvictionPolicyRefused       Redis would drop what it holds when memory is short
    NotVerified                 the ingester has not compared this Redis process with SQL yet
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, cast

import hiredis
from redis.asyncio.connection import parse_url

from validator.records.keys import VERIFIED

_NEEDED_POLICY = "noeviction"
_INCOMPLETE = object()

ReplyError = hiredis.ReplyError
"""An error that one command answered with."""


class RedisLinkError(RuntimeError):
    """The connection is gone, or the answer did not come in time."""


class EvictionPolicyRefused(RuntimeError):
    """Redis is set to drop keys when memory is short, and would lose counts."""

    def __init__(self, policy: str) -> None:
        super().__init__(
            f"Redis has maxmemory-policy {policy!r}: it would drop counts of rides when memory is short. "
            "Set it to noeviction (CONFIG SET maxmemory-policy noeviction, and in the server's file) and start again."
        )


class NotVerified(RuntimeError):
    """The ingester has not compared this Redis process with SQL yet."""


def packed(*arguments: bytes | str | int) -> bytes:
    """A command in the Redis protocol."""
    command: bytes = hiredis.pack_command(arguments)  # type: ignore[arg-type]
    return command


class _Replies(asyncio.Protocol):
    """The socket's side of a link: collects as many replies as one trip waits for."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._reader = hiredis.Reader(notEnoughData=_INCOMPLETE)
        self._wanted = 0
        self._got: list[Any] = []
        self._done: asyncio.Future[list[Any]] | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Transports of uvloop do not inherit from those of asyncio.
        self.transport = cast(asyncio.Transport, transport)

    def expect(self, replies: int, done: asyncio.Future[list[Any]]) -> None:
        """Resolve `done` with the next `replies` replies."""
        self._wanted, self._got, self._done = replies, [], done

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not _INCOMPLETE:
                self._got.append(reply)
        except hiredis.ProtocolError as error:
            self._fail(f"not the Redis protocol: {error}")
            return
        done = self._done
        if done is not None and len(self._got) >= self._wanted and not done.done():
            done.set_result(self._got)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._fail(f"connection lost: {exc or 'closed by Redis'}")
        self._on_lost()

    def _fail(self, why: str) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(RedisLinkError(why))


class RedisLink:
    """One connection; one trip at a time."""

    def __init__(self, url: str, timeout_s: float, on_lost: Callable[[], None] = lambda: None) -> None:
        self._options: dict[str, Any] = dict(parse_url(url))
        self._tls = url.startswith("rediss://")
        self._timeout_s = timeout_s
        self._on_lost = on_lost
        self._replies = _Replies(on_lost)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.run_id = ""

    @property
    def is_open(self) -> bool:
        """Whether the connection stands."""
        return self._replies.transport is not None

    async def open(self) -> None:
        """Connect and see whom we talk to.

        Raises:
            RedisLinkError: nobody answers, or not as a Redis that we may use.
            EvictionPolicyRefused: it may drop keys.
            NotVerified: nobody has compared this Redis process with SQL yet.
        """
        self.close()
        try:
            async with asyncio.timeout(self._timeout_s):
                self._replies = await self._connect()
        except (OSError, TimeoutError) as error:
            raise RedisLinkError(f"cannot connect: {error or type(error).__name__}") from error
        try:
            await self._introduce()
            await self._see_whom()
        except BaseException:
            self.close()
            raise

    async def _connect(self) -> _Replies:
        loop = self._loop = asyncio.get_running_loop()
        options = self._options
        if "path" in options:
            _, protocol = await loop.create_unix_connection(self._protocol, options["path"])
            return protocol
        context = self._tls_context() if self._tls else None
        host, port = options.get("host", "localhost"), options.get("port", 6379)
        _, protocol = await loop.create_connection(self._protocol, host, port, ssl=context)
        return protocol

    def _tls_context(self) -> ssl.SSLContext:
        """The server's name and certificate are always checked; `ssl_ca_certs` names who vouches for it.

        A URL that names `ssl_certfile`, and `ssl_keyfile` where the key is apart, shows that certificate to the server.
        """
        options = self._options
        context = ssl.create_default_context(cafile=options.get("ssl_ca_certs"))
        if options.get("ssl_certfile"):
            context.load_cert_chain(options["ssl_certfile"], options.get("ssl_keyfile"))
        return context

    def _protocol(self) -> _Replies:
        return _Replies(self._on_lost)

    async def _introduce(self) -> None:
        options = self._options
        commands = []
        if options.get("password"):
            names = (options["username"],) if options.get("username") else ()
            commands.append(packed("AUTH", *names, options["password"]))
        if options.get("db"):
            commands.append(packed("SELECT", options["db"]))
        for reply in await self.trip(b"".join(commands), len(commands)) if commands else ():
            refuse_error(reply)

    async def _see_whom(self) -> None:
        asked = packed("INFO", "server") + packed("INFO", "memory") + packed("GET", VERIFIED)
        server, memory, verified = await self.trip(asked, 3)
        for reply in (server, memory, verified):
            refuse_error(reply)
        refuse_eviction(memory)
        self.run_id = _field(server, b"run_id")
        if verified is None or verified.decode(errors="replace") != self.run_id:
            raise NotVerified(f"Redis process {self.run_id} has not been verified by the ingester yet")

    async def trip(self, commands: bytes, replies: int) -> list[Any]:
        """Send packed commands at once and wait for their replies; an error of one command is its reply.

        Raises:
            RedisLinkError: the connection is gone, or the time is up; the commands may have been carried out.
        """
        # The loop is kept, since to ask for the running one costs a system call each time.
        transport, loop = self._replies.transport, self._loop
        if transport is None or loop is None:
            raise RedisLinkError("not connected")
        done: asyncio.Future[list[Any]] = loop.create_future()
        self._replies.expect(replies, done)
        transport.write(commands)
        timer = loop.call_later(self._timeout_s, self._too_late, done)
        try:
            return await done
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()

    def _too_late(self, done: asyncio.Future[list[Any]]) -> None:
        if not done.done():
            done.set_exception(RedisLinkError(f"no answer within {self._timeout_s * 1000:.0f} ms"))

    def close(self) -> None:
        """Drop the connection at once."""
        transport = self._replies.transport
        if transport is not None:
            self._replies.transport = None
            transport.abort()


def refuse_eviction(memory: bytes) -> None:
    """Refuse a Redis that may drop keys, by what it answers to INFO memory.

    Raises:
        EvictionPolicyRefused: it may.
    """
    policy = _field(memory, b"maxmemory_policy")
    if policy != _NEEDED_POLICY:
        raise EvictionPolicyRefused(policy)


def refuse_error(reply: object) -> None:
    """Refuse a reply that is an error.

    Raises:
        RedisLinkError: it is one.
    """
    if isinstance(reply, ReplyError):
        raise RedisLinkError(f"Redis answers with an error: {reply}")


def _field(info: bytes, name: bytes) -> str:
    for line in info.split(b"\r\n"):
        key, _, value = line.partition(b":")
        if key == name:
            return value.decode(errors="replace")
    return ""

"""One kept-alive HTTP/1.1 connection of a device: a request, its answer, and nothing else.

A general HTTP client spends more time on a request than the service does; a month of boardings would take minutes.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import httptools

TIMEOUT_S = 15.0
"""How long a device waits for an answer before it decides by itself."""


class LinkDown(ConnectionError):
    """No answer came: the service could not be reached, closed the connection, or took too long."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Status and body of an answer."""

    status: int
    body: bytes


class Link:
    """A connection to `host:port`, opened when first used and again after it broke. One request at a time."""

    def __init__(self, host: str, port: int, *, timeout_s: float = TIMEOUT_S) -> None:
        self._host = host
        self._port = port
        self._timeout_s = timeout_s
        self._protocol: _Exchange | None = None

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """Post a JSON body.

        Raises:
            LinkDown: no answer came; the service may or may not have seen the request.
        """
        lines = [
            f"POST {path} HTTP/1.1",
            f"Host: {self._host}:{self._port}",
            "Content-Type: application/json",
        ]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines.append(f"Content-Length: {len(body)}")
        return await self._exchange("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def get(self, path: str) -> HttpAnswer:
        """Get a page.

        Raises:
            LinkDown: no answer came.
        """
        return await self._exchange(
            f"GET {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n\r\n".encode()
        )

    def close(self) -> None:
        """Close the connection."""
        if self._protocol is not None:
            self._protocol.close()
            self._protocol = None

    async def _exchange(self, request: bytes) -> HttpAnswer:
        try:
            async with asyncio.timeout(self._timeout_s):
                if self._protocol is None or self._protocol.closed:
                    loop = asyncio.get_running_loop()
                    _, self._protocol = await loop.create_connection(_Exchange, self._host, self._port)
                return await self._protocol.send(request)
        except (OSError, TimeoutError) as error:
            self.close()
            raise LinkDown(str(error) or "no answer in time") from error


class _Exchange(asyncio.Protocol):
    """Parses one answer at a time."""

    def __init__(self) -> None:
        self.closed = False
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiting: asyncio.Future[HttpAnswer] | None = None
        self._body: list[bytes] = []

    def send(self, request: bytes) -> "asyncio.Future[HttpAnswer]":
        assert self._transport is not None
        self._waiting = asyncio.get_running_loop().create_future()
        self._body = []
        self._transport.write(request)
        return self._waiting

    def close(self) -> None:
        self.closed = True
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"not an HTTP answer: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionResetError("the service closed the connection"))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(HttpAnswer(self._parser.get_status_code(), b"".join(self._body)))
        if not self._parser.should_keep_alive():
            self.close()

    def _fail(self, error: Exception) -> None:
        self.closed = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)

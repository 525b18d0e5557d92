"""One kept-alive connection to the service, whose every exchange ends by a deadline."""

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

_LARGEST_ANSWER: Final = 8_000_000


class LinkDown(ConnectionError):
    """No answer came by the deadline; the service may or may not have seen the request."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer: status and body."""

    status: int
    body: bytes


class Link:
    """A connection to an address such as `https://validador.cidade.example`; opened when first used.

    One exchange at a time. Another thread may end it with `abort`.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ValueError(f"o endereço do serviço é http://... ou https://..., e não {address!r}")
        self._host, self._port, self._secure = parts.hostname, parts.port, parts.scheme == "https"
        self._prefix = parts.path.rstrip("/")
        self._connection: http.client.HTTPConnection | None = None
        self._aborting = threading.Lock()

    def exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float
    ) -> HttpAnswer:
        """Send a request and wait for its answer, the connection included.

        Raises:
            LinkDown: see there.
        """
        deadline = threading.Timer(timeout_s, self.abort)
        deadline.daemon = True
        deadline.start()
        reused = self._connection is not None and self._connection.sock is not None
        try:
            try:
                return self._exchange(method, path, headers, body, timeout_s)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.close()
                if not reused or not deadline.is_alive():
                    raise
                # The service had closed the idle connection. Every request of a device may be sent twice.
                return self._exchange(method, path, headers, body, timeout_s)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise LinkDown(str(error) or type(error).__name__) from error
        finally:
            deadline.cancel()

    def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float
    ) -> HttpAnswer:
        connection = self._connection
        if connection is None or connection.sock is None:
            connection = self._connect(timeout_s)
        connection.timeout = timeout_s
        if connection.sock is not None:
            connection.sock.settimeout(timeout_s)
        connection.request(method, self._prefix + path, body, dict(headers))
        answer = connection.getresponse()
        content = answer.read(_LARGEST_ANSWER + 1)
        if len(content) > _LARGEST_ANSWER:
            raise ValueError("the answer is too large")
        return HttpAnswer(answer.status, content)

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=timeout_s, context=context
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        self._connection = connection
        connection.connect()
        if connection.sock is not None:
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def abort(self) -> None:
        """End the exchange that is under way; it raises LinkDown in its own thread."""
        with self._aborting:
            connection = self._connection
            sock = None if connection is None else connection.sock
            if sock is not None:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # closed already

    def close(self) -> None:
        """Close the connection."""
        with self._aborting:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

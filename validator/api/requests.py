"""The parts of a device's HTTP request, checked before anybody reads its message."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any

from validator.api.problems import RequestRefused
from validator.application.errors import DeviceUnknown, Malformed

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_JSON = b"application/json"


class Gone(Exception):
    """The client hung up before its request was whole."""


class Head:
    """The headers that matter."""

    __slots__ = ("authorization", "content_type", "encoding", "language", "length", "sent_at")

    def __init__(self, headers: list[tuple[bytes, bytes]]) -> None:
        said = dict(headers).get
        self.authorization = said(b"authorization", b"")
        self.content_type = said(b"content-type", b"")
        self.encoding = said(b"content-encoding", b"")
        self.sent_at = said(b"catraca-sent-at")
        self.language = said(b"accept-language")
        self.length = said(b"content-length")

    @property
    def device_id(self) -> str:
        """The device that the token names, for the log; the token itself goes nowhere."""
        return self.authorization.partition(b" ")[2].partition(b".")[0].decode("latin-1")

    def check(self, method: str, limit: int) -> None:
        """Refuse what cannot be a device's message.

        Raises:
            RequestRefused: another method or content type, or a body over the limit.
            DeviceUnknown: no token.
            Malformed: no Catraca-Sent-At.
        """
        if method != "POST":
            raise RequestRefused(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "method-not-allowed",
                ("Método não permitido", "Method not allowed"),
                ("Envie esta mensagem com POST.", "Send this message with POST."),
                allow="POST",
            )
        if not self.authorization:
            raise DeviceUnknown
        if self.content_type != _JSON or self.encoding:
            _check_type(self.content_type, self.encoding)
        if self.length is not None and (not self.length.isdigit() or int(self.length) > limit):
            raise too_large(limit)
        if self.sent_at is None:
            raise Malformed(
                "Catraca-Sent-At",
                "Falta o cabeçalho Catraca-Sent-At: envie a hora do validador no envio, em ISO 8601 com fuso.",
                "The header Catraca-Sent-At is missing: send the device's clock when sending, in ISO 8601 with offset.",
            )


def _check_type(content_type: bytes, encoding: bytes) -> None:
    kind, _, parameters = content_type.lower().partition(b";")
    plain = parameters.strip() in (b"", b"charset=utf-8", b'charset="utf-8"')
    if kind.strip() != _JSON or not plain or encoding:
        raise RequestRefused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            ("Tipo de conteúdo não aceito", "Unsupported media type"),
            (
                "Envie Content-Type: application/json em UTF-8, sem Content-Encoding.",
                "Send Content-Type: application/json in UTF-8, without Content-Encoding.",
            ),
        )


def too_large(limit: int) -> RequestRefused:
    """A body over the limit."""
    return RequestRefused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too-large",
        ("Corpo grande demais", "Body too large"),
        (
            f"Envie no máximo {limit} bytes; divida o lote em partes menores.",
            f"Send at most {limit} bytes; split the batch into smaller ones.",
        ),
    )


async def read_body(receive: Receive, limit: int, timeout_s: float) -> bytes:
    """The whole body; that of a tap nearly always came with its headers.

    Raises:
        RequestRefused: over the limit, or too slow.
        Gone: the client hung up.
    """
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise too_large(limit)
        return body
    return await _read_slow_body(message, receive, limit, timeout_s)


async def _read_slow_body(message: Message, receive: Receive, limit: int, timeout_s: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                if message["type"] != "http.request":
                    raise Gone
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > limit:
                    raise too_large(limit)
                if not message.get("more_body", False):
                    return b"".join(parts)
                message = await receive()
    except TimeoutError:
        raise RequestRefused(
            HTTPStatus.REQUEST_TIMEOUT,
            "body-too-slow",
            ("Corpo incompleto", "Incomplete body"),
            (
                "O corpo não chegou inteiro a tempo. Envie de novo.",
                "The body did not arrive in time. Send it again.",
            ),
        ) from None

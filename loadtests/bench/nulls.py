"""Endpoints that do nothing, served like the validator: what a boarding is compared with.

`raw` is the least that ASGI can do. `shim` reads the body, decodes it with the validator's own message type and
answers as many bytes as a boarding is answered with. CATRACA_BENCH_ANSWER_BYTES says how many.
"""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from validator.records.device_messages import TapMessage

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_BODY = b'{"null":"%s"}' % (b"0" * (int(os.environ.get("CATRACA_BENCH_ANSWER_BYTES", "420")) - 11))
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(_BODY))]
_START = {"type": "http.response.start", "status": 200, "headers": _HEADERS}
_REST = {"type": "http.response.body", "body": _BODY}
_decoder = msgspec.json.Decoder(TapMessage)


async def raw(scope: Scope, receive: Receive, send: Send) -> None:
    """Take the body and answer."""
    if scope["type"] != "http":
        await _live(receive, send)
        return
    while (await receive()).get("more_body"):
        pass
    await send(_START)
    await send(_REST)


async def shim(scope: Scope, receive: Receive, send: Send) -> None:
    """Take the body, decode it, and answer."""
    if scope["type"] != "http":
        await _live(receive, send)
        return
    message = await receive()
    body = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    if scope["method"] == "POST":
        _decoder.decode(body)
    await send(_START)
    await send(_REST)


async def _live(receive: Receive, send: Send) -> None:
    """The lifespan of an application that has nothing to start or stop."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return

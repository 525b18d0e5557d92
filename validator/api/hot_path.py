"""The boarding routes, as one small ASGI application in front of FastAPI's machinery."""

from datetime import datetime
from time import perf_counter

import msgspec
from fastapi import FastAPI

from validator.api.counts import Counts
from validator.api.problems import RequestRefused, language_of, refusal_of
from validator.api.requests import Gone, Head, Receive, Scope, Send, read_body
from validator.application.attempt import Attempt
from validator.application.board import answer_to, board
from validator.application.errors import BoardingError, Overloaded
from validator.application.instants import read_instant
from validator.application.service import Service
from validator.records.device_messages import MAX_TAP_BYTES

BOARDINGS = "/v1/boardings"

_encode = msgspec.json.Encoder().encode
_JSON = (b"content-type", b"application/json")


class HotPath:
    """Answers the boarding routes itself and hands everything else to the application behind it."""

    def __init__(self, service: Service, counts: Counts, behind: FastAPI) -> None:
        self._service = service
        self._counts = counts
        self.behind = behind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI connection."""
        if scope["type"] == "http" and scope["path"] == BOARDINGS:
            await self._single(scope, receive, send)
            return
        await self.behind(scope, receive, send)

    async def _single(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        service, counts = self._service, self._counts
        head = Head(scope["headers"])
        language = language_of(head.language)
        counts.in_flight += 1
        try:
            if counts.in_flight > service.max_taps:
                raise Overloaded
            head.check(scope["method"], MAX_TAP_BYTES)
            raw = await read_body(receive, MAX_TAP_BYTES, service.body_timeout_s)
            attempt = await board(
                raw,
                head.authorization,
                sent_at=read_sent_at(head),
                received_at=service.clock(),
                hot=service.hot,
                gate=service.gate,
                desk=service.desk,
            )
            body = _encode(answer_to(attempt, language))
        except (BoardingError, RequestRefused) as error:
            await self._refuse(send, error, language, "single")
            return
        except Gone:
            return
        finally:
            counts.in_flight -= 1
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [_JSON, (b"content-length", b"%d" % len(body))],
            }
        )
        await send({"type": "http.response.body", "body": body})
        self._note(attempt, perf_counter() - began)

    def _note(self, attempt: Attempt, seconds: float) -> None:
        self._counts.answered(attempt.fate.value, "OK", seconds)

    async def _refuse(self, send: Send, error: Exception, language: str, route: str) -> None:
        refusal = refusal_of(error, language)
        self._counts.refused(route, refusal.status)
        await send({"type": "http.response.start", "status": refusal.status, "headers": refusal.headers})
        await send({"type": "http.response.body", "body": refusal.body})


def read_sent_at(head: Head) -> datetime:
    """The device's clock when it sent the request."""
    assert head.sent_at is not None
    return read_instant(head.sent_at.decode("latin-1"), "Catraca-Sent-At")

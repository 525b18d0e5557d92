"""The boarding routes, as one small ASGI application in front of FastAPI's machinery."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from time import perf_counter

import msgspec
import structlog
from fastapi import FastAPI

from validator.api.admission import Admission
from validator.api.canonical_lines import AnnulLine, BatchLine, boarding_line
from validator.api.counts import Counts
from validator.api.problems import Headers, RequestRefused, language_of, refusal_of
from validator.api.requests import Gone, Head, Receive, Scope, Send, read_body
from validator.application.annul import annul
from validator.application.answers import AnnulOutcome, annul_answer
from validator.application.attempt import Fate
from validator.application.batch import upload
from validator.application.board import answer_to, board
from validator.application.errors import BoardingError, Overloaded
from validator.application.instants import read_instant
from validator.application.reading import read_boarding_id
from validator.application.service import Service
from validator.records.device_messages import MAX_BATCH_BYTES, MAX_TAP_BYTES

BOARDINGS = b"/v1/boardings"
BATCH = b"/v1/boardings/batch"
_ANNUL_START, _ANNUL_END = b"/v1/boardings/", b"/annul"
_BODIES_A_BATCH = 8
"""Bodies of batches that may be on their way for each batch under way: it bounds the memory that they hold."""

_log = structlog.get_logger("catraca.api")
_encode = msgspec.json.Encoder().encode
_JSON = (b"content-type", b"application/json")

_Handler = Callable[[Scope, Receive, Head, str], Awaitable[bytes]]
_Route = tuple[str, _Handler]


class HotPath:
    """Answers the boarding routes itself and hands everything else to the application behind it.

    Attributes:
        behind: The application behind it.
    """

    def __init__(self, service: Service, counts: Counts, behind: FastAPI) -> None:
        self._service = service
        self._counts = counts
        self._reading = 0
        self._admission = counts.admission = Admission(service.max_taps, service.max_wait_s)
        self._routes: dict[bytes, _Route] = {
            BOARDINGS: ("single", self._single),
            BATCH: ("batch", self._batch),
        }
        self._annulments: _Route = ("annul", self._annul)
        self.behind = behind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI connection."""
        route = self._route_of(scope)
        if route is None:
            await self.behind(scope, receive, send)
            return
        name, handler = route
        head = Head(scope["headers"])
        language = "pt-BR" if head.language is None else language_of(head.language)
        try:
            body = await handler(scope, receive, head, language)
        except Gone:
            return
        except (BoardingError, RequestRefused) as error:
            await self._refuse(send, error, language, name)
            return
        except Exception as error:  # noqa: BLE001 - the device gets a problem document, and the log the cause
            _log.exception("request_failed", route=name)
            await self._refuse(send, error, language, name)
            return
        headers: Headers = [_JSON, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _route_of(self, scope: Scope) -> _Route | None:
        """By the path as it was sent: `%2F` parts no segments."""
        if scope["type"] != "http":
            return None
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        route = self._routes.get(path)
        if (
            route is None
            and path.startswith(_ANNUL_START)
            and path.endswith(_ANNUL_END)
            and path.count(b"/") == 4
        ):
            return self._annulments
        return route

    async def _refuse(self, send: Send, error: Exception, language: str, route: str) -> None:
        refusal = refusal_of(error, language)
        self._counts.refused(route, refusal.status)
        await send({"type": "http.response.start", "status": refusal.status, "headers": refusal.headers})
        await send({"type": "http.response.body", "body": refusal.body})

    async def _single(self, scope: Scope, receive: Receive, head: Head, language: str) -> bytes:
        service, admission, sender = self._service, self._admission, head.authorization
        began = perf_counter()
        admission.check(sender, began)
        head.check(scope["method"], MAX_TAP_BYTES)
        raw = await read_body(receive, MAX_TAP_BYTES, service.body_timeout_s)
        admission.enter(sender, perf_counter())
        try:
            attempt = await board(
                raw,
                sender,
                sent_at=_sent_at(head),
                received_at=service.clock(),
                hot=service.hot,
                gate=service.gate,
                desk=service.desk,
            )
        finally:
            admission.leave(sender)
        seconds = perf_counter() - began
        self._counts.answered(attempt.fate, -1 if attempt.answer is None else attempt.answer.reason, seconds)
        if service.log is not None:
            service.log(partial(boarding_line, attempt, seconds))
        return _encode(answer_to(attempt, language))

    async def _batch(self, scope: Scope, receive: Receive, head: Head, language: str) -> bytes:
        began = perf_counter()
        service, counts = self._service, self._counts
        head.check(scope["method"], MAX_BATCH_BYTES)
        _sent_at(head)
        raw = await self._read_batch(receive, head)
        counts.batches_in_flight += 1
        try:
            if counts.batches_in_flight > service.max_batches:
                raise Overloaded
            answer = await upload(
                raw,
                head.authorization,
                received_at=service.clock(),
                hot=service.hot,
                gate=service.gate,
                desk=service.desk,
            )
        finally:
            counts.batches_in_flight -= 1
        retries = 0
        for item in answer.items:
            retries += not item.recorded
            counts.batched(item.verdict or ("recorded" if item.recorded else "retry"))
        if service.log is not None:
            service.log(
                partial(
                    BatchLine,
                    head.device_id,
                    answer.epoch,
                    len(answer.items),
                    retries,
                    answer.head_recorded,
                    _ms(began),
                )
            )
        return _encode(answer)

    async def _read_batch(self, receive: Receive, head: Head) -> bytes:
        """The body of a batch, from a known device only: it may be large and come over a slow line."""
        service = self._service
        if service.gate.known(head.authorization) is None:
            await service.gate.admit(head.authorization)
        self._reading += 1
        try:
            if self._reading > service.max_batches * _BODIES_A_BATCH:
                raise Overloaded
            return await read_body(receive, MAX_BATCH_BYTES, service.body_timeout_s)
        finally:
            self._reading -= 1

    async def _annul(self, scope: Scope, receive: Receive, head: Head, language: str) -> bytes:
        began = perf_counter()
        service, admission, sender = self._service, self._admission, head.authorization
        admission.check(sender, began)
        head.check(scope["method"], MAX_TAP_BYTES)
        raw = await read_body(receive, MAX_TAP_BYTES, service.body_timeout_s)
        admission.enter(sender, perf_counter())
        try:
            _sent_at(head)
            boarding = read_boarding_id(scope["path"][len(_ANNUL_START) : -len(_ANNUL_END)])
            item = await annul(
                boarding,
                raw,
                sender,
                received_at=service.clock(),
                hot=service.hot,
                gate=service.gate,
                desk=service.desk,
            )
        finally:
            admission.leave(sender)
        outcome: AnnulOutcome = "refused" if item.refused else "annulled"
        if item.fate is Fate.RECORDED:
            outcome = "recorded"
        if service.log is not None:
            entry = item.entry
            service.log(
                partial(AnnulLine, str(boarding), entry.device, entry.epoch, entry.seq, outcome, _ms(began))
            )
        return _encode(annul_answer(str(boarding), outcome, item.durable, language))


def _ms(began: float) -> float:
    return round((perf_counter() - began) * 1000, 2)


def _sent_at(head: Head) -> datetime:
    """The device's clock when it sent the request."""
    assert head.sent_at is not None
    return read_instant(head.sent_at.decode("latin-1"), "Catraca-Sent-At")

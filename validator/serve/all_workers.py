"""Metrics and readiness of all workers, whichever of them is asked: the port is one, and so is the answer."""

import re
from collections.abc import Callable, Iterator
from http import HTTPStatus

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from validator.serve.noticeboard import Notice, Noticeboard, Posted

METRICS = "/metrics"
READY = "/v1/health/ready"
SILENT_S = 10.0
"""A worker that has said nothing for so long is not counted as running."""

_OWN = "catraca.own"
"""Marks a question of this process to itself, which is answered for this process alone."""
_SAMPLE = re.compile(r"^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (.*)$")


class _Readiness(msgspec.Struct):
    status: str
    lacks: list[str]


class AllWorkers:
    """Stands in front of the application behind the boarding routes."""

    def __init__(
        self, app: ASGIApp, *, noticeboard: Noticeboard, number: int, clock: Callable[[], float]
    ) -> None:
        """`clock` tells the seconds that notices on the noticeboard are dated with."""
        self._app = app
        self._notices = noticeboard
        self._number = number
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI connection."""
        if scope["type"] == "http" and scope["path"] in (METRICS, READY) and _OWN not in scope:
            answer = await _asked(self._app, scope)
            if scope["method"] == "GET" and answer.status_code in (200, 503):
                answer = self._metrics(answer) if scope["path"] == METRICS else self._ready(answer)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _others(self) -> Iterator[tuple[int, Posted]]:
        now = self._clock()
        for number in range(self._notices.workers):
            posted = self._notices.read(number) if number != self._number else None
            if posted is not None and now - posted.at < SILENT_S:
                yield number, posted

    def _metrics(self, own: Response) -> Response:
        pages = {number: posted.notice.metrics for number, posted in self._others()}
        pages[self._number] = bytes(own.body).decode()
        body = merged(pages) + _of_the_whole(self._notices.workers, set(pages), self._notices.restarts())
        return Response(body, headers={"content-type": own.headers["content-type"]})

    def _ready(self, own: Response) -> Response:
        """Ready when all that run are: one that starts takes no connection, so nobody meets it."""
        lacks = dict.fromkeys(msgspec.json.decode(own.body, type=_Readiness).lacks)
        for _, posted in self._others():
            lacks |= dict.fromkeys(posted.notice.lacks)
        said = _Readiness("not-ready" if lacks else "ready", list(lacks))
        status = HTTPStatus.SERVICE_UNAVAILABLE if lacks else HTTPStatus.OK
        return Response(msgspec.json.encode(said), status, media_type="application/json")


async def notice_of(app: ASGIApp) -> Notice:
    """What this worker says of itself, read from its own pages."""
    ready = msgspec.json.decode((await _asked(app, _scope(READY))).body, type=_Readiness)
    metrics = await _asked(app, _scope(METRICS))
    return Notice(tuple(ready.lacks), bytes(metrics.body).decode())


def _scope(path: str) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [],
        "client": None,
        "server": None,
        "state": {},
        _OWN: True,
    }


async def _asked(app: ASGIApp, scope: Scope) -> Response:
    """The answer of an application of this process to a GET."""
    parts: list[bytes] = []
    answer = Response()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status_code = message["status"]
            answer.raw_headers = list(message["headers"])
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    answer.body = b"".join(parts)
    return answer


def merged(pages: dict[int, str]) -> str:
    """Pages of metrics as one: each series carries its worker, each family is named once."""
    families: dict[str, list[str]] = {}
    for number, page in sorted(pages.items()):
        family: list[str] = []
        for line in page.splitlines():
            if line.startswith("# HELP "):
                family = families.setdefault(line.split(" ", 3)[2], [])
            if line.startswith("#"):
                if line not in family:
                    family.append(line)
            elif line:
                family.append(_with_worker(line, number))
    return "".join(f"{line}\n" for family in families.values() for line in family)


def _with_worker(line: str, number: int) -> str:
    found = _SAMPLE.match(line)
    assert found is not None, line
    name, labels, value = found.groups()
    return f'{name}{{{f"{labels}," if labels else ""}worker="{number}"}} {value}'


def _of_the_whole(workers: int, running: set[int], restarts: list[int]) -> str:
    lines = [
        "# HELP catraca_worker_up Whether a worker runs and takes connections.",
        "# TYPE catraca_worker_up gauge",
    ]
    lines += [f'catraca_worker_up{{worker="{n}"}} {int(n in running)}' for n in range(workers)]
    lines += ["# HELP catraca_worker_restarts_total How often a worker was started again."]
    lines += ["# TYPE catraca_worker_restarts_total counter"]
    lines += [f'catraca_worker_restarts_total{{worker="{n}"}} {count}' for n, count in enumerate(restarts)]
    return "".join(f"{line}\n" for line in lines)

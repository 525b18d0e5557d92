"""One worker: the application under uvicorn. It listens once it is warm, and stops listening before it ends."""

import asyncio
import contextlib
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import structlog
import uvicorn

from validator.api.hot_path import HotPath
from validator.bootstrap import create_app
from validator.serve.all_workers import AllWorkers, notice_of
from validator.serve.connections import ConnectionLimits, Guard, guarded_by, limit_files
from validator.serve.noticeboard import Noticeboard
from validator.settings import Settings

_WARM_S = 2.0
"""How long a worker may wait for Redis and the city before it listens: without them it answers 503 at once."""
_BACKLOG = 2048
_SPARE_S = 1.0
"""The service answers a body that is too slow by itself; only what it does not see is cut off after this."""

_log = structlog.get_logger("catraca.worker")


def run_worker(
    settings: Settings, address: socket.socket, number: int, noticeboard: Noticeboard, parent: int
) -> None:
    """Serve until SIGTERM, or until the parent is gone.

    Args:
        settings: As the parent read them.
        address: A socket bound to the address; this worker listens on one of its own.
        number: Which worker this is.
        noticeboard: Where it says how it is.
        parent: A pipe whose other end only the parent holds.
    """
    most = limit_files(settings.max_connections)
    if most < settings.max_connections:
        _log.warning("few_files", connections=most, wanted=settings.max_connections, limit="ulimit -n")
    guard = Guard(
        ConnectionLimits(
            request_s=settings.body_timeout_ms / 1000 + _SPARE_S,
            response_s=settings.response_timeout_ms / 1000,
            most=most,
        )
    )
    app = create_app(settings, numbers=guard.numbers, warm_s=_WARM_S)
    app.behind.add_middleware(AllWorkers, noticeboard=noticeboard, number=number, clock=time.monotonic)

    async def each_second() -> None:
        await guard.sweep(asyncio.get_running_loop().time())
        noticeboard.post(number, await notice_of(app.behind), time.monotonic())

    server = _Server(_config(settings, app, guard, each_second), parent)
    server.run([bound_to(address.family, address.getsockname())])


def _config(
    settings: Settings, app: HotPath, guard: Guard, each_second: Callable[[], Awaitable[None]]
) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=guarded_by(guard),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing here asks where a request comes from
        backlog=_BACKLOG,
        timeout_keep_alive=settings.keep_alive_s,
        timeout_graceful_shutdown=max(1, settings.drain_ms // 1000),
        callback_notify=each_second,
        timeout_notify=0,
    )


def bound_to(family: int, address: Any) -> socket.socket:
    """A socket on an address and port that others may be bound to as well.

    The system deals new connections out among those that listen, and to nobody who does not.
    """
    own = socket.socket(family, socket.SOCK_STREAM)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    own.bind(address)
    return own


class _Server(uvicorn.Server):
    """uvicorn, which ends with code 0 when it was asked to end, and ends when its parent is gone."""

    def __init__(self, config: uvicorn.Config, parent: int) -> None:
        super().__init__(config)
        self._parent = parent

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Warm up, then listen."""
        asyncio.get_running_loop().add_reader(self._parent, self._orphaned)
        await super().startup(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGTERM asks to end; Ctrl-C reaches the parent, which asks."""
        signal.signal(signal.SIGTERM, self.handle_exit)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        yield

    def _orphaned(self) -> None:
        asyncio.get_running_loop().remove_reader(self._parent)
        _log.error("parent_gone")
        self.should_exit = True

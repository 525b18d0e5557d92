"""One log line for each request: the address's pattern, never what stood in it; no names, no CPFs."""

from collections.abc import Callable

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = structlog.get_logger("catraca.api")


class RequestLog:
    """Logs when a request has been answered."""

    def __init__(self, app: ASGIApp, elapsed: Callable[[], float]) -> None:
        """`elapsed` tells seconds that only grow."""
        self._app = app
        self._elapsed = elapsed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = self._elapsed()
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            route = scope.get("route")
            _log.info(
                "request",
                method=scope["method"],
                route=getattr(route, "path", "-"),
                status=status,
                ms=round((self._elapsed() - begun) * 1000, 1),
            )

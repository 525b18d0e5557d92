"""Refuse a body that is too large, with a problem document; FastAPI's own limit answers plain text."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backoffice.api.problems import http_problem


class BodyLimit:
    """Counts the bytes of each body, whatever its Content-Length says."""

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self._app = app
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        named = request.headers.get("content-length", "")
        if named.isascii() and named.isdigit() and int(named) > self._most_bytes:
            await http_problem(request, HTTPException(413))(scope, receive, send)
            return
        left = self._most_bytes

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413)
            return message

        await self._app(scope, counted, send)

"""The validator with a sampler in it: which Python code runs, asked at each tick of processor time.

`uvicorn --factory loadtests.bench.sampled:create_app`. A POST to /sampler begins anew; a GET answers the stacks seen
since, as JSON: the functions from the outermost inwards, joined by semicolons, and how often.
"""

import json
import signal
from collections import Counter
from types import FrameType

from validator.api.requests import Receive, Scope, Send
from validator.bootstrap import create_app as create_validator

_EVERY_S = 0.001
_PATH = "/sampler"


class Sampled:
    """The validator's application, and what it was seen doing."""

    def __init__(self) -> None:
        self._app = create_validator()
        self._stacks: Counter[str] = Counter()
        signal.signal(signal.SIGPROF, self._look)

    def _look(self, _: int, frame: FrameType | None) -> None:
        names = []
        while frame is not None:
            names.append(f"{frame.f_globals.get('__name__', '?')}:{frame.f_code.co_qualname}")
            frame = frame.f_back
        self._stacks[";".join(reversed(names))] += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One ASGI connection."""
        if scope["type"] != "http" or scope["path"] != _PATH:
            await self._app(scope, receive, send)
            return
        begin = scope["method"] == "POST"
        signal.setitimer(signal.ITIMER_PROF, _EVERY_S if begin else 0.0, _EVERY_S if begin else 0.0)
        body = json.dumps({} if begin else self._stacks).encode()
        if begin:
            self._stacks.clear()
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", b"%d" % len(body))],
            }
        )
        await send({"type": "http.response.body", "body": body})


def create_app() -> Sampled:
    """The application of one process."""
    return Sampled()

"""Lines of log, made and written together some fifty times a second: a boarding waits for no line and no disk.

Made together, since a line costs less right after another line than between two boardings.
"""

import asyncio
from collections.abc import Callable
from typing import BinaryIO

import msgspec
import structlog

_PAUSE_S = 0.02
"""Short, since everybody waits while the lines of so long are made."""
_MOST_WAITING = 10_000

_encode = msgspec.json.Encoder().encode
_log = structlog.get_logger("catraca.line_log")


class LineLog:
    """Collects lines and writes them out; what cannot be made or written is dropped and counted."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: list[Callable[[], msgspec.Struct]] = []
        self._timer: asyncio.TimerHandle | None = None
        self.dropped = 0

    def __call__(self, line: Callable[[], msgspec.Struct]) -> None:
        """Add what makes a line; it is called once, when lines are written out."""
        waiting = self._waiting
        if len(waiting) >= _MOST_WAITING:
            self.dropped += 1
            return
        waiting.append(line)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE_S, self.flush)

    def flush(self) -> None:
        """Write out what was collected."""
        self._timer = None
        waiting, self._waiting = self._waiting, []
        lines: list[bytes] = []
        for line in waiting:
            try:
                lines.append(_encode(line()))
            except Exception:  # noqa: BLE001 - one line that cannot be made takes no other with it
                _log.exception("line_not_made")
                self.dropped += 1
        if not lines:
            return
        lines.append(b"")
        try:
            self._stream.write(b"\n".join(lines))
            self._stream.flush()
        except (OSError, ValueError):
            self.dropped += len(lines) - 1

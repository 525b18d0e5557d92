"""Lines of log, written together a few times a second: a boarding waits for no disk."""

import asyncio
from typing import BinaryIO

_PAUSE_S = 0.05
_MOST_WAITING = 10_000


class LineLog:
    """Collects lines and writes them out; what cannot be written is dropped and counted."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self.dropped = 0

    def __call__(self, line: bytes) -> None:
        """Add a line, without its end."""
        lines = self._lines
        if len(lines) >= _MOST_WAITING:
            self.dropped += 1
            return
        lines.append(line)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE_S, self.flush)

    def flush(self) -> None:
        """Write out what was collected."""
        self._timer = None
        lines, self._lines = self._lines, []
        if not lines:
            return
        lines.append(b"")
        try:
            self._stream.write(b"\n".join(lines))
            self._stream.flush()
        except (OSError, ValueError):
            self.dropped += len(lines) - 1

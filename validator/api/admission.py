"""Which taps are taken on: as many as are answered soon, and not all of them from one device.

Taps are answered in the order in which they were taken on, so that the age of the oldest says how long the next one
would wait.
"""

from collections import deque

from validator.application.errors import Overloaded


class Admission:
    """The taps in flight of one process."""

    def __init__(self, most: int, wait_s: float) -> None:
        """`most` taps at once, and none more while the oldest waits for longer than `wait_s`."""
        self._most = most
        self._wait_s = wait_s
        self._crowded = most // 2
        self._share = max(1, most // 8)
        self._since: deque[float] = deque()
        self._held: dict[bytes, int] = {}

    @property
    def in_flight(self) -> int:
        """How many taps are in flight."""
        return len(self._since)

    def check(self, sender: bytes, now: float) -> None:
        """Refuse at once, before anything of the tap is read, what would wait too long or leave no room to others.

        Once half of the places are taken, no sender holds more than an eighth of them.

        Raises:
            Overloaded: there is no place, or this sender holds its share.
        """
        since = self._since
        if not since:
            return
        if len(since) >= self._most or now - since[0] > self._wait_s:
            raise Overloaded
        if len(since) >= self._crowded and self._held.get(sender, 0) >= self._share:
            raise Overloaded

    def enter(self, sender: bytes, now: float) -> None:
        """Take on a tap whose body was read; whoever sends slowly takes no place from others.

        Raises:
            Overloaded: as `check`, since others may have come while it was read.
        """
        self.check(sender, now)
        self._held[sender] = self._held.get(sender, 0) + 1
        self._since.append(now)

    def leave(self, sender: bytes) -> None:
        """A tap that was taken on has its answer."""
        self._since.popleft()
        held = self._held.pop(sender) - 1
        if held:
            self._held[sender] = held

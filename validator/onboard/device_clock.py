"""The device's clock: corrected at each contact, and not believed where the signed list proves it wrong."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

NOTICED: Final = timedelta(seconds=2)
"""A smaller skew is left alone: the way to the service takes as long."""

LONGEST_ALONE: Final = timedelta(days=46)
"""A clock that stands so long after the list's issue is taken to be wrong, and not the device to have been alone."""


class DeviceClock:
    """Tells two instants: what the device writes down, and what it decides by.

    A battery that has died shows 1970. What is written down is that, as it is: a person may date it later. What
    decides is the list's issue and the time that has passed since the device was switched on.
    """

    def __init__(self, system: Callable[[], datetime], monotonic: Callable[[], float]) -> None:
        """A clock on top of the machine's.

        Args:
            system: The machine's clock, with offset.
            monotonic: Seconds since any moment, which never jump.
        """
        self._system = system
        self._monotonic = monotonic
        self._started = monotonic()
        self._offset = timedelta(0)
        self.skew: timedelta | None = None
        """How far the machine's clock was ahead of the service's at the last contact; None before the first."""

    def now(self) -> datetime:
        """The instant that the device writes down."""
        return self._system() + self._offset

    def believed(self, listed_at: datetime | None) -> datetime:
        """The instant by which the device decides, given the issue of its list."""
        now = self.now()
        if listed_at is None or listed_at <= now <= listed_at + LONGEST_ALONE:
            return now
        return listed_at + timedelta(seconds=self._monotonic() - self._started)

    def contact(self, service_at: datetime) -> None:
        """The service has just told its own time."""
        self.skew = self._system() - service_at
        if abs(self.skew + self._offset) > NOTICED:
            self._offset = -self.skew

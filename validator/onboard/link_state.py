"""Whether the device waits for the service: a state that does not flap. Pure; the instant is an argument."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Patience:
    """When the device stops waiting, and when it begins again.

    Attributes:
        failures: Failures in a row after which it stops waiting.
        successes: Good probes in a row after which it waits again.
        alone: How long it decides alone at least.
        longest_alone: The most that `alone` grows to; it doubles each time that the link fails soon again.
        steady: How long the link must hold for `alone` to be forgotten.
    """

    failures: int = 2
    successes: int = 3
    alone: timedelta = timedelta(seconds=10)
    longest_alone: timedelta = timedelta(minutes=5)
    steady: timedelta = timedelta(minutes=10)


class LinkState:
    """Online: each tap is posted and waited for. Offline: none is; probes find out when that may change."""

    def __init__(self, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()
        self._alone = self._patience.alone
        self._streak = 0
        self._since: datetime | None = None
        self.online = False
        self.switches = 0
        """How often it has changed."""

    def worked(self, at: datetime) -> None:
        """An exchange was answered in time."""
        if self.online:
            self._streak = 0
            return
        self._streak += 1
        first = self._since is None
        rested = self._since is None or not timedelta(0) <= at - self._since < self._alone
        if first or (rested and self._streak >= self._patience.successes):
            self._switch(at, online=True)

    def failed(self, at: datetime) -> None:
        """An exchange was not answered in time, or not at all."""
        if not self.online:
            self._streak = 0
            return
        self._streak += 1
        if self._streak >= self._patience.failures:
            self._switch(at, online=False)

    def _switch(self, at: datetime, *, online: bool) -> None:
        patience = self._patience
        if not online and self._since is not None:
            held = at - self._since
            doubled = min(self._alone * 2, patience.longest_alone)
            self._alone = patience.alone if held >= patience.steady else doubled
        self.online = online
        self._since = at
        self._streak = 0
        self.switches += 1

"""The city in this process: the newest view that could be read, with what was gathered from it."""

from datetime import datetime

from validator.application.dating import ClockLimits, clock_limits
from validator.application.errors import CityMissing
from validator.records.city import CityView


class CurrentCity:
    """Holds the view; whoever reads the city from the hot state replaces it whole."""

    __slots__ = ("_limits", "_view")

    def __init__(self, view: CityView | None = None) -> None:
        self._view = view
        self._limits: ClockLimits | None = None

    @property
    def revision(self) -> int | None:
        """Revision of the view, None before the first."""
        return None if self._view is None else self._view.revision

    def replace(self, view: CityView) -> None:
        """A newer view stands from now on."""
        self._view = view
        self._limits = None

    def view(self) -> CityView:
        """The view.

        Raises:
            CityMissing: none was read yet.
        """
        if self._view is None:
            raise CityMissing
        return self._view

    def limits(self, received_at: datetime) -> ClockLimits:
        """The clock limits of the civil day of an instant.

        Raises:
            CityMissing: no city was read yet.
        """
        limits = self._limits
        if limits is None or received_at >= limits.until:
            limits = self._limits = clock_limits(self.view().city.book, received_at)
        return limits

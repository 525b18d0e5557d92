"""Which instant decides: the device's own, or the service's where the device's clock is not believed."""

from datetime import datetime, timedelta

import msgspec

from validator.domain.rules import RuleBook
from validator.domain.service_time import civil_date, day_after, first_instant
from validator.records.codes import Flag


class Dated(msgspec.Struct, frozen=True, gc=False):
    """The instant that decides, and what a person should know of it."""

    at: datetime
    flags: int


class ClockLimits(msgspec.Struct, frozen=True, gc=False):
    """How far a device's clock may be off, by the parameters of one civil day of the service.

    Attributes:
        until: First instant of the next civil day.
        ahead: How far it may be ahead, and how far off when a request is sent (`clock_ahead_minutes`).
        behind: How old a tap may be (`clock_behind_days`).
    """

    until: datetime
    ahead: timedelta
    behind: timedelta

    def date_online(self, occurred_at: datetime, sent_at: datetime, received_at: datetime) -> Dated:
        """Date a tap that was posted by itself.

        A clock that is off, or a tap from the future or too old, is not believed: the service decides on its own
        time, flags it, and strands nobody.
        """
        if (
            abs(received_at - sent_at) <= self.ahead
            and -self.behind <= occurred_at - received_at <= self.ahead
        ):
            return Dated(occurred_at, 0)
        return Dated(received_at, int(Flag.CLOCK_SKEWED))

    def date_offline(self, occurred_at: datetime, received_at: datetime) -> Dated:
        """Date a tap of a batch: from the future or too old, it waits until a person dates it from evidence."""
        if -self.behind <= occurred_at - received_at <= self.ahead:
            return Dated(occurred_at, 0)
        return Dated(received_at, int(Flag.CLOCK_QUARANTINE))


def clock_limits(book: RuleBook, received_at: datetime) -> ClockLimits:
    """The limits of the civil day of an instant."""
    day = civil_date(received_at)
    return ClockLimits(
        first_instant(day_after(day)),
        timedelta(minutes=book.parameter_on("clock_ahead_minutes", day)),
        timedelta(days=book.parameter_on("clock_behind_days", day)),
    )

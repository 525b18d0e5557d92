"""Lines, who runs them from which day on, and their trips."""

from datetime import date, datetime

from sqlalchemy import CheckConstraint, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference, word
from validator.domain.vocabulary import Network


class LineRow(Base):
    """One line; `last_day` is set once, when an act ends it."""

    __tablename__ = "lines"
    __table_args__ = (CheckConstraint("last_day >= first_day", name="days_in_order"),)

    id: Mapped[BigId]
    code: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    network: Mapped[Network] = word(Network, "network")
    first_day: Mapped[date | None]
    last_day: Mapped[date | None]
    act_id: Mapped[int | None] = reference("acts.id")
    recorded_at: Mapped[datetime]


class LineOperatorRow(Base):
    """From a civil day on an operator runs a line, or runs it no more. Later rows overtake earlier ones.

    The state on a day is that of the row with the latest `from_day` up to it, of several the one recorded last.
    """

    __tablename__ = "line_operators"
    __table_args__ = (Index(None, "line_id", "operator_id", "from_day"),)

    id: Mapped[BigId]
    line_id: Mapped[int] = reference("lines.id")
    operator_id: Mapped[int] = reference("operators.id")
    from_day: Mapped[date]
    runs: Mapped[bool]
    act_id: Mapped[int | None] = reference("acts.id")
    recorded_at: Mapped[datetime]


class TripRow(Base):
    """A trip of a timetable; times are seconds after the midnight of the operational day and may pass 24 hours."""

    __tablename__ = "trips"
    __table_args__ = (UniqueConstraint("line_id", "code"),)

    id: Mapped[BigId]
    line_id: Mapped[int] = reference("lines.id")
    code: Mapped[str] = mapped_column(String(64))
    headsign: Mapped[str | None] = mapped_column(String(200))
    direction: Mapped[int | None]
    departs_s: Mapped[int | None]
    arrives_s: Mapped[int | None]
    recorded_at: Mapped[datetime]

"""Declarations of enrolment: the current proof that a purchase of student passes needs (Decreto 1.827, art. 70, c)."""

from datetime import date, datetime

from sqlalchemy import CheckConstraint, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference


class EnrolmentRow(Base):
    """A declaration seen by a desk: valid from `first_day` through `last_day`, with the need that was declared."""

    __tablename__ = "enrolments"
    __table_args__ = (
        CheckConstraint("last_day >= first_day", name="days_in_order"),
        CheckConstraint("passes_per_day BETWEEN 0 AND 8", name="passes_per_day"),
        Index(None, "holder_id", "first_day"),
    )

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id")
    school_id: Mapped[int] = reference("schools.id")
    first_day: Mapped[date]
    last_day: Mapped[date]
    passes_per_day: Mapped[int]
    """The declared need; 0 where none was declared."""
    address_seen_on: Mapped[date | None]
    identity_seen_on: Mapped[date | None]
    shift: Mapped[str | None] = mapped_column(String(40))
    recorded_by: Mapped[int] = reference("users.id")
    recorded_at: Mapped[datetime]

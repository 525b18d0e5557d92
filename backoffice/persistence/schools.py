"""Schools and their school years (Decreto 1.827, art. 70, b)."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference, word
from validator.domain.registration import SchoolNetwork


class SchoolRow(Base):
    """One school or institution; `inep` is eight digits, as text."""

    __tablename__ = "schools"
    __table_args__ = (CheckConstraint("length(inep) = 8", name="inep_length"),)

    id: Mapped[BigId]
    name: Mapped[str] = mapped_column(String(200))
    network: Mapped[SchoolNetwork] = word(SchoolNetwork, "network")
    inep: Mapped[str | None] = mapped_column(String(8), unique=True)
    recorded_at: Mapped[datetime]


class SchoolYearRow(Base):
    """School days of a school in a year, and passes that an act adds to the ceiling; the last recorded counts."""

    __tablename__ = "school_years"
    __table_args__ = (
        CheckConstraint("year BETWEEN 1991 AND 2200", name="year"),
        CheckConstraint("school_days BETWEEN 1 AND 366", name="school_days"),
        CheckConstraint("authorised_extra >= 0", name="authorised_extra"),
        CheckConstraint("authorised_extra = 0 OR act_id IS NOT NULL", name="extra_needs_act"),
        Index(None, "school_id", "year"),
    )

    id: Mapped[BigId]
    school_id: Mapped[int] = reference("schools.id")
    year: Mapped[int]
    school_days: Mapped[int]
    authorised_extra: Mapped[int]
    act_id: Mapped[int | None] = reference("acts.id")
    recorded_at: Mapped[datetime]

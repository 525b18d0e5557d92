"""Fares: centavos by network, line, medium and civil day, each by an act (Lei arts. 63 and 66, IV)."""

from datetime import date, datetime

from sqlalchemy import CheckConstraint, Index
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference, word
from validator.domain.vocabulary import FareMedium, Network


class FareRow(Base):
    """One fare. `corrects_id` cites a fare that was registered wrongly and counts no more."""

    __tablename__ = "fares"
    __table_args__ = (
        CheckConstraint("cents >= 0", name="not_negative"),
        CheckConstraint("last_day >= first_day", name="days_in_order"),
        Index(None, "network", "first_day"),
    )

    id: Mapped[BigId]
    network: Mapped[Network] = word(Network, "network")
    line: Mapped[str | None] = reference("lines.code")
    medium: Mapped[FareMedium | None] = word(FareMedium, "medium", nullable=True)
    first_day: Mapped[date]
    last_day: Mapped[date | None]
    cents: Mapped[int]
    act_id: Mapped[int] = reference("acts.id")
    corrects_id: Mapped[int | None] = reference("fares.id", unique=True)
    recorded_by: Mapped[int | None] = reference("users.id")
    recorded_at: Mapped[datetime] = mapped_column(index=True)

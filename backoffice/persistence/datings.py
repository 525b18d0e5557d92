"""Datings: when a boarding happened whose device did not know, as a person found from evidence."""

from datetime import datetime

from sqlalchemy import BigInteger, Index, String, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference


class DatingRow(Base):
    """One dating of a boarding in quarantine; of several the last recorded counts. The boarding stays as it came.

    Attributes:
        boarding_id: The boarding.
        month, device, epoch, seq: Where it stands in `boardings`.
        month_dated: Civil month of `dated_at`, `AAAA-MM`.
        evidence: What the instant was found from: the trip sheet, a camera, the boardings before and after it.
        replaces_id: The dating that this one corrects.
    """

    __tablename__ = "datings"
    __table_args__ = (Index(None, "month_dated"), Index(None, "month", "device", "epoch", "seq"))

    id: Mapped[BigId]
    boarding_id: Mapped[str] = mapped_column(Uuid(as_uuid=False), index=True)
    month: Mapped[str] = mapped_column(String(7))
    device: Mapped[str] = mapped_column(String(64))
    epoch: Mapped[int] = mapped_column(BigInteger)
    seq: Mapped[int] = mapped_column(BigInteger)
    dated_at: Mapped[datetime]
    month_dated: Mapped[str] = mapped_column(String(7))
    evidence: Mapped[str] = mapped_column(String(500))
    dated_by: Mapped[int] = reference("users.id")
    recorded_at: Mapped[datetime]
    replaces_id: Mapped[int | None] = reference("datings.id", unique=True)

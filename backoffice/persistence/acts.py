"""Acts: decrees, orders and laws that set a fare, a number or an exception. Never changed, never deleted."""

from datetime import date, datetime
from enum import StrEnum

from sqlalchemy import String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import word


class ActKind(StrEnum):
    """What kind of act it is."""

    LAW = "LAW"
    DECREE = "DECREE"
    ORDER = "ORDER"
    RESOLUTION = "RESOLUTION"
    COURT = "COURT"


class ActRow(Base):
    """One act: kind, number and the civil day of signature name it."""

    __tablename__ = "acts"
    __table_args__ = (UniqueConstraint("kind", "number", "signed_on"),)

    id: Mapped[BigId]
    kind: Mapped[ActKind] = word(ActKind, "kind")
    number: Mapped[str] = mapped_column(String(64))
    signed_on: Mapped[date]
    published_on: Mapped[date | None]
    note: Mapped[str | None] = mapped_column(String(500))
    recorded_at: Mapped[datetime]

    @property
    def title(self) -> str:
        """How a Brazilian names it: `Decreto 1.827, de 16/10/1991`."""
        return f"{_TITLES[self.kind]} {self.number}, de {self.signed_on:%d/%m/%Y}"


_TITLES = {
    ActKind.LAW: "Lei",
    ActKind.DECREE: "Decreto",
    ActKind.ORDER: "Portaria",
    ActKind.RESOLUTION: "Resolução",
    ActKind.COURT: "Decisão judicial",
}

"""The outbox: what must be published, by id only. The publisher builds each record from committed state."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import word


class OutboxKind(StrEnum):
    """What has changed."""

    HOLDER = "HOLDER"
    DEVICE = "DEVICE"
    CITY = "CITY"


class OutboxRow(Base):
    """One change to publish. `ref` is `holders.id` as text, the device's id, or `city`."""

    __tablename__ = "outbox"
    __table_args__ = (
        Index(
            "ix_outbox_waiting",
            "id",
            postgresql_where=text("published_at IS NULL"),
            sqlite_where=text("published_at IS NULL"),
        ),
    )

    id: Mapped[BigId]
    kind: Mapped[OutboxKind] = word(OutboxKind, "kind")
    ref: Mapped[str] = mapped_column(String(32))
    created_at: Mapped[datetime]
    published_at: Mapped[datetime | None]

"""The city's own row, and the keys that sign its cards."""

from datetime import datetime

from sqlalchemy import CheckConstraint, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base


class CityRow(Base):
    """The only row of its table: revision of the city's record, raised under its lock by every change that shows."""

    __tablename__ = "city"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    revision: Mapped[int]
    published_revision: Mapped[int]
    law_version: Mapped[str | None] = mapped_column(String(64))
    """Version of the rule table that was published last."""


class CityKeyRow(Base):
    """A key pair of the city. The private half is a file in the data folder and never in the database."""

    __tablename__ = "city_keys"
    __table_args__ = (
        CheckConstraint("key_id BETWEEN 1 AND 65535", name="key_id"),
        CheckConstraint("length(public_key) = 32", name="public_key_length"),
    )

    key_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    public_key: Mapped[bytes] = mapped_column(LargeBinary(32))
    valid_from: Mapped[datetime]
    valid_until: Mapped[datetime | None]
    """Verifies until then; None while open. Of the keys that are open, the highest key_id signs."""
    compromised_at: Mapped[datetime | None]
    recorded_at: Mapped[datetime]

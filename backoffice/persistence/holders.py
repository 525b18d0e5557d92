"""Holders, and apart from them the personal data.

`holders` is what the hot path and the claims may know of; `persons` is read by the desks only, and each look is logged.
"""

from datetime import date, datetime

from sqlalchemy import CheckConstraint, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference


class HolderRow(Base):
    """A holder under two numbers: `id` in SQL, and the random `hot_id` in Redis, the journal and the claims.

    Attributes:
        revision: Raised, under this row's lock, by every change that a snapshot shows.
        published_revision: The last revision that the publisher has written to Redis, 0 for none.
    """

    __tablename__ = "holders"
    __table_args__ = (
        CheckConstraint("length(hot_id) = 16", name="hot_id_length"),
        CheckConstraint("revision >= 1", name="revision"),
    )

    id: Mapped[BigId]
    hot_id: Mapped[str] = mapped_column(String(16), unique=True)
    revision: Mapped[int]
    published_revision: Mapped[int]
    created_at: Mapped[datetime]


class LifeRow(Base):
    """Birth and death of a holder, from which the rights of age follow; the last recorded counts."""

    __tablename__ = "lives"
    __table_args__ = (
        CheckConstraint("died_on >= birth_date", name="days_in_order"),
        Index(None, "holder_id", "revision"),
    )

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id")
    birth_date: Mapped[date | None]
    died_on: Mapped[date | None]
    recorded_by: Mapped[int | None] = reference("users.id")
    recorded_at: Mapped[datetime]
    revision: Mapped[int]


class PersonRow(Base):
    """Who a holder is. A CPF is unique only as the holder's own: several children may name one guardian's."""

    __tablename__ = "persons"
    __table_args__ = (
        CheckConstraint("length(cpf) = 11", name="cpf_length"),
        CheckConstraint("length(guardian_cpf) = 11", name="guardian_cpf_length"),
        CheckConstraint("guardian_id <> holder_id", name="not_own_guardian"),
    )

    holder_id: Mapped[int] = reference("holders.id", primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    search_name: Mapped[str] = mapped_column(String(400), index=True)
    """The name without accents and capitals, by which it is found."""
    cpf: Mapped[str | None] = mapped_column(String(11), unique=True)
    guardian_id: Mapped[int | None] = reference("holders.id", index=True)
    guardian_name: Mapped[str | None] = mapped_column(String(200))
    guardian_cpf: Mapped[str | None] = mapped_column(String(11), index=True)
    address: Mapped[str | None] = mapped_column(String(300))
    phone: Mapped[str | None] = mapped_column(String(40))
    recorded_at: Mapped[datetime]

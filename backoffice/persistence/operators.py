"""Operators: who runs the lines. A company has a CNPJ (letters allowed), an interior operator may be a person (CPF)."""

from datetime import date, datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference, word


class OperatorKind(StrEnum):
    """A company, known by its CNPJ, or a natural person, known by the CPF."""

    COMPANY = "COMPANY"
    PERSON = "PERSON"


class OperatorRow(Base):
    """One operator. `document` is None only for one that a GTFS feed brought and nobody has completed yet."""

    __tablename__ = "operators"
    __table_args__ = (CheckConstraint("length(document) IN (11, 14)", name="document_length"),)

    id: Mapped[BigId]
    code: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    kind: Mapped[OperatorKind] = word(OperatorKind, "kind")
    document: Mapped[str | None] = mapped_column(String(14), unique=True)
    first_day: Mapped[date | None]
    """First civil day on which it may run; None where unknown."""
    recorded_at: Mapped[datetime]


class OperatorEndingRow(Base):
    """From which civil day on an operator runs nothing any more; the last one recorded counts."""

    __tablename__ = "operator_endings"

    id: Mapped[BigId]
    operator_id: Mapped[int] = reference("operators.id", index=True)
    ended_on: Mapped[date]
    act_id: Mapped[int | None] = reference("acts.id")
    recorded_at: Mapped[datetime]

"""Rights: asked for by one person, approved by another, ended or suspended by new rows. Nothing here is ever changed.

A revision is the holder's revision whose snapshot first shows the row.
"""

from datetime import date, datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference, word
from validator.domain.registration import Evidence
from validator.domain.vocabulary import Category


class RightDecision(StrEnum):
    """What a second person made of a request."""

    APPROVED = "APPROVED"
    DENIED = "DENIED"


class RightRequestRow(Base):
    """A right that a desk or school has registered and nobody has approved yet. It gives nothing."""

    __tablename__ = "right_requests"

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id", index=True)
    category: Mapped[Category] = word(Category, "category")
    first_day: Mapped[date]
    ended_on: Mapped[date | None]
    school_id: Mapped[int | None] = reference("schools.id")
    note: Mapped[str | None] = mapped_column(String(300))
    registered_by: Mapped[int] = reference("users.id")
    recorded_at: Mapped[datetime]


class RightEvidenceRow(Base):
    """A document seen for a request, and on which civil day."""

    __tablename__ = "right_evidence"

    request_id: Mapped[int] = reference("right_requests.id", primary_key=True)
    kind: Mapped[Evidence] = word(Evidence, "kind", primary_key=True)
    seen_on: Mapped[date]


class RightDecisionRow(Base):
    """What a second person decided on a request; once."""

    __tablename__ = "right_decisions"
    __table_args__ = (CheckConstraint("decision <> 'DENIED' OR note IS NOT NULL", name="denial_needs_note"),)

    request_id: Mapped[int] = reference("right_requests.id", primary_key=True)
    decision: Mapped[RightDecision] = word(RightDecision, "decision")
    decided_by: Mapped[int] = reference("users.id")
    note: Mapped[str | None] = mapped_column(String(300))
    recorded_at: Mapped[datetime]


class RightRow(Base):
    """An approved right: in force from `first_day` until `ended_on`, the first civil day without it."""

    __tablename__ = "rights"
    __table_args__ = (
        CheckConstraint("registered_by <> approved_by", name="second_person"),
        CheckConstraint("ended_on > first_day", name="days_in_order"),
        CheckConstraint(
            "category NOT IN ('CHILD', 'ELDER', 'PREPAID', 'VT', 'FULL')", name="category_is_registered"
        ),
        Index(None, "holder_id", "revision"),
    )

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id")
    request_id: Mapped[int] = reference("right_requests.id", unique=True)
    category: Mapped[Category] = word(Category, "category")
    first_day: Mapped[date]
    ended_on: Mapped[date | None]
    school_id: Mapped[int | None] = reference("schools.id")
    registered_by: Mapped[int] = reference("users.id")
    approved_by: Mapped[int] = reference("users.id")
    recorded_at: Mapped[datetime]
    revision: Mapped[int]


class RightEndingRow(Base):
    """The first civil day without a right; the last one recorded counts."""

    __tablename__ = "right_endings"
    __table_args__ = (Index(None, "holder_id", "revision"),)

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id")
    right_id: Mapped[int] = reference("rights.id", index=True)
    ended_on: Mapped[date]
    reason: Mapped[str] = mapped_column(String(300))
    recorded_by: Mapped[int] = reference("users.id")
    recorded_at: Mapped[datetime]
    revision: Mapped[int]


class RightSuspensionRow(Base):
    """A right does not hold from `first_day` until `until` (the first day after, None while open).

    `replaces_id` cites the suspension whose days this row corrects, as a resumption does.
    """

    __tablename__ = "right_suspensions"
    __table_args__ = (
        CheckConstraint("until >= first_day", name="days_in_order"),
        Index(None, "holder_id", "revision"),
    )

    id: Mapped[BigId]
    holder_id: Mapped[int] = reference("holders.id")
    right_id: Mapped[int] = reference("rights.id", index=True)
    first_day: Mapped[date]
    until: Mapped[date | None]
    replaces_id: Mapped[int | None] = reference("right_suspensions.id", unique=True)
    reason: Mapped[str] = mapped_column(String(300))
    recorded_by: Mapped[int] = reference("users.id")
    recorded_at: Mapped[datetime]
    revision: Mapped[int]

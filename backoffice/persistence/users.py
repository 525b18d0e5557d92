"""People who work with the back office, and the log of what they did and looked at."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference, word


class Role(StrEnum):
    """What a person may do (`docs/operating.md`)."""

    DESK_CLERK = "DESK_CLERK"
    DESK_MANAGER = "DESK_MANAGER"
    SCHOOL = "SCHOOL"
    OPERATOR_FINANCE = "OPERATOR_FINANCE"
    CITY = "CITY"
    AUDITOR = "AUDITOR"
    ADMINISTRATOR = "ADMINISTRATOR"


class UserRow(Base):
    """A person with a role; an operator's people see that operator only, a desk's sell at that desk."""

    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint("role <> 'OPERATOR_FINANCE' OR operator_id IS NOT NULL", name="operator_scope"),
        CheckConstraint("role NOT IN ('DESK_CLERK', 'DESK_MANAGER') OR desk IS NOT NULL", name="desk_scope"),
    )

    id: Mapped[BigId]
    login: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    role: Mapped[Role] = word(Role, "role")
    operator_id: Mapped[int | None] = reference("operators.id")
    desk: Mapped[str | None] = mapped_column(String(64))
    school_id: Mapped[int | None] = reference("schools.id")
    holder_id: Mapped[int | None] = reference("holders.id")
    """The person's own record as a holder, so that nobody serves themselves."""
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    valid_from: Mapped[datetime]
    valid_until: Mapped[datetime | None]
    recorded_at: Mapped[datetime]


class AuditRow(Base):
    """Who did or looked at what. Append-only, and without personal data: `detail` names fields and numbers."""

    __tablename__ = "audit_log"
    __table_args__ = (Index(None, "subject_kind", "subject_id", "at"),)

    id: Mapped[BigId]
    at: Mapped[datetime] = mapped_column(index=True)
    user_id: Mapped[int | None] = reference("users.id", index=True)
    action: Mapped[str] = mapped_column(String(64))
    subject_kind: Mapped[str] = mapped_column(String(32))
    subject_id: Mapped[str] = mapped_column(String(64))
    detail: Mapped[str | None] = mapped_column(String(500))

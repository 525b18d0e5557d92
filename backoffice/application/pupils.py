"""Whom a school may look at and act for: its own pupils, and nobody else whose number it may guess."""

from typing import Any

from sqlalchemy import CompoundSelect, select
from sqlalchemy.orm import Session

from backoffice.application.errors import Forbidden
from backoffice.application.staff import Staff
from backoffice.persistence.enrolments import EnrolmentRow
from backoffice.persistence.holders import HolderRow, LifeRow
from backoffice.persistence.rights import RightRequestRow, RightRow
from backoffice.persistence.users import Role, UserRow


def refuse_foreign_pupil(session: Session, by: Staff, holder_id: int) -> None:
    """Refuse that a school sees or serves somebody who is no pupil of its own; others may.

    Raises:
        Forbidden: it is another's pupil, or nobody's.
    """
    if by.role is not Role.SCHOOL:
        return
    own = session.scalar(
        select(HolderRow.id).where(HolderRow.id == holder_id, HolderRow.id.in_(pupils_of(by)))
    )
    if own is None:
        raise Forbidden(
            "a escola só vê e atende os próprios alunos; quem já tem cadastro é matriculado no posto",
            "a school sees and serves its own pupils only; a desk enrols who is registered already",
        )


def pupils_of(by: Staff) -> CompoundSelect[Any]:
    """Ids of a school's holders: enrolled there, with a right through it, asked for with it, or registered by it."""
    colleagues = select(UserRow.id).where(UserRow.school_id == by.school_id)
    return (
        select(EnrolmentRow.holder_id)
        .where(EnrolmentRow.school_id == by.school_id)
        .union(
            select(RightRow.holder_id).where(RightRow.school_id == by.school_id),
            select(RightRequestRow.holder_id).where(RightRequestRow.school_id == by.school_id),
            select(LifeRow.holder_id).where(LifeRow.revision == 1, LifeRow.recorded_by.in_(colleagues)),
        )
    )

"""Rights: one person registers what was seen, another approves it; ending and suspending are rows of their own.

A second person approves what spends public money: a right does. Ending, suspending and resuming spend none that was not
approved already (a resumption never outlives the approved end), so one person does them, named in the log.
"""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.application.changes import change_holder, lock_holder, log
from backoffice.application.errors import Conflict, Forbidden, Invalid, NotFound
from backoffice.application.pupils import refuse_foreign_pupil
from backoffice.application.register_fields import day_of, optional_text, seen_day_of, text_of
from backoffice.application.register_holders import (
    life_of,
    person_of,
    refuse_dead,
    refuse_other_school,
)
from backoffice.application.register_schools import school_of
from backoffice.application.staff import Approver, Registrar, refuse_serving_oneself
from backoffice.persistence.base import WriteSession
from backoffice.persistence.rights import (
    RightDecision,
    RightDecisionRow,
    RightEndingRow,
    RightEvidenceRow,
    RightRequestRow,
    RightRow,
    RightSuspensionRow,
)
from validator.domain.registration import Evidence, SchoolNetwork
from validator.domain.rules import RuleBook
from validator.domain.service_time import civil_date, day_after
from validator.domain.vocabulary import AGE_RIGHTS, RIGHTS_IN_ORDER, Category

_EVIDENCE_WORDS = {
    Evidence.IDENTITY: "documento de identidade",
    Evidence.ADDRESS: "comprovante de endereço",
    Evidence.ENROLMENT: "declaração de matrícula",
    Evidence.NEED: "declaração de necessidade",
    Evidence.CREDENTIAL: "credencial",
    Evidence.APPOINTMENT: "comprovante de exercício do magistério",
    Evidence.EMPLOYER: "declaração do empregador",
}


_SCHOOL_WORDS = {
    SchoolNetwork.PUBLIC_MUNICIPAL: "da rede municipal",
    SchoolNetwork.PUBLIC_STATE: "da rede estadual",
    SchoolNetwork.PUBLIC_FEDERAL: "da rede federal",
    SchoolNetwork.PRIVATE: "da rede particular",
    SchoolNetwork.SPECIAL: "de ensino especial",
}


def proof_of(book: RuleBook, category: Category, day: date) -> frozenset[Evidence]:
    """The documents that must have been seen for a right that is asked for on a civil day."""
    row = book.registration_on(category, day)
    return frozenset() if row is None else row.documents


@dataclass(frozen=True, slots=True)
class Entitlement:
    """What is asked for.

    Attributes:
        category: A registered right; rights of age need none, and purses are bought.
        first_day: First civil day.
        ended_on: First civil day without it; None where it runs on.
        evidence: The documents that were seen.
        seen_on: The civil day on which they were seen.
        school_id: School or institution, of students, teachers and special education.
        note: For the approver; never a diagnosis.
    """

    category: Category
    first_day: date
    evidence: frozenset[Evidence]
    seen_on: date
    ended_on: date | None = None
    school_id: int | None = None
    note: str | None = None


def request_right(
    session: WriteSession, by: Registrar, at: datetime, book: RuleBook, *, holder_id: int, asked: Entitlement
) -> RightRequestRow:
    """Register a right; it gives nothing until a second person approves it.

    Raises:
        Invalid: the category needs no registration, a document or school is missing, or the days make no sense, such as
            a document seen tomorrow.
        NotFound: no such holder or school.
        Forbidden: it is the person's own record, or another school's.
    """
    refuse_serving_oneself(by, holder_id)
    person_of(session, holder_id)
    refuse_foreign_pupil(session, by, holder_id)
    refuse_dead(session, holder_id)
    today = civil_date(at)
    _check_category(session, by, book, asked, today)
    _check_days(asked, today, life_of(session, holder_id).birth_date)
    row = RightRequestRow(
        holder_id=holder_id,
        category=asked.category,
        first_day=asked.first_day,
        ended_on=asked.ended_on,
        school_id=asked.school_id,
        note=optional_text(asked.note, "note", 300),
        registered_by=by.user_id,
        recorded_at=at,
    )
    session.add(row)
    session.flush()
    for kind in sorted(asked.evidence):
        session.add(RightEvidenceRow(request_id=row.id, kind=kind, seen_on=asked.seen_on))
    log(session, by, "right.request", ("holder", holder_id), at, f"request={row.id}")
    return row


def _check_category(session: Session, by: Registrar, book: RuleBook, asked: Entitlement, today: date) -> None:
    if asked.category in AGE_RIGHTS:
        raise Invalid(
            "category: este direito decorre da idade e não se registra; confira a data de nascimento",
            "category: this right follows from the age and is not registered",
        )
    if asked.category not in RIGHTS_IN_ORDER:
        raise Invalid(
            "category: não é um direito; passes se vendem", "category: is no right; passes are sold"
        )
    law = book.registration_on(asked.category, today)
    if law is None:
        raise Invalid("category: hoje a lei não dá este direito", "category: no rule gives this right today")
    missing = sorted(law.documents - asked.evidence)
    if missing:
        words = ", ".join(_EVIDENCE_WORDS[kind] for kind in missing)
        raise Invalid(
            f"evidence: falta ver: {words} ({law.article})", f"evidence: not seen yet: {', '.join(missing)}"
        )
    if law.schools is not None:
        _check_school(session, by, law.schools, law.article, asked.school_id)
    elif asked.school_id is not None:
        raise Invalid("school_id: esta categoria não tem escola", "school_id: not of this category")
    elif by.school_id is not None:
        raise Forbidden(
            "a escola só pede direitos de alunos e professores", "schools ask for pupils and teachers only"
        )


def _check_school(
    session: Session,
    by: Registrar,
    schools: frozenset[SchoolNetwork],
    article: str,
    school_id: int | None,
) -> None:
    """Refuse a school whose pupils or teachers the law gives nothing."""
    if school_id is None:
        raise Invalid("school_id: informe a escola", "school_id: is missing")
    if school_of(session, school_id).network not in schools:
        words = ", ".join(_SCHOOL_WORDS[network] for network in sorted(schools))
        raise Invalid(
            f"school_id: só vale para instituições {words} ({article})",
            f"school_id: only of these networks: {', '.join(sorted(schools))} ({article})",
        )
    refuse_other_school(by, school_id)


def _check_days(asked: Entitlement, today: date, born_on: date | None) -> None:
    first_day = day_of(asked.first_day, "first_day")
    if born_on is not None and first_day < born_on:
        raise Invalid(
            "first_day: antes do nascimento do titular; confira as datas",
            "first_day: before the holder was born",
        )
    seen_day_of(asked.seen_on, "seen_on", today)
    if asked.ended_on is not None and day_of(asked.ended_on, "ended_on") <= asked.first_day:
        raise Invalid("ended_on: depois do primeiro dia", "ended_on: after the first day")


def approve_right(session: WriteSession, by: Approver, at: datetime, *, request_id: int) -> RightRow:
    """Approve a request as the second person: from now on the right counts and is published.

    Raises:
        NotFound: no such request.
        Forbidden: the approver registered it, or it is the approver's own record.
        Conflict: it was decided already, or the holder has died since it was asked for.
    """
    request = _undecided(session, by, request_id)
    holder = change_holder(session, request.holder_id, at)
    _refuse_decided(session, request_id)
    refuse_dead(session, request.holder_id)
    _decide(session, by, at, request, RightDecision.APPROVED, None)
    right = RightRow(
        holder_id=request.holder_id,
        request_id=request.id,
        category=request.category,
        first_day=request.first_day,
        ended_on=request.ended_on,
        school_id=request.school_id,
        registered_by=request.registered_by,
        approved_by=by.user_id,
        recorded_at=at,
        revision=holder.revision,
    )
    session.add(right)
    session.flush()
    log(session, by, "right.approve", ("holder", request.holder_id), at, f"right={right.id}")
    return right


def deny_right(session: WriteSession, by: Approver, at: datetime, *, request_id: int, note: str) -> None:
    """Deny a request, with the reason.

    Raises:
        NotFound, Forbidden, Conflict: as `approve_right`.
        Invalid: no reason is given.
    """
    request = _undecided(session, by, request_id)
    lock_holder(session, request.holder_id)
    _refuse_decided(session, request_id)
    _decide(session, by, at, request, RightDecision.DENIED, text_of(note, "note", 300))
    log(session, by, "right.deny", ("holder", request.holder_id), at, f"request={request_id}")


def _undecided(session: Session, by: Approver, request_id: int) -> RightRequestRow:
    request = session.get(RightRequestRow, request_id)
    if request is None:
        raise NotFound(f"não há pedido de número {request_id}", f"there is no request {request_id}")
    refuse_serving_oneself(by, request.holder_id)
    if request.registered_by == by.user_id:
        raise Forbidden(
            "quem registrou o direito não o aprova: peça a uma segunda pessoa",
            "whoever registered a right does not approve it: ask a second person",
            code="SECOND_PERSON",
        )
    return request


def _refuse_decided(session: Session, request_id: int) -> None:
    decided = session.get(RightDecisionRow, request_id)
    if decided is not None:
        raise Conflict("este pedido já foi decidido", f"request {request_id} was decided already")


def _decide(
    session: WriteSession,
    by: Approver,
    at: datetime,
    request: RightRequestRow,
    decision: RightDecision,
    note: str | None,
) -> None:
    session.add(
        RightDecisionRow(
            request_id=request.id, decision=decision, decided_by=by.user_id, note=note, recorded_at=at
        )
    )


def end_right(
    session: WriteSession, by: Registrar, at: datetime, *, right_id: int, ended_on: date, reason: str
) -> None:
    """End a right: `ended_on` is the first civil day without it. A later call corrects the day.

    No call makes a right longer than what the second person approved, nor gives it to the dead.

    Raises:
        NotFound: no such right.
        Invalid: the day lies before the right's first or after its approved end, or no reason is given.
        Conflict: the holder was dead by then.
    """
    right = _right(session, by, right_id)
    if day_of(ended_on, "ended_on") < right.first_day:
        raise Invalid("ended_on: antes do primeiro dia do direito", "ended_on: before the right's first day")
    if right.ended_on is not None and ended_on > right.ended_on:
        raise Invalid(
            f"ended_on: o direito foi aprovado só até a véspera de {right.ended_on:%d/%m/%Y}; para mais tempo, peça "
            "outro direito",
            f"ended_on: the right was approved to end on {right.ended_on}; ask for another right",
        )
    holder = change_holder(session, right.holder_id, at)
    died_on = life_of(session, right.holder_id).died_on
    if died_on is not None and ended_on > max(day_after(died_on), right.first_day):
        raise Conflict("o titular consta como falecido", "the holder is recorded as dead")
    session.add(
        RightEndingRow(
            holder_id=holder.id,
            right_id=right_id,
            ended_on=ended_on,
            reason=text_of(reason, "reason", 300),
            recorded_by=by.user_id,
            recorded_at=at,
            revision=holder.revision,
        )
    )
    log(session, by, "right.end", ("holder", holder.id), at, f"right={right_id} ended_on={ended_on}")


def suspend_right(
    session: WriteSession,
    by: Registrar,
    at: datetime,
    *,
    right_id: int,
    first_day: date,
    until: date | None,
    reason: str,
) -> RightSuspensionRow:
    """Suspend a right from a civil day until another, the first day after, or until it is resumed.

    Raises:
        NotFound: no such right.
        Invalid: the days make no sense, or no reason is given.
        Conflict: an open suspension stands already.
    """
    right = _right(session, by, right_id)
    day_of(first_day, "first_day")
    if until is not None and day_of(until, "until") <= first_day:
        raise Invalid("until: depois do primeiro dia da suspensão", "until: after the first day")
    holder = change_holder(session, right.holder_id, at)
    if _open_suspension(session, right_id) is not None:
        raise Conflict("o direito já está suspenso; retome-o antes", "the right is suspended already")
    row = RightSuspensionRow(
        holder_id=holder.id,
        right_id=right_id,
        first_day=first_day,
        until=until,
        replaces_id=None,
        reason=text_of(reason, "reason", 300),
        recorded_by=by.user_id,
        recorded_at=at,
        revision=holder.revision,
    )
    session.add(row)
    session.flush()
    log(session, by, "right.suspend", ("holder", holder.id), at, f"right={right_id} from={first_day}")
    return row


def resume_right(
    session: WriteSession, by: Registrar, at: datetime, *, right_id: int, from_day: date, reason: str
) -> None:
    """Resume a suspended right: it holds again from a civil day on.

    Raises:
        NotFound: no such right.
        Conflict: it is not suspended.
        Invalid: no reason is given.
    """
    right = _right(session, by, right_id)
    day_of(from_day, "from_day")
    holder = change_holder(session, right.holder_id, at)
    pause = _open_suspension(session, right_id)
    if pause is None:
        raise Conflict("o direito não está suspenso", "the right is not suspended")
    session.add(
        RightSuspensionRow(
            holder_id=holder.id,
            right_id=right_id,
            first_day=pause.first_day,
            until=max(from_day, pause.first_day),
            replaces_id=pause.id,
            reason=text_of(reason, "reason", 300),
            recorded_by=by.user_id,
            recorded_at=at,
            revision=holder.revision,
        )
    )
    log(session, by, "right.resume", ("holder", holder.id), at, f"right={right_id} from={from_day}")


def _right(session: Session, by: Registrar, right_id: int) -> RightRow:
    right = session.get(RightRow, right_id)
    if right is None:
        raise NotFound(f"não há direito de número {right_id}", f"there is no right {right_id}")
    refuse_serving_oneself(by, right.holder_id)
    if by.school_id is not None:
        refuse_other_school(by, right.school_id)
    return right


def _open_suspension(session: Session, right_id: int) -> RightSuspensionRow | None:
    """The suspension without an end that no later row replaces."""
    replaced = select(RightSuspensionRow.replaces_id).where(RightSuspensionRow.replaces_id.is_not(None))
    return session.scalars(
        select(RightSuspensionRow)
        .where(
            RightSuspensionRow.right_id == right_id,
            RightSuspensionRow.until.is_(None),
            RightSuspensionRow.id.not_in(replaced),
        )
        .limit(1)
    ).first()

"""Holders: who they are, when they were born, who acts for a minor, and their declarations of enrolment."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.application.changes import change_holder, log, publish_later
from backoffice.application.errors import Conflict, Forbidden, Invalid, NotFound
from backoffice.application.ports import Chance
from backoffice.application.pupils import refuse_foreign_pupil
from backoffice.application.register_fields import (
    cpf_of,
    day_of,
    optional_text,
    search_name,
    seen_day_of,
    text_of,
)
from backoffice.application.register_schools import school_of
from backoffice.application.staff import Registrar, Staff, refuse_serving_oneself
from backoffice.persistence.advisory_lock import take_turn
from backoffice.persistence.base import WriteSession
from backoffice.persistence.enrolments import EnrolmentRow
from backoffice.persistence.holders import HolderRow, LifeRow, PersonRow
from backoffice.persistence.outbox import OutboxKind
from validator.domain.service_time import anniversary, civil_date

OF_AGE = 18
"""Completed years from which nobody else need act for a holder (Código Civil, art. 5)."""


@dataclass(frozen=True, slots=True)
class Person:
    """What a desk registers of a person. No diagnosis, no document but the CPF, no copies (LGPD).

    Attributes:
        name: Full name, or the social name.
        birth_date: Needed for the rights of age; None where the person rides on a purse only.
        cpf: The person's own, with or without mask; None where there is none, as of many minors.
        guardian_id: The guardian's own record.
        guardian_name: A guardian who has no record.
        guardian_cpf: The guardian's CPF; several children may name the same.
        address: Where the person lives, for the declared need.
        phone: How to reach the person.
        namesake: Whether the desk has made sure that a holder of this name and birth date is somebody else.
    """

    name: str
    birth_date: date | None = None
    cpf: str | None = None
    guardian_id: int | None = None
    guardian_name: str | None = None
    guardian_cpf: str | None = None
    address: str | None = None
    phone: str | None = None
    namesake: bool = False


def register_holder(
    session: WriteSession, by: Registrar, at: datetime, chance: Chance, person: Person
) -> HolderRow:
    """Register a person as a holder.

    Raises:
        Invalid: a field is wrong, or a minor has nobody to act for it.
        Conflict: the CPF is the own of a holder who is registered already, or a holder has this name and birth date
            and nothing says that it is somebody else.
        NotFound: no such guardian.
    """
    fields = _checked(session, person, at)
    # Two desks that register one child at the same instant would otherwise not see each other. A confirmed namesake
    # takes its turn too, since the other desk has confirmed nothing.
    take_turn(session, f"person {fields['search_name']} {person.birth_date}")
    if not person.namesake:
        _refuse_known(session, str(fields["search_name"]), fields["cpf"], person.birth_date)
    holder = HolderRow(hot_id=chance.hot_id(), revision=1, published_revision=0, created_at=at)
    session.add(holder)
    session.flush()
    session.add(PersonRow(holder_id=holder.id, recorded_at=at, **fields))
    session.add(
        LifeRow(
            holder_id=holder.id,
            birth_date=person.birth_date,
            died_on=None,
            recorded_by=by.user_id,
            recorded_at=at,
            revision=1,
        )
    )
    publish_later(session, OutboxKind.HOLDER, str(holder.id), at)
    log(session, by, "holder.register", ("holder", holder.id), at)
    return holder


def _refuse_becoming_another(
    session: WriteSession, row: PersonRow, person: Person, fields: Mapping[str, str | int | None]
) -> None:
    """Refuse a correction by which a record would come to name a person who has one already."""
    name = str(fields["search_name"])
    if name == row.search_name and person.birth_date == life_of(session, row.holder_id).birth_date:
        return
    take_turn(session, f"person {name} {person.birth_date}")
    if not person.namesake:
        _refuse_known(session, name, fields["cpf"], person.birth_date, besides=row.holder_id)


def _refuse_known(
    session: Session,
    name: str,
    cpf: str | int | None,
    birth_date: date | None,
    *,
    besides: int | None = None,
) -> None:
    """Refuse a second record of one person, such as a pupil without CPF whom a second school registers."""
    if birth_date is None:
        return
    same_name = select(PersonRow.holder_id, PersonRow.cpf).where(
        PersonRow.search_name == name, PersonRow.holder_id.is_distinct_from(besides)
    )
    for holder_id, known_cpf in session.execute(same_name.order_by(PersonRow.holder_id)).all():
        other_cpf = cpf is not None and known_cpf is not None and cpf != known_cpf
        if not other_cpf and life_of(session, holder_id).birth_date == birth_date:
            raise Conflict(
                f"o titular {holder_id} tem este nome e esta data de nascimento; abra o cadastro dele e registre ali a "
                "matrícula ou o direito; se for outra pessoa, confirme que é homônima (namesake)",
                f"holder {holder_id} has this name and birth date; use that record, or confirm a namesake",
                code="PERSON_KNOWN",
            )


def change_person(
    session: WriteSession, by: Registrar, at: datetime, *, holder_id: int, person: Person
) -> None:
    """Correct a holder's personal data; a corrected birth date is a new row, and the snapshot follows.

    Raises:
        Invalid, Conflict, NotFound: as `register_holder`; a name and birth date that stay as they are need no look.
        Forbidden: it is the person's own record, or another school's pupil.
    """
    refuse_serving_oneself(by, holder_id)
    row = person_of(session, holder_id)
    refuse_foreign_pupil(session, by, holder_id)
    fields = _checked(session, person, at, holder_id=holder_id)
    _refuse_becoming_another(session, row, person, fields)
    changed = sorted(name for name, value in fields.items() if getattr(row, name) != value)
    for name in changed:
        setattr(row, name, fields[name])
    life = life_of(session, holder_id)
    if person.birth_date != life.birth_date:
        holder = change_holder(session, holder_id, at)
        record_life(session, by, at, holder, person.birth_date, life.died_on)
        changed.append("birth_date")
    log(session, by, "holder.change", ("holder", holder_id), at, f"fields={','.join(changed)}")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration of enrolment and need (Decreto 1.827, art. 70, a and c).

    Attributes:
        school_id: The school.
        first_day: First civil day that it proves.
        last_day: Last civil day that it proves.
        passes_per_day: The need that was declared; 0 for none.
        identity_seen_on: When the identity document was seen; None where not.
        address_seen_on: When the proof of address was seen; None where not.
        shift: When the lessons are.
    """

    school_id: int
    first_day: date
    last_day: date
    passes_per_day: int
    identity_seen_on: date | None = None
    address_seen_on: date | None = None
    shift: str | None = None


def register_enrolment(
    session: WriteSession, by: Registrar, at: datetime, *, holder_id: int, declaration: Declaration
) -> EnrolmentRow:
    """Register a declaration of enrolment that was seen; purchases of student passes rely on a current one.

    Raises:
        NotFound: no such holder or school.
        Invalid: days make no sense.
        Forbidden: it is the person's own record, or another school's.
    """
    refuse_serving_oneself(by, holder_id)
    person_of(session, holder_id)
    refuse_foreign_pupil(session, by, holder_id)
    school_of(session, declaration.school_id)
    refuse_other_school(by, declaration.school_id)
    day_of(declaration.first_day, "first_day")
    day_of(declaration.last_day, "last_day")
    days = (declaration.last_day - declaration.first_day).days
    if not 0 <= days <= 366:
        raise Invalid(
            "last_day: a declaração vale do primeiro dia até no máximo um ano depois",
            "last_day: a declaration is valid for a year at most",
        )
    if not 0 <= declaration.passes_per_day <= 8:
        raise Invalid("passes_per_day: de 0 a 8 passes por dia", "passes_per_day: 0 to 8")
    for field in ("identity_seen_on", "address_seen_on"):
        seen_on = getattr(declaration, field)
        if seen_on is not None:
            seen_day_of(seen_on, field, civil_date(at))
    row = EnrolmentRow(
        holder_id=holder_id,
        school_id=declaration.school_id,
        first_day=declaration.first_day,
        last_day=declaration.last_day,
        passes_per_day=declaration.passes_per_day,
        identity_seen_on=declaration.identity_seen_on,
        address_seen_on=declaration.address_seen_on,
        shift=optional_text(declaration.shift, "shift", 40),
        recorded_by=by.user_id,
        recorded_at=at,
    )
    session.add(row)
    session.flush()
    log(session, by, "enrolment.register", ("holder", holder_id), at, f"school={declaration.school_id}")
    return row


def refuse_other_school(by: Registrar, school_id: int | None) -> None:
    """Refuse that a school speaks for another's pupils.

    Raises:
        Forbidden: it does.
    """
    if by.school_id is not None and by.school_id != school_id:
        raise Forbidden("a escola só atende os próprios alunos", "a school serves its own pupils only")


def person_of(session: Session, holder_id: int) -> PersonRow:
    """The personal data of a holder; whoever shows it logs the look.

    Raises:
        NotFound: there is no such holder.
    """
    row = session.get(PersonRow, holder_id)
    if row is None:
        raise NotFound(f"não há titular de número {holder_id}", f"there is no holder {holder_id}")
    return row


def life_of(session: Session, holder_id: int) -> LifeRow:
    """The birth and death recorded last."""
    return session.scalars(
        select(LifeRow).where(LifeRow.holder_id == holder_id).order_by(LifeRow.id.desc()).limit(1)
    ).one()


def refuse_dead(session: Session, holder_id: int) -> None:
    """Refuse to give anything to a holder who has died: no right, no card, no pass.

    Raises:
        Conflict: the death is recorded.
    """
    if life_of(session, holder_id).died_on is not None:
        raise Conflict("o titular consta como falecido", "the holder is recorded as dead")


def record_life(
    session: WriteSession,
    by: Staff,
    at: datetime,
    holder: HolderRow,
    birth_date: date | None,
    died_on: date | None,
) -> None:
    """Write the birth and death of a holder under its new revision."""
    session.add(
        LifeRow(
            holder_id=holder.id,
            birth_date=birth_date,
            died_on=died_on,
            recorded_by=by.user_id,
            recorded_at=at,
            revision=holder.revision,
        )
    )


def _checked(
    session: Session, person: Person, at: datetime, holder_id: int | None = None
) -> dict[str, str | int | None]:
    """The fields of a person's row, each checked."""
    cpf = cpf_of(person.cpf)
    if cpf is not None:
        known = session.scalar(select(PersonRow.holder_id).where(PersonRow.cpf == cpf))
        if known not in (None, holder_id):
            raise Conflict(
                f"este CPF já é do titular {known}; abra o cadastro dele em vez de fazer outro",
                f"this CPF is holder {known}'s own; open that record instead",
                code="CPF_TAKEN",
            )
    name = text_of(person.name, "name")
    fields: dict[str, str | int | None] = {
        "name": name,
        "search_name": search_name(name),
        "cpf": cpf,
        "guardian_id": person.guardian_id,
        "guardian_name": optional_text(person.guardian_name, "guardian_name"),
        "guardian_cpf": cpf_of(person.guardian_cpf, "guardian_cpf"),
        "address": optional_text(person.address, "address", 300),
        "phone": optional_text(person.phone, "phone", 40),
    }
    if person.guardian_id is not None:
        person_of(session, person.guardian_id)
        if person.guardian_id == holder_id:
            raise Invalid(
                "guardian_id: ninguém é responsável por si", "guardian_id: nobody is their own guardian"
            )
    if person.birth_date is not None:
        _check_birth(person.birth_date, civil_date(at), fields)
    return fields


def _check_birth(birth: date, today: date, fields: dict[str, str | int | None]) -> None:
    if birth > today or birth.year < 1900:
        raise Invalid("birth_date: a data de nascimento está errada", "birth_date: is wrong")
    is_minor = today < anniversary(birth, OF_AGE)
    guarded = fields["guardian_id"] or (fields["guardian_name"] and fields["guardian_cpf"])
    if is_minor and not guarded and fields["cpf"] is None:
        raise Invalid(
            "guardian: menor sem CPF precisa do responsável: o cadastro dele, ou nome e CPF",
            "guardian: a minor without CPF needs the guardian: a record, or name and CPF",
        )

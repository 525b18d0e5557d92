"""Schools and their school years (Decreto 1.827, art. 70, b)."""

from datetime import date, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.application.changes import log
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.register_acts import act_of
from backoffice.application.register_fields import inep_of, text_of
from backoffice.application.staff import CityOffice
from backoffice.persistence.base import WriteSession
from backoffice.persistence.schools import SchoolRow, SchoolYearRow
from validator.domain.registration import SchoolNetwork


def register_school(
    session: WriteSession,
    by: CityOffice,
    at: datetime,
    *,
    name: str,
    network: SchoolNetwork,
    inep: str | None = None,
) -> SchoolRow:
    """Register a school or an institution of special education.

    Raises:
        Invalid: a field is wrong.
        Conflict: its INEP code is another's.
    """
    code = inep_of(inep)
    if code is not None:
        known = session.scalar(select(SchoolRow.id).where(SchoolRow.inep == code))
        if known is not None:
            raise Conflict(f"o código INEP já é da escola {known}", f"the INEP code is school {known}'s")
    row = SchoolRow(name=text_of(name, "name"), network=network, inep=code, recorded_at=at)
    session.add(row)
    session.flush()
    log(session, by, "school.register", ("school", row.id), at, f"network={network}")
    return row


def school_of(session: Session, school_id: int) -> SchoolRow:
    """The school of a number.

    Raises:
        NotFound: there is none.
    """
    row = session.get(SchoolRow, school_id)
    if row is None:
        raise NotFound(f"não há escola de número {school_id}", f"there is no school {school_id}")
    return row


def set_school_year(
    session: WriteSession,
    by: CityOffice,
    at: datetime,
    *,
    school_id: int,
    year: int,
    school_days: int,
    authorised_extra: int = 0,
    act_id: int | None = None,
) -> SchoolYearRow:
    """Set a school's days of a year, and the passes that an act adds to each student's ceiling.

    Raises:
        NotFound: no such school or act.
        Invalid: numbers make no sense, or passes are added without an act.
    """
    school_of(session, school_id)
    if not 1991 <= year <= 2200:
        raise Invalid("year: de 1991 a 2200", "year: 1991 to 2200")
    if not 1 <= school_days <= 366:
        raise Invalid("school_days: de 1 a 366 dias letivos", "school_days: 1 to 366")
    if not 0 <= authorised_extra <= 10_000:
        raise Invalid("authorised_extra: de 0 a 10000 passes", "authorised_extra: 0 to 10000")
    if authorised_extra and act_id is None:
        raise Invalid(
            "act_id: passes além do limite exigem um ato (Decreto 1.827, art. 70, b)",
            "act_id: passes beyond the ceiling need an act",
        )
    if act_id is not None:
        act_of(session, act_id)
    row = SchoolYearRow(
        school_id=school_id,
        year=year,
        school_days=school_days,
        authorised_extra=authorised_extra,
        act_id=act_id,
        recorded_at=at,
    )
    session.add(row)
    session.flush()
    log(session, by, "school.year", ("school", school_id), at, f"year={year} days={school_days}")
    return row


def school_year_on(session: Session, school_id: int, day: date) -> SchoolYearRow | None:
    """The school year in force: of several rows the one recorded last; None where none was set."""
    return session.scalars(
        select(SchoolYearRow)
        .where(SchoolYearRow.school_id == school_id, SchoolYearRow.year == day.year)
        .order_by(SchoolYearRow.id.desc())
        .limit(1)
    ).first()

"""Acts, fares, schools: what the Órgão Gestor sets."""

from datetime import date, datetime

from fastapi import APIRouter
from sqlalchemy import select

from backoffice.api.dependencies import ByCity, ByReader, Now, Parts, Reads, Writes
from backoffice.api.wire import Count, Day, Instant, KeyNumber, Number, RecordId, Sent, Shown, Text
from backoffice.application.city_state import fare_rows_as_recorded
from backoffice.application.issue_cards import retire_city_key, rotate_city_key
from backoffice.application.register_acts import NewFare, record_act, register_fare
from backoffice.application.register_schools import register_school, set_school_year
from backoffice.persistence.acts import ActKind, ActRow
from backoffice.persistence.schools import SchoolRow
from validator.domain.registration import SchoolNetwork
from validator.domain.vocabulary import FareMedium, Network

router = APIRouter(prefix="/v1", tags=["cidade"])


class ActSent(Sent):
    """An act."""

    kind: ActKind
    number: Text
    signed_on: Day
    published_on: Day | None = None
    note: Text | None = None


class ActShown(Shown):
    """A recorded act."""

    id: int
    kind: ActKind
    number: str
    signed_on: date
    published_on: date | None
    note: str | None
    title: str


@router.post("/acts", status_code=201)
def add_act(sent: ActSent, by: ByCity, at: Now, session: Writes) -> ActShown:
    """Record an act: law, decree, order."""
    row = record_act(session, by, at, **sent.model_dump())
    return ActShown.model_validate(row)


@router.get("/acts")
def list_acts(_: ByReader, session: Reads) -> list[ActShown]:
    """All acts, oldest first."""
    rows = session.scalars(select(ActRow).order_by(ActRow.signed_on, ActRow.id))
    return [ActShown.model_validate(row) for row in rows]


class FareSent(Sent):
    """A fare by its act."""

    network: Network
    cents: Count
    """Centavos."""
    first_day: Day
    act_id: Number
    last_day: Day | None = None
    """Last day of a fare for those days only; left out for one that runs on."""
    line: Text | None = None
    medium: FareMedium | None = None
    corrects_id: Number | None = None
    """A fare that was registered wrongly and counts no more."""


class FareShown(Shown):
    """A fare that counts."""

    id: int
    network: Network
    line: str | None
    medium: FareMedium | None
    first_day: date
    last_day: date | None
    cents: int
    act_id: int
    corrects_id: int | None
    recorded_at: datetime


@router.post("/fares", status_code=201)
def add_fare(sent: FareSent, by: ByCity, at: Now, session: Writes) -> FareShown:
    """Register a fare; the one before runs on until its first day."""
    new = NewFare(**sent.model_dump(exclude={"corrects_id"}))
    return FareShown.model_validate(register_fare(session, by, at, new, corrects_id=sent.corrects_id))


@router.get("/fares")
def list_fares(_: ByReader, session: Reads) -> list[FareShown]:
    """All fares that count; corrected ones are left out."""
    return [FareShown.model_validate(row) for row, _fare in fare_rows_as_recorded(session)]


class SchoolSent(Sent):
    """A school or institution."""

    name: Text
    network: SchoolNetwork
    inep: Text | None = None


class SchoolShown(Shown):
    """A registered school."""

    id: int
    name: str
    network: SchoolNetwork
    inep: str | None


@router.post("/schools", status_code=201)
def add_school(sent: SchoolSent, by: ByCity, at: Now, session: Writes) -> SchoolShown:
    """Register a school."""
    return SchoolShown.model_validate(register_school(session, by, at, **sent.model_dump()))


@router.get("/schools")
def list_schools(_: ByReader, session: Reads) -> list[SchoolShown]:
    """All schools by name."""
    rows = session.scalars(select(SchoolRow).order_by(SchoolRow.name, SchoolRow.id))
    return [SchoolShown.model_validate(row) for row in rows]


class SchoolYearSent(Sent):
    """School days of a year."""

    year: Count
    school_days: Count
    authorised_extra: Count = 0
    """Passes that an act adds to each student's ceiling."""
    act_id: Number | None = None


class SchoolYearShown(Shown):
    """A school year; the one recorded last counts."""

    school_id: int
    year: int
    school_days: int
    authorised_extra: int
    act_id: int | None


@router.post("/schools/{school_id}/years", status_code=201)
def add_school_year(
    school_id: RecordId, sent: SchoolYearSent, by: ByCity, at: Now, session: Writes
) -> SchoolYearShown:
    """Set a school's days of a year."""
    row = set_school_year(session, by, at, school_id=school_id, **sent.model_dump())
    return SchoolYearShown.model_validate(row)


class KeyShown(Shown):
    """A key of the city."""

    key_id: int


@router.post("/city-keys", status_code=201)
def add_city_key(by: ByCity, at: Now, session: Writes, parts: Parts) -> KeyShown:
    """Make a new key, which signs cards from now on; the older ones go on verifying."""
    return KeyShown(key_id=rotate_city_key(session, by, at, parts.signer))


class KeyRetired(Sent):
    """Until when a key verifies."""

    until: Instant
    compromised: bool = False


@router.post("/city-keys/{key_id}/retire", status_code=204)
def retire_key(key_id: KeyNumber, sent: KeyRetired, by: ByCity, at: Now, session: Writes) -> None:
    """Let a key verify no more from an instant on."""
    retire_city_key(session, by, at, key_id=key_id, until=sent.until, compromised=sent.compromised)

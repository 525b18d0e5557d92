"""Holders, enrolments and rights. No name and no CPF ever stands in an address: searching is a POST."""

from datetime import date, datetime

from fastapi import APIRouter

from backoffice.api.dependencies import ByApprover, ByPersonReader, ByRegistrar, Now, Parts, Reads, Writes
from backoffice.api.wire import Count, Day, Flag, Number, RecordId, Sent, Shown, Text
from backoffice.application.holder_state import holders_as_recorded
from backoffice.application.inspect_register import find_holders, look_at_holder, pending_requests
from backoffice.application.register_deaths import record_death, withdraw_death
from backoffice.application.register_holders import (
    Declaration,
    Person,
    change_person,
    register_enrolment,
    register_holder,
)
from backoffice.application.register_rights import (
    Entitlement,
    approve_right,
    deny_right,
    end_right,
    request_right,
    resume_right,
    suspend_right,
)
from backoffice.application.right_overlaps import overlapped_rights
from validator.domain.registration import Evidence
from validator.domain.vocabulary import Category

router = APIRouter(prefix="/v1", tags=["titulares"])


class PersonSent(Sent):
    """A person. No diagnosis, no copies of documents."""

    name: Text
    birth_date: Day | None = None
    cpf: Text | None = None
    """The person's own CPF, with its zeros; left out where there is none."""
    guardian_id: Number | None = None
    guardian_name: Text | None = None
    guardian_cpf: Text | None = None
    address: Text | None = None
    phone: Text | None = None
    namesake: Flag = False
    """Whether the desk has made sure that a holder of this name and birth date is somebody else."""

    def person(self) -> Person:
        """What the use cases take."""
        return Person(**self.model_dump())


class HolderShown(Shown):
    """A holder's numbers."""

    id: int
    hot_id: str
    revision: int


@router.post("/holders", status_code=201)
def add_holder(sent: PersonSent, by: ByRegistrar, at: Now, session: Writes, parts: Parts) -> HolderShown:
    """Register a person as a holder."""
    return HolderShown.model_validate(register_holder(session, by, at, parts.chance, sent.person()))


class Search(Sent):
    """One of the three."""

    name: Text | None = None
    cpf: Text | None = None
    card_number: Number | None = None


class Found(Shown):
    """A holder in a list."""

    id: int
    name: str
    cpf_masked: str | None
    birth_year: int | None


@router.post("/holders/search")
def search(sent: Search, by: ByPersonReader, at: Now, session: Writes) -> list[Found]:
    """Holders by the beginning of the name, by CPF (own or guardian's) or by card number; logged."""
    return [Found.model_validate(found) for found in find_holders(session, by, at, **sent.model_dump())]


class Days(Shown):
    """Civil days [first, until)."""

    first: date
    until: date | None


class RightShown(Shown):
    """A right; special education shows a neutral label to all but the desk manager and the city."""

    id: int
    category: str
    first_day: date
    ended_on: date | None
    suspended: list[Days]
    school_id: int | None


class CardShown(Shown):
    """A card's newest issue."""

    number: int
    kind: str
    issue: int
    state: str
    uids: list[str]
    """Chips that tap for it; those of an earlier issue are refused as replaced."""


class PurseShown(Shown):
    """Passes bought."""

    purse: str
    bought: int


class Sheet(Shown):
    """A holder's whole record."""

    id: int
    hot_id: str
    revision: int
    name: str
    cpf: str | None
    birth_date: date | None
    died_on: date | None
    guardian_id: int | None
    guardian_name: str | None
    guardian_cpf: str | None
    address: str | None
    phone: str | None
    rights: list[RightShown]
    cards: list[CardShown]
    purses: list[PurseShown]


@router.get("/holders/{holder_id}")
def look(holder_id: RecordId, by: ByPersonReader, at: Now, session: Writes, parts: Parts) -> Sheet:
    """A holder's whole record; the look is logged."""
    return Sheet.model_validate(look_at_holder(session, by, at, parts.book, holder_id=holder_id))


@router.put("/holders/{holder_id}/person", status_code=204)
def correct(holder_id: RecordId, sent: PersonSent, by: ByRegistrar, at: Now, session: Writes) -> None:
    """Correct a holder's personal data."""
    change_person(session, by, at, holder_id=holder_id, person=sent.person())


class Death(Sent):
    """The day of a death."""

    died_on: Day


@router.post("/holders/{holder_id}/death", status_code=204)
def died(holder_id: RecordId, sent: Death, by: ByRegistrar, at: Now, session: Writes) -> None:
    """Record a death: rights end with the day, cards are blocked."""
    record_death(session, by, at, holder_id=holder_id, died_on=sent.died_on)


@router.post("/holders/{holder_id}/death/withdrawal", status_code=204)
def withdraw(holder_id: RecordId, by: ByApprover, at: Now, session: Writes) -> None:
    """Withdraw a death recorded of the wrong person; cards are unblocked and rights asked for one by one."""
    withdraw_death(session, by, at, holder_id=holder_id)


class EnrolmentSent(Sent):
    """A declaration of enrolment that was seen."""

    school_id: Number
    first_day: Day
    last_day: Day
    passes_per_day: Count
    """The declared need; 0 for none."""
    identity_seen_on: Day | None = None
    address_seen_on: Day | None = None
    shift: Text | None = None


class Created(Shown):
    """The number of what was made."""

    id: int


@router.post("/holders/{holder_id}/enrolments", status_code=201)
def enrol(holder_id: RecordId, sent: EnrolmentSent, by: ByRegistrar, at: Now, session: Writes) -> Created:
    """Register a declaration of enrolment and need (Decreto 1.827, art. 70, a and c)."""
    declaration = Declaration(**sent.model_dump())
    return Created.model_validate(
        register_enrolment(session, by, at, holder_id=holder_id, declaration=declaration)
    )


class RightSent(Sent):
    """A right that is asked for."""

    category: Category
    first_day: Day
    evidence: list[Evidence]
    seen_on: Day
    ended_on: Day | None = None
    """First day without it; left out where it runs on."""
    school_id: Number | None = None
    note: Text | None = None


class AskedShown(Shown):
    """A registered request."""

    id: int
    overlaps: list[int]
    """Rights of the same category that hold already on a day that is asked for; the second person sees them too."""


@router.post("/holders/{holder_id}/right-requests", status_code=201)
def ask(
    holder_id: RecordId, sent: RightSent, by: ByRegistrar, at: Now, session: Writes, parts: Parts
) -> AskedShown:
    """Register a right; it gives nothing until a second person approves it."""
    asked = Entitlement(**{**sent.model_dump(), "evidence": frozenset(sent.evidence)})
    row = request_right(session, by, at, parts.book, holder_id=holder_id, asked=asked)
    recorded = holders_as_recorded(session, [holder_id])[holder_id]
    return AskedShown(id=row.id, overlaps=list(overlapped_rights(parts.book, recorded, row)))


class PendingShown(Shown):
    """A right that waits for a second person."""

    id: int
    holder_id: int
    category: str
    first_day: date
    ended_on: date | None
    school_id: int | None
    registered_by: int
    recorded_at: datetime
    may_approve: bool
    overlaps: list[int]
    """Rights of the same category that hold already on a day that is asked for."""


@router.get("/right-requests")
def pending(by: ByRegistrar, session: Reads, parts: Parts) -> list[PendingShown]:
    """Requests that nobody has decided, oldest first."""
    return [PendingShown.model_validate(request) for request in pending_requests(session, by, parts.book)]


@router.post("/right-requests/{request_id}/approval", status_code=201)
def approve(request_id: RecordId, by: ByApprover, at: Now, session: Writes) -> Created:
    """Approve as the second person: the right counts from now on. Answers the right's number."""
    return Created.model_validate(approve_right(session, by, at, request_id=request_id))


class Denial(Sent):
    """Why a request is denied."""

    note: Text


@router.post("/right-requests/{request_id}/denial", status_code=204)
def deny(request_id: RecordId, sent: Denial, by: ByApprover, at: Now, session: Writes) -> None:
    """Deny a request, with the reason."""
    deny_right(session, by, at, request_id=request_id, note=sent.note)


class RightEnding(Sent):
    """The end of a right."""

    ended_on: Day
    """First day without it."""
    reason: Text


@router.post("/rights/{right_id}/ending", status_code=204)
def end(right_id: RecordId, sent: RightEnding, by: ByRegistrar, at: Now, session: Writes) -> None:
    """End a right; a later call corrects the day."""
    end_right(session, by, at, right_id=right_id, ended_on=sent.ended_on, reason=sent.reason)


class Suspension(Sent):
    """The days on which a right does not hold."""

    first_day: Day
    until: Day | None = None
    """First day after; left out until it is resumed."""
    reason: Text


@router.post("/rights/{right_id}/suspension", status_code=201)
def suspend(right_id: RecordId, sent: Suspension, by: ByRegistrar, at: Now, session: Writes) -> Created:
    """Suspend a right."""
    return Created.model_validate(suspend_right(session, by, at, right_id=right_id, **sent.model_dump()))


class Resumption(Sent):
    """From when on a suspended right holds again."""

    from_day: Day
    reason: Text


@router.post("/rights/{right_id}/resumption", status_code=204)
def resume(right_id: RecordId, sent: Resumption, by: ByRegistrar, at: Now, session: Writes) -> None:
    """Resume a suspended right."""
    resume_right(session, by, at, right_id=right_id, from_day=sent.from_day, reason=sent.reason)

"""Looking at the register. Every look at a personal record is logged, and special education shows a neutral label."""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.adapters.documents import masked_cpf
from backoffice.application.changes import log
from backoffice.application.errors import Invalid
from backoffice.application.holder_state import holders_as_recorded
from backoffice.application.pupils import pupils_of, refuse_foreign_pupil
from backoffice.application.register_fields import cpf_of, search_name, text_of
from backoffice.application.register_holders import life_of, person_of
from backoffice.application.right_overlaps import overlapped_rights
from backoffice.application.staff import PersonReader, Registrar, Staff, sees_special_education
from backoffice.persistence.base import WriteSession
from backoffice.persistence.cards import CardRow
from backoffice.persistence.holders import PersonRow
from backoffice.persistence.rights import RightDecisionRow, RightRequestRow
from backoffice.persistence.users import Role
from validator.domain.rights import Period
from validator.domain.rules import RuleBook
from validator.domain.vocabulary import Category

NEUTRAL = "GRATUIDADE"
"""What stands for special education wherever it must not be told (LGPD, arts. 5, II and 11)."""

FOUND_AT_MOST = 50


def shown_category(staff: Staff, category: Category) -> str:
    """A category's name for somebody, or the neutral label."""
    hidden = category is Category.SPECIAL_ED and not sees_special_education(staff)
    return NEUTRAL if hidden else category.value


@dataclass(frozen=True, slots=True)
class RightSheet:
    """A right as a screen shows it; `school_id` is left out wherever it would tell of special education."""

    id: int
    category: str
    first_day: date
    ended_on: date | None
    suspended: tuple[Period, ...]
    school_id: int | None


@dataclass(frozen=True, slots=True)
class CardSheet:
    """A card as a screen shows it."""

    number: int
    kind: str
    issue: int
    state: str
    uids: tuple[str, ...] = ()
    """Chips that tap for it, those of earlier issues too."""


@dataclass(frozen=True, slots=True)
class PurseSheet:
    """Passes bought, as the register knows them; what was used is in the hot state and the journal."""

    purse: str
    bought: int


@dataclass(frozen=True, slots=True)
class HolderSheet:
    """One holder with personal data; whoever gets it has been logged."""

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
    rights: tuple[RightSheet, ...]
    cards: tuple[CardSheet, ...]
    purses: tuple[PurseSheet, ...]


def look_at_holder(
    session: WriteSession, by: PersonReader, at: datetime, book: RuleBook, *, holder_id: int
) -> HolderSheet:
    """A holder's whole record; the look is logged in the same transaction.

    Raises:
        NotFound: no such holder.
        Forbidden: the holder is of another school.
    """
    person = person_of(session, holder_id)
    refuse_foreign_pupil(session, by, holder_id)
    rows = holders_as_recorded(session, [holder_id])[holder_id]
    state = rows.as_of(book)
    life = life_of(session, holder_id)
    kinds = {card.number: card.kind.value for card in rows.cards}
    log(session, by, "holder.look", ("holder", holder_id), at)
    return HolderSheet(
        id=holder_id,
        hot_id=rows.hot_id,
        revision=rows.revision,
        name=person.name,
        cpf=person.cpf,
        birth_date=life.birth_date,
        died_on=life.died_on,
        guardian_id=person.guardian_id,
        guardian_name=person.guardian_name,
        guardian_cpf=person.guardian_cpf,
        address=person.address,
        phone=person.phone,
        rights=tuple(
            RightSheet(
                row.id,
                shown_category(by, row.category),
                right.period.first,
                right.period.until,
                right.suspended,
                row.school_id if shown_category(by, row.category) != NEUTRAL else None,
            )
            for row, right in zip(rows.rights, state.holder.rights, strict=True)
        ),
        cards=tuple(
            CardSheet(
                card.number,
                kinds[card.number],
                card.issue,
                card.state.name,
                tuple(chip.uid for chip in state.uids if chip.number == card.number),
            )
            for card in state.cards
        ),
        purses=tuple(PurseSheet(purse.key, purse.bought) for purse in state.holder.purses),
    )


@dataclass(frozen=True, slots=True)
class FoundHolder:
    """A holder in a list: enough to pick the right one."""

    id: int
    name: str
    cpf_masked: str | None
    birth_year: int | None


def find_holders(
    session: WriteSession,
    by: PersonReader,
    at: datetime,
    *,
    name: str | None = None,
    cpf: str | None = None,
    card_number: int | None = None,
) -> list[FoundHolder]:
    """Holders by the beginning of the name, by CPF (own or guardian's), or by the number of a card; logged.

    Raises:
        Invalid: not exactly one of the three, a name shorter than three letters, or no CPF.
    """
    given = [
        word for word, value in (("name", name), ("cpf", cpf), ("card", card_number)) if value is not None
    ]
    if len(given) != 1:
        raise Invalid(
            "informe o nome, o CPF ou o número do cartão, um só", "give one of name, cpf, card_number"
        )
    query = select(PersonRow).order_by(PersonRow.search_name, PersonRow.holder_id).limit(FOUND_AT_MOST)
    if name is not None:
        start = text_of(name, "name")
        if len(start) < 3:
            raise Invalid("name: ao menos três letras", "name: three letters at least")
        query = query.where(PersonRow.search_name.startswith(search_name(start), autoescape=True))
    elif cpf is not None:
        plain = cpf_of(cpf)
        query = query.where((PersonRow.cpf == plain) | (PersonRow.guardian_cpf == plain))
    else:
        query = query.join(CardRow, CardRow.holder_id == PersonRow.holder_id).where(
            CardRow.number == card_number
        )
    if by.role is Role.SCHOOL:
        query = query.where(PersonRow.holder_id.in_(pupils_of(by)))
    rows = session.scalars(query).all()
    log(session, by, "holder.find", ("holder", "list"), at, f"by={given[0]} found={len(rows)}")
    found = []
    for row in rows:
        birth = life_of(session, row.holder_id).birth_date
        shown = None if row.cpf is None else masked_cpf(row.cpf)
        found.append(FoundHolder(row.holder_id, row.name, shown, None if birth is None else birth.year))
    return found


@dataclass(frozen=True, slots=True)
class PendingRequest:
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
    overlaps: tuple[int, ...]


def pending_requests(session: Session, by: Registrar, book: RuleBook) -> list[PendingRequest]:
    """Requests that nobody has decided, oldest first; a school sees its own.

    `overlaps` are rights of the same category that hold already on a day that is asked for.
    """
    query = (
        select(RightRequestRow)
        .outerjoin(RightDecisionRow, RightDecisionRow.request_id == RightRequestRow.id)
        .where(RightDecisionRow.request_id.is_(None))
        .order_by(RightRequestRow.id)
    )
    if by.role is Role.SCHOOL:
        query = query.where(RightRequestRow.school_id == by.school_id)
    approves = by.role in (Role.DESK_MANAGER, Role.CITY)
    requests = session.scalars(query).all()
    recorded = holders_as_recorded(session, [row.holder_id for row in requests])
    return [
        PendingRequest(
            row.id,
            row.holder_id,
            shown_category(by, row.category),
            row.first_day,
            row.ended_on,
            row.school_id if shown_category(by, row.category) != NEUTRAL else None,
            row.registered_by,
            row.recorded_at,
            approves and row.registered_by != by.user_id and row.holder_id != by.holder_id,
            overlapped_rights(book, recorded[row.holder_id], row),
        )
        for row in requests
    ]

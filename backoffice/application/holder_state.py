"""A holder as recorded: what the snapshot of a revision shows, or what was recorded until an instant.

The publisher and the rating both read rights, passes and cards through this page, so they can never disagree.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, Protocol, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from backoffice.persistence.bulk import one_of
from backoffice.persistence.cards import CardIssueRow, CardRow, CardStateRow, CardUidRow, UidWord
from backoffice.persistence.holders import HolderRow, LifeRow
from backoffice.persistence.rights import RightEndingRow, RightRow, RightSuspensionRow
from backoffice.persistence.sales import SaleRow
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.rights import AgeRight, Period, Right, age_rights
from validator.domain.rules import RuleBook
from validator.domain.service_time import day_after
from validator.domain.vocabulary import Network, Product
from validator.records.codes import CardState

CHUNK = 500
"""Holders read by one statement; SQLite takes no more than some thousand values in one."""

CLAMP_AFTER = timedelta(days=60)
"""How long ago an age must have begun or ended before its day is no longer told; taps come up to 45 days late."""

_LONG_AGO = date(1991, 1, 1)
"""Before the law; stands for the day on which an age began that is no longer told."""


class _Recorded(Protocol):
    @property
    def revision(self) -> Any: ...


R = TypeVar("R", bound=_Recorded)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecordedCard:
    """A card as a snapshot shows it: its newest issue, its state, and 8 bytes of the hash of its token."""

    number: int
    issue: int
    state: CardState
    token_hash: bytes


@dataclass(frozen=True, slots=True)
class RecordedUid:
    """A chip's uid that is bound to an issue of a card, and since when."""

    uid: str
    number: int
    issue: int
    bound_at: datetime


@dataclass(frozen=True, slots=True)
class RecordedHolder:
    """A holder at one revision.

    Attributes:
        hot_id: The pseudonym that Redis and the journal know.
        revision: The revision that was asked for.
        holder: Rights, ages and purses for `decide`.
        cards: The newest issue of each card.
        uids: The chips bound to its cards, in a fixed order.
    """

    hot_id: str
    revision: int
    holder: Holder
    cards: tuple[RecordedCard, ...]
    uids: tuple[RecordedUid, ...] = ()


@dataclass(frozen=True, slots=True)
class HolderRows:
    """All rows of one holder that a snapshot may show, in the order in which they were recorded."""

    id: int
    hot_id: str
    revision: int
    lives: list[LifeRow] = field(default_factory=list)
    rights: list[RightRow] = field(default_factory=list)
    endings: list[RightEndingRow] = field(default_factory=list)
    suspensions: list[RightSuspensionRow] = field(default_factory=list)
    sales: list[SaleRow] = field(default_factory=list)
    cards: list[CardRow] = field(default_factory=list)
    issues: list[CardIssueRow] = field(default_factory=list)
    states: list[CardStateRow] = field(default_factory=list)
    uids: list[CardUidRow] = field(default_factory=list)

    def as_of(
        self, book: RuleBook, *, revision: int | None = None, recorded_until: datetime | None = None
    ) -> RecordedHolder:
        """The holder that the snapshot of a revision shows, or what was recorded until an instant (inclusive).

        Args:
            book: The rule table, from which the rights of age follow.
            revision: The last revision that counts; None for all.
            recorded_until: The last instant of recording that counts; None for all.
        """
        cut = _Cut(self.revision if revision is None else revision, recorded_until)
        holder = Holder(
            rights=_rights(cut.of(self.rights), cut.of(self.endings), cut.of(self.suspensions)),
            ages=_ages(cut.of(self.lives), book),
            purses=_purses(cut.of(self.sales)),
        )
        cards = tuple(_cards(self.cards, cut.of(self.issues), cut.of(self.states)))
        uids = tuple(_uids(self.cards, cut.of(self.uids)))
        return RecordedHolder(self.hot_id, cut.revision, holder, cards, uids)

    def revision_recorded_until(self, instant: datetime) -> int:
        """The newest revision whose rows were all recorded until an instant; 0 for none."""
        rows = (self.lives, self.rights, self.endings, self.suspensions, self.sales, self.states, self.uids)
        return max((r.revision for of in rows for r in of if r.recorded_at <= instant), default=0)


@dataclass(frozen=True, slots=True)
class _Cut:
    revision: int
    recorded_until: datetime | None

    def of(self, rows: Iterable[R]) -> list[R]:
        return [row for row in rows if row.revision <= self.revision and self._recorded(row)]

    def _recorded(self, row: Any) -> bool:
        if self.recorded_until is None:
            return True
        recorded: datetime = row.issued_at if isinstance(row, CardIssueRow) else row.recorded_at
        return recorded <= self.recorded_until


def holder_as_recorded(
    session: Session,
    holder_id: int,
    book: RuleBook,
    *,
    revision: int | None = None,
    recorded_until: datetime | None = None,
) -> RecordedHolder:
    """One holder at a revision, or as recorded until an instant; see `HolderRows.as_of`.

    Raises:
        LookupError: there is no such holder.
    """
    rows = holders_as_recorded(session, [holder_id]).get(holder_id)
    if rows is None:
        raise LookupError(f"holder {holder_id}")
    return rows.as_of(book, revision=revision, recorded_until=recorded_until)


def holders_as_recorded(session: Session, holder_ids: Iterable[int]) -> dict[int, HolderRows]:
    """All rows of many holders by `holders.id`, so that a caller may cut by revision in memory.

    Only committed state in a reading session. Ids that are nobody's are left out.
    """
    found: dict[int, HolderRows] = {}
    for ids in _chunks(sorted(set(holder_ids))):
        for row in session.scalars(select(HolderRow).where(one_of(session, HolderRow.id, ids))):
            found[row.id] = HolderRows(row.id, row.hot_id, row.revision)
        for life in _of(session, LifeRow, LifeRow.holder_id, LifeRow.id, ids):
            found[life.holder_id].lives.append(life)
        for right in _of(session, RightRow, RightRow.holder_id, RightRow.id, ids):
            found[right.holder_id].rights.append(right)
        for ending in _of(session, RightEndingRow, RightEndingRow.holder_id, RightEndingRow.id, ids):
            found[ending.holder_id].endings.append(ending)
        pauses = _of(session, RightSuspensionRow, RightSuspensionRow.holder_id, RightSuspensionRow.id, ids)
        for pause in pauses:
            found[pause.holder_id].suspensions.append(pause)
        for sale in _of(session, SaleRow, SaleRow.holder_id, SaleRow.id, ids):
            found[sale.holder_id].sales.append(sale)
        for card in _of(session, CardRow, CardRow.holder_id, CardRow.id, ids):
            found[card.holder_id].cards.append(card)
        for issue in _of(session, CardIssueRow, CardIssueRow.holder_id, CardIssueRow.id, ids):
            found[issue.holder_id].issues.append(issue)
        for state in _of(session, CardStateRow, CardStateRow.holder_id, CardStateRow.id, ids):
            found[state.holder_id].states.append(state)
        for uid in _of(session, CardUidRow, CardUidRow.holder_id, CardUidRow.id, ids):
            found[uid.holder_id].uids.append(uid)
    return found


def holder_ids_of(session: Session, hot_ids: Iterable[str]) -> dict[str, int]:
    """`holders.id` by hot id; pseudonyms that are nobody's are left out."""
    found: dict[str, int] = {}
    for ids in _chunks(sorted(set(hot_ids))):
        rows = session.execute(
            select(HolderRow.hot_id, HolderRow.id).where(one_of(session, HolderRow.hot_id, ids))
        )
        found.update((hot_id, holder_id) for hot_id, holder_id in rows)
    return found


def without_birth(holder: Holder, today: date) -> Holder:
    """The holder for a snapshot: an age begun long ago tells its day no more, one ended long ago is left out.

    What is left are the days on which a rule of age begins or ends near or after `today` (design, section 5).
    """
    kept = []
    for age in holder.ages:
        if age.period.until is not None and age.period.until < today - CLAMP_AFTER:
            continue
        first = _LONG_AGO if age.period.first < today - CLAMP_AFTER else age.period.first
        kept.append(AgeRight(age.category, Period(first, age.period.until)))
    return replace(holder, ages=tuple(kept))


def _of(
    session: Session,
    kind: type[T],
    holder_id: InstrumentedAttribute[int],
    order: InstrumentedAttribute[int],
    ids: list[int],
) -> Iterable[T]:
    return session.scalars(select(kind).where(one_of(session, holder_id, ids)).order_by(order))


def _chunks(values: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]


def _rights(
    rights: list[RightRow], endings: list[RightEndingRow], suspensions: list[RightSuspensionRow]
) -> tuple[Right, ...]:
    ended = {ending.right_id: ending.ended_on for ending in endings}
    replaced = {pause.replaces_id for pause in suspensions}
    standing = [pause for pause in suspensions if pause.id not in replaced and pause.until != pause.first_day]
    return tuple(
        Right(
            right.category,
            Period(right.first_day, ended.get(right.id, right.ended_on)),
            tuple(Period(pause.first_day, pause.until) for pause in standing if pause.right_id == right.id),
        )
        for right in rights
    )


def _ages(lives: list[LifeRow], book: RuleBook) -> tuple[AgeRight, ...]:
    """The rights of age of the life recorded last; none after the day of death."""
    if not lives or lives[-1].birth_date is None:
        return ()
    life = lives[-1]
    assert life.birth_date is not None
    ages = age_rights(life.birth_date, book)
    if life.died_on is None:
        return ages
    dead = day_after(life.died_on)
    return tuple(
        AgeRight(age.category, Period(age.period.first, min(age.period.until or dead, dead)))
        for age in ages
        if age.period.first < dead
    )


def _purses(sales: list[SaleRow]) -> tuple[Purse, ...]:
    lots: dict[tuple[Product, Network], list[Lot]] = {}
    for sale in sales:
        lot = Lot(sale.units, Cents(sale.face_cents), Cents(sale.paid_cents))
        lots.setdefault((sale.product, sale.network), []).append(lot)
    return tuple(
        Purse(product, network, tuple(of), sum(lot.units for lot in of))
        for (product, network), of in sorted(lots.items())
    )


def _cards(
    cards: list[CardRow], issues: list[CardIssueRow], states: list[CardStateRow]
) -> Iterator[RecordedCard]:
    newest = {issue.card_id: issue for issue in issues}
    last = {(state.card_id, state.issue): state.state for state in states}
    for card in cards:
        issue = newest.get(card.id)
        if issue is not None:
            state = CardState[last[card.id, issue.issue].value]
            yield RecordedCard(card.number, issue.issue, state, issue.token_hash8)


def _uids(cards: list[CardRow], uids: list[CardUidRow]) -> Iterator[RecordedUid]:
    numbers = {card.id: card.number for card in cards}
    for row in {row.uid: row for row in sorted(uids, key=lambda row: row.turn)}.values():
        if row.state is UidWord.BOUND:
            yield RecordedUid(row.uid, numbers[row.card_id], row.issue, row.recorded_at)

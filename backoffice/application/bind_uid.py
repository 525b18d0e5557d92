"""The uid of a contactless chip bound to a card, and let go again.

A chip says its uid to everybody and can be copied, so it names its holder and proves no right: see `docs/law.md`.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.application.changes import log
from backoffice.application.errors import Conflict
from backoffice.application.issue_cards import locked_card
from backoffice.application.register_fields import text_of, uid_of
from backoffice.application.register_holders import refuse_dead
from backoffice.application.staff import Desk
from backoffice.persistence.base import WriteSession
from backoffice.persistence.cards import CardRow, CardStateWord, CardUidRow, UidWord


@dataclass(frozen=True, slots=True)
class BoundUid:
    """A chip that taps for a card from now on."""

    number: int
    issue: int
    uid: str


def bind_uid(session: WriteSession, by: Desk, at: datetime, *, number: int, uid: str) -> BoundUid:
    """Bind a chip to the newest issue of a card. A card may have several; a chip has one card.

    Raises:
        NotFound: no such card.
        Forbidden: it is the clerk's own.
        Invalid: no uid, or a random one.
        Conflict: the card is blocked, the holder is dead, or the chip is bound already.
    """
    uid = uid_of(uid)
    card, holder, state = locked_card(session, by, at, number)
    refuse_dead(session, holder.id)
    if state.state is not CardStateWord.LIVE:
        raise Conflict(
            "o cartão está bloqueado; desbloqueie-o ou emita outra via antes de vincular o chip",
            "the card is blocked; unblock it or issue the next via first",
        )
    last = _last_turn(session, uid)
    if last is not None and last.state is UidWord.BOUND:
        of = session.get_one(CardRow, last.card_id).number
        raise Conflict(
            f"este chip já está vinculado ao cartão {of}, via {last.issue}; desvincule-o antes",
            f"this chip is bound to card {of}, issue {last.issue}; unbind it first",
            code="UID_TAKEN",
        )
    session.add(
        CardUidRow(
            holder_id=holder.id,
            card_id=card.id,
            issue=state.issue,
            uid=uid,
            turn=1 if last is None else last.turn + 1,
            state=UidWord.BOUND,
            recorded_by=by.user_id,
            recorded_at=at,
            revision=holder.revision,
        )
    )
    session.flush()
    log(session, by, "card.bind_uid", ("holder", holder.id), at, f"card={number} issue={state.issue}")
    return BoundUid(number, state.issue, uid)


def unbind_uid(session: WriteSession, by: Desk, at: datetime, *, number: int, uid: str, reason: str) -> None:
    """Let a chip go: nobody knows it from its publication on, and it may be bound to another card.

    Raises:
        NotFound: no such card.
        Forbidden: it is the clerk's own.
        Invalid: no uid.
        Conflict: the chip is not bound to this card.
    """
    uid = uid_of(uid)
    card, holder, _ = locked_card(session, by, at, number)
    last = _last_turn(session, uid)
    if last is None or last.state is not UidWord.BOUND or last.card_id != card.id:
        raise Conflict(
            f"este chip não está vinculado ao cartão {number}; consulte o cadastro do titular",
            f"this chip is not bound to card {number}",
        )
    session.add(
        CardUidRow(
            holder_id=holder.id,
            card_id=card.id,
            issue=last.issue,
            uid=uid,
            turn=last.turn + 1,
            state=UidWord.UNBOUND,
            reason=text_of(reason, "reason", 300),
            recorded_by=by.user_id,
            recorded_at=at,
            revision=holder.revision,
        )
    )
    session.flush()
    log(session, by, "card.unbind_uid", ("holder", holder.id), at, f"card={number} issue={last.issue}")


def _last_turn(session: Session, uid: str) -> CardUidRow | None:
    return session.scalar(
        select(CardUidRow).where(CardUidRow.uid == uid).order_by(CardUidRow.turn.desc()).limit(1)
    )

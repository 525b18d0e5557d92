"""Cards: issued, blocked, unblocked, replaced by the next issue; and the city's keys that sign them."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backoffice.application.changes import change_city, change_holder, log
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.ports import CardSigner, Chance
from backoffice.application.register_fields import text_of
from backoffice.application.register_holders import refuse_dead
from backoffice.application.staff import CityOffice, Desk, Staff, refuse_serving_oneself
from backoffice.persistence.base import WriteSession
from backoffice.persistence.cards import CardIssueRow, CardKind, CardRow, CardStateRow, CardStateWord
from backoffice.persistence.city import CityKeyRow
from backoffice.persistence.holders import HolderRow
from validator.records.card_token import CardToken

HIGHEST_ISSUE = 255
_DRAWS = 20


@dataclass(frozen=True, slots=True)
class IssuedCard:
    """A card with its newest issue. The token is shown this once and stored nowhere."""

    card_id: int
    number: int
    issue: int
    token: str


def issue_card(
    session: WriteSession,
    by: Desk,
    at: datetime,
    chance: Chance,
    signer: CardSigner,
    *,
    holder_id: int,
    kind: CardKind = CardKind.QR,
) -> IssuedCard:
    """Issue a new card to a holder.

    Raises:
        NotFound: no such holder.
        Forbidden: it is the clerk's own record.
        Conflict: the holder is dead.
    """
    refuse_serving_oneself(by, holder_id)
    key_id = signing_key(session, at, signer)
    holder = change_holder(session, holder_id, at)
    refuse_dead(session, holder_id)
    card = CardRow(holder_id=holder_id, number=_free_number(session, chance), kind=kind, recorded_at=at)
    session.add(card)
    session.flush()
    token = _issue(session, by, at, signer, holder, card, issue=1, key_id=key_id)
    log(session, by, "card.issue", ("holder", holder_id), at, f"card={card.number}")
    return IssuedCard(card.id, card.number, 1, token)


def block_card(session: WriteSession, by: Desk, at: datetime, *, number: int, reason: str) -> None:
    """Block a card: lost or stolen.

    Raises:
        NotFound: no such card.
        Conflict: it is blocked already.
    """
    card, holder, state = locked_card(session, by, at, number)
    if state.state is not CardStateWord.LIVE:
        raise Conflict("o cartão já está bloqueado", "the card is blocked already")
    _set_state(session, by, at, holder, card, state.issue, CardStateWord.BLOCKED, reason)
    log(session, by, "card.block", ("holder", holder.id), at, f"card={number}")


def unblock_card(session: WriteSession, by: Desk, at: datetime, *, number: int, reason: str) -> None:
    """Unblock a card that was found again.

    Raises:
        NotFound: no such card.
        Conflict: it is not blocked, or the holder is dead.
    """
    card, holder, state = locked_card(session, by, at, number)
    refuse_dead(session, holder.id)
    if state.state is not CardStateWord.BLOCKED:
        raise Conflict("o cartão não está bloqueado", "the card is not blocked")
    _set_state(session, by, at, holder, card, state.issue, CardStateWord.LIVE, reason)
    log(session, by, "card.unblock", ("holder", holder.id), at, f"card={number}")


def replace_card(
    session: WriteSession,
    by: Desk,
    at: datetime,
    signer: CardSigner,
    *,
    number: int,
    reason: str,
) -> IssuedCard:
    """Issue the next via of a card: the one before is refused as replaced from its publication on.

    The cap, the passes and the history stay with the holder.

    Raises:
        NotFound: no such card.
        Conflict: no issue number is left, or the holder is dead.
    """
    key_id = signing_key(session, at, signer)
    card, holder, state = locked_card(session, by, at, number)
    refuse_dead(session, holder.id)
    if state.issue >= HIGHEST_ISSUE:
        raise Conflict(
            "acabaram as vias deste cartão; emita outro cartão", "no issue is left; issue a new card"
        )
    _set_state(session, by, at, holder, card, state.issue, CardStateWord.REPLACED, reason)
    token = _issue(session, by, at, signer, holder, card, issue=state.issue + 1, key_id=key_id)
    log(session, by, "card.replace", ("holder", holder.id), at, f"card={number} issue={state.issue + 1}")
    return IssuedCard(card.id, number, state.issue + 1, token)


def signing_key(session: WriteSession, at: datetime, signer: CardSigner) -> int:
    """The city's key that signs: the newest that is open. The first is made when it is first needed."""
    key_id = _open_key(session, at)
    return key_id if key_id is not None else _add_key(session, None, at, signer)


def rotate_city_key(session: WriteSession, by: CityOffice, at: datetime, signer: CardSigner) -> int:
    """Make a new key, which signs from now on; the older ones go on verifying. Its number is returned."""
    return _add_key(session, by, at, signer, always=True)


def retire_city_key(
    session: WriteSession, by: CityOffice, at: datetime, *, key_id: int, until: datetime, compromised: bool
) -> None:
    """Let a key verify no more from an instant on; `compromised` for one that others may hold.

    A key whose end was planned may still be found compromised, and then ends earlier. What was tapped before the
    instant stays good, when it is uploaded later too.

    Raises:
        NotFound: no such key.
        Invalid: others may hold it, and it is to go on.
        Conflict: it was retired already.
    """
    if compromised and until > at:
        raise Invalid(
            "until: a chave que outros podem ter deixa de valer já; informe o instante em que isso começou",
            "until: a compromised key ends at once; give the instant from which others may have held it",
        )
    change_city(session, at)
    row = session.get(CityKeyRow, key_id)
    if row is None:
        raise NotFound(f"não há chave de número {key_id}", f"there is no key {key_id}")
    planned = row.valid_until
    if planned is not None and not (compromised and row.compromised_at is None and until < planned):
        raise Conflict("a chave já foi retirada", f"key {key_id} was retired already")
    row.valid_until = until
    row.compromised_at = at if compromised else None
    log(session, by, "key.retire", ("city_key", key_id), at, f"until={until.isoformat()}")


def _open_key(session: Session, at: datetime) -> int | None:
    return session.scalar(
        select(func.max(CityKeyRow.key_id)).where(
            (CityKeyRow.valid_until.is_(None)) | (CityKeyRow.valid_until > at),
            CityKeyRow.compromised_at.is_(None),
        )
    )


def _add_key(
    session: WriteSession, by: Staff | None, at: datetime, signer: CardSigner, *, always: bool = False
) -> int:
    change_city(session, at)
    known = _open_key(session, at)  # under the lock: another desk may have made it meanwhile
    if known is not None and not always:
        return known
    key_id = (session.scalar(select(func.max(CityKeyRow.key_id))) or 0) + 1
    session.add(CityKeyRow(key_id=key_id, public_key=signer.create(key_id), valid_from=at, recorded_at=at))
    session.flush()
    log(session, by, "key.make", ("city_key", key_id), at)
    return key_id


def _free_number(session: Session, chance: Chance) -> int:
    for _ in range(_DRAWS):
        number = chance.card_number()
        if session.scalar(select(CardRow.id).where(CardRow.number == number)) is None:
            return number
    raise Conflict("não se achou número livre de cartão; tente de novo", "no free card number; try again")


def locked_card(
    session: WriteSession, by: Desk, at: datetime, number: int
) -> tuple[CardRow, HolderRow, CardStateRow]:
    """A card with its holder, locked and with the new revision, and the state of its newest issue.

    Raises:
        NotFound: no such card.
        Forbidden: it is the clerk's own.
    """
    card = session.scalar(select(CardRow).where(CardRow.number == number))
    if card is None:
        raise NotFound(f"não há cartão {number}; confira o número impresso", f"there is no card {number}")
    refuse_serving_oneself(by, card.holder_id)
    holder = change_holder(session, card.holder_id, at)
    state = session.scalars(
        select(CardStateRow)
        .where(CardStateRow.card_id == card.id)
        .order_by(CardStateRow.issue.desc(), CardStateRow.id.desc())
        .limit(1)
    ).one()
    return card, holder, state


def _issue(
    session: WriteSession,
    by: Desk,
    at: datetime,
    signer: CardSigner,
    holder: HolderRow,
    card: CardRow,
    *,
    issue: int,
    key_id: int,
) -> str:
    unsigned = CardToken(key_id, holder.hot_id, card.number, issue)
    token = _signed(unsigned, signer.sign(key_id, unsigned.signed_bytes()))
    digest = hashlib.sha256(token.fields() + token.signature)
    session.add(
        CardIssueRow(
            holder_id=holder.id,
            card_id=card.id,
            issue=issue,
            key_id=key_id,
            token_sha256=digest.hexdigest(),
            token_hash8=token.hash(),
            issued_by=by.user_id,
            issued_at=at,
            revision=holder.revision,
        )
    )
    session.flush()
    _set_state(session, by, at, holder, card, issue, CardStateWord.LIVE, f"via {issue} emitida")
    return token.text()


def _signed(token: CardToken, signature: bytes) -> CardToken:
    """The same token with a signature."""
    return CardToken(token.key_id, token.holder_id, token.card_number, token.issue, signature)


def _set_state(
    session: WriteSession,
    by: Desk,
    at: datetime,
    holder: HolderRow,
    card: CardRow,
    issue: int,
    state: CardStateWord,
    reason: str,
) -> None:
    session.add(
        CardStateRow(
            holder_id=holder.id,
            card_id=card.id,
            issue=issue,
            state=state,
            reason=text_of(reason, "reason", 300),
            recorded_by=by.user_id,
            recorded_at=at,
            revision=holder.revision,
        )
    )

"""Cards and passes: what is handed over at a desk."""

from datetime import date

from fastapi import APIRouter

from backoffice.api.dependencies import ByDesk, Now, Parts, Writes
from backoffice.api.wire import CardNumber, Count, RecordId, Sent, Shown, Text
from backoffice.application.bind_uid import bind_uid, unbind_uid
from backoffice.application.issue_cards import block_card, issue_card, replace_card, unblock_card
from backoffice.application.sell_passes import Order, sell_passes
from backoffice.domain.acquisition import Plan
from backoffice.persistence.cards import CardKind
from validator.domain.vocabulary import Network, Product

router = APIRouter(prefix="/v1", tags=["posto"])


class CardSent(Sent):
    """What carries the token."""

    kind: CardKind = CardKind.QR


class IssuedShown(Shown):
    """A card's newest issue. The token is shown this once."""

    number: int
    issue: int
    token: str


@router.post("/holders/{holder_id}/cards", status_code=201)
def issue(
    holder_id: RecordId, sent: CardSent, by: ByDesk, at: Now, session: Writes, parts: Parts
) -> IssuedShown:
    """Issue a card. Write the token onto it: it is shown this once."""
    issued = issue_card(session, by, at, parts.chance, parts.signer, holder_id=holder_id, kind=sent.kind)
    return IssuedShown.model_validate(issued)


class Why(Sent):
    """The reason."""

    reason: Text


@router.post("/cards/{number}/block", status_code=204)
def block(number: CardNumber, sent: Why, by: ByDesk, at: Now, session: Writes) -> None:
    """Block a lost or stolen card."""
    block_card(session, by, at, number=number, reason=sent.reason)


@router.post("/cards/{number}/unblock", status_code=204)
def unblock(number: CardNumber, sent: Why, by: ByDesk, at: Now, session: Writes) -> None:
    """Unblock a card that was found again."""
    unblock_card(session, by, at, number=number, reason=sent.reason)


@router.post("/cards/{number}/replacement", status_code=201)
def replace(number: CardNumber, sent: Why, by: ByDesk, at: Now, session: Writes, parts: Parts) -> IssuedShown:
    """Issue the next via; the one before is refused as replaced."""
    issued = replace_card(session, by, at, parts.signer, number=number, reason=sent.reason)
    return IssuedShown.model_validate(issued)


class UidSent(Sent):
    """A contactless chip."""

    uid: Text
    """4, 7 or 10 bytes in hexadecimal, as a reader shows it."""


class UidShown(Shown):
    """A chip that taps for a card from now on."""

    number: int
    issue: int
    uid: str


@router.post("/cards/{number}/uid", status_code=201)
def bind(number: CardNumber, sent: UidSent, by: ByDesk, at: Now, session: Writes) -> UidShown:
    """Bind a chip to a card. It pays from full-fare purses; it proves no right."""
    return UidShown.model_validate(bind_uid(session, by, at, number=number, uid=sent.uid))


class UidRemoval(UidSent):
    """A chip, and why it is let go."""

    reason: Text


@router.post("/cards/{number}/uid/removal", status_code=204)
def unbind(number: CardNumber, sent: UidRemoval, by: ByDesk, at: Now, session: Writes) -> None:
    """Let a chip go: it is unknown from now on."""
    unbind_uid(session, by, at, number=number, uid=sent.uid, reason=sent.reason)


class SaleSent(Sent):
    """What is bought."""

    product: Product
    network: Network
    units: Count
    plan: Plan | None = None
    """MONTH or TWO_MONTHS; of student passes only."""
    request_id: Text | None = None
    """The desk's own number of the request: sent again, it sells once."""


class SaleShown(Shown):
    """A sale, in centavos of its day."""

    id: int
    product: Product
    network: Network
    units: int
    face_cents: int
    paid_cents: int
    plan: Plan | None
    window_first: date | None
    window_until: date | None
    sold_on: date
    total_cents: int
    """What the buyer pays: units x paid_cents."""


@router.post("/holders/{holder_id}/sales", status_code=201)
def sell(
    holder_id: RecordId, sent: SaleSent, by: ByDesk, at: Now, session: Writes, parts: Parts
) -> SaleShown:
    """Sell passes at the price of the day (Decreto 1.827, art. 70). A refusal is a 409 whose code says why."""
    order = Order(**sent.model_dump())
    row = sell_passes(session, by, at, parts.book, holder_id=holder_id, order=order)
    return SaleShown(
        **{name: getattr(row, name) for name in SaleShown.model_fields if name != "total_cents"},
        total_cents=row.units * row.paid_cents,
    )

"""Cards: reading a token, and judging it against what is published of its card."""

from collections.abc import Iterable

import msgspec

from validator.application.ports import Verify
from validator.domain.reasons import Reason
from validator.records.card_token import CardToken, TokenError, read_token
from validator.records.city import CityView
from validator.records.codes import CardState
from validator.records.keys import holder_key, holder_shard, usage_key
from validator.records.packing import Digits, to_digits
from validator.records.snapshot import CardRecord

_MOST_KNOWN = 100_000
_BLOCKED, _REPLACED = CardState.BLOCKED.value, CardState.REPLACED.value


class ReadCard(msgspec.Struct, frozen=True, gc=False):
    """A token that could be read, with all that follows from its text alone."""

    token: CardToken
    hash: bytes
    home: int
    holder_key: bytes
    usage_key: bytes
    holder: Digits


def card_of(token: CardToken, token_hash: bytes) -> ReadCard:
    """A token with all that follows from it."""
    holder = token.holder_id
    return ReadCard(
        token, token_hash, holder_shard(holder), holder_key(holder), usage_key(holder), to_digits(holder)
    )


class CardReader:
    """Reads tokens and remembers them: a card in use is read once."""

    def __init__(self) -> None:
        self._known: dict[str, ReadCard] = {}

    def read(self, text: str) -> ReadCard | None:
        """The card of a token's text; None for a text that is no token."""
        card = self._known.get(text)
        if card is None:
            try:
                token = read_token(text)
            except TokenError:
                return None
            card = card_of(token, token.hash())
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[text] = card
        return card


def refusal_of_card(card: ReadCard, published: Iterable[CardRecord]) -> Reason | None:
    """Why a card cannot be used, by what is published of its holder's cards; None when it can."""
    number = card.token.card_number
    newest: CardRecord | None = None
    for record in published:
        if record.number == number and (newest is None or record.issue > newest.issue):
            newest = record
    if newest is None:
        return Reason.CARD_UNKNOWN
    if card.token.issue < newest.issue or newest.state == _REPLACED:
        return Reason.CARD_REPLACED
    if newest.state == _BLOCKED:
        return Reason.CARD_BLOCKED
    return None if card.hash == newest.token_hash else Reason.TOKEN_INVALID


def is_signed(card: ReadCard, view: CityView, at_micros: int, verify: Verify) -> bool:
    """Whether the city signed a token with a key that was valid at an instant."""
    if not is_of_valid_key(card, view, at_micros):
        return False
    key = view.card_keys[card.token.key_id]
    return verify(key.public_key, card.token.signature, card.token.signed_bytes())


def is_of_valid_key(card: ReadCard, view: CityView, at_micros: int) -> bool:
    """Whether a token names a key of the city that verifies at an instant; of a live token that is all to be asked."""
    key = view.card_keys.get(card.token.key_id)
    return key is not None and (key.until_micros is None or at_micros < key.until_micros)

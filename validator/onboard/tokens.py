"""A card's token judged on the device, from its signature and the city's keys alone."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum

from validator.records.card_token import CardToken, TokenError, read_token
from validator.records.city import CardKeyRecord
from validator.records.packing import to_micros

Verify = Callable[[bytes, bytes, bytes], bool]
"""Whether an Ed25519 signature is true: public key, signature, signed bytes."""


class TokenFault(StrEnum):
    """What is wrong with a token. On the wire all of them are TOKEN_INVALID; the log tells them apart."""

    FORM = "form"
    """No token: cut off, lengthened, another alphabet or version."""
    KEY_UNKNOWN = "key-unknown"
    """Signed by a key that this city does not have."""
    KEY_RETIRED = "key-retired"
    """Signed by a key of this city that verifies no more: replaced by another, or in the hands of others."""
    FORGED = "forged"
    """The signature is not the city's: forged, or a bit was changed."""


def judge_token(
    text: str, keys: Mapping[int, CardKeyRecord], at: datetime, verify: Verify
) -> CardToken | TokenFault:
    """The token of a text whose signature is true at an instant, or what is wrong with it."""
    try:
        token = read_token(text)
    except TokenError:
        return TokenFault.FORM
    key = keys.get(token.key_id)
    if key is None:
        return TokenFault.KEY_UNKNOWN
    if key.until_micros is not None and to_micros(at) >= key.until_micros:
        return TokenFault.KEY_RETIRED
    return token if verify(key.public_key, token.signature, token.signed_bytes()) else TokenFault.FORGED

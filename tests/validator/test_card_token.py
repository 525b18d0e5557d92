"""One token, one text: what is read is written again letter for letter."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from validator.records.card_token import CardToken, TokenError, read_token

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
UNSIGNED = CardToken(1, "00f1e2d3c4b5a697", 10_000_000_016, 1)
TOKEN = CardToken(1, UNSIGNED.holder_id, UNSIGNED.card_number, 1, KEY.sign(UNSIGNED.signed_bytes()))
TEXT = TOKEN.text()
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def test_a_text_is_read_as_what_it_was_written_from():
    assert read_token(TEXT) == TOKEN


@pytest.mark.parametrize("spare", range(1, 16))
def test_bits_that_nobody_signs_must_be_zero(spare: int):
    """82 bytes are 656 bits, 132 characters hold 660; a lenient reader would give a card sixteen texts."""
    last = ALPHABET[ALPHABET.index(TEXT[-1]) + spare]
    assert base64.b32decode(TEXT[:-1] + last + "====") == base64.b32decode(TEXT + "====")

    with pytest.raises(TokenError, match="spare bits"):
        read_token(TEXT[:-1] + last)


@pytest.mark.parametrize(
    "text",
    [
        TEXT.lower(),
        TEXT + "====",
        TEXT + "A",
        TEXT[:-1],
        TEXT + "\n",
        " " + TEXT,
        TEXT[:60] + "-" + TEXT[61:],
        TEXT.replace("A", "Á", 1),
        "",
    ],
)
def test_another_spelling_is_no_token(text: str):
    with pytest.raises(TokenError, match="base32"):
        read_token(text)


@given(raw=st.binary(min_size=81, max_size=81))
def test_every_text_that_is_read_is_the_canonical_one(raw: bytes):
    text = base64.b32encode(b"\x01" + raw).decode().rstrip("=")

    assert read_token(text).text() == text


def test_another_version_is_refused():
    with pytest.raises(TokenError, match="version 2"):
        read_token(base64.b32encode(b"\x02" + bytes(81)).decode().rstrip("="))

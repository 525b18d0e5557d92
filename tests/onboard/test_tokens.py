"""Tokens and signatures as the device judges them: RFC 8032, and every way in which a card may be false."""

from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from validator.adapters import ed25519_keys
from validator.onboard.keys import public_half, sign, verify
from validator.onboard.tokens import TokenFault, judge_token
from validator.records.card_token import CardToken
from validator.records.city import CardKeyRecord
from validator.records.packing import to_micros

NOW = datetime(2026, 3, 2, 10, 15, tzinfo=UTC)
CITY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_CITY = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
KEYS = {1: CardKeyRecord(1, CITY.public_key().public_bytes_raw())}

# RFC 8032, section 7.1: secret key, public key, message, signature.
RFC_8032 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd"
            "25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c3"
            "87b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594"
            "a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        (
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd4"
            "54d4423643ce80e2a9ac94fa54ca49f"
        ),
        (
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303"
            "dca179c138ac17ad9bef1177331a704"
        ),
    ),
]


def token(key: Ed25519PrivateKey = CITY, key_id: int = 1, issue: int = 1) -> CardToken:
    unsigned = CardToken(key_id, "00000000000000aa", 10_009, issue)
    return CardToken(key_id, "00000000000000aa", 10_009, issue, key.sign(unsigned.signed_bytes()))


def judge(text: str, keys: dict[int, CardKeyRecord] = KEYS) -> CardToken | TokenFault:
    return judge_token(text, keys, NOW, verify)


@pytest.mark.parametrize(("secret", "public", "message", "signature"), RFC_8032)
def test_the_vectors_of_rfc_8032(secret: str, public: str, message: str, signature: str):
    parts = bytes.fromhex(public), bytes.fromhex(signature), bytes.fromhex(message)

    assert public_half(bytes.fromhex(secret)) == parts[0]
    assert sign(bytes.fromhex(secret), parts[2]) == parts[1]
    assert verify(*parts)
    assert ed25519_keys.verify(*parts)
    assert not verify(parts[0], parts[1], parts[2] + b"\x00")


def test_a_true_token_is_read():
    assert judge(token().text()) == token()


@given(byte=st.integers(0, 81), bit=st.integers(0, 7))
def test_a_token_with_one_bit_changed_is_refused(byte: int, bit: int):
    raw = bytearray(token().fields() + token().signature)
    raw[byte] ^= 1 << bit
    changed = CardToken(
        int.from_bytes(raw[1:3], "big"),
        raw[3:11].hex(),
        int.from_bytes(raw[11:17], "big"),
        raw[17],
        bytes(raw[18:]),
    )
    text = changed.text() if raw[0] == 1 else "AA" + changed.text()[2:]

    assert isinstance(judge(text), TokenFault)


@given(place=st.integers(0, 131), sign_=st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
def test_a_token_with_one_character_changed_is_refused(place: int, sign_: str):
    text = token().text()
    changed = text[:place] + sign_ + text[place + 1 :]

    assert (judge(changed) == token()) is (changed == text)


@pytest.mark.parametrize("length", [0, 1, 8, 100, 131])
def test_a_truncated_token_is_refused(length: int):
    assert judge(token().text()[:length]) is TokenFault.FORM


@pytest.mark.parametrize("text", ["?", "A" * 132, "1" * 132, "ç" * 20, "A" * 512, "AAAA===="])
def test_what_is_no_token_is_refused(text: str):
    assert isinstance(judge(text), TokenFault)


def test_a_forged_token_is_refused():
    assert judge(token(OTHER_CITY).text()) is TokenFault.FORGED


def test_a_token_of_another_city_is_refused():
    assert judge(token(OTHER_CITY, key_id=9).text()) is TokenFault.KEY_UNKNOWN


def test_a_token_of_a_retired_key_is_refused_from_its_end_on():
    for seconds, good in ((1, True), (0, False), (-60, False)):
        keys = {1: CardKeyRecord(1, KEYS[1].public_key, to_micros(NOW) + seconds * 1_000_000)}
        found = judge(token().text(), keys)
        assert found == (token() if good else TokenFault.KEY_RETIRED)


def test_two_keys_verify_while_one_follows_the_other():
    keys = {**KEYS, 2: CardKeyRecord(2, OTHER_CITY.public_key().public_bytes_raw())}

    assert judge(token().text(), keys) == token()
    assert judge(token(OTHER_CITY, 2).text(), keys) == token(OTHER_CITY, 2)
    assert judge(token(CITY, 2).text(), keys) is TokenFault.FORGED


@pytest.mark.parametrize(("key", "signature"), [(b"", b""), (bytes(31), bytes(64)), (bytes(32), bytes(63))])
def test_a_key_or_signature_of_the_wrong_form_is_not_true(key: bytes, signature: bytes):
    assert not verify(key, signature, b"")
    assert not ed25519_keys.verify(key, signature, b"")

"""Online, a card that is false in any way is TOKEN_INVALID, whatever it says of itself; the same faults as offline."""

import hashlib
from datetime import datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.validator.conftest import Service, running_service
from tests.validator.seeded_city import CITY_KEY, NOW, SeededCard, SeededCity, iso, micros, student
from validator.domain.usage import Usage
from validator.records.card_token import CardToken
from validator.records.city import CardKeyRecord
from validator.records.codes import CardState
from validator.records.snapshot import CardRecord

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"
LIVE, LOST, OLD = SeededCard(HOLDER, 10_009), SeededCard(HOLDER, 20_008), SeededCard(HOLDER, 30_007, issue=1)
OTHER_CITY = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"another city").digest())
PUBLIC = CITY_KEY.public_key().public_bytes_raw()


def seed(city: SeededCity) -> None:
    renewed = SeededCard(HOLDER, OLD.number, issue=2)
    cards = [LIVE.record(), LOST.record(CardState.BLOCKED), renewed.record()]
    city.holder(HOLDER, student(), cards=cards)


def signed(key: Ed25519PrivateKey, card: SeededCard, key_id: int = 1) -> CardToken:
    unsigned = CardToken(key_id, card.holder, card.number, card.issue)
    return CardToken(key_id, card.holder, card.number, card.issue, key.sign(unsigned.signed_bytes()))


def with_bit(token: CardToken, byte: int) -> str:
    raw = bytearray(token.fields() + token.signature)
    raw[byte] ^= 1
    number = int.from_bytes(raw[11:17], "big")
    return CardToken(
        int.from_bytes(raw[1:3], "big"), raw[3:11].hex(), number, raw[17], bytes(raw[18:])
    ).text()


FALSE = {
    "cut off": LIVE.token.text()[:-1],
    "of another version": "AI" + LIVE.token.text()[2:],
    "forged, for a live card": signed(OTHER_CITY, LIVE).text(),
    "forged, for a blocked card": signed(OTHER_CITY, LOST).text(),
    "forged, for an issue that was replaced": signed(OTHER_CITY, OLD).text(),
    "forged, for a card that the holder has not": signed(OTHER_CITY, SeededCard(HOLDER, 77)).text(),
    "forged, for a holder who is nobody": signed(OTHER_CITY, SeededCard("00000000000000ff")).text(),
    "of another city": signed(OTHER_CITY, LIVE, key_id=9).text(),
    "of another city, for a blocked card": signed(OTHER_CITY, LOST, key_id=9).text(),
} | {
    f"byte {byte} of a live card changed": with_bit(LIVE.token, byte)
    for byte in (1, 2, 3, 10, 11, 16, 17, 18, 81)
}


@pytest.mark.parametrize("text", FALSE.values(), ids=FALSE)
async def test_a_false_token_is_refused_as_such(city: SeededCity, service: Service, text: str):
    device = city.device()
    seed(city)

    answer = (await service.board(device, device.tap(1, {"kind": "card", "token": text}))).json()

    assert answer["reason"] == {"code": 2, "name": "TOKEN_INVALID", "final": True}
    assert (answer["display"], answer["turnstile"]) == ("CARTÃO INVÁLIDO", "HOLD")
    assert city.usage() == Usage()


@pytest.mark.parametrize(("card", "reason"), [(LOST, "CARD_BLOCKED"), (OLD, "CARD_REPLACED")])
async def test_a_true_card_that_is_no_longer_good_is_told_why(
    city: SeededCity, service: Service, card: SeededCard, reason: str
):
    device = city.device()
    seed(city)

    answer = (await service.board(device, device.tap(1, card.medium))).json()

    assert answer["reason"]["name"] == reason


def end_key(city: SeededCity, until: datetime | None) -> None:
    """The city's first key ends, and another one is there."""
    second = CardKeyRecord(2, OTHER_CITY.public_key().public_bytes_raw())
    seed(city)
    city.publish(card_keys=(CardKeyRecord(1, PUBLIC, None if until is None else micros(until)), second))


@pytest.mark.parametrize(("until", "reason"), [(1, "OK"), (0, "TOKEN_INVALID"), (-3600, "TOKEN_INVALID")])
async def test_a_live_card_of_a_retired_key_is_good_until_the_keys_end(
    city: SeededCity, redis_url: str, until: int, reason: str
):
    device = city.device()
    end_key(city, NOW + timedelta(seconds=until))

    async with running_service(redis_url) as service:
        answer = (await service.board(device, device.tap(1, LIVE.medium))).json()

    assert answer["reason"]["name"] == reason


async def test_while_keys_overlap_cards_of_both_are_good(city: SeededCity, redis_url: str):
    device = city.device()
    newer = SeededCard("00000000000000bb")
    token = signed(OTHER_CITY, newer, key_id=2)
    end_key(city, None)
    city.holder(
        newer.holder, student(), cards=[CardRecord(newer.number, 1, int(CardState.LIVE), token.hash())]
    )

    async with running_service(redis_url) as service:
        answers = [
            (await service.board(device, device.tap(n, {"kind": "card", "token": text}))).json()
            for n, text in enumerate((LIVE.token.text(), token.text()), start=1)
        ]

    assert [answer["outcome"] for answer in answers] == ["accepted", "accepted"]


async def test_what_was_tapped_before_a_key_was_stolen_stays_good_when_it_is_uploaded_later(
    city: SeededCity, redis_url: str
):
    device = city.device()
    stolen = NOW - timedelta(hours=2)
    end_key(city, stolen)
    device.tap(1, LIVE.medium, occurred_at=iso(stolen - timedelta(seconds=1)))
    device.tap(2, LIVE.medium, occurred_at=iso(stolen))

    async with running_service(redis_url) as service:
        items = (await service.batch(device)).json()["items"]

    assert [item["reason"]["name"] for item in items] == ["OK", "TOKEN_INVALID"]
    assert city.usage().used == {"STUDENT": 1}

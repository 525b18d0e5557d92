"""Two cards of one person are one person on board: passback, cap, purse and last boarding are the holder's."""

import pytest

from tests.validator.conftest import Service
from tests.validator.seeded_city import CITY_KEY, SeededCard, SeededCity, student
from validator.domain.usage import Usage
from validator.records.card_token import CardToken

pytestmark = pytest.mark.hot_state

HOLDER = "00000000000000aa"
FIRST, SECOND = SeededCard(HOLDER, 10_009), SeededCard(HOLDER, 20_008)


def two_cards(city: SeededCity, usage: Usage | None = None, passes: int = 10) -> None:
    city.holder(HOLDER, student(passes), usage, cards=[FIRST.record(), SECOND.record()])


async def test_the_second_card_on_the_same_vehicle_is_passback(city: SeededCity, service: Service):
    device = city.device()
    two_cards(city)

    first = await service.board(device, device.tap(1, FIRST.medium))
    second = await service.board(device, device.tap(2, SECOND.medium))

    assert first.json()["outcome"] == "accepted"
    assert second.json()["reason"]["name"] == "PASSBACK"


async def test_the_51st_is_refused_on_either_card(city: SeededCity, service: Service):
    device = city.device()
    two_cards(city, Usage(half_fare={"2026-03": 49}))

    await service.board(device, device.tap(1, FIRST.medium))
    for number, card, vehicle in ((2, SECOND, "1208"), (3, FIRST, "1209")):
        answer = (await service.board(device, device.tap(number, card.medium, vehicle=vehicle))).json()

        assert (answer["reason"]["name"], answer["turnstile"]) == ("STUDENT_CAP_REACHED", "HOLD")
    assert city.usage().half_fare == {"2026-03": 50}
    assert city.usage().used == {"STUDENT": 1}


async def test_a_serial_number_is_no_token(city: SeededCity, service: Service):
    """Neither the printed number nor a token that somebody made of it stands in for the city's signature."""
    device = city.device()
    two_cards(city)
    own = CardToken(1, HOLDER, FIRST.number, 1, CITY_KEY.sign(b"something else")).text()
    taps = ["10009", "0" * 132, HOLDER, FIRST.token.text().lower(), f" {FIRST.token.text()}", own]

    for number, text in enumerate(taps, start=1):
        answer = await service.board(device, device.tap(number, {"kind": "card", "token": text}))

        assert answer.json()["reason"]["name"] == "TOKEN_INVALID", text
    assert city.usage() == Usage()

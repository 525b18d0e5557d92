"""A city for the bench: devices, lines and holders in the proportions of real demand, written as the publisher would.

Drawn from a seed, so that two runs have the same city. Names of nobody: a holder is 16 hexadecimal digits.
"""

import hashlib
import itertools
import random
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from typing import Any, Final

import redis
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from loadtests.demand import CATEGORIES
from validator.domain.fares import Fare
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.rights import AgeRight, Period, Right
from validator.domain.service_time import Month
from validator.domain.usage import LastBoarding, Usage
from validator.domain.vocabulary import Category, Network, Product
from validator.records.card_token import CardToken
from validator.records.city import (
    CardKeyRecord,
    CityRecord,
    CityView,
    LineRecord,
    fare_record,
    law_json,
    pack_city,
    view_city,
)
from validator.records.codes import CardState, DeviceState
from validator.records.keys import CITY, SHARDS, VERIFIED, device_key, generation_key, holder_key, usage_key
from validator.records.snapshot import (
    CardRecord,
    DeviceRecord,
    HolderRecord,
    age_records,
    pack_device,
    pack_holder,
    purse_records,
    rights_records,
)
from validator.records.usage import pack_usage

OPERATORS: Final = ("alfa", "beta")
LINES: Final = tuple(f"{number}" for number in range(101, 133))
DEVICES: Final = 2_000
CARD_KEY_ID: Final = 1
CARD_FARE_CENTS: Final = 450
PASSES: Final = 100_000
"""In each purse: no run ends because a purse is empty. Caps are the law's own."""

USED: Final = 37
"""Passes that each purse has given before the run."""

_RIGHTS_FROM = date(2020, 1, 1)
_EVER = Period(_RIGHTS_FROM, None)
_UNIT = 2_000


@dataclass(frozen=True, slots=True)
class Device:
    """A validator on a bus: its id, its bearer token and its Ed25519 key."""

    id: str
    token: str
    key: Ed25519PrivateKey
    vehicle: str
    line: str


@dataclass(frozen=True, slots=True)
class Rider:
    """Somebody who taps: with a card that names a holder, or with money (`token` None).

    Attributes:
        category: What the rider travels as.
        holder_id: Hot holder id; empty for money.
        token: Text of the card.
    """

    category: Category
    holder_id: str = ""
    token: str | None = None


@dataclass(slots=True)
class BenchCity:
    """Devices and riders of one seed."""

    devices: list[Device]
    riders: list[Rider]
    holders: int
    key: Ed25519PrivateKey = field(repr=False)


def make_city(holders: int, *, seed: int = 1, tokens: int | None = None) -> tuple[BenchCity, Iterator[bytes]]:
    """A city with so many holders, and the pairs (key, value) to write into Redis, one after the other.

    Args:
        holders: Card holders; riders with money come on top, in proportion.
        seed: Two runs with one seed have the same city.
        tokens: Only so many holders get a card that can tap; the others are there to be stored. None for all.
    """
    chance = random.Random(seed)
    key = Ed25519PrivateKey.from_private_bytes(chance.randbytes(32))
    city = BenchCity([_device(number, chance) for number in range(DEVICES)], [], holders, key)
    return city, _pairs(city, chance, holders, holders if tokens is None else min(tokens, holders))


def write_city(url: str, pairs: Iterable[bytes]) -> None:
    """Write what `make_city` gives into an empty Redis, which is then fit for service."""
    with redis.Redis.from_url(url) as client:
        client.flushall()
        pipe = client.pipeline(transaction=False)
        while chunk := list(itertools.islice(pairs, _UNIT)):
            pipe.execute_command("MSET", *chunk)
            pipe.execute()
        client.mset({generation_key(number): b"1" for number in range(SHARDS)})
        verify_run(client)


def verify_run(client: "redis.Redis") -> None:
    """Say of the running Redis process what the ingester says after it has compared it with SQL."""
    client.set(VERIFIED, client.info("server")["run_id"])


def reset_usage(url: str, riders: Iterable[Rider]) -> None:
    """Set holders back to what they had consumed before the run, so that no cap is reached in the next."""
    holders = {rider.holder_id: rider.category for rider in riders if rider.holder_id}
    left = iter(holders.items())
    with redis.Redis.from_url(url) as client:
        while chunk := list(itertools.islice(left, _UNIT)):
            client.mset({usage_key(holder): _USAGE[category] for holder, category in chunk})


def city_view() -> CityView:
    """The bench's city as a process holds it, for measuring `decide` alone."""
    city, pairs = make_city(0)
    assert next(pairs) == CITY
    del city
    return view_city(next(pairs))


def _pairs(city: BenchCity, chance: random.Random, holders: int, tokens: int) -> Iterator[bytes]:
    yield CITY
    yield pack_city(_city_record(city), 1)
    for device in city.devices:
        yield device_key(device.id)
        yield pack_device(_device_record(device), 1)
    with_card = {category: n for category, n in CATEGORIES.items() if category is not Category.FULL}
    categories = chance.choices(list(with_card), list(with_card.values()), k=holders)
    for number, category in enumerate(categories):
        yield from _holder_pairs(city, number, category, chance, can_tap=number < tokens)
    money = CATEGORIES[Category.FULL] / sum(with_card.values())
    city.riders.extend([Rider(Category.FULL)] * round(tokens * money))
    chance.shuffle(city.riders)


def _holder_pairs(
    city: BenchCity, number: int, category: Category, chance: random.Random, *, can_tap: bool
) -> Iterator[bytes]:
    holder_id = chance.randbytes(8).hex()
    card_number = 10_000_000 + number
    token_hash = chance.randbytes(8)
    if can_tap:
        unsigned = CardToken(CARD_KEY_ID, holder_id, card_number, 1)
        token = CardToken(CARD_KEY_ID, holder_id, card_number, 1, city.key.sign(unsigned.signed_bytes()))
        token_hash = token.hash()
        city.riders.append(Rider(category, holder_id, token.text()))
    holder = holder_of_category(category)
    record = HolderRecord(
        rights=rights_records(holder),
        ages=age_records(holder),
        purses=purse_records(holder),
        cards=(CardRecord(card_number, 1, CardState.LIVE, token_hash),),
    )
    yield holder_key(holder_id)
    yield pack_holder(record, 1)
    yield usage_key(holder_id)
    yield _USAGE[category]


def holder_of_category(category: Category) -> Holder:
    """What a holder of a category has: a right, an age, or passes bought in a few lots."""
    if category is Category.ELDER:
        return Holder(ages=(AgeRight(category, _EVER),))
    if category in (Category.VT, Category.PREPAID):
        return Holder(purses=(_purse(Product(category.value), CARD_FARE_CENTS),))
    right = Right(category, _EVER)
    if category is Category.STUDENT_50:
        return Holder(rights=(right,), purses=(_purse(Product.STUDENT, CARD_FARE_CENTS // 2),))
    return Holder(rights=(right,))


def usage_of_category(category: Category) -> Usage:
    """What a holder of a category has consumed before the run: some weeks of riding."""
    at = datetime(2026, 1, 5, 10, tzinfo=UTC)
    rides = [
        LastBoarding(
            f"0193c0de-7b0a-7000-8000-00000000000{n}", at + timedelta(days=n), f"{1000 + n}", category
        )
        for n in (1, 2)
    ]
    if category in (Category.VT, Category.PREPAID):
        return Usage(used={category.value: USED}, by_purse=rides[1])
    if category is Category.STUDENT_50:
        months = {Month("2025-12"): 21, Month("2026-01"): 16}
        return Usage(half_fare=months, used={Product.STUDENT.value: USED}, last=rides[1], before=rides[0])
    return Usage(last=rides[1], before=rides[0])


_USAGE: Final = {category: pack_usage(usage_of_category(category)) for category in CATEGORIES}


def _purse(product: Product, paid_cents: int) -> Purse:
    lots = tuple(Lot(units, Cents(CARD_FARE_CENTS), Cents(paid_cents)) for units in (50, 50, PASSES - 100))
    return Purse(product, Network.URBAN, lots, PASSES)


def device_id(number: int) -> str:
    """The id of a device by its number."""
    return f"val-{number:04}"


def _device(number: int, chance: random.Random) -> Device:
    name = device_id(number)
    key = Ed25519PrivateKey.from_private_bytes(chance.randbytes(32))
    token = f"{name}.{chance.randbytes(24).hex()}"
    return Device(name, token, key, vehicle=f"{1000 + number}", line=LINES[number % len(LINES)])


def _device_record(device: Device) -> DeviceRecord:
    return DeviceRecord(
        DeviceState.ACTIVE,
        hashlib.sha256(device.token.encode()).digest(),
        device.key.public_key().public_bytes_raw(),
        1,
        _operator_of(device),
    )


def _operator_of(device: Device) -> str:
    return OPERATORS[LINES.index(device.line) % len(OPERATORS)]


def _law() -> dict[str, Any]:
    packaged = resources.files("validator.domain") / "law" / "pato_branco.toml"
    return tomllib.loads(packaged.read_text(encoding="utf-8"))


def _city_record(city: BenchCity) -> CityRecord:
    fares = [Fare(network, _RIGHTS_FROM, None, Cents(CARD_FARE_CENTS)) for network in Network]
    return CityRecord(
        law_json(_law()),
        fares=tuple(fare_record(fare) for fare in fares),
        lines=tuple(
            LineRecord(line, 0, (OPERATORS[place % len(OPERATORS)],)) for place, line in enumerate(LINES)
        ),
        vehicles=tuple((device.vehicle, _operator_of(device)) for device in city.devices),
        card_keys=(CardKeyRecord(CARD_KEY_ID, city.key.public_key().public_bytes_raw()),),
    )

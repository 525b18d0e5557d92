"""A small city put into Redis directly, as publisher and ingester would: for tests of the validator alone."""

import hashlib
import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from importlib.resources import files
from uuid import UUID

import redis
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from validator.domain.fares import Fare
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.rights import AgeRight, Period, Right
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, Network, Product
from validator.records.card_token import CardToken
from validator.records.city import CardKeyRecord, CityRecord, LineRecord, fare_record, law_json, pack_city
from validator.records.codes import NETWORK_CODE, CardState, DeviceState
from validator.records.device_messages import chain_next, chain_start, digest_of, head_message
from validator.records.journal import JournalEntry, unpack_entry
from validator.records.keys import (
    CITY,
    SHARDS,
    VERIFIED,
    commit_no_key,
    device_key,
    durable_key,
    generation_key,
    holder_key,
    journal_key,
    uid_key,
    usage_key,
)
from validator.records.packing import to_micros
from validator.records.snapshot import (
    CardRecord,
    DeviceRecord,
    DurableRecord,
    HolderRecord,
    UidHolderRecord,
    UidRecord,
    age_records,
    pack_device,
    pack_durable,
    pack_holder,
    pack_uid_holder,
    purse_records,
    rights_records,
)
from validator.records.usage import pack_usage, unpack_usage

NOW = datetime(2026, 3, 2, 10, 15, 2, tzinfo=UTC)
"""The service's clock in most tests: a Monday, 07:15:02 in the city."""

OPERATOR = "viacao-azul"
OTHER_OPERATOR = "viacao-verde"
CITY_KEY = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"the city's key of tests").digest())
FOREVER = Period(date(2020, 1, 1), None)


@dataclass
class SeededDevice:
    """A device with what only it knows, and its numbering."""

    id: str
    epoch: int = 1
    seq: int = 0
    head: bytes = b""
    entries: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.token = f"{self.id}.a-secret-of-tests"
        self.key = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(self.id.encode()).digest())
        self.head = chain_start(self.id, self.epoch)

    @property
    def authorization(self) -> str:
        return f"Bearer {self.token}"

    def headers(self, sent_at: str | None = None) -> dict[str, str]:
        """What it sends beside a body, by its own clock."""
        return {
            "Authorization": self.authorization,
            "Content-Type": "application/json",
            "Catraca-Sent-At": sent_at or iso(NOW),
        }

    def record(self, **changes: object) -> DeviceRecord:
        fields: dict[str, object] = {
            "state": int(DeviceState.ACTIVE),
            "token_hash": hashlib.sha256(self.token.encode()).digest(),
            "public_key": self.key.public_key().public_bytes_raw(),
            "epoch": self.epoch,
            "operator": OPERATOR,
        }
        return DeviceRecord(**(fields | changes))  # type: ignore[arg-type]

    def write(self, **entry: object) -> bytes:
        """Journal an entry: it gets the next number, and the chain grows."""
        self.seq += 1
        raw = json.dumps({"epoch": self.epoch, "device_seq": self.seq} | entry, ensure_ascii=False).encode()
        return self.chain(raw)

    def chain(self, raw: bytes) -> bytes:
        self.head = chain_next(self.head, digest_of(self.id, raw))
        self.entries.append(raw.decode())
        return raw

    def tap(self, boarding: int, medium: dict[str, object], **changes: object) -> bytes:
        fields: dict[str, object] = {
            "boarding_id": str(UUID(int=boarding)),
            "occurred_at": iso(NOW),
            "line": "102",
            "vehicle": "1207",
            "medium": medium,
        }
        return self.write(**(fields | changes))

    def release(self, boarding: int, *, released: bool = True, **changes: object) -> bytes:
        fields: dict[str, object] = {
            "boarding_id": str(UUID(int=boarding)),
            "released": released,
            "mode": "online",
        }
        return self.write(**(fields | changes))

    def annul(self, boarding: int, **changes: object) -> bytes:
        fields: dict[str, object] = {"occurred_at": iso(NOW), "annuls": str(UUID(int=boarding))}
        return self.write(**(fields | changes))

    def batch(self, entries: list[str] | None = None, first_seq: int = 1, **changes: object) -> bytes:
        """A batch of everything journalled so far, or of the entries named, with its signed head."""
        chosen = self.entries if entries is None else entries
        head = chain_start(self.id, self.epoch)
        for entry in self.entries[: first_seq - 1] + chosen:
            head = chain_next(head, digest_of(self.id, entry.encode()))
        closing = bool(changes.get("closing", False))
        last = first_seq - 1 + len(chosen)
        message = head_message(self.id, self.epoch, last, head, closing=closing)
        fields: dict[str, object] = {
            "epoch": self.epoch,
            "first_seq": first_seq,
            "entries": chosen,
            "head": head.hex(),
            "signature": self.key.sign(message).hex(),
        }
        return json.dumps(fields | changes, ensure_ascii=False).encode()


def iso(instant: datetime) -> str:
    """An instant as devices write it."""
    return instant.isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class SeededCard:
    """A card of a holder, with its signed token."""

    holder: str
    number: int = 10_009
    issue: int = 1

    @property
    def token(self) -> CardToken:
        unsigned = CardToken(1, self.holder, self.number, self.issue)
        return CardToken(1, self.holder, self.number, self.issue, CITY_KEY.sign(unsigned.signed_bytes()))

    @property
    def medium(self) -> dict[str, object]:
        return {"kind": "card", "token": self.token.text()}

    def chip(self, uid: str, since: datetime = datetime(2026, 3, 1, tzinfo=UTC)) -> UidRecord:
        return UidRecord(bytes.fromhex(uid), self.number, self.issue, to_micros(since))

    def record(self, state: CardState = CardState.LIVE) -> CardRecord:
        return CardRecord(self.number, self.issue, int(state), self.token.hash())


class SeededCity:
    """What publisher and ingester would have written, in a Redis that is verified."""

    def __init__(self, url: str) -> None:
        self.redis = redis.Redis.from_url(url)
        self.devices: dict[str, SeededDevice] = {}

    def __enter__(self) -> "SeededCity":
        return self

    def __exit__(self, *_: object) -> None:
        self.redis.close()

    def publish(self, generation: int = 1, **city: object) -> None:
        """The city, open shards, and the mark of a verified Redis."""
        self.redis.set(CITY, pack_city(city_record(**city), 1))
        for number in range(SHARDS):
            self.redis.set(generation_key(number), generation)
        self.verify()

    def verify(self) -> None:
        self.redis.set(VERIFIED, self.redis.info("server")["run_id"])

    def device(self, device_id: str = "val-1", **changes: object) -> SeededDevice:
        device = self.devices.setdefault(device_id, SeededDevice(device_id, int(changes.get("epoch", 1))))  # type: ignore[call-overload]
        self.redis.set(device_key(device_id), pack_device(device.record(**changes), 1))
        return device

    def durable(
        self,
        device: SeededDevice,
        durable_seq: int,
        top_seq: int | None = None,
        missing: Iterable[tuple[int, int]] = (),
    ) -> None:
        record = DurableRecord(durable_seq, durable_seq if top_seq is None else top_seq, tuple(missing))
        self.redis.set(durable_key(device.id, device.epoch), pack_durable(record))

    def holder(
        self,
        holder_id: str,
        holder: Holder,
        usage: Usage | None = None,
        cards: Iterable[CardRecord] | None = None,
        chips: Iterable[UidRecord] = (),
        revision: int = 1,
    ) -> SeededCard:
        """A holder with usage, chips, and one live card, or the cards named."""
        card = SeededCard(holder_id)
        record = HolderRecord(
            rights_records(holder),
            age_records(holder),
            purse_records(holder),
            tuple(cards) if cards is not None else (card.record(),),
            uids=tuple(chips),
        )
        self.redis.set(holder_key(holder_id), pack_holder(record, revision))
        for chip in record.uids:
            self.redis.set(uid_key(chip.uid), pack_uid_holder(UidHolderRecord(holder_id), revision))
        self.redis.set(usage_key(holder_id), pack_usage(usage or Usage()))
        return card

    def student(
        self, holder_id: str = "00000000000000aa", passes: int = 10, usage: Usage | None = None
    ) -> SeededCard:
        return self.holder(holder_id, student(passes), usage)

    def usage(self, holder_id: str = "00000000000000aa") -> Usage:
        return unpack_usage(self.redis.get(usage_key(holder_id)))  # type: ignore[arg-type]

    def journal(self) -> list[JournalEntry]:
        """All entries of all shards."""
        return [
            unpack_entry(fields[b"e"])
            for n in range(SHARDS)
            for _, fields in self.redis.xrange(journal_key(n))
        ]

    def commits(self) -> int:
        """Commits over all shards."""
        return sum(int(self.redis.get(commit_no_key(n)) or 0) for n in range(SHARDS))  # type: ignore[arg-type]


def student(passes: int = 10, face: int = 450, paid: int = 225) -> Holder:
    """A pupil with urban passes bought at half the fare."""
    lots = (Lot(passes, Cents(face), Cents(paid)),) if passes else ()
    return Holder(
        rights=(Right(Category.STUDENT_50, FOREVER),),
        purses=(Purse(Product.STUDENT, Network.URBAN, lots, passes),),
    )


def prepaid(passes: int = 10, face: int = 450) -> Holder:
    """Somebody with urban prepaid passes and no right."""
    return Holder(
        purses=(Purse(Product.PREPAID, Network.URBAN, (Lot(passes, Cents(face), Cents(face)),), passes),)
    )


def elder() -> Holder:
    """Somebody past 60."""
    return Holder(ages=(AgeRight(Category.ELDER, Period(date(2010, 1, 1), None)),))


def city_record(fare_cents: int = 450, **changes: object) -> CityRecord:
    """Two urban lines, one of the interior, two operators with a vehicle each."""
    law = tomllib.loads(
        files("validator.domain").joinpath("law/pato_branco.toml").read_text(encoding="utf-8")
    )
    first = date(1991, 1, 1)
    fares = [
        Fare(Network.URBAN, first, None, Cents(fare_cents), act="Decreto 1"),
        Fare(Network.INTERIOR, first, None, Cents(fare_cents and fare_cents + 300), act="Decreto 1"),
    ]
    fields: dict[str, object] = {
        "law_json": law_json(law),
        "fares": tuple(fare_record(fare) for fare in fares),
        "lines": (
            LineRecord("102", NETWORK_CODE[Network.URBAN], (OPERATOR,)),
            LineRecord("205", NETWORK_CODE[Network.URBAN], (OTHER_OPERATOR,)),
            LineRecord("900", NETWORK_CODE[Network.INTERIOR], (OPERATOR,)),
        ),
        "vehicles": (("1207", OPERATOR), ("1208", OPERATOR), ("3001", OTHER_OPERATOR)),
        "card_keys": (CardKeyRecord(1, CITY_KEY.public_key().public_bytes_raw()),),
    }
    return CityRecord(**(fields | changes))  # type: ignore[arg-type]


def micros(instant: datetime) -> int:
    """An instant as the journal holds it."""
    return to_micros(instant)

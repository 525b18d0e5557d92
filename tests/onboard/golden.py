"""Golden values of the device protocol, made by the product: `python -m tests.onboard.golden` writes the file again."""

import json
from datetime import date
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from validator.domain.fares import Fare
from validator.domain.money import Cents
from validator.domain.vocabulary import Network
from validator.records.bundle import (
    HotRecord,
    KindRecord,
    ListedPurse,
    ListedRecord,
    ListHead,
    OptionRecord,
    StepRecord,
    cut,
    offer_signed_bytes,
    pack_listed,
    pack_step,
)
from validator.records.card_token import CardToken
from validator.records.chip_uid import listed_uid, uid_bytes
from validator.records.city import CardKeyRecord, CityRecord, LineRecord, fare_record, pack_city
from validator.records.device_messages import chain_next, chain_start, digest_of, head_message
from validator.records.enrolment import enrolment_message

FILE = Path(__file__).parents[2] / "backoffice" / "conformance" / "device-protocol.json"
CITY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
DEVICE = Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
DEVICE_ID, EPOCH = "v-1207", 1
CODE = "ABCD-EFGH-IJKL-MNOP"
BOARDING = "0193c0de-7b0a-7000-8000-000000000001"
CHIP_BOARDING = "0193c0de-7b0a-7000-8000-000000000002"
UID = "04A2B3C4D5E680"


def token() -> CardToken:
    unsigned = CardToken(1, "00f1e2d3c4b5a697", 10_000_000_016, 1)
    return CardToken(1, unsigned.holder_id, unsigned.card_number, 1, CITY.sign(unsigned.signed_bytes()))


def entries() -> list[str]:
    return [
        (
            f'{{"boarding_id":"{BOARDING}","epoch":1,"device_seq":1,"occurred_at":"2026-03-02T07:15:02.123-03:00",'
            f'"line":"102","vehicle":"1207","medium":{{"kind":"card","token":"{token().text()}"}},"trip":"102-0715-I"}}'
        ),
        (
            f'{{"boarding_id":"{BOARDING}","epoch":1,"device_seq":2,"released":true,"mode":"offline","class":"HALF",'
            '"purse":"STUDENT","list_version":1772446502}'
        ),
        f'{{"epoch":1,"device_seq":3,"occurred_at":"2026-03-02T07:15:20.000-03:00","annuls":"{BOARDING}"}}',
        (
            f'{{"boarding_id":"{CHIP_BOARDING}","epoch":1,"device_seq":4,"occurred_at":"2026-03-02T07:16:00.000-03:00",'
            f'"line":"102","vehicle":"1207","medium":{{"kind":"uid","uid":"{UID}"}}}}'
        ),
    ]


def chain() -> dict[str, Any]:
    head, rows = chain_start(DEVICE_ID, EPOCH), []
    for text in entries():
        digest = digest_of(DEVICE_ID, text.encode())
        head = chain_next(head, digest)
        rows.append({"entry": text, "digest": digest.hex(), "head": head.hex()})
    signed = head_message(DEVICE_ID, EPOCH, len(rows), head, closing=True)
    return {
        "start": chain_start(DEVICE_ID, EPOCH).hex(),
        "entries": rows,
        "signed": signed.hex(),
        "signature": DEVICE.sign(signed).hex(),
        "batch": {
            "epoch": EPOCH,
            "first_seq": 1,
            "entries": entries(),
            "head": head.hex(),
            "signature": DEVICE.sign(signed).hex(),
            "closing": True,
        },
    }


def step() -> StepRecord:
    city = CityRecord(
        "{}",
        (fare_record(Fare(Network.URBAN, date(2026, 1, 1), None, Cents(450), act="Decreto 1")),),
        (LineRecord("102", 0, ("viacao-azul",)),),
        (("1207", "viacao-azul"),),
        (),
        (CardKeyRecord(1, CITY.public_key().public_bytes_raw()),),
    )
    kinds = (KindRecord(True, 0, 1, False, 72), KindRecord(False, 0, 3, False, None))
    student = ListedRecord(
        (OptionRecord(0, 9_528, 9_850),),
        (ListedPurse(0, ((0, 31),)),),
        2603,
        12,
        ((listed_uid(uid_bytes(UID)), 0),),
    )
    free = ListedRecord((OptionRecord(1, 8_000, None, ((9_555, 9_586),)),))
    return StepRecord(
        pack_city(city, 7),
        ListHead(kinds, ((450, 225),), (None, 72, 72), 400),
        (HotRecord(10_000_000_024, 2, False),),
        (),
        (
            (bytes.fromhex("00f1e2d3c4b5a697"), pack_listed(student)),
            (bytes.fromhex("0123456789abcdef"), pack_listed(free)),
        ),
    )


def bundle() -> dict[str, Any]:
    data = pack_step(step())
    chunks = cut(data)
    text = json.dumps(
        {
            "version": 1772446502,
            "have": 0,
            "issued_at": "2026-03-02T10:15:02+00:00",
            "max_age_hours": 24,
            "steps": [
                {"from": 0, "to": 1772446502, "bytes": len(data), "chunks": [digest for digest, _ in chunks]}
            ],
        },
        separators=(",", ":"),
    )
    return {
        "answer": {
            "offer": text,
            "key_id": 1,
            "signature": CITY.sign(offer_signed_bytes(text)).hex(),
            "server_time": "2026-03-02T10:20:00.123+00:00",
        },
        "chunks": {digest: piece.hex() for digest, piece in chunks},
        "entries": {hot_id.hex(): entry.hex() for hot_id, entry in step().entries},
    }


def golden() -> dict[str, Any]:
    """All values; keys and signatures in hexadecimal."""
    card, public = token(), DEVICE.public_key().public_bytes_raw()
    return {
        "note": "Golden values of docs/device-protocol.md. The private keys are known to everybody: for tests only.",
        "city_private_key": CITY.private_bytes_raw().hex(),
        "city_public_key": CITY.public_key().public_bytes_raw().hex(),
        "device_private_key": DEVICE.private_bytes_raw().hex(),
        "device_public_key": public.hex(),
        "device_id": DEVICE_ID,
        "epoch": EPOCH,
        "card": {
            "key_id": card.key_id,
            "holder_id": card.holder_id,
            "card_number": card.card_number,
            "issue": card.issue,
            "signed": card.signed_bytes().hex(),
            "text": card.text(),
        },
        "chip": {"uid": UID, "name": listed_uid(uid_bytes(UID)).hex()},
        "chain": chain(),
        "enrolment": {
            "code": CODE,
            "signed": enrolment_message(CODE, public).hex(),
            "signature": DEVICE.sign(enrolment_message(CODE, public)).hex(),
        },
        "bundle": bundle(),
    }


def written() -> str:
    return json.dumps(golden(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")

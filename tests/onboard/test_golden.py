"""The golden values are what the product makes, and what a second implementation makes from the page alone."""

import base64
import hashlib
import json
import zlib
from typing import Any

import msgspec
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.onboard.golden import FILE, golden, step
from validator.records.bundle import unpack_step

GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def check(public_key: str, signature: str, message: bytes) -> None:
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(bytes.fromhex(signature), message)


def test_the_file_is_what_the_product_makes():
    """But for the compressed bytes, which another zlib makes otherwise; they must give the same step."""
    made = golden()
    compressed = made.pop("bundle"), GOLDEN["bundle"]

    assert {name: value for name, value in GOLDEN.items() if name != "bundle"} == made
    assert compressed[0]["entries"] == compressed[1]["entries"]
    for one in compressed:
        (digest,) = json.loads(one["answer"]["offer"])["steps"][0]["chunks"]
        assert unpack_step(bytes.fromhex(one["chunks"][digest])) == step()


# From here on nothing of the product is used: only the words of docs/device-protocol.md.


def test_a_card_as_section_10_says():
    card = GOLDEN["card"]
    raw = base64.b32decode(card["text"] + "====")

    assert (len(card["text"]), len(raw), raw[0]) == (132, 82, 1)
    assert int.from_bytes(raw[1:3], "big") == card["key_id"]
    assert raw[3:11].hex() == card["holder_id"]
    assert int.from_bytes(raw[11:17], "big") == card["card_number"]
    assert raw[17] == card["issue"]
    check(GOLDEN["city_public_key"], raw[18:].hex(), b"catraca-card-1\x00" + raw[:18])


def test_the_name_of_a_chip_as_section_12_says():
    chip = GOLDEN["chip"]

    assert sha256(b"catraca-uid-1\x00" + bytes.fromhex(chip["uid"])).hex()[:12] == chip["name"]


def test_a_chain_and_its_batch_as_sections_3_and_5_say():
    chain, device = GOLDEN["chain"], GOLDEN["device_id"].encode()
    head = sha256(b"catraca-chain-1\x00" + device + b"\x00" + GOLDEN["epoch"].to_bytes(8, "big"))
    assert head.hex() == chain["start"]
    for number, row in enumerate(chain["entries"], start=1):
        digest = sha256(b"catraca-entry-1\x00" + device + b"\x00" + row["entry"].encode())
        head = sha256(head + digest)
        assert (digest.hex(), head.hex()) == (row["digest"], row["head"])
        assert json.loads(row["entry"])["device_seq"] == number

    last = len(chain["entries"]).to_bytes(8, "big")
    signed = (
        b"catraca-head-1\x00" + device + b"\x00" + GOLDEN["epoch"].to_bytes(8, "big") + last + b"\x01" + head
    )
    assert signed.hex() == chain["signed"]
    check(GOLDEN["device_public_key"], chain["batch"]["signature"], signed)


def test_an_installation_as_section_11_says():
    sent = GOLDEN["enrolment"]
    public_key = bytes.fromhex(GOLDEN["device_public_key"])
    signed = b"catraca-enrol-1\x00" + sent["code"].encode() + b"\x00" + public_key

    assert signed.hex() == sent["signed"]
    check(GOLDEN["device_public_key"], sent["signature"], signed)


def test_a_bundle_as_section_12_says():
    bundle = GOLDEN["bundle"]
    answer = bundle["answer"]
    check(GOLDEN["city_public_key"], answer["signature"], b"catraca-bundle-1\x00" + answer["offer"].encode())
    (only,) = json.loads(answer["offer"])["steps"]
    pieces = [bytes.fromhex(bundle["chunks"][digest]) for digest in only["chunks"]]
    assert [sha256(piece).hex() for piece in pieces] == only["chunks"]
    data = b"".join(pieces)
    assert len(data) == only["bytes"]

    raw = zlib.decompress(data)
    assert raw[:1] == b"\x01"
    city, shared, hot, cold, entries, gone = msgspec.msgpack.decode(raw[1:])
    kinds, tariffs, purse_hours, half_budget = shared
    assert kinds == [[True, 0, 1, False, 72], [False, 0, 3, False, None]]
    assert (tariffs, purse_hours, half_budget) == ([[450, 225]], [None, 72, 72], 400)
    assert (hot, cold, gone) == ([[10_000_000_024, 2, False]], [], [])
    assert {hot_id.hex(): entry.hex() for hot_id, entry in entries} == bundle["entries"]
    student = msgspec.msgpack.decode(entries[0][1][1:])
    chips = [[bytes.fromhex(GOLDEN["chip"]["name"]), 0]]
    assert student == [[[0, 9_528, 9_850, []]], [[0, [[0, 31]]]], 2603, 12, chips]

    assert (city[:1], int.from_bytes(city[1:9], "big")) == (b"\x01", 7)
    law, fares, lines, vehicles, breakdowns, keys = msgspec.msgpack.decode(city[9:])[:6]
    assert (law, fares, lines) == (
        "{}",
        [[0, 739_617, None, 450, None, None, "Decreto 1"]],
        [["102", 0, ["viacao-azul"]]],
    )
    assert (vehicles, breakdowns) == ([["1207", "viacao-azul"]], [])
    assert [[number, key.hex(), until] for number, key, until in keys] == [
        [1, GOLDEN["city_public_key"], None]
    ]


@pytest.mark.parametrize("place", [0, 40, 100])
def test_a_changed_byte_is_not_the_citys(place: int):
    answer = GOLDEN["bundle"]["answer"]
    offer = bytearray(answer["offer"].encode())
    offer[place] ^= 1

    with pytest.raises(InvalidSignature):
        check(GOLDEN["city_public_key"], answer["signature"], b"catraca-bundle-1\x00" + bytes(offer))

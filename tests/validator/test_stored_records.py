"""Bytes that are stored already: every record is read as it was written, whatever version of the program wrote it.

The hexadecimal digits were written once. Whoever must change them has broken what stands in Redis and its journal.
"""

from collections.abc import Callable

import msgspec
import pytest

from validator.records.city import (
    BreakdownRecord,
    CardKeyRecord,
    CityRecord,
    FareRecord,
    LineRecord,
    unpack_city,
)
from validator.records.journal import (
    AnswerRecord,
    HeadRecord,
    IdRecord,
    JournalEntry,
    unpack_answer,
    unpack_entry,
    unpack_head,
    unpack_id,
)
from validator.records.packing import Packed, RecordError, revision_of
from validator.records.snapshot import (
    AgeRecord,
    CardRecord,
    DeviceRecord,
    DurableRecord,
    HolderRecord,
    LotRecord,
    PeriodRecord,
    PurseRecord,
    RightRecord,
    UidHolderRecord,
    UidRecord,
    unpack_device,
    unpack_durable,
    unpack_holder,
    unpack_uid_holder,
)
from validator.records.usage import EffectRecord, LastRecord, OwnEffect, UsageRecord, unpack_usage_record

ID = bytes(range(16))
MICROS = 1_774_958_400_000_000
PERIOD = PeriodRecord(737_425, 739_000)
LAST = LastRecord(ID, MICROS, "1207", 8)

Stored = tuple[str, int, Callable[[bytes], Packed], Packed]
"""Digits, bytes of the revision that leads the array, what reads them, and what they say."""

STORED: dict[str, Stored] = {
    "holder": (
        (
            "0100000000000000079691930892ce000b4091ce000b46b89192ce000b42d0c091920192ce000b44c4c09194"
            "01003c919332cd01c2cce19194cd27190201c4080505050505050505c09194c40404aabbcccd271902cf0006"
            "4e50b4ec5000"
        ),
        8,
        unpack_holder,
        HolderRecord(
            (RightRecord(8, PERIOD, (PeriodRecord(738_000),)),),
            (AgeRecord(1, PeriodRecord(738_500)),),
            (PurseRecord(1, 0, 60, (LotRecord(50, 450, 225),)),),
            (CardRecord(10_009, 2, 1, b"\x05" * 8),),
            None,
            (UidRecord(b"\x04\xaa\xbb\xcc", 10_009, 2, MICROS),),
        ),
    ),
    "chip": (
        "01000000000000000791b030303030303030303030303030306161",
        8,
        unpack_uid_holder,
        UidHolderRecord("00000000000000aa"),
    ),
    "device": (
        (
            "0100000000000000079601c42001010101010101010101010101010101010101010101010101010101010101"
            "01c420020202020202020202020202020202020202020202020202020202020202020203a4617a756ccf0006"
            "4e50b4ec5000"
        ),
        8,
        unpack_device,
        DeviceRecord(1, b"\x01" * 32, b"\x02" * 32, 3, "azul", MICROS),
    ),
    "city": (
        (
            "01000000000000000796a27b7d919700ce000b4091c0cd01c2a3393031a463617368a94465637265746f2031"
            "9193a33130320092a4617a756ca576657264659192a431323037a4617a756c9193a431323037cf00064e50b4"
            "ec5000cf00064e50b4ec5001919301c420030303030303030303030303030303030303030303030303030303"
            "0303030303cf00064e50b4ec5000"
        ),
        8,
        unpack_city,
        CityRecord(
            "{}",
            (FareRecord(0, 737_425, None, 450, "901", "cash", "Decreto 1"),),
            (LineRecord("102", 0, ("azul", "verde")),),
            (("1207", "azul"),),
            (BreakdownRecord("1207", MICROS, MICROS + 1),),
            (CardKeyRecord(1, b"\x03" * 32, MICROS),),
        ),
    ),
    "durable": (
        "0193cd012ccd01369292cd012dcd012e92cd0131cd0131",
        0,
        unpack_durable,
        DurableRecord(300, 310, ((301, 302), (305, 305))),
    ),
    "usage": (
        (
            "01979292ce0003176a3292ce0003176b0c92920046920102919200019192010394c410000102030405060708"
            "090a0b0c0d0e0fcf00064e50b4ec5000a43132303708c094c410000102030405060708090a0b0c0d0e0fcf00"
            "064e50b4ec5000a43132303708"
        ),
        0,
        unpack_usage_record,
        UsageRecord(((202602, 50), (202603, 12)), ((0, 70), (1, 2)), ((0, 1),), ((1, 3),), LAST, None, LAST),
    ),
    "plain answer": (
        "019f0008cd01c2cce1003109cfffffffffffffffffa3762d31ccaacf00064e50b4ec5000a431323037940800c3c3cce100",
        0,
        unpack_answer,
        AnswerRecord(
            0,
            8,
            450,
            225,
            0,
            49,
            9,
            2**64 - 1,
            "v-1",
            0xAA,
            MICROS,
            "1207",
            OwnEffect(8, 0, True, True),
            225,
            0,
        ),
    ),
    "whole answer": (
        "01dc001408c0cd01c2cd01c301c0c0a27631a3762d31c0cf00064e50b4ec5000a0c00002321005c3c2",
        0,
        unpack_answer,
        AnswerRecord(
            8,
            None,
            450,
            451,
            1,
            None,
            None,
            "v1",
            "v-1",
            None,
            MICROS,
            "",
            None,
            0,
            2,
            50,
            16,
            5,
            True,
            False,
        ),
    ),
    "tap": (
        (
            "01dc002500a3762d3103cd1267c420000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c"
            "0d0e0fcf00064e50b4ec5001c3c410000102030405060708090a0b0c0d0e0fcf00064e50b4ec5000c0a33130"
            "32a431323037a53130322d3100c0c0c0ccaa2902064d0008a468616c66cfffffffffffffffffcd01c3cce2cc"
            "e00100020c3109940800c3c3c0"
        ),
        0,
        unpack_entry,
        JournalEntry(
            kind=0,
            device="v-1",
            epoch=3,
            seq=4711,
            digest=ID + ID,
            received_micros=MICROS + 1,
            batch=True,
            boarding=ID,
            occurred_micros=MICROS,
            dated_micros=MICROS,
            line="102",
            vehicle="1207",
            trip="102-1",
            medium=0,
            holder=0xAA,
            card_number=41,
            card_issue=2,
            revision=6,
            city_revision=77,
            reason=0,
            category=8,
            rule="half",
            rules=2**64 - 1,
            fare_cents=451,
            rider_cents=226,
            city_cents=224,
            operator_cents=1,
            turnstile=2,
            flags=12,
            month_boardings=49,
            passes=9,
            effects=(EffectRecord(202603, 0, True, LAST, True),),
        ),
    ),
    "release": (
        (
            "01dc002d02a3762d3103cd1268c420000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c"
            "0d0e0fcf00064e50b4ec5002c3c410000102030405060708090a0b0c0d0e0fc0c0c0c0c0c0c0c0c0ccaac0c0"
            "c0c0c0c0c0c00000000000c000c0c0c0c09196ce0003176b00c394c410000102030405060708090a0b0c0d0e"
            "0fcf00064e50b4ec5000a43132303708c3c3c2a448414c46a753545544454e5409c3c0a468656c64"
        ),
        0,
        unpack_entry,
        JournalEntry(
            kind=2,
            device="v-1",
            epoch=3,
            seq=4712,
            digest=ID + ID,
            received_micros=MICROS + 2,
            batch=True,
            boarding=ID,
            holder=0xAA,
            effects=(EffectRecord(202603, 0, True, LAST, True, True),),
            released=False,
            ride_class="HALF",
            purse="STUDENT",
            list_version=9,
            online=True,
            note="held",
        ),
    ),
    "head": (
        (
            "0194cd1268c420000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0fc440090909"
            "0909090909090909090909090909090909090909090909090909090909090909090909090909090909090909"
            "0909090909090909090909090909090909c3"
        ),
        0,
        unpack_head,
        HeadRecord(4712, ID + ID, b"\x09" * 64, True),
    ),
}


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_is_read_as_it_was_written(name: str):
    digits, _, unpack, said = STORED[name]

    assert unpack(bytes.fromhex(digits)) == said


@pytest.mark.parametrize("name", STORED)
def test_a_field_that_a_newer_version_appends_is_passed_over(name: str):
    digits, revision, unpack, said = STORED[name]
    stored = bytes.fromhex(digits)
    fields = msgspec.msgpack.decode(stored[1 + revision :])
    defaults = said.__struct_defaults__
    fields += defaults[len(defaults) + len(fields) - len(said.__struct_fields__) :]
    newer = stored[: 1 + revision] + msgspec.msgpack.encode([*fields, "of a later version"])

    assert unpack(newer) == said


@pytest.mark.parametrize("version", [b"", b"\x00", b"\x02", b"\xff"])
@pytest.mark.parametrize("name", STORED)
def test_another_version_is_refused_and_not_guessed_at(name: str, version: bytes):
    digits, _, unpack, _ = STORED[name]

    with pytest.raises(RecordError, match="this program reads version 01"):
        unpack(version + bytes.fromhex(digits)[1:] if version else b"")


@pytest.mark.parametrize("name", [name for name, (_, revision, _, _) in STORED.items() if revision])
def test_a_record_of_the_publisher_is_led_by_its_revision(name: str):
    assert revision_of(bytes.fromhex(STORED[name][0])) == 7


def test_what_stands_under_a_boarding_id_is_a_digest_and_a_home():
    assert unpack_id(bytes.fromhex("000102030405060708090a0b0c0d0e0f3f")) == IdRecord(ID, 63)

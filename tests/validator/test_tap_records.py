"""What is kept of a tap, read back by name: its fields are written by their place."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from tests.validator.seeded_city import city_record
from validator.application.cards import card_of
from validator.application.tap_records import TapFacts, accepted_answer, packed_entry, refused_answer
from validator.domain.decision import Accepted, Refused, Uses
from validator.domain.money import Cents
from validator.domain.reasons import Reason
from validator.domain.vocabulary import Category, Turnstile
from validator.records.card_token import CardToken
from validator.records.city import CityView
from validator.records.device_messages import CardMedium, DocumentMedium, TapMessage
from validator.records.journal import (
    AnswerRecord,
    JournalEntry,
    pack_answer,
    pack_entry,
    unpack_answer,
    unpack_entry,
)
from validator.records.packing import RecordError, from_digits, pack, pack_values, to_digits, to_micros
from validator.records.usage import EffectRecord, LastRecord, OwnEffect

HOLDER = "00000000000000aa"
BOARDING, CONTINUES = UUID(int=7), UUID(int=8)
AT = datetime(2026, 4, 1, 2, 30, tzinfo=UTC)
DATED = datetime(2026, 4, 1, 2, 31, tzinfo=UTC)
"""Still 31 March in the city."""

VIEW = CityView(city_record(), 77)
RULE = VIEW.city.book.rows_of(Category.STUDENT_50)[-1]
OWN = OwnEffect(8, 0, True, True)


def facts_of(medium: CardMedium | DocumentMedium, dated_at: datetime = AT) -> TapFacts:
    token = CardToken(1, HOLDER, 41, 2)
    return TapFacts(
        "v-1",
        TapMessage(str(BOARDING), 3, 4711, AT.isoformat(), "102", "1207", medium, "102-0715-I"),
        b"\x05" * 32,
        BOARDING.bytes,
        dated_at,
        to_micros(AT),
        to_micros(DATED),
        to_micros(dated_at),
        True,
        card_of(token, b"") if isinstance(medium, CardMedium) else None,
        CONTINUES if isinstance(medium, CardMedium) else None,
    )


def accepted(dated_at: datetime) -> tuple[AnswerRecord, JournalEntry]:
    """The answer and the entry of a half fare, as they were written."""
    facts = facts_of(CardMedium("T"), dated_at)
    parts = (Cents(451), Cents(226), Cents(224), Cents(1))
    uses = Uses("STUDENT", True)
    decision = Accepted(
        Category.STUDENT_50, RULE, *parts, Turnstile.NOT_TURNED, uses, Cents(5), personal=True
    )
    kept = accepted_answer(facts, decision, VIEW.rules, 12, to_digits(HOLDER), OWN, 49, 9)
    return unpack_answer(pack_answer(kept)), unpack_entry(packed_entry(facts, decision, kept, VIEW, 6))


@pytest.mark.parametrize("dated_at", [AT, DATED])
def test_the_answer_of_an_accepted_boarding_is_read_back_as_it_was_written(dated_at: datetime):
    answer, _ = accepted(dated_at)

    assert answer == AnswerRecord(
        reason=0,
        category=8,
        fare_cents=451,
        rider_cents=226,
        change_cents=5,
        turnstile=2,
        month_boardings=49,
        passes=9,
        rules=VIEW.rules,
        device="v-1",
        holder=0xAA,
        occurred_micros=to_micros(AT),
        vehicle="1207",
        effect=OWN,
        purse=OWN.uses,
        city_cents=224,
        flags=12,
        dated_micros=None if dated_at is AT else to_micros(dated_at),
    )
    assert answer.decided_micros == to_micros(dated_at)


@pytest.mark.parametrize("dated_at", [AT, DATED])
def test_the_entry_of_an_accepted_boarding_is_read_back_as_it_was_written(dated_at: datetime):
    _, entry = accepted(dated_at)

    last = LastRecord(BOARDING.bytes, to_micros(dated_at), "1207", 8)
    assert entry == JournalEntry(
        kind=0,
        device="v-1",
        epoch=3,
        seq=4711,
        digest=b"\x05" * 32,
        received_micros=to_micros(DATED),
        batch=True,
        boarding=BOARDING.bytes,
        occurred_micros=to_micros(AT),
        dated_micros=to_micros(dated_at),
        line="102",
        vehicle="1207",
        trip="102-0715-I",
        medium=0,
        holder=0xAA,
        card_number=41,
        card_issue=2,
        revision=6,
        city_revision=77,
        reason=0,
        category=8,
        rule=RULE.id,
        rules=VIEW.rules,
        fare_cents=451,
        rider_cents=226,
        city_cents=224,
        operator_cents=1,
        change_cents=5,
        turnstile=2,
        flags=12,
        month_boardings=49,
        passes=9,
        continues=CONTINUES.bytes,
        effects=(EffectRecord(202603, 0, True, last, True),),
    )
    assert unpack_entry(pack_entry(entry)) == entry


def test_a_refused_boarding_is_read_back_as_it_was_written():
    facts = facts_of(DocumentMedium("TEACHER", "RG"))
    decision = Refused(Reason.CATEGORY_NOT_KEYABLE)

    kept = refused_answer(facts, decision, VIEW.rules, 2)
    entry = unpack_entry(packed_entry(facts, decision, kept, VIEW, None))

    assert (kept.reason, kept.turnstile, kept.holder, kept.vehicle, kept.effect) == (8, 1, None, "", None)
    assert (entry.kind, entry.reason, entry.rule, entry.category) == (1, 8, None, None)
    assert (entry.keyed, entry.document, entry.holder, entry.card_number) == (7, "RG", None, None)
    assert (entry.flags, entry.effects, entry.continues) == (2, (), None)
    assert entry.dated_micros == to_micros(AT)


def test_an_instant_that_no_calendar_has_makes_a_poison_entry_and_no_other_error():
    entry = JournalEntry(0, "v-1", 1, 1, b"", 0, boarding=BOARDING.bytes, occurred_micros=2**62, own=OWN)

    with pytest.raises(RecordError, match="no calendar"):
        unpack_entry(pack_entry(entry))


def test_a_record_may_be_written_by_its_first_fields():
    assert unpack_entry(pack_values((2, "v-1", 1, 1, b"", 5))) == JournalEntry(2, "v-1", 1, 1, b"", 5)


@pytest.mark.parametrize(
    "changes",
    [{}, {"change_cents": 49_152}, {"flags": 4}, {"dated_micros": 0}, {"undone": True}, {"released": False}],
)
def test_an_answer_ends_early_only_where_the_rest_is_plain(changes: dict[str, Any]):
    plain = AnswerRecord(0, 8, 450, 225, 0, 49, 9, 2**64 - 1, "v-1", 0, 5, "1207", OWN, 225, 0)
    answer = replace(plain, **changes)

    assert unpack_answer(pack_answer(answer)) == answer
    assert (len(pack_answer(answer)) < len(pack(answer))) == (not changes)


@pytest.mark.parametrize("text", ["00000000000000aa", "f" * 16, "00000000000000AA", "aa", "", "v1", "٠" * 16])
def test_digits_are_given_back_letter_by_letter(text: str):
    assert from_digits(to_digits(text)) == text
    assert isinstance(to_digits(text), int) == (text in ("00000000000000aa", "f" * 16))

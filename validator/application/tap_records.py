"""From a decision to what is kept of it: the answer for replay, and the journal's entry. Pure."""

from datetime import datetime
from uuid import UUID

import msgspec

from validator.application.cards import ReadCard
from validator.domain.boarding import Accepted, Decision, Refused
from validator.domain.city import LawOfDay
from validator.domain.holder import Holder
from validator.domain.usage import Consumed
from validator.domain.vocabulary import MediumKind
from validator.records.city import CityView
from validator.records.codes import CATEGORY_CODE, MEDIUM_CODE, PURSE_CODE, TURNSTILE_CODE, EntryKind, Flag
from validator.records.device_messages import (
    CardMedium,
    CashMedium,
    DocumentMedium,
    KeyMedium,
    TapMessage,
    UidMedium,
)
from validator.records.journal import AnswerRecord, JournalEntry
from validator.records.packing import Digits, pack_values
from validator.records.usage import OwnEffect

# As plain numbers: an enum's members and operators cost a third of a microsecond each.
_LINE_UNKNOWN, _LINE_FOREIGN = Flag.LINE_UNKNOWN.value, Flag.LINE_FOREIGN.value
_VEHICLE_FOREIGN = Flag.VEHICLE_FOREIGN.value
_BY_CARD, _BY_UID = MEDIUM_CODE[MediumKind.CARD], MEDIUM_CODE[MediumKind.UID]
_BY_CASH = MEDIUM_CODE[MediumKind.CASH]
_BY_KEY, _BY_DOCUMENT = MEDIUM_CODE[MediumKind.KEY], MEDIUM_CODE[MediumKind.DOCUMENT]
_CATEGORY_CODE_OF = {category.value: code for category, code in CATEGORY_CODE.items()}


class TapFacts(msgspec.Struct, frozen=True, gc=False):
    """What is known of a tap before anything is decided; of its instants in microseconds, `dated_at` decides."""

    device: str
    message: TapMessage
    digest: bytes
    boarding: bytes
    dated_at: datetime
    occurred_micros: int
    received_micros: int
    dated_micros: int
    batch: bool
    card: ReadCard | None
    continues: UUID | None = None


def own_effect(decision: Accepted) -> OwnEffect | None:
    """What an accepted boarding changes in its holder's usage: the short form of the domain's `effects_of`.

    None where it changes nothing. A property holds both equal: tests/properties/test_usage_records.py.
    """
    uses = decision.uses
    if uses is None:
        if not decision.personal and not decision.continued:
            return None
        return OwnEffect(CATEGORY_CODE[decision.category], None, False, decision.personal)
    return OwnEffect(
        CATEGORY_CODE[decision.category], PURSE_CODE[uses.product], uses.counts_cap, decision.personal
    )


def remaining_after(
    decision: Accepted, usage: Consumed, holder: Holder, law: LawOfDay
) -> tuple[int | None, int | None]:
    """Half-fare boardings left in the month, and passes left in the purse, after a boarding of a holder's `usage`."""
    uses = decision.uses
    if uses is None:
        return None, None
    key = uses.product
    passes = 0
    for purse in holder.purses:
        if purse.key == key:
            passes = purse.bought - usage.repaid(key) - usage.spent(key) - 1
    if not uses.counts_cap or law.student_cap is None:
        return None, passes
    return law.student_cap - usage.half_fares(law.month) - 1, passes


def flags_of_place(line: str, vehicle: str, operator: str, view: CityView) -> int:
    """What a person should know of line and vehicle: unknown, or not those of the device's operator."""
    operators = view.line_operators.get(line)
    flags = 0
    if operators is None:
        flags = _LINE_UNKNOWN
    elif operator not in operators:
        flags = _LINE_FOREIGN
    if view.vehicle_operator.get(vehicle) != operator:
        flags |= _VEHICLE_FOREIGN
    return flags


def accepted_answer(
    facts: TapFacts,
    decision: Accepted,
    rules: Digits,
    flags: int,
    holder: Digits | None = None,
    own: OwnEffect | None = None,
    left: int | None = None,
    passes: int | None = None,
) -> AnswerRecord:
    """What is kept of an accepted boarding's answer."""
    occurred, at = facts.occurred_micros, facts.dated_micros
    return AnswerRecord(
        0,
        CATEGORY_CODE[decision.category],
        decision.fare_cents,
        decision.rider_cents,
        TURNSTILE_CODE[decision.turnstile],
        left,
        passes,
        rules,
        facts.device,
        holder,
        occurred,
        "" if holder is None else facts.message.vehicle,
        own,
        decision.city_cents,
        None if own is None else own.uses,
        decision.change_cents,
        flags,
        None if at == occurred else at,
    )


def refused_answer(
    facts: TapFacts, decision: Refused, rules: Digits, flags: int, holder: Digits | None = None
) -> AnswerRecord:
    """What is kept of a refused boarding's answer; `holder` is None where it cannot count for anybody."""
    occurred, at = facts.occurred_micros, facts.dated_micros
    return AnswerRecord(
        int(decision.reason),
        None,
        0,
        0,
        TURNSTILE_CODE[decision.turnstile],
        None,
        None,
        rules,
        facts.device,
        holder,
        occurred,
        "" if holder is None else facts.message.vehicle,
        None,
        0,
        None,
        0,
        flags,
        None if at == occurred else at,
    )


def packed_entry(
    facts: TapFacts, decision: Decision, answer: AnswerRecord, view: CityView, revision: int | None
) -> bytes:
    """The journal's entry of a decided tap, as bytes; `revision` is that of the holder's snapshot that was used.

    The first fields of a `JournalEntry` in their order, since to make one of 44 fields costs more than to decide. A
    test reads them back by name: tests/validator/test_tap_records.py.
    """
    message = facts.message
    kind, keyed, document, tendered = _medium(message.medium)
    holder = card_number = card_issue = None
    if facts.card is not None:
        token = facts.card.token
        holder, card_number, card_issue = facts.card.holder, token.card_number, token.issue
    continues = None if facts.continues is None else facts.continues.bytes
    rule = operator_cents = None
    if isinstance(decision, Accepted):
        rule, operator_cents = decision.rule.id, decision.operator_cents
    fields = (
        0 if rule is not None else 1,
        facts.device,
        message.epoch,
        message.device_seq,
        facts.digest,
        facts.received_micros,
        facts.batch,
        facts.boarding,
        facts.occurred_micros,
        answer.dated_micros,
        message.line,
        message.vehicle,
        message.trip,
        kind,
        keyed,
        document,
        tendered,
        holder,
        card_number,
        card_issue,
        revision,
        view.revision,
        answer.reason,
        answer.category,
        rule,
        answer.rules,
        answer.fare_cents,
        answer.rider_cents,
        answer.city_cents,
        operator_cents or 0,
        answer.change_cents,
        answer.turnstile,
        answer.flags,
        answer.month_boardings,
        answer.passes,
        answer.effect,
        continues,
    )
    return pack_values(fields)


def conflict_entry(facts: TapFacts, flags: int, note: str) -> JournalEntry:
    """The journal's entry of a tap whose id or sequence was used before; it changes nothing."""
    message = facts.message
    return JournalEntry(
        kind=int(EntryKind.CONFLICT),
        device=facts.device,
        epoch=message.epoch,
        seq=message.device_seq,
        digest=facts.digest,
        received_micros=facts.received_micros,
        batch=facts.batch,
        boarding=facts.boarding,
        occurred_micros=facts.occurred_micros,
        dated_micros=facts.dated_micros,
        line=message.line,
        vehicle=message.vehicle,
        trip=message.trip,
        flags=flags,
        note=note,
    )


def _medium(
    medium: object,
) -> tuple[int, int | None, str | None, int | None]:
    """Codes of a medium: kind, category keyed, kind of document, cash tendered."""
    if type(medium) is CardMedium:
        return _BY_CARD, None, None, None
    if type(medium) is CashMedium:
        return _BY_CASH, None, None, medium.tendered_cents
    if type(medium) is KeyMedium:
        return _BY_KEY, _CATEGORY_CODE_OF[medium.category], None, None
    if type(medium) is UidMedium:
        return _BY_UID, None, None, None
    assert type(medium) is DocumentMedium
    return _BY_DOCUMENT, _CATEGORY_CODE_OF[medium.category], medium.document, None

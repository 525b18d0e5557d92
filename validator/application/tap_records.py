"""From a decision to what is kept of it: the answer for replay, and the journal's entry. Pure."""

from datetime import datetime
from uuid import UUID

import msgspec

from validator.application.cards import ReadCard
from validator.domain.boarding import Accepted, Decision, Refused
from validator.domain.city import LawOfDay
from validator.domain.holder import Holder
from validator.domain.tap import Tap
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, MediumKind
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
from validator.records.usage import EffectRecord, LastRecord, month_code


class TapFacts(msgspec.Struct, frozen=True, gc=False):
    """What is known of a tap before anything is decided; its three instants also as microseconds."""

    device: str
    message: TapMessage
    digest: bytes
    boarding: bytes
    occurred_at: datetime
    received_at: datetime
    dated_at: datetime
    occurred_micros: int
    received_micros: int
    dated_micros: int
    batch: bool
    card: ReadCard | None
    continues: UUID | None = None


class Circumstances(msgspec.Struct, frozen=True, gc=False):
    """What a decision saw and did.

    Attributes:
        view: The city.
        flags: What a person should know.
        effect: What changes in the holder's usage.
        holder: Holder whom the boarding counts for, None for nobody.
        revision: Revision of the holder's snapshot, None where none was used.
        month_boardings: Half-fare boardings left in the month.
        passes: Passes left in the purse that was used.
    """

    view: CityView
    flags: int
    effect: EffectRecord | None = None
    holder: str | None = None
    revision: int | None = None
    month_boardings: int | None = None
    passes: int | None = None


def effect_of(decision: Accepted, tap: Tap, law: LawOfDay, dated_micros: int) -> EffectRecord | None:
    """What an accepted boarding changes in its holder's usage: the record of the domain's `effects_of`.

    None where it changes nothing. A property holds both equal: tests/properties/test_usage_records.py.
    """
    uses = decision.uses
    if uses is None and not decision.personal and not decision.continued:
        return None
    return EffectRecord(
        month_code(law.month),
        None if uses is None else PURSE_CODE[uses.product],
        uses is not None and uses.counts_cap,
        LastRecord(tap.boarding_id, dated_micros, tap.vehicle, CATEGORY_CODE[decision.category]),
        decision.personal,
    )


def remaining_after(
    decision: Accepted, usage: Usage, holder: Holder, law: LawOfDay
) -> tuple[int | None, int | None]:
    """Half-fare boardings left in the month, and passes left in the purse, after a boarding of a holder's `usage`."""
    uses = decision.uses
    if uses is None:
        return None, None
    passes = 0
    for purse in holder.purses:
        if purse.key == uses.product:
            passes = usage.remaining(uses.product, purse.bought) - 1
    if not uses.counts_cap or law.student_cap is None:
        return None, passes
    return law.student_cap - usage.half_fare.get(law.month, 0) - 1, passes


def flags_of_place(line: str, vehicle: str, operator: str, view: CityView) -> int:
    """What a person should know of line and vehicle: unknown, or not those of the device's operator."""
    operators = view.line_operators.get(line)
    flags = 0
    if operators is None:
        flags = int(Flag.LINE_UNKNOWN)
    elif operator not in operators:
        flags = int(Flag.LINE_FOREIGN)
    if view.vehicle_operator.get(vehicle) != operator:
        flags |= int(Flag.VEHICLE_FOREIGN)
    return flags


def answer_of(facts: TapFacts, decision: Decision, seen: Circumstances) -> AnswerRecord:
    """What is kept of the answer."""
    occurred, at = facts.occurred_micros, facts.dated_micros
    dated = None if at == occurred else at
    rules = seen.view.city.book.version
    if isinstance(decision, Accepted):
        return AnswerRecord(
            0,
            CATEGORY_CODE[decision.category],
            decision.fare_cents,
            decision.rider_cents,
            decision.change_cents,
            TURNSTILE_CODE[decision.turnstile],
            seen.month_boardings,
            seen.passes,
            rules,
            facts.device,
            seen.holder,
            occurred,
            effect=seen.effect,
            dated_micros=dated,
            city_cents=decision.city_cents,
            flags=seen.flags,
        )
    return AnswerRecord(
        int(decision.reason),
        None,
        0,
        0,
        0,
        TURNSTILE_CODE[decision.turnstile],
        None,
        None,
        rules,
        facts.device,
        seen.holder,
        occurred,
        dated_micros=dated,
        flags=seen.flags,
        vehicle="" if seen.holder is None else facts.message.vehicle,
    )


_Verdict = tuple[int, int | None, str | None, str, int, int, int, int, int]


def _verdict(decision: Accepted, seen: Circumstances) -> _Verdict:
    """Reason, category, rule, rule table, and the five amounts of an accepted boarding."""
    return (
        0,
        CATEGORY_CODE[decision.category],
        decision.rule.id,
        seen.view.city.book.version,
        decision.fare_cents,
        decision.rider_cents,
        decision.city_cents,
        decision.operator_cents,
        decision.change_cents,
    )


def _refusal(decision: Refused, seen: Circumstances) -> _Verdict:
    """The same of a refused one."""
    return (int(decision.reason), None, None, seen.view.city.book.version, 0, 0, 0, 0, 0)


def entry_of(facts: TapFacts, decision: Decision, seen: Circumstances) -> JournalEntry:
    """The journal's entry of a decided tap."""
    message = facts.message
    kind, keyed, document, tendered = _medium(message.medium)
    token = None if facts.card is None else facts.card.token
    verdict = _verdict(decision, seen) if isinstance(decision, Accepted) else _refusal(decision, seen)
    # By position, since 40 names cost more than the whole rest; the order is that of `JournalEntry`.
    return JournalEntry(
        0 if isinstance(decision, Accepted) else 1,
        facts.device,
        message.epoch,
        message.device_seq,
        facts.digest,
        facts.received_micros,
        facts.batch,
        facts.boarding,
        facts.occurred_micros,
        facts.dated_micros,
        message.line,
        message.vehicle,
        message.trip,
        kind,
        keyed,
        document,
        tendered,
        None if token is None else token.holder_id,
        None if token is None else token.card_number,
        None if token is None else token.issue,
        seen.revision,
        seen.view.revision,
        *verdict,
        TURNSTILE_CODE[decision.turnstile],
        () if seen.effect is None else (seen.effect,),
        None if facts.continues is None else facts.continues.bytes,
        flags=seen.flags,
        month_boardings=seen.month_boardings,
        passes=seen.passes,
    )


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
        return MEDIUM_CODE[MediumKind.CARD], None, None, None
    if type(medium) is CashMedium:
        return MEDIUM_CODE[MediumKind.CASH], None, None, medium.tendered_cents
    if type(medium) is KeyMedium:
        return MEDIUM_CODE[MediumKind.KEY], CATEGORY_CODE[Category(medium.category)], None, None
    if type(medium) is UidMedium:
        return MEDIUM_CODE[MediumKind.UID], None, None, None
    assert type(medium) is DocumentMedium
    return (
        MEDIUM_CODE[MediumKind.DOCUMENT],
        CATEGORY_CODE[Category(medium.category)],
        medium.document,
        None,
    )

"""From a decision to what is kept of it: the answer for replay, and the journal's entry. Pure."""

from datetime import datetime
from uuid import UUID

import msgspec

from validator.application.cards import ReadCard
from validator.domain.boarding import Accepted, Decision
from validator.domain.holder import Holder
from validator.domain.service_time import civil_date
from validator.domain.usage import Usage
from validator.domain.vocabulary import Category, MediumKind
from validator.records.city import CityView
from validator.records.codes import CATEGORY_CODE, MEDIUM_CODE, TURNSTILE_CODE, EntryKind, Flag
from validator.records.device_messages import CardMedium, CashMedium, DocumentMedium, KeyMedium, TapMessage
from validator.records.journal import AnswerRecord, JournalEntry
from validator.records.packing import to_micros
from validator.records.usage import EffectRecord


class TapFacts(msgspec.Struct, frozen=True, gc=False):
    """What is known of a tap before anything is decided."""

    device: str
    message: TapMessage
    digest: bytes
    boarding: UUID
    occurred_at: datetime
    received_at: datetime
    dated_at: datetime
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


def remaining_after(
    decision: Accepted, usage: Usage, holder: Holder, dated_at: datetime, view: CityView
) -> tuple[int | None, int | None]:
    """Half-fare boardings left in the month, and passes left in the purse, after a boarding."""
    uses = decision.uses
    if uses is None:
        return None, None
    passes = next(
        (usage.remaining(purse.key, purse.bought) for purse in holder.purses if purse.key == uses.product), 0
    )
    if not uses.counts_cap:
        return None, passes
    law = view.city.on(civil_date(dated_at))
    left = None if law.student_cap is None else law.student_cap - usage.half_fare.get(law.month, 0)
    return left, passes


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
    occurred = to_micros(facts.occurred_at)
    dated = None if facts.dated_at == facts.occurred_at else to_micros(facts.dated_at)
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


def entry_of(facts: TapFacts, decision: Decision, seen: Circumstances) -> JournalEntry:
    """The journal's entry of a decided tap."""
    message, medium = facts.message, facts.message.medium
    accepted = decision if isinstance(decision, Accepted) else None
    kind, keyed, document, tendered = _medium(medium)
    token = facts.card.token if facts.card is not None else None
    return JournalEntry(
        kind=0 if accepted is not None else 1,
        device=facts.device,
        epoch=message.epoch,
        seq=message.device_seq,
        digest=facts.digest,
        received_micros=to_micros(facts.received_at),
        batch=facts.batch,
        boarding=facts.boarding.bytes,
        occurred_micros=to_micros(facts.occurred_at),
        dated_micros=to_micros(facts.dated_at),
        line=message.line,
        vehicle=message.vehicle,
        trip=message.trip,
        medium=kind,
        keyed=keyed,
        document=document,
        tendered_cents=tendered,
        holder=None if token is None else token.holder_id,
        card_number=None if token is None else token.card_number,
        card_issue=None if token is None else token.issue,
        revision=seen.revision,
        city_revision=seen.view.revision,
        reason=0 if accepted is not None else int(decision.reason),  # type: ignore[union-attr]
        category=None if accepted is None else CATEGORY_CODE[accepted.category],
        rule=None if accepted is None else accepted.rule.id,
        rules=seen.view.city.book.version,
        fare_cents=0 if accepted is None else accepted.fare_cents,
        rider_cents=0 if accepted is None else accepted.rider_cents,
        city_cents=0 if accepted is None else accepted.city_cents,
        operator_cents=0 if accepted is None else accepted.operator_cents,
        change_cents=0 if accepted is None else accepted.change_cents,
        turnstile=TURNSTILE_CODE[decision.turnstile],
        effects=() if seen.effect is None else (seen.effect,),
        continues=None if facts.continues is None else facts.continues.bytes,
        flags=seen.flags,
        month_boardings=seen.month_boardings,
        passes=seen.passes,
    )


def conflict_entry(facts: TapFacts, flags: int) -> JournalEntry:
    """The journal's entry of a tap whose id was used for another tap."""
    message = facts.message
    return JournalEntry(
        kind=int(EntryKind.CONFLICT),
        device=facts.device,
        epoch=message.epoch,
        seq=message.device_seq,
        digest=facts.digest,
        received_micros=to_micros(facts.received_at),
        batch=facts.batch,
        boarding=facts.boarding.bytes,
        occurred_micros=to_micros(facts.occurred_at),
        dated_micros=to_micros(facts.dated_at),
        line=message.line,
        vehicle=message.vehicle,
        trip=message.trip,
        flags=flags,
        note="boarding id used before for another tap",
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
    assert type(medium) is DocumentMedium
    return (
        MEDIUM_CODE[MediumKind.DOCUMENT],
        CATEGORY_CODE[Category(medium.category)],
        medium.document,
        None,
    )

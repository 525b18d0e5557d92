"""One tap on its way to an answer: read, judged against its card, decided, recorded.

Replay first: the same id and the same bytes get the same answer, refusals too; the same id with other bytes is a
conflict, and the first stands.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from validator.application.cards import CardReader, ReadCard, is_of_valid_key, is_signed, refusal_of_card
from validator.application.current_city import CurrentCity
from validator.application.devices import Device
from validator.application.errors import (
    BoardingError,
    BoardingIdConflict,
    CityMissing,
    Damaged,
    DeviceUnknown,
    RegisterBehind,
    UsageLost,
)
from validator.application.holders import HolderReader, ReadHolder
from validator.application.ports import Commit, Undecided, Values, Verify
from validator.application.tap_records import (
    TapFacts,
    accepted_answer,
    conflict_entry,
    flags_of_place,
    own_effect,
    packed_entry,
    refused_answer,
    remaining_after,
)
from validator.domain.boarding import Continued, Decision, FareUnknown, Refused, decide
from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.reasons import Reason
from validator.domain.tap import CARD, UID, Medium, Tap
from validator.domain.usage import Consumed, Usage
from validator.domain.vocabulary import Category, MediumKind
from validator.records.city import CityView
from validator.records.codes import Flag
from validator.records.device_messages import CardMedium, CashMedium, DocumentMedium, KeyMedium, UidMedium
from validator.records.journal import AnswerRecord, pack_answer, pack_entry, pack_id, unpack_answer
from validator.records.keys import durable_key, raw_id_key, raw_seen_key
from validator.records.packing import Digits
from validator.records.snapshot import DurableRecord, unpack_durable
from validator.records.usage import LastRecord, after_ride, month_code, pack_usage_record, unpack_usage_record

# As plain numbers: an enum's own operators cost a microsecond each.
_QUARANTINED = Flag.CLOCK_QUARANTINE.value
_REVOKED = Flag.REVOKED_DEVICE.value
_CLOCK_INVALID = Refused(Reason.CLOCK_INVALID)
_TOKEN_INVALID = Refused(Reason.TOKEN_INVALID)
_NOTHING_USED = Usage()
_NOTHING_DURABLE = DurableRecord()
_CASH, _KEY, _DOCUMENT = MediumKind.CASH, MediumKind.KEY, MediumKind.DOCUMENT


class Fate(StrEnum):
    """What became of an item."""

    OPEN = "open"
    ANSWERED = "answered"
    REPLAYED = "replayed"
    RECORDED = "recorded"
    """Durable already; the answer itself is no longer kept."""
    CONFLICT = "conflict"
    FAILED = "failed"


_OPEN, _ANSWERED, _CONFLICT = Fate.OPEN, Fate.ANSWERED, Fate.CONFLICT


class Desk(msgspec.Struct, frozen=True, gc=False):
    """What every attempt is decided with."""

    city: CurrentCity
    cards: CardReader
    holders: HolderReader
    verify: Verify


class Attempt:
    """A tap as an item of the hot state.

    Attributes:
        fate: What became of it.
        answer: What was answered, now or before.
        durable: What of the device's epoch is durable in SQL.
        error: Why it has no answer.
        home: Shard of the holder that its token names, else of its device.
    """

    reads_on = False

    def __init__(self, device: Device, facts: TapFacts, flags: int, desk: Desk) -> None:
        card = facts.card
        self.device = device
        self.facts = facts
        self.boarding = facts.boarding
        self.home = device.shard if card is None else card.home
        self.fate = _OPEN
        self.answer: AnswerRecord | None = None
        self.durable = _NOTHING_DURABLE
        self.error: BoardingError | None = None
        self.claim: tuple[bytes, bytes] | None = (
            raw_id_key(facts.boarding),
            pack_id(facts.digest, self.home),
        )
        self._flags = flags
        self._desk = desk
        self._seen_key = raw_seen_key(self.home, facts.boarding)
        self._durable_key = durable_key(device.id, facts.message.epoch)
        self._decided: AnswerRecord | None = None
        self._without_answer = _CONFLICT

    def first_keys(self) -> Sequence[bytes]:
        """The answer kept before, the device, and the holder with its usage."""
        card = self.facts.card
        if card is None:
            return (self._seen_key, self.device.key, self._durable_key)
        return (self._seen_key, self.device.key, self._durable_key, card.holder_key, card.usage_key)

    def more_keys(self, values: Values) -> Sequence[bytes]:
        """Nothing more."""
        return ()

    def decide(self, values: Values) -> Commit | None:
        """Answer from what is kept, or decide.

        Raises:
            Undecided: the same tap is being committed in this very cycle.
            BoardingError: no answer is possible now.
        """
        device, claim = self.device, self.claim
        assert claim is not None
        if not device.sees(values[device.key]) or (device.revoked and not self.facts.batch):
            raise DeviceUnknown
        self.durable = unpack_durable(values[self._durable_key])
        stands = values[claim[0]]
        if stands is None:
            raise Damaged
        if stands != claim[1]:
            return self._conflict()
        seen = values[self._seen_key]
        if seen is not None:
            if self._seen_key in values.pending:
                raise Undecided
            self.replayed(seen)
            return None
        if self.durable.covers(self.facts.message.device_seq):
            self._without_answer = Fate.RECORDED
            return self._evidence("came when its sequence was a row already")
        return self._judge(values)

    def _conflict(self) -> Commit:
        self._without_answer = Fate.CONFLICT
        return self._evidence("boarding id used before for another tap")

    def _evidence(self, note: str) -> Commit:
        """An entry that changes nothing: the ingester drops the same tap again, and keeps another one as a fork."""
        self._decided = None
        return Commit(self.device.shard, pack_entry(conflict_entry(self.facts, self._flags, note)))

    def _judge(self, values: Values) -> Commit:
        facts = self.facts
        view = self._desk.city.view()
        card = facts.card
        flags = self._flags | flags_of_place(
            facts.message.line, facts.message.vehicle, self.device.record.operator, view
        )
        if self.device.revoked:
            flags |= _REVOKED
        if flags & _QUARANTINED:
            return self._refused(_CLOCK_INVALID, view, flags)
        if card is None:
            if type(facts.message.medium) is CardMedium:
                return self._refused(_TOKEN_INVALID, view, flags)
            decision = self._decide(self._tap(view, _NOTHING_USED), None, _NOTHING_USED, view)
            if isinstance(decision, Refused):
                return self._refused(decision, view, flags)
            answer = accepted_answer(self.facts, decision, view.rules, flags)
            return self._commit(answer, packed_entry(facts, decision, answer, view, None))
        return self._judge_card(card, values, view, flags)

    def _judge_card(self, card: ReadCard, values: Values, view: CityView, flags: int) -> Commit:
        snapshot = values[card.holder_key]
        if snapshot is None:
            if self._is_signed(card, view):
                raise RegisterBehind
            return self._refused(_TOKEN_INVALID, view, flags)
        read = self._desk.holders.read(card.holder_key, snapshot)
        refusal = refusal_of_card(card, read.cards)
        if refusal is None and not self._is_of_valid_key(card, view):
            refusal = Reason.TOKEN_INVALID
        if refusal is not None:
            if refusal is not Reason.TOKEN_INVALID and not self._is_signed(card, view):
                refusal = Reason.TOKEN_INVALID  # whatever a forged token says of itself
            counts = refusal in (Reason.CARD_REPLACED, Reason.CARD_BLOCKED)
            holder = card.holder if counts else None
            return self._refused(Refused(refusal), view, flags, holder, read.revision)
        usage_was = values[card.usage_key]
        if usage_was is None:
            raise UsageLost(card.home)
        return self._judge_holder(card, read, usage_was, view, flags)

    def _judge_holder(
        self, card: ReadCard, read: ReadHolder, usage_was: bytes, view: CityView, flags: int
    ) -> Commit:
        facts = self.facts
        usage = unpack_usage_record(usage_was)
        tap = self._tap(view, usage)
        decision = self._decide(tap, read.holder, usage, view)
        holder = card.holder
        if isinstance(decision, Refused):
            return self._refused(decision, view, flags, holder, read.revision, card.usage_key, usage_was)
        own = left = passes = None
        after = b""
        if not flags & _REVOKED:
            law = view.city.at(facts.dated_at)
            left, passes = remaining_after(decision, usage, read.holder, law)
            own = own_effect(decision)
            if own is not None:
                assert own.category is not None
                last = LastRecord(facts.boarding, facts.dated_micros, tap.vehicle, own.category)
                after = pack_usage_record(after_ride(usage, month_code(law.month), own, last))
        answer = accepted_answer(facts, decision, view.rules, flags, holder, own, left, passes)
        entry = packed_entry(facts, decision, answer, view, read.revision)
        return self._commit(answer, entry, card.usage_key, usage_was, after)

    def _refused(
        self,
        decision: Refused,
        view: CityView,
        flags: int,
        holder: Digits | None = None,
        revision: int | None = None,
        usage_key: bytes | None = None,
        usage_was: bytes = b"",
    ) -> Commit:
        answer = refused_answer(self.facts, decision, view.rules, flags, holder)
        entry = packed_entry(self.facts, decision, answer, view, revision)
        return self._commit(answer, entry, usage_key, usage_was)

    def _decide(self, tap: Tap, holder: Holder | None, usage: Consumed, view: CityView) -> Decision:
        try:
            return decide(tap, holder, usage, view.city)
        except FareUnknown as error:
            raise CityMissing from error

    def _tap(self, view: CityView, usage: Consumed) -> Tap:
        facts = self.facts
        message = facts.message
        return Tap(
            message.boarding_id.lower(),
            facts.dated_at,
            message.line,
            view.networks.get(message.line),
            message.vehicle,
            CARD if type(message.medium) is CardMedium else _medium_of(message.medium),
            None if facts.continues is None else _continued(facts.continues, facts.dated_at, usage, view),
        )

    def _is_of_valid_key(self, card: ReadCard, view: CityView) -> bool:
        return is_of_valid_key(card, view, self.facts.dated_micros)

    def _is_signed(self, card: ReadCard, view: CityView) -> bool:
        return is_signed(card, view, self.facts.dated_micros, self._desk.verify)

    def _commit(
        self,
        answer: AnswerRecord,
        entry: bytes,
        usage_key: bytes | None = None,
        usage_was: bytes = b"",
        usage_now: bytes = b"",
    ) -> Commit:
        self._decided = answer
        return Commit(
            self.home,
            entry,
            self._seen_key,
            b"",
            pack_answer(answer),
            usage_key,
            usage_was,
            usage_now,
        )

    def committed(self) -> None:
        """The answer stands."""
        self.answer = self._decided
        self.fate = self._without_answer if self._decided is None else _ANSWERED

    def replayed(self, seen: bytes) -> None:
        """The same tap was answered before; that answer stands."""
        self.answer = unpack_answer(seen)
        self.fate = Fate.REPLAYED

    def failed(self, error: BoardingError) -> None:
        """No answer."""
        if self.fate is _OPEN:
            self.fate = Fate.FAILED
            self.error = error

    def raise_failure(self) -> None:
        """Raise what stands in the way of an answer.

        Raises:
            BoardingError: as the item failed, or the id belongs to another tap.
        """
        if self.error is not None:
            raise self.error
        if self.fate is _CONFLICT:
            raise BoardingIdConflict


def _medium_of(medium: object) -> Medium:
    """The domain's medium of a message's that is no card."""
    if type(medium) is CashMedium:
        return Medium(_CASH, None, Cents(medium.tendered_cents))
    if type(medium) is UidMedium:
        return UID
    assert isinstance(medium, KeyMedium | DocumentMedium)
    return Medium(_KEY if type(medium) is KeyMedium else _DOCUMENT, Category(medium.category))


def _continued(continues: UUID, at: datetime, usage: Consumed, view: CityView) -> Continued | None:
    """The boarding that a tap continues: the holder's last one, if its vehicle was declared broken since."""
    latest = usage.latest
    if latest is None or latest.boarding_id != str(continues):
        return None
    if not view.broke_down(latest.vehicle, latest.occurred_at, at):
        return None
    return Continued(latest.occurred_at, latest.vehicle, latest.category)

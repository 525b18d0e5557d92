"""The journal: one entry for each sequence of a device, and the answer that is kept for replay."""

from functools import lru_cache

import msgspec
from msgspec.structs import replace

from validator.records.codes import EntryKind
from validator.records.keys import SHARDS
from validator.records.packing import Digits, Packed, RecordError, from_digits, pack, pack_values, unpack
from validator.records.usage import EffectRecord, OwnEffect


class AnswerRecord(Packed, frozen=True):
    """What was answered to a boarding; amounts in centavos, instants in microseconds.

    The fields after `purse` have their defaults in most answers, which then end there (`pack_answer`).

    Attributes:
        reason: Code of the reason; 0 is accepted.
        category: Code of the category, None for a refusal without one.
        fare_cents, rider_cents: Parts that the device may know.
        turnstile: Code of what the turnstile does.
        month_boardings: Half-fare boardings left in the month, None where the ride counts in no cap.
        passes: Passes left in the purse that was used, None where none was.
        rules: Version of the rule table.
        device: Device that posted it; only this one may annul it.
        holder: Holder whom it counts for, None for a boarding of nobody.
        occurred_micros: The device's own instant of the tap.
        vehicle: Vehicle of a boarding that counts, or may count, for a holder.
        effect: What it changed in usage, None for nothing.
        city_cents: What the city would repay; journal and verdict only, never sent online.
        purse: Code of the purse whose pass was answered to pay, whatever the device did about it; None for no pass.
        change_cents: Change of the cash tendered; the device may know it.
        flags: `Flag`s of the journal entry, for the verdict of a repeated batch.
        dated_micros: The instant that the service decided on where it did not believe the device's clock.
        undone: Whether its effect was taken back (annulled, or the rider was held).
        released: What the device did: None until its release arrives.
    """

    reason: int
    category: int | None
    fare_cents: int
    rider_cents: int
    turnstile: int
    month_boardings: int | None
    passes: int | None
    rules: Digits
    device: str
    holder: Digits | None
    occurred_micros: int
    vehicle: str = ""
    effect: OwnEffect | None = None
    city_cents: int = 0
    purse: int | None = None
    change_cents: int = 0
    flags: int = 0
    dated_micros: int | None = None
    undone: bool = False
    released: bool | None = None

    @property
    def holder_id(self) -> str | None:
        """The holder as a text."""
        return None if self.holder is None else from_digits(self.holder)

    @property
    def rules_version(self) -> str:
        """The version of the rule table as a text."""
        return _version(self.rules)

    @property
    def decided_micros(self) -> int:
        """The instant that decided."""
        return self.occurred_micros if self.dated_micros is None else self.dated_micros


class JournalEntry(Packed, frozen=True):
    """One entry of a shard's journal stream; the ingester writes it as exactly one row.

    Attributes:
        kind: Code of `EntryKind`.
        device: Device.
        epoch: Its epoch.
        seq: Its sequence; 0 for a head, which has none.
        digest: SHA-256 over the device id and the exact bytes.
        received_micros: When the service received it.
        batch: Whether it came in a batch.
        boarding: Raw bytes of the boarding id, None where none could be read.
        occurred_micros: The device's own instant.
        dated_micros: The instant that decides: age, fare, rule, cap and month follow it. On the wire a tap leaves it
            out where it is `occurred_micros`.
        line, vehicle, trip: As the tap says.
        medium: Code of the medium's kind.
        keyed: Code of the category that the driver keyed or that a document proves.
        document: Kind of the document shown.
        tendered_cents: Cash tendered.
        holder: Holder named by the token.
        card_number, card_issue: Card.
        revision: Revision of the holder's snapshot that the decision saw.
        city_revision: Revision of the city that the decision saw.
        reason, category, rule, rules: The decision: codes, id of the rule row, version of the rule table.
        fare_cents, rider_cents, city_cents, operator_cents, change_cents: The decision's parts.
        turnstile: Code of what the turnstile does.
        flags: `Flag`s.
        month_boardings, passes: What the answer said to remain, so that a rebuild restores the same answer.
        own: Of a tap: what it changed in its holder's usage. Only on the wire: whoever reads an entry finds `effects`.
        continues: Raw bytes of the id of the boarding that this one continues.
        effects: What changed in the holder's usage, in order.
        released: Of a release: whether the rider was let through.
        ride_class: Of a release: the class released on.
        purse: Of a release: the purse released on.
        list_version: Of a release: version of the list that the device decided with.
        online: Of a release: whether the device had the server's answer.
        raw: The exact bytes of a rejected entry; of a head, its `HeadRecord`.
        note: Why an entry was rejected, or what a conflict was about.
    """

    kind: int
    device: str
    epoch: int
    seq: int
    digest: bytes
    received_micros: int
    batch: bool = False
    boarding: bytes | None = None
    occurred_micros: int | None = None
    dated_micros: int | None = None
    line: str | None = None
    vehicle: str | None = None
    trip: str | None = None
    medium: int | None = None
    keyed: int | None = None
    document: str | None = None
    tendered_cents: int | None = None
    holder: Digits | None = None
    card_number: int | None = None
    card_issue: int | None = None
    revision: int | None = None
    city_revision: int | None = None
    reason: int | None = None
    category: int | None = None
    rule: str | None = None
    rules: Digits | None = None
    fare_cents: int = 0
    rider_cents: int = 0
    city_cents: int = 0
    operator_cents: int = 0
    change_cents: int = 0
    turnstile: int | None = None
    flags: int = 0
    month_boardings: int | None = None
    passes: int | None = None
    own: OwnEffect | None = None
    continues: bytes | None = None
    effects: tuple[EffectRecord, ...] = ()
    released: bool | None = None
    ride_class: str | None = None
    purse: str | None = None
    list_version: int | None = None
    online: bool | None = None
    raw: bytes | None = None
    note: str | None = None

    @property
    def holder_id(self) -> str | None:
        """The holder as a text."""
        return None if self.holder is None else from_digits(self.holder)

    @property
    def rules_version(self) -> str | None:
        """The version of the rule table as a text."""
        return None if self.rules is None else _version(self.rules)


class HeadRecord(Packed, frozen=True):
    """A signed head of a device's chain: covers all entries of the epoch up to `seq`."""

    seq: int
    head: bytes
    signature: bytes
    closing: bool = False


class IdRecord(Packed, frozen=True):
    """What stands under a boarding id: the first 16 bytes of its tap's digest, and its home shard."""

    digest: bytes
    home: int


_version = lru_cache(maxsize=64)(from_digits)
_REFUSAL = EntryKind.REFUSAL.value
_HOMES = tuple(bytes((home,)) for home in range(SHARDS))
_answer_decoder = msgspec.msgpack.Decoder(AnswerRecord)
_entry_decoder = msgspec.msgpack.Decoder(JournalEntry)
_head_decoder = msgspec.msgpack.Decoder(HeadRecord)


def pack_answer(record: AnswerRecord) -> bytes:
    """An answer as bytes; equal answers give equal bytes.

    A plain one ends after its purse. With fifteen fields its array's head is two bytes shorter too, and it fits what
    Redis allocates one step earlier.
    """
    if (
        record.change_cents
        or record.flags
        or record.dated_micros is not None
        or record.undone
        or record.released is not None
    ):
        return pack(record)
    return pack_values(
        (
            record.reason,
            record.category,
            record.fare_cents,
            record.rider_cents,
            record.turnstile,
            record.month_boardings,
            record.passes,
            record.rules,
            record.device,
            record.holder,
            record.occurred_micros,
            record.vehicle,
            record.effect,
            record.city_cents,
            record.purse,
        )
    )


def unpack_answer(data: bytes) -> AnswerRecord:
    """An answer from its bytes."""
    return unpack(data, _answer_decoder)


def pack_entry(entry: JournalEntry) -> bytes:
    """A journal entry as bytes."""
    return pack(entry)


def unpack_entry(data: bytes) -> JournalEntry:
    """A journal entry from its bytes.

    Raises:
        RecordError: a poison entry.
    """
    entry = unpack(data, _entry_decoder)
    if entry.own is None and (entry.dated_micros is not None or entry.kind > _REFUSAL):
        return entry
    dated = entry.occurred_micros if entry.dated_micros is None else entry.dated_micros
    try:
        return replace(entry, dated_micros=dated, effects=whole_effects(entry), own=None)
    except OverflowError as error:
        raise RecordError(f"an instant that no calendar has: {dated}") from error


def whole_effects(entry: JournalEntry) -> tuple[EffectRecord, ...]:
    """What an entry changed in its holder's usage, whichever way it says so."""
    own, boarding = entry.own, entry.boarding
    micros = entry.occurred_micros if entry.dated_micros is None else entry.dated_micros
    if own is None or boarding is None or micros is None:
        return entry.effects
    return (own.whole(boarding, micros, entry.vehicle or ""),)


def pack_head(record: HeadRecord) -> bytes:
    """A head as bytes."""
    return pack(record)


def unpack_head(data: bytes) -> HeadRecord:
    """A head from its bytes."""
    return unpack(data, _head_decoder)


def pack_id(digest: bytes, home: int) -> bytes:
    """What stands under a boarding id, as bytes: digest and home shard, without a frame."""
    return digest[:16] + _HOMES[home]


def unpack_id(data: bytes) -> IdRecord:
    """What stands under a boarding id."""
    return IdRecord(bytes(data[:16]), data[16])


STREAM_FIELD_ENTRY = b"e"
STREAM_FIELD_COMMIT = b"n"
STREAM_FIELD_GENERATION = b"g"

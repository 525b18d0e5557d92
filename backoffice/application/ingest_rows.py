"""From journal entries to rows: pure. Whatever cannot become the row it should be becomes a rejected row instead."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from backoffice.adapters.journal_stream import StreamItem
from backoffice.persistence.journal_effects import pack_effects
from validator.domain.reasons import Reason
from validator.domain.service_time import Month, civil_date, month_of
from validator.records.codes import CATEGORIES, MEDIA, TURNSTILES, EntryKind
from validator.records.journal import JournalEntry, unpack_head
from validator.records.packing import RecordError, from_micros

Row = dict[str, Any]
Key = tuple[str, int, int]
"""Device, epoch, sequence."""

T = TypeVar("T")

POISON = "POISON"
_INT_MAX = 2**31 - 1
_BIG_MAX = 2**63 - 1
_WORD_MAX = 24
_HOUR_MICROS = 3_600_000_000
_WHOLE_HOURS_SINCE = -1_700_000_000_000_000
"""Microseconds of 1916: since then the city's offset has always been whole hours, so an hour lies in one month."""


class Unfit(ValueError):
    """An entry that cannot become the row that its kind asks for; the message says why."""


def key_of(entry: JournalEntry) -> Key:
    """Device, epoch and sequence of an entry.

    Raises:
        Unfit: they cannot stand in `tap_keys`.
    """
    if not entry.device:
        raise Unfit("no device")
    if len(entry.digest) != 32:
        raise Unfit(f"digest of {len(entry.digest)} bytes")
    return _text(entry.device) or "", _count(entry.epoch), _count(entry.seq)


def boarding_row(item: StreamItem, entry: JournalEntry) -> Row:
    """The row of a boarding or refusal.

    Raises:
        Unfit: a field that is missing or out of its list or bounds.
    """
    dated = _needed(
        entry.dated_micros if entry.dated_micros is not None else entry.occurred_micros, "instant"
    )
    device, epoch, seq = key_of(entry)
    return {
        "month": month_at(dated),
        "device": device,
        "epoch": epoch,
        "seq": seq,
        "kind": EntryKind(entry.kind).name,
        "boarding_id": _uuid(_needed(entry.boarding, "boarding id")),
        "digest": entry.digest,
        "received_at": _instant(entry.received_micros),
        "batch": entry.batch,
        "occurred_at": None if entry.occurred_micros is None else _instant(entry.occurred_micros),
        "dated_at": _instant(dated),
        "line": _text(entry.line),
        "vehicle": _text(entry.vehicle),
        "trip": _text(entry.trip),
        "medium": _listed(MEDIA, entry.medium),
        "keyed": _listed(CATEGORIES, entry.keyed),
        "document": _text(entry.document),
        "tendered_cents": _big(entry.tendered_cents),
        "holder": _holder(entry.holder_id),
        "card_number": _big(entry.card_number),
        "card_issue": _int(entry.card_issue),
        "revision": _big(entry.revision),
        "city_revision": _big(entry.city_revision),
        "reason": _reason(entry.reason),
        "category": _listed(CATEGORIES, entry.category),
        "rule": _text(entry.rule),
        "rules": _text(entry.rules_version),
        "fare_cents": _big(entry.fare_cents),
        "rider_cents": _big(entry.rider_cents),
        "city_cents": _big(entry.city_cents),
        "operator_cents": _big(entry.operator_cents),
        "change_cents": _big(entry.change_cents),
        "turnstile": _listed(TURNSTILES, entry.turnstile),
        "month_boardings": _big(entry.month_boardings),
        "passes": _big(entry.passes),
        "effects": pack_effects(entry.effects),
        "continues": None if entry.continues is None else _uuid(entry.continues),
        "flags": _int(entry.flags),
        **commit_of(item),
    }


def release_row(item: StreamItem, entry: JournalEntry) -> Row:
    """The row of a release.

    Raises:
        Unfit: as for a boarding.
    """
    device, epoch, seq = key_of(entry)
    return {
        "device": device,
        "epoch": epoch,
        "seq": seq,
        "boarding_id": _uuid(_needed(entry.boarding, "boarding id")),
        "digest": entry.digest,
        "received_at": _instant(entry.received_micros),
        "released": _needed(entry.released, "released"),
        "ride_class": _word(entry.ride_class),
        "purse": _text(entry.purse),
        "list_version": _big(entry.list_version),
        "online": entry.online,
        "holder": _holder(entry.holder_id),
        "effects": pack_effects(entry.effects),
        "flags": _int(entry.flags),
        **commit_of(item),
    }


def annulment_row(item: StreamItem, entry: JournalEntry) -> Row:
    """The row of an annulment.

    Raises:
        Unfit: as for a boarding.
    """
    device, epoch, seq = key_of(entry)
    return {
        "device": device,
        "epoch": epoch,
        "seq": seq,
        "boarding_id": _uuid(_needed(entry.boarding, "boarding id")),
        "digest": entry.digest,
        "received_at": _instant(entry.received_micros),
        "batch": entry.batch,
        "occurred_at": None if entry.occurred_micros is None else _instant(entry.occurred_micros),
        "holder": _holder(entry.holder_id),
        "effects": pack_effects(entry.effects),
        "flags": _int(entry.flags),
        **commit_of(item),
    }


def head_row(entry: JournalEntry) -> Row:
    """The row of a signed head, not judged yet.

    Raises:
        Unfit: bytes that are no head.
    """
    if not entry.device:
        raise Unfit("no device")
    try:
        head = unpack_head(_needed(entry.raw, "head"))
    except RecordError as error:
        raise Unfit(str(error)) from None
    if len(head.head) != 32:
        raise Unfit(f"head of {len(head.head)} bytes")
    return {
        "device": _text(entry.device),
        "epoch": _count(entry.epoch),
        "seq": _count(head.seq),
        "head": head.head,
        "signature": head.signature,
        "closing": head.closing,
        "received_at": _instant(entry.received_micros),
        "verdict": "WAITING",
    }


def rejected_row(item: StreamItem, entry: JournalEntry, kind: str, note: str) -> Row:
    """The row of a conflict, a rejected entry, a loss that the device declared, or an entry that fits no other."""
    try:
        boarding = None if entry.boarding is None else _uuid(entry.boarding)
    except Unfit:
        boarding = None
    device, epoch, seq = key_of(entry)
    return {
        "kind": kind,
        "device": device,
        "epoch": epoch,
        "seq": seq,
        "boarding_id": boarding,
        "digest": entry.digest,
        "received_at": _received(entry),
        "raw": entry.raw if entry.raw is not None else item.entry,
        "note": note.replace("\x00", "\ufffd"),
        "holder": _holder_or_none(entry.holder_id),
        "effects": pack_effects(entry.effects),
        "flags": entry.flags if 0 <= entry.flags <= _INT_MAX else 0,
        "stream_id": item.stream_id,
        **commit_of(item),
    }


def poison_row(item: StreamItem, note: str) -> Row:
    """The row of bytes that name no device and no sequence: kept with the place where they stood."""
    return {
        "kind": POISON,
        "device": None,
        "epoch": None,
        "seq": None,
        "boarding_id": None,
        "digest": None,
        "received_at": None,
        "raw": item.entry,
        "note": note.replace("\x00", "\ufffd"),
        "holder": None,
        "effects": None,
        "flags": 0,
        "stream_id": item.stream_id,
        **commit_of(item),
    }


def fork_row(item: StreamItem, entry: JournalEntry, note: str) -> Row:
    """The row of a second, different entry under a sequence that was used already."""
    rejected = rejected_row(item, entry, "FORK", note)
    kept = ("device", "epoch", "seq", "boarding_id", "digest", "holder", "effects")
    return {
        **{name: rejected[name] for name in kept},
        "kind": EntryKind(entry.kind).name,
        "received_at": rejected["received_at"] or from_micros(0),
        "raw": item.entry,
        "note": rejected["note"],
        **commit_of(item),
    }


def commit_of(item: StreamItem) -> Row:
    """Where a commit stands in its shard."""
    return {"shard": item.shard, "generation": min(item.generation, _INT_MAX), "commit_no": item.commit_no}


ROW_OF: dict[EntryKind, tuple[str, Callable[[StreamItem, JournalEntry], Row]]] = {
    EntryKind.BOARDING: ("boardings", boarding_row),
    EntryKind.REFUSAL: ("boardings", boarding_row),
    EntryKind.RELEASE: ("releases", release_row),
    EntryKind.ANNULMENT: ("annulments", annulment_row),
}
"""Table and row of the kinds that have one of their own; the others are rejected rows."""


def month_at(micros: int) -> Month:
    """The civil month of an instant in microseconds."""
    if micros >= _WHOLE_HOURS_SINCE:
        return _month_of_hour(micros // _HOUR_MICROS)
    return _month(micros)


@functools.lru_cache(maxsize=4096)
def _month_of_hour(hour: int) -> Month:
    return _month(hour * _HOUR_MICROS)


def _month(micros: int) -> Month:
    try:
        return month_of(civil_date(_instant(micros)))
    except OverflowError:
        raise Unfit("instant outside the calendar") from None


def _instant(micros: int) -> Any:
    try:
        return from_micros(micros)
    except OverflowError:
        raise Unfit("instant outside the calendar") from None


def _received(entry: JournalEntry) -> Any:
    try:
        return _instant(entry.received_micros)
    except Unfit:
        return None


def _needed(value: T | None, what: str) -> T:
    if value is None:
        raise Unfit(f"no {what}")
    return value


def _uuid(raw: bytes) -> str:
    if len(raw) != 16:
        raise Unfit(f"boarding id of {len(raw)} bytes")
    return str(UUID(bytes=raw))


def _text(text: str | None) -> str | None:
    if text is not None and "\x00" in text:
        raise Unfit("a text holds a zero byte")
    return text


def _word(text: str | None) -> str | None:
    if text is not None and len(text) > _WORD_MAX:
        raise Unfit("a word is too long")
    return _text(text)


def _holder(text: str | None) -> str | None:
    if text is not None and len(text) != 16:
        raise Unfit("a holder's id of another length than 16")
    return _text(text)


def _holder_or_none(text: str | None) -> str | None:
    return text if text is not None and len(text) == 16 and "\x00" not in text else None


def _listed(words: Sequence[Any], code: int | None) -> str | None:
    if code is None:
        return None
    if not 0 <= code < len(words):
        raise Unfit(f"code {code} is in no list")
    word: str = words[code].value
    return word


def _reason(code: int | None) -> str:
    try:
        return Reason(_needed(code, "reason")).name
    except ValueError:
        raise Unfit(f"reason {code} is in no list") from None


def _big(number: int | None) -> int | None:
    if number is not None and not -_BIG_MAX <= number <= _BIG_MAX:
        raise Unfit("a number is too large")
    return number


def _int(number: int | None) -> int | None:
    if number is not None and not -_INT_MAX <= number <= _INT_MAX:
        raise Unfit("a number is too large")
    return number


def _count(number: int) -> int:
    if not 1 <= number <= _BIG_MAX:
        raise Unfit(f"epoch or sequence {number} is out of bounds")
    return number

"""Usage in Redis: written by the commit script, and by a rebuild as a fold over the journal's effects."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from validator.domain.service_time import Month
from validator.domain.usage import MONTHS_KEPT, Effects, LastBoarding, Usage
from validator.records.codes import CATEGORIES, CATEGORY_CODE, PURSE_CODE, PURSES
from validator.records.packing import Packed, from_micros, pack, to_micros, unpack


class LastRecord(Packed, frozen=True):
    """A boarding kept in usage."""

    boarding_id: str
    occurred_micros: int
    vehicle: str
    category: int


class UsageRecord(Packed, frozen=True):
    """A holder's usage: pairs of (month as AAAAMM, count) and (purse code, count), sorted."""

    half_fare: tuple[tuple[int, int], ...] = ()
    used: tuple[tuple[int, int], ...] = ()
    returned: tuple[tuple[int, int], ...] = ()
    refunded: tuple[tuple[int, int], ...] = ()
    last: LastRecord | None = None
    before: LastRecord | None = None
    by_purse: LastRecord | None = None


class EffectRecord(Packed, frozen=True):
    """What one journal entry changed in its holder's usage: a boarding's effects, or with `undone` their annulment."""

    month: int
    uses: int | None = None
    counts_cap: bool = False
    boarding: LastRecord | None = None
    personal: bool = False
    undone: bool = False


# A month, a purse and a count each; nobody writes into the mappings of a `Usage`.
_NONE: dict[Any, int] = {}
_usage_decoder = msgspec.msgpack.Decoder(UsageRecord)


def pack_usage(usage: Usage) -> bytes:
    """Usage as bytes; equal usage gives equal bytes."""
    return pack(
        UsageRecord(
            tuple(sorted([(month_code(m), n) for m, n in usage.half_fare.items()]))
            if usage.half_fare
            else (),
            _counts(usage.used),
            _counts(usage.returned),
            _counts(usage.refunded),
            last_record(usage.last),
            last_record(usage.before),
            last_record(usage.by_purse),
        )
    )


def pack_usage_record(record: UsageRecord) -> bytes:
    """A record of usage as bytes."""
    return pack(record)


def unpack_usage_record(data: bytes) -> UsageRecord:
    """A record of usage from its bytes."""
    return unpack(data, _usage_decoder)


def unpack_usage(data: bytes) -> Usage:
    """Usage from its bytes."""
    return usage_of(unpack(data, _usage_decoder))


def usage_of(record: UsageRecord) -> Usage:
    """The domain's usage of a record."""
    return Usage(
        {_month(m): n for m, n in record.half_fare} if record.half_fare else _NONE,
        {PURSES[code]: n for code, n in record.used} if record.used else _NONE,
        {PURSES[code]: n for code, n in record.returned} if record.returned else _NONE,
        {PURSES[code]: n for code, n in record.refunded} if record.refunded else _NONE,
        last_of(record.last),
        last_of(record.before),
        last_of(record.by_purse),
    )


def after_effect(record: UsageRecord, effect: EffectRecord) -> UsageRecord:
    """`Usage.after` on the record itself, so that no instant and no month is turned back and forth on the hot path.

    A property holds both equal: tests/properties/test_usage_records.py.
    """
    used, half_fare, boarding = record.used, record.half_fare, effect.boarding
    if effect.uses is not None:
        used = _one_more(used, effect.uses)
    if effect.counts_cap:
        half_fare = tuple([pair for pair in _one_more(half_fare, effect.month) if pair[1] > 0][-MONTHS_KEPT:])
    last, before, by_purse = record.last, record.before, record.by_purse
    if boarding is not None and effect.personal:
        if last is None or _is_later(boarding, last):
            last, before = boarding, last
        elif before is None or _is_later(boarding, before):
            before = boarding
    elif boarding is not None and (by_purse is None or _is_later(boarding, by_purse)):
        by_purse = boarding
    if by_purse is not None and last is not None and _is_later(last, by_purse):
        by_purse = None
    return UsageRecord(half_fare, used, record.returned, record.refunded, last, before, by_purse)


def _one_more(counts: tuple[tuple[int, int], ...], key: int) -> tuple[tuple[int, int], ...]:
    for place, (known, count) in enumerate(counts):
        if known == key:
            return (*counts[:place], (key, count + 1), *counts[place + 1 :])
    return tuple(sorted((*counts, (key, 1))))


def _is_later(boarding: LastRecord, other: LastRecord) -> bool:
    if boarding.occurred_micros != other.occurred_micros:
        return boarding.occurred_micros > other.occurred_micros
    return boarding.boarding_id > other.boarding_id


def _counts(counts: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted([(PURSE_CODE[key], n) for key, n in counts.items() if n])) if counts else ()


def last_record(last: LastBoarding | None) -> LastRecord | None:
    """A boarding kept in usage, as a record."""
    if last is None:
        return None
    return LastRecord(
        last.boarding_id, to_micros(last.occurred_at), last.vehicle, CATEGORY_CODE[last.category]
    )


def last_of(record: LastRecord | None) -> LastBoarding | None:
    """A boarding kept in usage, from its record."""
    if record is None:
        return None
    return LastBoarding(
        record.boarding_id, from_micros(record.occurred_micros), record.vehicle, CATEGORIES[record.category]
    )


def effect_record(effects: Effects, *, undone: bool = False) -> EffectRecord:
    """Effects as a record."""
    return EffectRecord(
        month_code(effects.month),
        None if effects.uses is None else PURSE_CODE[effects.uses],
        effects.counts_cap,
        last_record(effects.boarding),
        effects.personal,
        undone,
    )


def effects_of_record(record: EffectRecord) -> Effects:
    """The domain's effects of a record."""
    return Effects(
        _month(record.month),
        None if record.uses is None else PURSES[record.uses],
        record.counts_cap,
        last_of(record.boarding),
        record.personal,
    )


def fold(usage: Usage, effects: Iterable[EffectRecord]) -> Usage:
    """Usage after journal effects, in the order in which they were committed."""
    for record in effects:
        change = effects_of_record(record)
        usage = usage.annulled(change) if record.undone else usage.after(change)
    return usage


@lru_cache(maxsize=512)
def month_code(month: Month) -> int:
    """A civil month as AAAAMM."""
    return int(month[:4]) * 100 + int(month[5:])


@lru_cache(maxsize=512)
def _month(code: int) -> Month:
    return Month(f"{code // 100:04}-{code % 100:02}")

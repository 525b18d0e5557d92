"""Usage in Redis: written by the commit script, and by a rebuild as a fold over the journal's effects."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from validator.domain.service_time import Month
from validator.domain.usage import Effects, LastBoarding, Usage
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
            tuple(sorted([(_month_code(m), n) for m, n in usage.half_fare.items()]))
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


def unpack_usage(data: bytes) -> Usage:
    """Usage from its bytes."""
    record = unpack(data, _usage_decoder)
    return Usage(
        {_month(m): n for m, n in record.half_fare} if record.half_fare else _NONE,
        {PURSES[code]: n for code, n in record.used} if record.used else _NONE,
        {PURSES[code]: n for code, n in record.returned} if record.returned else _NONE,
        {PURSES[code]: n for code, n in record.refunded} if record.refunded else _NONE,
        last_of(record.last),
        last_of(record.before),
        last_of(record.by_purse),
    )


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
        _month_code(effects.month),
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
def _month_code(month: Month) -> int:
    return int(month[:4]) * 100 + int(month[5:])


@lru_cache(maxsize=512)
def _month(code: int) -> Month:
    return Month(f"{code // 100:04}-{code % 100:02}")

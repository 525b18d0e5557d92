"""Usage in Redis: written by the commit script, and by a rebuild as a fold over the journal's effects."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from validator.domain.service_time import Month, civil_date
from validator.domain.usage import (
    MONTHS_KEPT,
    Effects,
    LastBoarding,
    Remembered,
    Usage,
    later_of,
    two_newest,
)
from validator.domain.vocabulary import Category
from validator.records.codes import CATEGORIES, CATEGORY_CODE, PURSE_CODE, PURSES
from validator.records.packing import Packed, from_micros, pack, to_micros, unpack


class LastRecord(Packed, frozen=True):
    """A boarding kept in usage: the bytes of its id, its instant, its vehicle, the code of its category."""

    boarding: bytes
    occurred_micros: int
    vehicle: str
    category_code: int

    @property
    def boarding_id(self) -> str:
        """Its id as a text."""
        return id_text(self.boarding)

    @property
    def occurred_at(self) -> datetime:
        """When, in UTC."""
        return from_micros(self.occurred_micros)

    @property
    def category(self) -> Category:
        """What the rider travelled as."""
        return CATEGORIES[self.category_code]

    def is_later_than(self, other: "LastRecord") -> bool:
        """By instant, and by id where two have the same."""
        if self.occurred_micros != other.occurred_micros:
            return self.occurred_micros > other.occurred_micros
        return self.boarding > other.boarding


Counts = tuple[tuple[int, int], ...]


class UsageRecord(Packed, frozen=True):
    """A holder's usage: pairs of (month as AAAAMM, count) and (purse code, count), sorted.

    It answers a decision as it is (`validator.domain.usage.Consumed`): to make a `Usage` of it costs more than to
    decide.
    """

    half_fare: Counts = ()
    used: Counts = ()
    returned: Counts = ()
    refunded: Counts = ()
    last: LastRecord | None = None
    before: LastRecord | None = None
    by_purse: LastRecord | None = None
    by_purse_before: LastRecord | None = None

    @property
    def latest(self) -> LastRecord | None:
        """The latest boarding of any kind."""
        return later_of(self.last, self.by_purse)

    def half_fares(self, month: Month) -> int:
        """Half-fare boardings of a civil month."""
        return _count(self.half_fare, month_code(month))

    def spent(self, purse: str) -> int:
        """Passes of a purse that are gone by rides."""
        code = PURSE_CODE[purse]
        used = _count(self.used, code)
        return used - _count(self.returned, code) if self.returned else used

    def repaid(self, purse: str) -> int:
        """Passes of a purse that were paid back in money."""
        return _count(self.refunded, PURSE_CODE[purse]) if self.refunded else 0


def _count(counts: Counts, key: int) -> int:
    for known, count in counts:
        if known == key:
            return count
    return 0


class OwnEffect(Packed, frozen=True):
    """What a tap changed in its holder's usage, beside the tap itself: id, instant, vehicle and month are the tap's.

    Attributes:
        category: Code of the category that the boarding is remembered under; None for one that is not remembered.
        uses: Code of the purse that gave a pass, or None.
        counts_cap: Whether it counts as a half-fare boarding of the month.
        personal: Whether it was by a personal right.
    """

    category: int | None
    uses: int | None = None
    counts_cap: bool = False
    personal: bool = False

    def whole(self, boarding: bytes, micros: int, vehicle: str, *, undone: bool = False) -> "EffectRecord":
        """The effect with its tap: bytes of its id, the instant that decides in microseconds, its vehicle."""
        last = None if self.category is None else LastRecord(boarding, micros, vehicle, self.category)
        return EffectRecord(
            _month_at(micros // _HOUR_MICROS), self.uses, self.counts_cap, last, self.personal, undone
        )


class EffectRecord(Packed, frozen=True):
    """What one journal entry changed in its holder's usage: a boarding's effects, or with `undone` their annulment."""

    month: int
    uses: int | None = None
    counts_cap: bool = False
    boarding: LastRecord | None = None
    personal: bool = False
    undone: bool = False

    def own(self) -> OwnEffect:
        """The effect without its tap."""
        category = None if self.boarding is None else self.boarding.category_code
        return OwnEffect(category, self.uses, self.counts_cap, self.personal)


_HOUR_MICROS = 3_600_000_000
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
            last_record(usage.by_purse_before),
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
        last_of(record.by_purse_before),
    )


def after_ride(record: UsageRecord, month: int, own: OwnEffect, boarding: LastRecord) -> UsageRecord:
    """`Usage.after` on the record itself, so that no instant and no month is turned back and forth on the hot path.

    A property holds both equal: tests/properties/test_usage_records.py.
    """
    used, half_fare = record.used, record.half_fare
    if own.uses is not None:
        used = _one_more(used, own.uses)
    if own.counts_cap:
        half_fare = tuple([pair for pair in _one_more(half_fare, month) if pair[1] > 0][-MONTHS_KEPT:])
    last, before = record.last, record.before
    by_purse, by_purse_before = record.by_purse, record.by_purse_before
    if own.personal:
        last, before = two_newest(last, before, boarding)
    else:
        by_purse, by_purse_before = two_newest(by_purse, by_purse_before, boarding)
    return UsageRecord(
        half_fare, used, record.returned, record.refunded, last, before, by_purse, by_purse_before
    )


def _one_more(counts: Counts, key: int) -> Counts:
    for place, (known, count) in enumerate(counts):
        if known == key:
            return (*counts[:place], (key, count + 1), *counts[place + 1 :])
    return tuple(sorted((*counts, (key, 1))))


def _counts(counts: Mapping[str, int]) -> Counts:
    return tuple(sorted([(PURSE_CODE[key], n) for key, n in counts.items() if n])) if counts else ()


def last_record(last: Remembered | None) -> LastRecord | None:
    """A boarding kept in usage, as a record.

    Raises:
        ValueError: its id is no UUID.
    """
    if last is None:
        return None
    boarding = bytes.fromhex(last.boarding_id.replace("-", ""))
    if len(boarding) != 16:
        raise ValueError(f"a boarding is known by a UUID, not by {last.boarding_id!r}")
    return LastRecord(boarding, to_micros(last.occurred_at), last.vehicle, CATEGORY_CODE[last.category])


def last_of(record: LastRecord | None) -> LastBoarding | None:
    """A boarding kept in usage, from its record."""
    if record is None:
        return None
    return LastBoarding(record.boarding_id, record.occurred_at, record.vehicle, record.category)


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


@lru_cache(maxsize=512)
def _month_at(hour: int) -> int:
    """The civil month of an hour since 1970, as AAAAMM; since 1916 the city's offset has always been whole hours."""
    day = civil_date(from_micros(hour * _HOUR_MICROS))
    return day.year * 100 + day.month


def id_text(boarding: bytes) -> str:
    """A boarding id's bytes as the text of a UUID, in small letters."""
    digits = boarding.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

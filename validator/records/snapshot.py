"""What the publisher and the ingester write of holders and devices into Redis.

A holder's snapshot has no name, no CPF and no birth date.
"""

from datetime import date
from functools import lru_cache

import msgspec

from validator.domain.holder import Holder
from validator.domain.money import Cents
from validator.domain.purses import Lot, Purse
from validator.domain.rights import AgeRight, Period, Right
from validator.records.codes import CATEGORIES, CATEGORY_CODE, NETWORK_CODE, NETWORKS, PRODUCT_CODE, PRODUCTS
from validator.records.packing import (
    Packed,
    from_ordinal,
    pack,
    pack_revised,
    to_ordinal,
    unpack,
    unpack_revised,
)


class PeriodRecord(Packed, frozen=True):
    """Civil days [first, until) as ordinals."""

    first: int
    until: int | None = None


class RightRecord(Packed, frozen=True):
    """A registered right."""

    category: int
    period: PeriodRecord
    suspended: tuple[PeriodRecord, ...] = ()


class AgeRecord(Packed, frozen=True):
    """A right of age: only the days on which it begins and ends for this person."""

    category: int
    period: PeriodRecord


class LotRecord(Packed, frozen=True):
    """Passes bought together; amounts in centavos."""

    units: int
    face_cents: int
    paid_cents: int


class PurseRecord(Packed, frozen=True):
    """A purse with its lots; `bought` counts the lots left out at the front too."""

    product: int
    network: int
    bought: int
    lots: tuple[LotRecord, ...] = ()


class CardRecord(Packed, frozen=True):
    """A card of the holder: number, issue, state (`CardState`), 8 bytes of the SHA-256 of its live token."""

    number: int
    issue: int
    state: int
    token_hash: bytes


class UidRecord(Packed, frozen=True):
    """A contactless chip of the holder: the bytes of its uid, the card and issue that it taps for, and since when."""

    uid: bytes
    number: int
    issue: int
    since_micros: int


class HolderRecord(Packed, frozen=True):
    """A holder's snapshot."""

    rights: tuple[RightRecord, ...] = ()
    ages: tuple[AgeRecord, ...] = ()
    purses: tuple[PurseRecord, ...] = ()
    cards: tuple[CardRecord, ...] = ()
    merged_into: str | None = None
    """Reserved: the holder id that this record redirects to."""
    uids: tuple[UidRecord, ...] = ()


class UidHolderRecord(Packed, frozen=True):
    """Where to look for a chip: the holder that it was bound to last; None since it was let go.

    Only a way to the snapshot, which alone says what a chip may do.
    """

    holder: str | None


class DeviceRecord(Packed, frozen=True):
    """Who a device is: state (`DeviceState`), SHA-256 of its token, Ed25519 public key, current epoch, operator."""

    state: int
    token_hash: bytes
    public_key: bytes
    epoch: int
    operator: str
    revoked_micros: int | None = None


class DurableRecord(Packed, frozen=True):
    """What of one epoch is committed in SQL: all up to `durable_seq`, and up to `top_seq` all but `missing`."""

    durable_seq: int = 0
    top_seq: int = 0
    missing: tuple[tuple[int, int], ...] = ()
    """Ranges (first, last), both inclusive."""

    def covers(self, seq: int) -> bool:
        """Whether a sequence is already one row in SQL."""
        if seq > self.top_seq:
            return False
        return seq <= self.durable_seq or not any(first <= seq <= last for first, last in self.missing)


_holder_decoder = msgspec.msgpack.Decoder(HolderRecord)
_uid_decoder = msgspec.msgpack.Decoder(UidHolderRecord)
_device_decoder = msgspec.msgpack.Decoder(DeviceRecord)
_durable_decoder = msgspec.msgpack.Decoder(DurableRecord)


def pack_holder(record: HolderRecord, revision: int) -> bytes:
    """A holder's snapshot as bytes, led by its revision."""
    return pack_revised(record, revision)


def unpack_holder(data: bytes) -> HolderRecord:
    """A holder's snapshot from its bytes."""
    return unpack_revised(data, _holder_decoder)


def pack_uid_holder(record: UidHolderRecord, revision: int) -> bytes:
    """Where to look for a chip, as bytes, led by the turn of its uid."""
    return pack_revised(record, revision)


def unpack_uid_holder(data: bytes) -> UidHolderRecord:
    """Where to look for a chip, from its bytes."""
    return unpack_revised(data, _uid_decoder)


def pack_device(record: DeviceRecord, revision: int) -> bytes:
    """A device's record as bytes, led by its revision."""
    return pack_revised(record, revision)


def unpack_device(data: bytes) -> DeviceRecord:
    """A device's record from its bytes."""
    return unpack_revised(data, _device_decoder)


def pack_durable(record: DurableRecord) -> bytes:
    """What is durable of an epoch, as bytes."""
    return pack(record)


def unpack_durable(data: bytes | None) -> DurableRecord:
    """What is durable of an epoch; nothing where no record stands yet."""
    return _NOTHING_DURABLE if data is None else _durable(data)


_NOTHING_DURABLE = DurableRecord()


@lru_cache(maxsize=4_096)
def _durable(data: bytes) -> DurableRecord:
    """One is read with every tap of its device, and changes with every round of ingest."""
    return unpack(data, _durable_decoder)


def holder_of(record: HolderRecord) -> Holder:
    """The domain's holder of a snapshot."""
    # Lists inside, since a generator for one or two things costs more than the things.
    rights = [
        Right(CATEGORIES[r.category], _period(r.period), tuple([_period(p) for p in r.suspended]))
        for r in record.rights
    ]
    ages = [AgeRight(CATEGORIES[a.category], _period(a.period)) for a in record.ages]
    purses = [
        Purse(
            PRODUCTS[p.product],
            NETWORKS[p.network],
            tuple([_lot(lot.units, lot.face_cents, lot.paid_cents) for lot in p.lots]),
            p.bought,
        )
        for p in record.purses
    ]
    return Holder(tuple(rights), tuple(ages), tuple(purses))


def rights_records(holder: Holder) -> tuple[RightRecord, ...]:
    """The registered rights of a holder as records."""
    return tuple(
        RightRecord(
            CATEGORY_CODE[r.category], _period_record(r.period), tuple(_period_record(p) for p in r.suspended)
        )
        for r in holder.rights
    )


def age_records(holder: Holder) -> tuple[AgeRecord, ...]:
    """The rights of age of a holder as records."""
    return tuple(AgeRecord(CATEGORY_CODE[a.category], _period_record(a.period)) for a in holder.ages)


def purse_records(holder: Holder) -> tuple[PurseRecord, ...]:
    """The purses of a holder as records."""
    return tuple(
        PurseRecord(
            PRODUCT_CODE[p.product],
            NETWORK_CODE[p.network],
            p.bought,
            tuple(LotRecord(lot.units, lot.face_cents, lot.paid_cents) for lot in p.lots),
        )
        for p in holder.purses
    )


@lru_cache(maxsize=4_096)
def _lot(units: int, face_cents: int, paid_cents: int) -> Lot:
    """A lot; thousands of holders share those of the same fare."""
    return Lot(units, Cents(face_cents), Cents(paid_cents))


def _period(record: PeriodRecord) -> Period:
    return _days(record.first, record.until)


@lru_cache(maxsize=4_096)
def _days(first: int, until: int | None) -> Period:
    """A period; thousands of holders share those of a school year."""
    return Period(date.fromordinal(first), from_ordinal(until))


def _period_record(period: Period) -> PeriodRecord:
    return PeriodRecord(period.first.toordinal(), to_ordinal(period.until))

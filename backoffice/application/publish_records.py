"""Records of the publisher, built from committed state: holders, devices, the city."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.orm import Session, aliased

from backoffice.adapters.hot_state import (
    Publication,
    city_publication,
    device_publication,
    holder_publication,
    uid_publication,
)
from backoffice.application.city_state import Authorities, authorities, breakdowns_since, fares_as_recorded
from backoffice.application.holder_state import RecordedHolder, holders_as_recorded, without_birth
from backoffice.persistence.cards import CardUidRow, UidWord
from backoffice.persistence.city import CityKeyRow
from backoffice.persistence.devices import DeviceKeyRow, DeviceRevocationRow, DeviceRow
from backoffice.persistence.holders import HolderRow
from backoffice.persistence.operators import OperatorRow
from validator.domain.fares import check_fares
from validator.domain.rules import RuleBook
from validator.domain.service_time import civil_date
from validator.domain.usage import Usage
from validator.records.chip_uid import uid_bytes
from validator.records.city import (
    BreakdownRecord,
    CardKeyRecord,
    CityRecord,
    LineRecord,
    fare_record,
    law_json,
    pack_city,
)
from validator.records.codes import NETWORK_CODE, DeviceState
from validator.records.packing import to_micros
from validator.records.snapshot import (
    CardRecord,
    DeviceRecord,
    HolderRecord,
    UidHolderRecord,
    UidRecord,
    age_records,
    pack_device,
    pack_holder,
    pack_uid_holder,
    purse_records,
    rights_records,
)
from validator.records.usage import pack_usage

LATEST = timedelta(days=46)
"""How late a tap may come: lines and breakdowns of that time stay known to the validators."""

NO_USAGE = pack_usage(Usage())
"""The usage of a holder who has never boarded."""


def holder_publications(
    session: Session, book: RuleBook, holder_ids: Iterable[int], today: date
) -> Iterator[tuple[int, int, Publication]]:
    """(`holders.id`, revision, snapshot) of holders; the first publication of a holder brings an empty usage."""
    recorded = holders_as_recorded(session, holder_ids)
    ids = sorted(recorded)
    never: set[int] = set()
    for start in range(0, len(ids), 500):
        chunk = ids[start : start + 500]
        unpublished = select(HolderRow.id).where(HolderRow.id.in_(chunk), HolderRow.published_revision == 0)
        never.update(session.scalars(unpublished))
    for holder_id, rows in recorded.items():
        holder = rows.as_of(book)
        first = NO_USAGE if holder_id in never else b""
        record = pack_holder(holder_record(holder, today), holder.revision)
        yield holder_id, holder.revision, holder_publication(holder.hot_id, record, first_usage=first)


def holder_record(recorded: RecordedHolder, today: date) -> HolderRecord:
    """The snapshot of a holder."""
    holder = without_birth(recorded.holder, today)
    return HolderRecord(
        rights=rights_records(holder),
        ages=age_records(holder),
        purses=purse_records(holder),
        cards=tuple(
            CardRecord(card.number, card.issue, int(card.state), card.token_hash) for card in recorded.cards
        ),
        uids=tuple(
            UidRecord(uid_bytes(chip.uid), chip.number, chip.issue, to_micros(chip.bound_at))
            for chip in recorded.uids
        ),
    )


def uid_publications(session: Session, holder_ids: Iterable[int]) -> Iterator[tuple[bytes, Publication]]:
    """(uid, record): where to look for every chip that these holders have or had, as its last turn says."""
    ids = sorted(set(holder_ids))
    for start in range(0, len(ids), 500):
        mine = select(CardUidRow.uid).where(CardUidRow.holder_id.in_(ids[start : start + 500]))
        yield from _uid_publications(session, CardUidRow.uid.in_(mine))


def all_uid_publications(session: Session) -> Iterator[tuple[bytes, Publication]]:
    """The same of all chips that were ever bound."""
    return _uid_publications(session)


def _uid_publications(
    session: Session, *conditions: ColumnElement[bool]
) -> Iterator[tuple[bytes, Publication]]:
    later = aliased(CardUidRow)
    superseded = exists().where(later.uid == CardUidRow.uid, later.turn > CardUidRow.turn)
    rows = (
        select(CardUidRow.uid, CardUidRow.turn, CardUidRow.state, HolderRow.hot_id)
        .join(HolderRow, HolderRow.id == CardUidRow.holder_id)
        .where(~superseded, *conditions)
        .order_by(CardUidRow.uid)
    )
    for uid, turn, state, hot_id in session.execute(rows):
        record = UidHolderRecord(hot_id if state is UidWord.BOUND else None)
        chip = uid_bytes(uid)
        yield chip, uid_publication(chip, pack_uid_holder(record, turn))


def device_publications(
    session: Session, device_ids: Iterable[str]
) -> Iterator[tuple[str, int, Publication]]:
    """(device, revision, record) of devices; those without any key are left out."""
    ids = sorted(set(device_ids))
    for start in range(0, len(ids), 500):
        chunk = ids[start : start + 500]
        keys = {
            key.device_id: key
            for key in session.scalars(
                select(DeviceKeyRow).where(DeviceKeyRow.device_id.in_(chunk)).order_by(DeviceKeyRow.epoch)
            )
        }
        revoked = _revocations(session, chunk)
        rows = select(DeviceRow, OperatorRow.code).join(OperatorRow, OperatorRow.id == DeviceRow.operator_id)
        for device, operator in session.execute(rows.where(DeviceRow.id.in_(chunk)).order_by(DeviceRow.id)):
            key = keys.get(device.id)
            if key is not None:
                record = _device_record(key, operator, revoked.get(device.id))
                packed = pack_device(record, device.revision)
                yield device.id, device.revision, device_publication(device.id, packed)


def _revocations(session: Session, device_ids: list[str]) -> dict[str, DeviceRevocationRow]:
    rows = select(DeviceRevocationRow).where(DeviceRevocationRow.device_id.in_(device_ids))
    return {row.device_id: row for row in session.scalars(rows.order_by(DeviceRevocationRow.id))}


def _device_record(key: DeviceKeyRow, operator: str, revoked: DeviceRevocationRow | None) -> DeviceRecord:
    """A revocation holds until an installation with a newer key."""
    stands = revoked is not None and revoked.epoch >= key.epoch
    return DeviceRecord(
        int(DeviceState.REVOKED if stands else DeviceState.ACTIVE),
        bytes.fromhex(key.token_sha256),
        key.public_key,
        key.epoch,
        operator,
        to_micros(revoked.revoked_at) if revoked is not None and stands else None,
    )


def city_record(session: Session, law: dict[str, Any], now: datetime) -> CityRecord:
    """The city as the validators must know it now.

    Args:
        session: A reading session.
        law: The rule table's mapping, as its file says.
        now: The instant whose civil day counts for lines and vehicles.

    Raises:
        FareError: the fares contradict each other, or a network with lines has no running fare.
    """
    today, known = civil_date(now), authorities(session)
    lines = _lines(known, today)
    fares = fares_as_recorded(session)
    check_fares(fares, sorted({network for _, network, _ in lines}))
    broken = breakdowns_since(session, now - LATEST)
    keys = session.scalars(select(CityKeyRow).order_by(CityKeyRow.key_id))
    return CityRecord(
        law_json(law),
        tuple(fare_record(fare) for fare in fares),
        tuple(LineRecord(code, NETWORK_CODE[network], operators) for code, network, operators in lines),
        tuple(known.vehicles_on(today)),
        tuple(
            BreakdownRecord(
                b.vehicle, to_micros(b.from_at), None if b.until_at is None else to_micros(b.until_at)
            )
            for b in broken
        ),
        tuple(
            CardKeyRecord(
                key.key_id, key.public_key, None if key.valid_until is None else to_micros(key.valid_until)
            )
            for key in keys
        ),
    )


def _lines(known: Authorities, today: date) -> list[tuple[str, Any, tuple[str, ...]]]:
    """Lines of today, and those that have ended so lately that taps on them may still come."""
    lines = {line.code: line for line in known.lines_on(today - LATEST)} | {
        line.code: line for line in known.lines_on(today)
    }
    return [(code, line.network, line.operators) for code, line in sorted(lines.items())]


def packed_city(record: CityRecord, revision: int) -> Publication:
    """The city's record to publish."""
    return city_publication(pack_city(record, revision))


def all_holders(session: Session) -> list[tuple[int, str, int, int]]:
    """(`holders.id`, hot id, revision, published revision) of all holders."""
    rows = session.execute(
        select(HolderRow.id, HolderRow.hot_id, HolderRow.revision, HolderRow.published_revision).order_by(
            HolderRow.id
        )
    )
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def all_devices(session: Session) -> list[tuple[str, int]]:
    """(id, revision) of all devices that have a key."""
    rows = session.execute(
        select(DeviceRow.id, func.max(DeviceRow.revision))
        .join(DeviceKeyRow, DeviceKeyRow.device_id == DeviceRow.id)
        .group_by(DeviceRow.id)
        .order_by(DeviceRow.id)
    )
    return [(row[0], row[1]) for row in rows]

"""Changes that a snapshot shows: a revision under the row's lock, rows that carry it, and an outbox row; all at once.

The lock is the row's (`SELECT ... FOR UPDATE`) on PostgreSQL and the transaction's write lock on SQLite, so that of two
changes of one holder the later one has the higher revision and sees what the earlier one wrote.
"""

from datetime import datetime

from sqlalchemy import select

from backoffice.application.errors import NotFound
from backoffice.application.staff import Staff
from backoffice.persistence.base import WriteSession
from backoffice.persistence.city import CityRow
from backoffice.persistence.devices import DeviceRow
from backoffice.persistence.holders import HolderRow
from backoffice.persistence.outbox import OutboxKind, OutboxRow
from backoffice.persistence.users import AuditRow

CITY_REF = "city"
"""The outbox's reference to the city."""


def change_holder(session: WriteSession, holder_id: int, at: datetime) -> HolderRow:
    """Lock a holder and raise its revision; what is written next carries the new one.

    Raises:
        NotFound: there is no such holder.
    """
    row = lock_holder(session, holder_id)
    row.revision += 1
    publish_later(session, OutboxKind.HOLDER, str(row.id), at)
    return row


def lock_holder(session: WriteSession, holder_id: int) -> HolderRow:
    """Lock a holder for a change that may still be refused.

    Raises:
        NotFound: there is no such holder.
    """
    row = session.scalar(
        select(HolderRow)
        .where(HolderRow.id == holder_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if row is None:
        raise NotFound(f"não há titular de número {holder_id}", f"there is no holder {holder_id}")
    return row


def change_device(session: WriteSession, device_id: str, at: datetime) -> DeviceRow:
    """Lock a device and raise its revision.

    Raises:
        NotFound: there is no such device.
    """
    row = session.scalar(
        select(DeviceRow)
        .where(DeviceRow.id == device_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if row is None:
        raise NotFound(f"não há validador {device_id}", f"there is no device {device_id}")
    row.revision += 1
    publish_later(session, OutboxKind.DEVICE, row.id, at)
    return row


def change_city(session: WriteSession, at: datetime) -> CityRow:
    """Lock the city's row and raise its revision."""
    row = lock_city(session)
    row.revision += 1
    publish_later(session, OutboxKind.CITY, CITY_REF, at)
    return row


def lock_city(session: WriteSession) -> CityRow:
    """Lock the city's row for a change that may turn out to be none."""
    row = session.scalars(
        select(CityRow).with_for_update().execution_options(populate_existing=True)
    ).one_or_none()
    if row is None:
        row = CityRow(id=1, revision=0, published_revision=0)
        session.add(row)
    return row


def publish_later(session: WriteSession, kind: OutboxKind, ref: str, at: datetime) -> None:
    """Put an id into the outbox; the publisher builds the record from what is committed then."""
    session.add(OutboxRow(kind=kind, ref=ref, created_at=at))


def log(
    session: WriteSession,
    by: Staff | None,
    action: str,
    subject: tuple[str, object],
    at: datetime,
    detail: str | None = None,
) -> None:
    """Write to the audit log; `detail` holds numbers and names of fields, never personal data."""
    user = None if by is None else by.user_id
    kind, identity = subject
    session.add(
        AuditRow(
            at=at,
            user_id=user,
            action=action,
            subject_kind=kind,
            subject_id=str(identity),
            detail=None if detail is None else detail[:500],
        )
    )

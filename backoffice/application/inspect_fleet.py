"""Looking at devices."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from backoffice.application.staff import Reader
from backoffice.persistence.devices import (
    DeviceAssignmentRow,
    DeviceKeyRow,
    DeviceRevocationRow,
    DeviceRow,
)
from backoffice.persistence.operators import OperatorRow


@dataclass(frozen=True, slots=True)
class DeviceSheet:
    """A device as it stands at an instant."""

    device_id: str
    operator: str
    vehicle: str | None
    epoch: int
    revoked_at: datetime | None


def list_devices(session: Session, by: Reader, at: datetime) -> list[DeviceSheet]:
    """All devices by id; an operator's people see their own."""
    query = (
        select(DeviceRow.id, OperatorRow.code)
        .join(OperatorRow, OperatorRow.id == DeviceRow.operator_id)
        .order_by(DeviceRow.id)
    )
    if by.operator_id is not None:
        query = query.where(DeviceRow.operator_id == by.operator_id)
    # Of several rows of a device the last one stays in the mapping.
    epochs = dict(
        session.execute(select(DeviceKeyRow.device_id, DeviceKeyRow.epoch).order_by(DeviceKeyRow.epoch)).all()
    )
    vehicles = dict(
        session.execute(
            select(DeviceAssignmentRow.device_id, DeviceAssignmentRow.vehicle)
            .where(DeviceAssignmentRow.from_at <= at)
            .order_by(DeviceAssignmentRow.from_at, DeviceAssignmentRow.id)
        ).all()
    )
    revoked = dict(
        session.execute(
            select(DeviceRevocationRow.device_id, DeviceRevocationRow.revoked_at).order_by(
                DeviceRevocationRow.id
            )
        ).all()
    )
    return [
        DeviceSheet(device_id, operator, vehicles.get(device_id), epochs[device_id], revoked.get(device_id))
        for device_id, operator in session.execute(query)
    ]

"""Devices: their operator, their keys by epoch, the vehicle they hang in, and revocations."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Index, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference


class DeviceRow(Base):
    """A validator. `revision` is raised, under this row's lock, by every change that its record in Redis shows."""

    __tablename__ = "devices"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    operator_id: Mapped[int] = reference("operators.id", index=True)
    revision: Mapped[int]
    published_revision: Mapped[int]
    recorded_at: Mapped[datetime]


class DeviceKeyRow(Base):
    """Token and key of one epoch, that is of one installation; the highest epoch is the current one."""

    __tablename__ = "device_keys"
    __table_args__ = (
        CheckConstraint("epoch >= 1", name="epoch"),
        CheckConstraint("length(public_key) = 32", name="public_key_length"),
    )

    device_id: Mapped[str] = reference("devices.id", primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of the whole token text, in hexadecimal."""
    public_key: Mapped[bytes] = mapped_column(LargeBinary(32))
    """Ed25519, 32 bytes."""
    valid_from: Mapped[datetime]
    recorded_at: Mapped[datetime]
    revision: Mapped[int]


class DeviceRevocationRow(Base):
    """A device is believed no more from `revoked_at` on, which may lie before the day on which it was recorded."""

    __tablename__ = "device_revocations"

    id: Mapped[BigId]
    device_id: Mapped[str] = reference("devices.id", index=True)
    epoch: Mapped[int]
    revoked_at: Mapped[datetime]
    reason: Mapped[str] = mapped_column(String(300))
    recorded_by: Mapped[int | None] = reference("users.id")
    recorded_at: Mapped[datetime]
    revision: Mapped[int]


class DeviceAssignmentRow(Base):
    """From an instant on a device hangs in a vehicle, or in none; of several rows the last recorded counts."""

    __tablename__ = "device_assignments"
    __table_args__ = (Index(None, "device_id", "from_at"),)

    id: Mapped[BigId]
    device_id: Mapped[str] = reference("devices.id")
    vehicle: Mapped[str | None] = reference("vehicles.number")
    from_at: Mapped[datetime]
    recorded_at: Mapped[datetime]

"""One-time codes by which a device is installed, and their use. Only the hash of a code is stored."""

from datetime import datetime

from sqlalchemy import CheckConstraint, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from backoffice.persistence.base import Base, BigId
from backoffice.persistence.columns import reference


class DeviceCodeRow(Base):
    """A code for one installation of one device; `device_id` may name one that is not registered yet."""

    __tablename__ = "device_codes"
    __table_args__ = (CheckConstraint("expires_at > issued_at", name="instants_in_order"),)

    id: Mapped[BigId]
    code_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    device_id: Mapped[str] = mapped_column(String(32), index=True)
    operator_id: Mapped[int] = reference("operators.id")
    vehicle: Mapped[str | None] = reference("vehicles.number")
    issued_by: Mapped[int] = reference("users.id")
    issued_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class DeviceCodeUseRow(Base):
    """A code that was used, once. Its token is drawn again from the city's key for whoever holds the same key pair."""

    __tablename__ = "device_code_uses"
    __table_args__ = (CheckConstraint("length(public_key) = 32", name="public_key_length"),)

    code_id: Mapped[int] = reference("device_codes.id", primary_key=True)
    epoch: Mapped[int]
    public_key: Mapped[bytes] = mapped_column(LargeBinary(32))
    key_id: Mapped[int] = reference("city_keys.key_id")
    used_at: Mapped[datetime]

"""Devices: enrolled with their public key, installed again under a new epoch, assigned to vehicles, revoked."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backoffice.application.changes import change_device, log, publish_later
from backoffice.application.errors import Conflict, Invalid, NotFound
from backoffice.application.ports import Chance
from backoffice.application.register_fields import code_of, text_of
from backoffice.application.register_fleet import operator_of
from backoffice.application.staff import Administrator, hash_token
from backoffice.persistence.base import WriteSession
from backoffice.persistence.devices import (
    DeviceAssignmentRow,
    DeviceKeyRow,
    DeviceRevocationRow,
    DeviceRow,
)
from backoffice.persistence.outbox import OutboxKind
from backoffice.persistence.vehicles import VehicleRow


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A device with a new epoch. The token is shown this once and stored nowhere."""

    device_id: str
    epoch: int
    token: str


def enrol_device(
    session: WriteSession,
    by: Administrator,
    at: datetime,
    chance: Chance,
    *,
    device_id: str,
    operator: str,
    public_key: bytes,
    vehicle: str | None = None,
) -> Enrolled:
    """Enrol a new device under epoch 1.

    Args:
        session: A writing session.
        by: Who installs it.
        at: The instant.
        chance: Draws the token.
        device_id: The device's id.
        operator: Code of its operator.
        public_key: Ed25519 public key that the device has made, 32 bytes.
        vehicle: The vehicle that it hangs in.

    Raises:
        Invalid: id or key is wrong.
        NotFound: no such operator or vehicle.
        Conflict: the id is taken; a re-installation is `reinstall_device`.
    """
    device_id = code_of(device_id, "device_id")
    operator_row = operator_of(session, operator)
    if session.get(DeviceRow, device_id) is not None:
        raise Conflict(
            f"já há um validador {device_id}; para instalá-lo de novo use a reinstalação",
            f"there is a device {device_id}; install it again under a new epoch",
        )
    session.add(
        DeviceRow(id=device_id, operator_id=operator_row.id, revision=1, published_revision=0, recorded_at=at)
    )
    session.flush()
    publish_later(session, OutboxKind.DEVICE, device_id, at)
    enrolled = _new_key(session, at, chance, device_id, epoch=1, public_key=public_key, revision=1)
    if vehicle is not None:
        assign_device(session, by, at, device_id=device_id, vehicle=vehicle, from_at=at)
    log(session, by, "device.enrol", ("device", device_id), at, f"operator={operator}")
    return enrolled


def reinstall_device(
    session: WriteSession,
    by: Administrator,
    at: datetime,
    chance: Chance,
    *,
    device_id: str,
    public_key: bytes,
) -> Enrolled:
    """Give a device that was installed again a new epoch, key and token; the old ones upload batches only.

    Raises:
        NotFound: no such device.
        Invalid: the key is wrong.
        Conflict: the key was another epoch's, or the device is revoked.
    """
    row = change_device(session, device_id, at)
    if _revoked(session, device_id):
        raise Conflict(
            f"o validador {device_id} foi revogado; cadastre o aparelho com outro código",
            f"device {device_id} is revoked; enrol it under another id",
        )
    last = session.scalar(select(func.max(DeviceKeyRow.epoch)).where(DeviceKeyRow.device_id == device_id))
    enrolled = _new_key(
        session,
        at,
        chance,
        device_id,
        epoch=(last or 0) + 1,
        public_key=public_key,
        revision=row.revision,
    )
    log(session, by, "device.reinstall", ("device", device_id), at, f"epoch={enrolled.epoch}")
    return enrolled


def assign_device(
    session: WriteSession,
    by: Administrator,
    at: datetime,
    *,
    device_id: str,
    vehicle: str | None,
    from_at: datetime,
) -> None:
    """From an instant on a device hangs in a vehicle, or in none. It is no part of the device's record in Redis.

    Raises:
        NotFound: no such device or vehicle.
    """
    device_of(session, device_id)
    if vehicle is not None and session.get(VehicleRow, vehicle) is None:
        raise NotFound(f"não há veículo {vehicle}", f"there is no vehicle {vehicle}")
    session.add(DeviceAssignmentRow(device_id=device_id, vehicle=vehicle, from_at=from_at, recorded_at=at))
    log(session, by, "device.assign", ("device", device_id), at, f"vehicle={vehicle}")


def vehicle_of(session: Session, device_id: str, at: datetime) -> str | None:
    """The vehicle that a device hangs in at an instant; None where it hangs in none."""
    return session.scalar(
        select(DeviceAssignmentRow.vehicle)
        .where(DeviceAssignmentRow.device_id == device_id, DeviceAssignmentRow.from_at <= at)
        .order_by(DeviceAssignmentRow.from_at.desc(), DeviceAssignmentRow.id.desc())
        .limit(1)
    )


def revoke_device(
    session: WriteSession,
    by: Administrator,
    at: datetime,
    *,
    device_id: str,
    revoked_at: datetime,
    reason: str,
) -> None:
    """Believe a device no more from an instant on: stolen, or its key known to others.

    Raises:
        NotFound: no such device.
        Invalid: the instant lies ahead, or no reason is given.
        Conflict: it is revoked already.
    """
    if revoked_at > at:
        raise Invalid("revoked_at: está no futuro", "revoked_at: lies ahead")
    row = change_device(session, device_id, at)
    if _revoked(session, device_id):
        raise Conflict(f"o validador {device_id} já está revogado", f"device {device_id} is revoked already")
    epoch = session.scalar(select(func.max(DeviceKeyRow.epoch)).where(DeviceKeyRow.device_id == device_id))
    session.add(
        DeviceRevocationRow(
            device_id=device_id,
            epoch=epoch or 1,
            revoked_at=revoked_at,
            reason=text_of(reason, "reason", 300),
            recorded_by=by.user_id,
            recorded_at=at,
            revision=row.revision,
        )
    )
    log(session, by, "device.revoke", ("device", device_id), at, f"revoked_at={revoked_at.isoformat()}")


def device_of(session: Session, device_id: str) -> DeviceRow:
    """The device of an id.

    Raises:
        NotFound: there is none.
    """
    row = session.get(DeviceRow, device_id)
    if row is None:
        raise NotFound(f"não há validador {device_id}", f"there is no device {device_id}")
    return row


def _revoked(session: Session, device_id: str) -> bool:
    found = session.scalar(
        select(DeviceRevocationRow.id).where(DeviceRevocationRow.device_id == device_id).limit(1)
    )
    return found is not None


def _new_key(
    session: WriteSession,
    at: datetime,
    chance: Chance,
    device_id: str,
    *,
    epoch: int,
    public_key: bytes,
    revision: int,
) -> Enrolled:
    if len(public_key) != 32:
        raise Invalid(
            "public_key: a chave pública Ed25519 tem 32 bytes (64 algarismos hexadecimais)",
            "public_key: an Ed25519 public key has 32 bytes (64 hexadecimal digits)",
        )
    used = session.scalar(select(DeviceKeyRow.device_id).where(DeviceKeyRow.public_key == public_key))
    if used is not None:
        raise Conflict(
            f"esta chave já foi do validador {used}; gere outra no aparelho",
            f"this key was device {used}'s; make another one",
        )
    token = f"{device_id}.{chance.secret()}"
    session.add(
        DeviceKeyRow(
            device_id=device_id,
            epoch=epoch,
            token_sha256=hash_token(token),
            public_key=public_key,
            valid_from=at,
            recorded_at=at,
            revision=revision,
        )
    )
    return Enrolled(device_id, epoch, token)

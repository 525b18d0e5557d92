"""Devices: enrolled, installed again, assigned, revoked."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from backoffice.api.dependencies import ByAdministrator, ByReader, Now, Parts, Reads, Writes
from backoffice.api.wire import Code, Instant, Sent, Shown, Text
from backoffice.application.inspect_fleet import list_devices
from backoffice.application.register_devices import (
    assign_device,
    enrol_device,
    reinstall_device,
    revoke_device,
)

router = APIRouter(prefix="/v1/devices", tags=["validadores"])

PublicKey = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{64}$", description="Chave pública Ed25519 do aparelho: 64 algarismos hexadecimais."
    ),
]


class DeviceSent(Sent):
    """A device to be enrolled; it has made its key pair itself."""

    device_id: Text
    operator: Text
    public_key: PublicKey
    vehicle: Text | None = None


class EnrolledShown(Shown):
    """A device's new epoch. The token is shown this once."""

    device_id: str
    epoch: int
    token: str


@router.post("", status_code=201)
def enrol(sent: DeviceSent, by: ByAdministrator, at: Now, session: Writes, parts: Parts) -> EnrolledShown:
    """Enrol a device under epoch 1. Keep the token: it is shown this once."""
    enrolled = enrol_device(
        session,
        by,
        at,
        parts.chance,
        device_id=sent.device_id,
        operator=sent.operator,
        public_key=bytes.fromhex(sent.public_key),
        vehicle=sent.vehicle,
    )
    return EnrolledShown.model_validate(enrolled)


class Reinstalled(Sent):
    """The key of a new installation."""

    public_key: PublicKey


@router.post("/{device_id}/epochs", status_code=201)
def reinstall(
    device_id: Code, sent: Reinstalled, by: ByAdministrator, at: Now, session: Writes, parts: Parts
) -> EnrolledShown:
    """Give a device that was installed again a new epoch and token."""
    key = bytes.fromhex(sent.public_key)
    enrolled = reinstall_device(session, by, at, parts.chance, device_id=device_id, public_key=key)
    return EnrolledShown.model_validate(enrolled)


class Assignment(Sent):
    """Where a device hangs from an instant on."""

    vehicle: Text | None
    from_at: Instant


@router.post("/{device_id}/assignments", status_code=204)
def assign(device_id: Code, sent: Assignment, by: ByAdministrator, at: Now, session: Writes) -> None:
    """Hang a device in a vehicle, or take it out with `vehicle: null`."""
    assign_device(session, by, at, device_id=device_id, vehicle=sent.vehicle, from_at=sent.from_at)


class Revocation(Sent):
    """From when on a device is believed no more."""

    revoked_at: Instant
    reason: Text


@router.post("/{device_id}/revocation", status_code=204)
def revoke(device_id: Code, sent: Revocation, by: ByAdministrator, at: Now, session: Writes) -> None:
    """Revoke a device that was stolen or whose key is known to others."""
    revoke_device(session, by, at, device_id=device_id, revoked_at=sent.revoked_at, reason=sent.reason)


class DeviceShown(Shown):
    """A device as it stands."""

    device_id: str
    operator: str
    vehicle: str | None
    epoch: int
    revoked_at: datetime | None


@router.get("")
def list_all(by: ByReader, at: Now, session: Reads) -> list[DeviceShown]:
    """All devices; an operator's people see their own."""
    return [DeviceShown.model_validate(device) for device in list_devices(session, by, at)]

"""Installation of devices with one-time codes. The device itself calls without a token: it has none yet."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StrictInt

from backoffice.api.dependencies import ByAdministrator, Now, Parts, Writes
from backoffice.api.wire import Sent, Shown, Text
from backoffice.application.enrol_by_code import enrol_by_code, issue_code
from validator.records.enrolment import EnrolmentMessage

router = APIRouter(prefix="/v1", tags=["validadores"])

Hex32 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Hex64 = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


class CodeSent(Sent):
    """A device that is going to be installed."""

    device_id: Text
    operator: Text | None = None
    """Needed for a device that is not registered yet."""
    vehicle: Text | None = None
    hours: Annotated[StrictInt, Field(ge=1, le=720)] = 72
    """How long the code is good."""


class CodeShown(Shown):
    """A one-time code, shown this once."""

    code: str
    device_id: str
    expires_at: datetime


@router.post("/device-codes", status_code=201)
def issue(sent: CodeSent, by: ByAdministrator, at: Now, session: Writes, parts: Parts) -> CodeShown:
    """Issue a code for one installation. Hand it to whoever installs the device: it is shown this once."""
    code = issue_code(
        session,
        by,
        at,
        parts.chance,
        device_id=sent.device_id,
        operator=sent.operator,
        vehicle=sent.vehicle,
        valid_for=timedelta(hours=sent.hours),
    )
    return CodeShown.model_validate(code)


class DeviceEnrolmentSent(Sent):
    """What the device sends; `signature` proves that it holds the key (docs/device-protocol.md)."""

    code: Annotated[str, Field(min_length=1, max_length=64)]
    public_key: Hex32
    signature: Hex64


class CityKeyShown(Shown):
    """A key of the city that signs cards and bundles."""

    key_id: int
    public_key: str


class DeviceEnrolmentShown(Shown):
    """What the device is given. The same code and key get the same answer while the code is good."""

    device_id: str
    epoch: int
    token: str
    operator: str
    vehicle: str | None
    city_keys: list[CityKeyShown]


@router.post("/device-enrolments")
def enrol(sent: DeviceEnrolmentSent, at: Now, session: Writes, parts: Parts) -> DeviceEnrolmentShown:
    """Install the device that shows a code; its new epoch begins."""
    message = EnrolmentMessage(sent.code, sent.public_key, sent.signature)
    return DeviceEnrolmentShown.model_validate(
        enrol_by_code(session, at, parts.chance, parts.signer, message)
    )

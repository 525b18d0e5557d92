"""Install a device with a one-time code: it makes its key, shows the code, and is given name, token and epoch.

The token is not drawn but derived, by the city's key, from code and device key. So a device whose answer was lost asks
again with the same code and gets the same token, and nobody else ever does; the token is stored nowhere.
"""

import base64
import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backoffice.application.changes import log
from backoffice.application.errors import Conflict, Forbidden, Invalid, NotFound
from backoffice.application.issue_cards import signing_key
from backoffice.application.ports import CardSigner, Chance
from backoffice.application.register_devices import enrol_device, reinstall_device, vehicle_of
from backoffice.application.register_fields import code_of
from backoffice.application.register_fleet import operator_of
from backoffice.application.staff import Administrator, as_administrator, hash_token, staff_by_login
from backoffice.persistence.base import WriteSession
from backoffice.persistence.city import CityKeyRow
from backoffice.persistence.device_codes import DeviceCodeRow, DeviceCodeUseRow
from backoffice.persistence.devices import DeviceKeyRow, DeviceRevocationRow, DeviceRow
from backoffice.persistence.operators import OperatorRow
from backoffice.persistence.users import UserRow
from backoffice.persistence.vehicles import VehicleRow
from validator.records.enrolment import CityKeyMessage, EnrolmentAnswer, EnrolmentMessage, enrolment_message

LONGEST_VALID: Final = timedelta(days=30)
_TOKEN_DOMAIN = b"catraca-device-token-1\x00"


@dataclass(frozen=True, slots=True)
class IssuedCode:
    """A code, shown this once."""

    code: str
    device_id: str
    expires_at: datetime


def issue_code(
    session: WriteSession,
    by: Administrator,
    at: datetime,
    chance: Chance,
    *,
    device_id: str,
    operator: str | None = None,
    vehicle: str | None = None,
    valid_for: timedelta = timedelta(hours=72),
) -> IssuedCode:
    """Issue a code for one installation of a device, registered or new.

    Args:
        session: A writing session.
        by: Who installs it.
        at: The instant.
        chance: Draws the code.
        device_id: The device's id.
        operator: Code of its operator; needed for a device that is not registered yet.
        vehicle: The vehicle in which a new device hangs.
        valid_for: How long the code is good.

    Raises:
        Invalid: the id is wrong, the time is too long, or no operator is named for a new device.
        NotFound: no such operator or vehicle.
        Conflict: the device is another operator's, or revoked.
    """
    device_id = code_of(device_id, "device_id")
    if not timedelta(0) < valid_for <= LONGEST_VALID:
        raise Invalid("o código vale de uma hora a 30 dias", "a code is good for an hour to 30 days")
    operator_id = _operator_id(session, device_id, operator)
    if vehicle is not None and session.get(VehicleRow, vehicle) is None:
        raise NotFound(f"não há veículo {vehicle}", f"there is no vehicle {vehicle}")
    code = _code_text(chance.secret())
    session.add(
        DeviceCodeRow(
            code_sha256=hash_token(_plain(code)),
            device_id=device_id,
            operator_id=operator_id,
            vehicle=vehicle,
            issued_by=by.user_id,
            issued_at=at,
            expires_at=at + valid_for,
        )
    )
    log(session, by, "device.code", ("device", device_id), at, f"until={(at + valid_for).isoformat()}")
    return IssuedCode(code, device_id, at + valid_for)


def enrol_by_code(
    session: WriteSession, at: datetime, chance: Chance, signer: CardSigner, sent: EnrolmentMessage
) -> EnrolmentAnswer:
    """Install the device that shows a code and proves that it holds the key that it names.

    Raises:
        Invalid: key or signature is wrong.
        Forbidden: no such code, or one that has expired, or whose issuer may issue none any more.
        Conflict: the code was used by another key, or the device is revoked.
    """
    public_key = _proved_key(sent)
    row = session.scalar(
        select(DeviceCodeRow)
        .where(DeviceCodeRow.code_sha256 == hash_token(_plain(sent.code)))
        .with_for_update()
    )
    if row is None or at >= row.expires_at:
        raise Forbidden(
            "o código não existe ou venceu; peça outro à retaguarda",
            "there is no such code, or it has expired; ask for another",
            code="CODE_UNKNOWN",
        )
    use = session.get(DeviceCodeUseRow, row.id)
    if use is None:
        use = _use(session, at, chance, signer, row, public_key)
    elif use.public_key != public_key or use.epoch != _newest_epoch(session, row.device_id):
        raise Conflict(
            "o código já foi usado; peça outro", "the code was used; ask for another", code="CODE_USED"
        )
    if _revoked(session, row.device_id):
        raise Conflict(f"o validador {row.device_id} foi revogado", f"device {row.device_id} is revoked")
    return _answer(session, at, row, use, _secret(signer, use, row.id, public_key))


def _use(
    session: WriteSession,
    at: datetime,
    chance: Chance,
    signer: CardSigner,
    row: DeviceCodeRow,
    public_key: bytes,
) -> DeviceCodeUseRow:
    issuer = session.get(UserRow, row.issued_by)
    assert issuer is not None
    by = as_administrator(staff_by_login(session, issuer.login, at))
    use = DeviceCodeUseRow(
        code_id=row.id, epoch=0, public_key=public_key, key_id=signing_key(session, at, signer), used_at=at
    )
    derived = _Derived(chance, _secret(signer, use, row.id, public_key))
    if session.get(DeviceRow, row.device_id) is None:
        operator = session.get(OperatorRow, row.operator_id)
        assert operator is not None
        enrolled = enrol_device(
            session,
            by,
            at,
            derived,
            device_id=row.device_id,
            operator=operator.code,
            public_key=public_key,
            vehicle=row.vehicle,
        )
    else:
        enrolled = reinstall_device(session, by, at, derived, device_id=row.device_id, public_key=public_key)
    use.epoch = enrolled.epoch
    session.add(use)
    session.flush()
    return use


@dataclass(frozen=True, slots=True)
class _Derived:
    """Chance whose secret is derived, so that the same device gets it again."""

    chance: Chance
    derived: str

    def hot_id(self) -> str:
        return self.chance.hot_id()

    def card_number(self) -> int:
        return self.chance.card_number()

    def secret(self) -> str:
        return self.derived


def _secret(signer: CardSigner, use: DeviceCodeUseRow, code_id: int, public_key: bytes) -> str:
    signature = signer.sign(use.key_id, _TOKEN_DOMAIN + code_id.to_bytes(8, "big") + public_key)
    return base64.urlsafe_b64encode(hashlib.sha256(signature).digest()).decode().rstrip("=")


def _answer(
    session: Session, at: datetime, row: DeviceCodeRow, use: DeviceCodeUseRow, secret: str
) -> EnrolmentAnswer:
    operator = session.get(OperatorRow, row.operator_id)
    assert operator is not None
    keys = session.scalars(
        select(CityKeyRow).where(CityKeyRow.compromised_at.is_(None)).order_by(CityKeyRow.key_id)
    )
    return EnrolmentAnswer(
        row.device_id,
        use.epoch,
        f"{row.device_id}.{secret}",
        operator.code,
        vehicle_of(session, row.device_id, at),
        [
            CityKeyMessage(key.key_id, key.public_key.hex())
            for key in keys
            if key.valid_until is None or key.valid_until > at
        ],
    )


def _proved_key(sent: EnrolmentMessage) -> bytes:
    try:
        public_key, signature = bytes.fromhex(sent.public_key), bytes.fromhex(sent.signature)
        Ed25519PublicKey.from_public_bytes(public_key).verify(
            signature, enrolment_message(sent.code, public_key)
        )
    except (ValueError, InvalidSignature):
        raise Invalid(
            "signature: assine com a chave nova o código e a chave pública (docs/device-protocol.md)",
            "signature: sign code and public key with the new key (docs/device-protocol.md)",
        ) from None
    return public_key


def _operator_id(session: Session, device_id: str, operator: str | None) -> int:
    device = session.get(DeviceRow, device_id)
    named = None if operator is None else operator_of(session, operator).id
    if device is None:
        if named is None:
            raise Invalid(
                f"o validador {device_id} ainda não existe: diga o operador",
                f"device {device_id} does not exist yet: name its operator",
            )
        return named
    if _revoked(session, device_id):
        raise Conflict(f"o validador {device_id} foi revogado", f"device {device_id} is revoked")
    if named is not None and named != device.operator_id:
        raise Conflict(
            f"o validador {device_id} é de outro operador", f"device {device_id} is another operator's"
        )
    return device.operator_id


def _newest_epoch(session: Session, device_id: str) -> int | None:
    return session.scalar(select(func.max(DeviceKeyRow.epoch)).where(DeviceKeyRow.device_id == device_id))


def _revoked(session: Session, device_id: str) -> bool:
    found = session.scalar(
        select(DeviceRevocationRow.id).where(DeviceRevocationRow.device_id == device_id).limit(1)
    )
    return found is not None


def _code_text(secret: str) -> str:
    """80 bits in four groups of four letters and digits that nobody mistakes for each other."""
    letters = base64.b32encode(hashlib.sha256(secret.encode()).digest()[:10]).decode()
    return "-".join(letters[i : i + 4] for i in range(0, 16, 4))


def _plain(code: str) -> str:
    """A code as typed, without what people add: hyphens, blanks, lower case."""
    return "".join(sign for sign in code.upper() if sign.isalnum())

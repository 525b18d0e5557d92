"""The exchange by which a device is installed: a one-time code and a public key, for a name, a token and an epoch."""

from typing import Annotated

import msgspec
from msgspec import Meta

_DOMAIN = b"catraca-enrol-1\x00"
_HEX32 = Annotated[str, Meta(min_length=64, max_length=64)]
_HEX64 = Annotated[str, Meta(min_length=128, max_length=128)]


class EnrolmentMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a device sends; key and signature in hexadecimal. It proves that it holds the key that it names."""

    code: Annotated[str, Meta(min_length=1, max_length=64)]
    public_key: _HEX32
    signature: _HEX64


class CityKeyMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A public key of the city, in hexadecimal."""

    key_id: int
    public_key: _HEX32


class EnrolmentAnswer(msgspec.Struct, frozen=True):
    """What the back office gives. The token is shown this once and stored nowhere."""

    device_id: str
    epoch: int
    token: str
    operator: str
    vehicle: str | None
    city_keys: list[CityKeyMessage]


def enrolment_message(code: str, public_key: bytes) -> bytes:
    """The bytes that the device signs with its new key."""
    return _DOMAIN + code.encode() + b"\x00" + public_key

"""How records become bytes: a version byte, then MessagePack of an array whose fields are only ever appended."""

import re
import struct
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, TypeVar

import msgspec

VERSION = b"\x01"

T = TypeVar("T")

Digits = Annotated[int, msgspec.Meta(ge=0)] | str
"""A text that records hold as `to_digits` gives it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_REVISION = struct.Struct(">Q")
_encoder = msgspec.msgpack.Encoder()
_SIXTEEN = re.compile(r"[0-9a-f]{16}")


class RecordError(ValueError):
    """Bytes that are no record of this kind or of a version that this program does not know."""


class Packed(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Base of all records: an array on the wire, so that field names cost nothing. Append fields, with defaults."""


def pack(record: Packed, prefix: bytes = b"") -> bytes:
    """A record as bytes."""
    return VERSION + prefix + _encoder.encode(record)


def pack_values(values: tuple[object, ...]) -> bytes:
    """The same from the first fields of a record in their order; those left out at the end have their defaults."""
    return VERSION + _encoder.encode(values)


def unpack(data: bytes, decoder: msgspec.msgpack.Decoder[T], prefix: int = 0) -> T:
    """A record from its bytes.

    Raises:
        RecordError: another version, or damaged bytes.
    """
    if data[:1] != VERSION:
        raise RecordError(
            f"record of version {data[:1].hex() or 'none'}; this program reads version {VERSION.hex()}"
        )
    try:
        return decoder.decode(data[1 + prefix :])
    except msgspec.MsgspecError as error:
        raise RecordError(f"damaged record: {error}") from error


def pack_revised(record: Packed, revision: int) -> bytes:
    """A record of the publisher: its revision (8 bytes, big-endian) follows the version byte.

    A script may so compare two records without reading them; an older one never replaces a newer.
    """
    return pack(record, _REVISION.pack(revision))


def revision_of(data: bytes) -> int:
    """The revision that leads a record of the publisher.

    Raises:
        RecordError: too short to hold one.
    """
    if len(data) <= _REVISION.size:
        raise RecordError("record too short to hold a revision")
    return int(_REVISION.unpack_from(data, 1)[0])


def unpack_revised(data: bytes, decoder: msgspec.msgpack.Decoder[T]) -> T:
    """A record of the publisher from its bytes."""
    return unpack(data, decoder, _REVISION.size)


def to_digits(text: str) -> Digits:
    """A text of sixteen small hexadecimal digits as their number, 9 bytes instead of 17; any other text as it is."""
    return int(text, 16) if _SIXTEEN.fullmatch(text) else text


def from_digits(digits: Digits) -> str:
    """The text that `to_digits` was given."""
    return digits if isinstance(digits, str) else f"{digits:016x}"


def to_micros(instant: datetime) -> int:
    """An instant as microseconds since 1970 in UTC."""
    passed = instant - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def from_micros(micros: int) -> datetime:
    """The instant of a number of microseconds since 1970, in UTC."""
    seconds, rest = divmod(micros, 1_000_000)
    return _EPOCH + timedelta(0, seconds, rest)


def to_ordinal(day: date | None) -> int | None:
    """A civil day as its proleptic ordinal."""
    return None if day is None else day.toordinal()


def from_ordinal(number: int | None) -> date | None:
    """The civil day of an ordinal."""
    return None if number is None else date.fromordinal(number)

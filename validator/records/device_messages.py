"""What a device writes: taps, releases, annulments and batches as JSON, their digests, and the chain over them.

A device journals exact bytes, posts the same bytes and uploads the same bytes in a batch; nothing is
re-serialised, ever.
"""

import hashlib
import struct
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from validator.records.chip_uid import UID_FORM
from validator.records.keys import SHARDS

assert SHARDS <= 256

MAX_BATCH_ENTRIES = 1_000
MAX_TAP_BYTES = 4_096
MAX_BATCH_BYTES = 2_000_000
MAX_SEQ = 2**63 - 1

# Limits that the decoder checks and the OpenAPI document shows. The patterns are shown only: `validator.application`
# reads ids and instants and says in words what is wrong with them.
_UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
_INSTANT = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$"
Seq = Annotated[int, Meta(ge=1, le=MAX_SEQ, description="Positive; numbered without gaps.")]
BoardingId = Annotated[str, Meta(extra_json_schema={"format": "uuid", "pattern": _UUID})]
InstantText = Annotated[
    str,
    Meta(
        description="ISO 8601 with offset, from 1970 to 2100.",
        extra_json_schema={"format": "date-time", "pattern": _INSTANT},
    ),
]
Code = Annotated[str, Meta(min_length=1, max_length=64, description="Printable characters only.")]
Uid = Annotated[str, Meta(min_length=8, max_length=20, extra_json_schema={"pattern": UID_FORM})]
Token = Annotated[str, Meta(min_length=1, max_length=512)]
Hex32 = Annotated[str, Meta(min_length=64, max_length=64, extra_json_schema={"pattern": "^[0-9a-f]{64}$"})]
Hex64 = Annotated[str, Meta(min_length=128, max_length=128, extra_json_schema={"pattern": "^[0-9a-f]{128}$"})]


class CardMedium(
    msgspec.Struct, tag_field="kind", tag="card", forbid_unknown_fields=True, frozen=True, gc=False
):
    """A card's token, as the reader read it."""

    token: Token


class UidMedium(
    msgspec.Struct, tag_field="kind", tag="uid", forbid_unknown_fields=True, frozen=True, gc=False
):
    """The uid of a contactless chip: 4, 7 or 10 bytes in upper-case hexadecimal."""

    uid: Uid


class DocumentMedium(
    msgspec.Struct, tag_field="kind", tag="document", forbid_unknown_fields=True, frozen=True, gc=False
):
    """An identity document shown to the driver; which kind, never its number."""

    category: Code
    document: Annotated[str, Meta(min_length=1, max_length=20, description="Letters only.")]


class KeyMedium(
    msgspec.Struct, tag_field="kind", tag="key", forbid_unknown_fields=True, frozen=True, gc=False
):
    """A category keyed by the driver."""

    category: Code


class CashMedium(
    msgspec.Struct, tag_field="kind", tag="cash", forbid_unknown_fields=True, frozen=True, gc=False
):
    """Money tendered, in centavos."""

    tendered_cents: Annotated[int, Meta(ge=0, le=2**31 - 1)]


MediumMessage = CardMedium | UidMedium | DocumentMedium | KeyMedium | CashMedium


class TapMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """One tap as posted and journalled. Instants are ISO 8601 texts with offset."""

    boarding_id: BoardingId
    epoch: Seq
    device_seq: Seq
    occurred_at: InstantText
    line: Code
    vehicle: Code
    medium: MediumMessage
    trip: Code | None = None
    continues: BoardingId | None = None


class ReleaseMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """What the device did about a tap: let the rider through or not, on which class and purse."""

    device_seq: Seq
    boarding_id: BoardingId
    released: bool
    mode: Literal["online", "offline"]
    ride_class: Literal["FREE", "HALF", "PURSE", "FULL"] | None = msgspec.field(default=None, name="class")
    purse: Code | None = None
    list_version: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    epoch: Seq | None = None


class AnnulMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """The turnstile did not turn. In a batch `annuls` names the boarding; on its own route the address does."""

    epoch: Seq
    device_seq: Seq
    occurred_at: InstantText
    annuls: BoardingId | None = None


class BatchMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """Journal entries from `first_seq` on, as exact bytes, with the signed head of the chain after the last of them.

    `head` and `signature` are hexadecimal. `closing` says that the epoch ends with this head.
    """

    epoch: Seq
    first_seq: Seq
    entries: Annotated[list[str], Meta(max_length=MAX_BATCH_ENTRIES)]
    head: Hex32
    signature: Hex64
    closing: bool = False


def digest_of(device_id: str, exact: bytes) -> bytes:
    """The digest of an entry: SHA-256 over the device id and the exact bytes."""
    return hashlib.sha256(b"catraca-entry-1\x00" + device_id.encode() + b"\x00" + exact).digest()


def chain_start(device_id: str, epoch: int) -> bytes:
    """The head of an empty chain: every epoch of every device starts elsewhere."""
    return hashlib.sha256(
        b"catraca-chain-1\x00" + device_id.encode() + b"\x00" + struct.pack(">Q", epoch)
    ).digest()


def chain_next(head: bytes, digest: bytes) -> bytes:
    """The head after one more entry."""
    return hashlib.sha256(head + digest).digest()


def head_message(device_id: str, epoch: int, seq: int, head: bytes, *, closing: bool = False) -> bytes:
    """The bytes that a device signs (Ed25519) to vouch for its chain up to `seq`."""
    tail = struct.pack(">QQ?", epoch, seq, closing)
    return b"catraca-head-1\x00" + device_id.encode() + b"\x00" + tail + head

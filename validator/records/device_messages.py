"""What a device writes: taps, releases, annulments and batches as JSON, their digests, and the chain over them.

A device journals exact bytes, posts the same bytes and uploads the same bytes in a batch; nothing is
re-serialised, ever.
"""

import hashlib
import struct
from typing import Literal

import msgspec

from validator.records.keys import SHARDS

assert SHARDS <= 256

MAX_BATCH_ENTRIES = 1_000
MAX_TAP_BYTES = 4_096
MAX_BATCH_BYTES = 2_000_000


class CardMedium(
    msgspec.Struct, tag_field="kind", tag="card", forbid_unknown_fields=True, frozen=True, gc=False
):
    """A card's token, as the reader read it."""

    token: str


class UidMedium(
    msgspec.Struct, tag_field="kind", tag="uid", forbid_unknown_fields=True, frozen=True, gc=False
):
    """The uid of a contactless chip, in hexadecimal."""

    uid: str


class DocumentMedium(
    msgspec.Struct, tag_field="kind", tag="document", forbid_unknown_fields=True, frozen=True, gc=False
):
    """An identity document shown to the driver; which kind, never its number."""

    category: str
    document: str


class KeyMedium(
    msgspec.Struct, tag_field="kind", tag="key", forbid_unknown_fields=True, frozen=True, gc=False
):
    """A category keyed by the driver."""

    category: str


class CashMedium(
    msgspec.Struct, tag_field="kind", tag="cash", forbid_unknown_fields=True, frozen=True, gc=False
):
    """Money tendered, in centavos."""

    tendered_cents: int


MediumMessage = CardMedium | UidMedium | DocumentMedium | KeyMedium | CashMedium


class TapMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """One tap as posted and journalled. Instants are ISO 8601 texts with offset."""

    boarding_id: str
    epoch: int
    device_seq: int
    occurred_at: str
    line: str
    vehicle: str
    medium: MediumMessage
    trip: str | None = None
    continues: str | None = None


class ReleaseMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """What the device did about a tap: let the rider through or not, on which class and purse."""

    device_seq: int
    boarding_id: str
    released: bool
    mode: Literal["online", "offline"]
    ride_class: Literal["FREE", "HALF", "PURSE", "FULL"] | None = msgspec.field(default=None, name="class")
    purse: str | None = None
    list_version: int | None = None
    epoch: int | None = None


class AnnulMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """The turnstile did not turn. In a batch `annuls` names the boarding; on its own route the address does."""

    epoch: int
    device_seq: int
    occurred_at: str
    annuls: str | None = None


class BatchMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """Journal entries from `first_seq` on, as exact bytes, with the signed head of the chain after the last of them.

    `head` and `signature` are hexadecimal. `closing` says that the epoch ends with this head.
    """

    epoch: int
    first_seq: int
    entries: list[str]
    head: str
    signature: str
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

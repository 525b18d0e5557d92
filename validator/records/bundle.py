"""The signed bundle: rules, fares, lines, keys, the hotlist, and what the fleet's cards may do without a network.

A card's options are compiled: which class of ride, with which turnstile, on which days. No category is named, so a
stolen validator does not tell who is in special education; the same `decide` runs on them (`validator.onboard.listed`).

An *offer* is a JSON text that the city signs: for a device that has version `have`, the steps that lead it to the
current version, each as a list of chunks named by their SHA-256. A chunk that arrived is never fetched again, and a
step is applied whole or not at all.
"""

import hashlib
import zlib
from datetime import date, timedelta
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from validator.records.packing import VERSION, Packed, RecordError, pack, unpack

CHUNK_BYTES: Final = 16_384
"""Size of a chunk, in bytes; the last one of a step may be shorter. Small enough for a link that breaks often."""

MAX_STEP_BYTES: Final = 64_000_000
"""The largest step, unpacked, that a device takes, in bytes."""

STATE_KEY: Final = b"sync:state"
"""What the builder keeps of the last bundle (`BundleState`)."""

_OFFER_DOMAIN = b"catraca-bundle-1\x00"
_DAY_ZERO = date(2000, 1, 1)
_DAY_LAST = date(2179, 6, 6)


def offer_key(have: int) -> bytes:
    """The signed offer for devices that have a version; 0 for those that have none, or one that is too old."""
    return b"sync:offer:%d" % have


def chunk_key(digest: str) -> bytes:
    """A chunk by the SHA-256 of its bytes, in hexadecimal."""
    return b"sync:chunk:" + digest.encode()


# The offer, as JSON


class StepMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """One step from a version to a later one; from 0 it is the whole bundle. `bytes` is the sum of its chunks."""

    from_version: Annotated[int, Meta(ge=0)] = msgspec.field(name="from")
    to_version: Annotated[int, Meta(ge=1)] = msgspec.field(name="to")
    size: Annotated[int, Meta(ge=0)] = msgspec.field(name="bytes")
    chunks: list[Annotated[str, Meta(min_length=64, max_length=64)]]


class OfferMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """What the city signs: that at `issued_at` the current version is `version`, and how to reach it from `have`.

    Attributes:
        version: The current version; versions only grow.
        have: The version that the steps begin with, 0 for none.
        issued_at: Instant in ISO 8601; rules and lists are those of this instant.
        max_age_hours: How old the list may grow before a ride that is let in on it is at the operator's risk.
        steps: In the order in which they are applied; empty where `have` is current.
    """

    version: Annotated[int, Meta(ge=1)]
    have: Annotated[int, Meta(ge=0)]
    issued_at: str
    max_age_hours: Annotated[int, Meta(ge=1)]
    steps: list[StepMessage]


class SignedOffer(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """An offer as exact text, the city's key, and its Ed25519 signature in hexadecimal. What Redis keeps."""

    offer: str
    key_id: Annotated[int, Meta(ge=0, le=65_535)]
    signature: Annotated[str, Meta(min_length=128, max_length=128)]


class SyncAnswer(msgspec.Struct, forbid_unknown_fields=True, frozen=True, gc=False):
    """The answer of `GET /v1/sync`: the signed offer, and the service's own time."""

    offer: str
    key_id: Annotated[int, Meta(ge=0, le=65_535)]
    signature: Annotated[str, Meta(min_length=128, max_length=128)]
    server_time: str


_offer = msgspec.json.Decoder(OfferMessage)
_signed = msgspec.json.Decoder(SignedOffer)


def offer_signed_bytes(offer: str) -> bytes:
    """What the city's key signs of an offer's exact text."""
    return _OFFER_DOMAIN + offer.encode()


def read_offer(text: str) -> OfferMessage:
    """An offer from its exact text.

    Raises:
        RecordError: it is none.
    """
    try:
        return _offer.decode(text)
    except msgspec.MsgspecError as error:
        raise RecordError(f"no offer: {error}") from error


def read_signed_offer(data: bytes) -> SignedOffer:
    """A signed offer from its bytes.

    Raises:
        RecordError: it is none.
    """
    try:
        return _signed.decode(data)
    except msgspec.MsgspecError as error:
        raise RecordError(f"no signed offer: {error}") from error


# The list


class KindRecord(Packed, frozen=True):
    """A kind of option, shared by all cards that have it.

    Attributes:
        half: Whether the rider spends a student pass; otherwise the ride is free.
        turnstile: Code of what the turnstile does.
        networks: Bits of the networks on which it holds: 1 for the first of `codes.NETWORKS`, 2 for the second.
        silent: Whether it is an option only while it holds, and never a reason to refuse (rights of age).
        hours: How old the list may be for it to hold; None for ever.
    """

    half: bool
    turnstile: int
    networks: int
    silent: bool
    hours: int | None


class OptionRecord(Packed, frozen=True):
    """An option of a card: its kind, and the days since 2000-01-01 [first, until) less the pauses."""

    kind: int
    first: int
    until: int | None = None
    pauses: tuple[tuple[int, int | None], ...] = ()


class ListedPurse(Packed, frozen=True):
    """A purse with the passes that are left: pairs of (index of the tariff, units), oldest first."""

    purse: int
    left: tuple[tuple[int, int], ...]


class ListedRecord(Packed, frozen=True):
    """What one holder's cards may do without a network.

    Attributes:
        options: In the order in which the law tries them.
        purses: Purses with passes left.
        half_month: Latest civil month with half-fare boardings, as AAMM; 0 for none.
        half_count: How many there were in it.
        chips: Pairs of a chip's name (`chip_uid.listed_uid`) and the state of its card (`codes.CardState`).
    """

    options: tuple[OptionRecord, ...] = ()
    purses: tuple[ListedPurse, ...] = ()
    half_month: int = 0
    half_count: int = 0
    chips: tuple[tuple[bytes, int], ...] = ()


class HotRecord(Packed, frozen=True):
    """A card of which some issues are no longer good: those below `lowest_issue`; with `blocked`, all of them."""

    number: int
    lowest_issue: int
    blocked: bool


class ListHead(Packed, frozen=True):
    """What all entries of a list share; indexes into it are only ever appended.

    Attributes:
        kinds: Kinds of options.
        tariffs: Pairs of (face fare, price paid) of passes, in centavos.
        purse_hours: By product, how old the list may be for a purse to pay; None for ever.
        half_budget: Half fares that one device may let in before the service has heard of them.
    """

    kinds: tuple[KindRecord, ...] = ()
    tariffs: tuple[tuple[int, int], ...] = ()
    purse_hours: tuple[int | None, ...] = ()
    half_budget: int = 0


class StepRecord(Packed, frozen=True):
    """One step: what changed. `city` is the packed city record, None where it stays as it was.

    Entries are pairs of the 8 bytes of the hot holder id and the packed `ListedRecord`.
    """

    city: bytes | None
    head: ListHead
    hot: tuple[HotRecord, ...] = ()
    cold: tuple[int, ...] = ()
    """Card numbers that leave the hotlist."""
    entries: tuple[tuple[bytes, bytes], ...] = ()
    gone: tuple[bytes, ...] = ()
    """Hot holder ids that leave the list."""


class BundleState(Packed, frozen=True):
    """What the builder keeps between two bundles: versions, oldest first, each with its step from the one before.

    A step is (from, to, bytes, chunk digests). The first entry of `steps` is the whole of the current version, from 0.
    """

    version: int
    steps: tuple[tuple[int, int, int, tuple[str, ...]], ...]


_step = msgspec.msgpack.Decoder(StepRecord)
_listed = msgspec.msgpack.Decoder(ListedRecord)
_state = msgspec.msgpack.Decoder(BundleState)


def pack_listed(record: ListedRecord) -> bytes:
    """An entry of the list as bytes."""
    return pack(record)


def unpack_listed(data: bytes) -> ListedRecord:
    """An entry of the list from its bytes.

    Raises:
        RecordError: damaged bytes.
    """
    return unpack(data, _listed)


def pack_state(record: BundleState) -> bytes:
    """The builder's state as bytes."""
    return pack(record)


def unpack_state(data: bytes) -> BundleState:
    """The builder's state from its bytes."""
    return unpack(data, _state)


def pack_step(record: StepRecord) -> bytes:
    """A step as the bytes that are cut into chunks: zlib over the packed record."""
    return zlib.compress(pack(record), 9)


def unpack_step(data: bytes) -> StepRecord:
    """A step from the bytes of its chunks.

    Raises:
        RecordError: damaged, of another version, or larger than a device takes.
    """
    inflate = zlib.decompressobj()
    try:
        raw = inflate.decompress(data, MAX_STEP_BYTES)
    except zlib.error as error:
        raise RecordError(f"damaged step: {error}") from error
    if not inflate.eof or inflate.unused_data or raw[:1] != VERSION:
        raise RecordError("damaged step: cut off, too large, or of another version")
    return unpack(raw, _step)


def cut(data: bytes) -> list[tuple[str, bytes]]:
    """The chunks of a step's bytes with their digests, in order."""
    pieces = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
    return [(chunk_digest(piece), piece) for piece in pieces]


def chunk_digest(piece: bytes) -> str:
    """The name of a chunk: the SHA-256 of its bytes, in hexadecimal."""
    return hashlib.sha256(piece).hexdigest()


def day_number(day: date) -> int:
    """A civil day as days since 2000-01-01; earlier ones are 0, since no list looks so far back."""
    return min(max((day - _DAY_ZERO).days, 0), (_DAY_LAST - _DAY_ZERO).days)


def day_of_number(number: int) -> date:
    """The civil day of a number of days since 2000-01-01."""
    return _DAY_ZERO + timedelta(days=number)

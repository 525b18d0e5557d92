"""Names of keys in Redis, and the shard that each belongs to.

Every key of a shard carries its tag (`{s17}`), so that one atomic script may touch all of them, on one Redis or on a
cluster. Ids stand in keys as raw bytes: a key of 16 bytes of UUID is 20 bytes shorter than its text.
"""

from functools import lru_cache
from typing import Final
from uuid import UUID
from zlib import crc32

SHARDS: Final = 64

CITY = b"city:current"
"""The city's record: rules, fares, lines, keys of cards."""

VERIFIED = b"verified:run_id"
"""The run id of the Redis process whose counters the ingester has compared with SQL; another one is not trusted yet."""

ID_SECONDS: Final = 46 * 24 * 3600
"""How long an `id` or a `seen` whose sequence never became durable is kept, in seconds."""

DURABLE_SECONDS: Final = 24 * 3600
"""How long `id` and `seen` are kept after their sequence became durable, in seconds."""

_TAGS = tuple(b"{s%d}:" % number for number in range(SHARDS))
_SEEN = tuple(tag + b"seen:" for tag in _TAGS)
_ID = tuple(tag + b"id:" for tag in _TAGS)


def shard(identity: bytes) -> int:
    """The shard of an identity, from 0 to 63: stable for ever, the same in every process."""
    return crc32(identity) % SHARDS


def holder_shard(holder_id: str) -> int:
    """The shard of a holder: home of all boardings whose token names the holder."""
    return shard(holder_id.encode())


def device_shard(device_id: str) -> int:
    """The shard of a device: home of the boardings that name no holder."""
    return shard(device_id.encode())


def boarding_shard(boarding_id: UUID) -> int:
    """The shard of a boarding id, where its digest is kept."""
    return shard(boarding_id.bytes)


def holder_key(holder_id: str) -> bytes:
    """The snapshot of a holder."""
    return _TAGS[holder_shard(holder_id)] + b"holder:" + holder_id.encode()


def usage_key(holder_id: str) -> bytes:
    """The usage of a holder."""
    return _TAGS[holder_shard(holder_id)] + b"usage:" + holder_id.encode()


def seen_key(home: int, boarding_id: UUID) -> bytes:
    """The answer already given to a boarding, in its home shard."""
    return raw_seen_key(home, boarding_id.bytes)


def raw_seen_key(home: int, boarding_id: bytes) -> bytes:
    """The same of a boarding id's bytes."""
    return _SEEN[home] + boarding_id


def id_key(boarding_id: UUID) -> bytes:
    """Digest and home of a boarding id, in the shard of the id itself."""
    return raw_id_key(boarding_id.bytes)


def raw_id_key(boarding_id: bytes) -> bytes:
    """The same of a boarding id's bytes."""
    return _ID[crc32(boarding_id) % SHARDS] + boarding_id


def uid_shard(uid: bytes) -> int:
    """The shard of a chip's uid: where its holder is found, not the home of its boardings."""
    return shard(uid)


def uid_key(uid: bytes) -> bytes:
    """The holder of a chip; written by the publisher only."""
    return _TAGS[shard(uid)] + b"uid:" + uid


def device_key(device_id: str) -> bytes:
    """Who a device is; written by the publisher only."""
    return _TAGS[device_shard(device_id)] + b"device:" + device_id.encode()


@lru_cache(maxsize=20_000)
def durable_key(device_id: str, epoch: int) -> bytes:
    """What of a device's epoch is durable in SQL; written by the ingester only."""
    return _TAGS[device_shard(device_id)] + b"durable:%d:" % epoch + device_id.encode()


def journal_key(number: int) -> bytes:
    """The journal stream of a shard."""
    return _TAGS[number] + b"journal"


def commit_no_key(number: int) -> bytes:
    """The counter of a shard's commits."""
    return _TAGS[number] + b"commit_no"


def generation_key(number: int) -> bytes:
    """The generation of a shard; a shard without one is empty and answers nothing."""
    return _TAGS[number] + b"generation"


def fence_key(number: int) -> bytes:
    """The fence of a shard: while it stands, nothing is committed."""
    return _TAGS[number] + b"fence"
